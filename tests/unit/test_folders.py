"""If home and caches cannot be written, a private folder below the temporary one is used."""

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
from unprivileged import make_read_only, run_unprivileged

from gpugda import folders
from gpugda.folders import can_write, writable_or_spare

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the children's rights are Linux's")

QUERY = """
import logging
import gpugda
logging.basicConfig(format="%(name)s: %(message)s")
graph = gpugda.graph(nodes={"id": [1, 2]}, relationships={"source": [1], "target": [2],
                                                         "type": ["R"]})
with gpugda.connect(graph) as opened:
    print(opened.run("MATCH (a)-->(b) RETURN a.id, b.id", engine="gpu").values())
"""


@pytest.fixture(scope="module")
def caches(tmp_path_factory):
    """Caches with the compiled kernels of the query, because compiling takes long."""
    folder = tmp_path_factory.mktemp("caches")
    (folder / "home").mkdir()
    assert_answers(run_unprivileged(QUERY, environment(folder / "home")))
    made = folder / "home" / ".cache"
    assert {path.name for path in made.iterdir()} >= {"pocl", "pytools"}
    return made


@pytest.fixture
def home(tmp_path, caches):
    """A home folder, and beside it one for temporary files that holds compiled kernels."""
    (tmp_path / "home").mkdir()
    shutil.copytree(caches, spare_of(tmp_path / "home"))
    spare_of(tmp_path / "home").chmod(0o700)
    yield tmp_path / "home"
    for path in (tmp_path / "home").rglob("*"):
        path.chmod(0o755)


def environment(home, **more):
    path = os.environ["PATH"]
    return {"HOME": str(home), "TMPDIR": str(home.parent / "tmp"), "PATH": path, **more}


def spare_of(home) -> Path:
    return home.parent / "tmp" / f"gpugda-{os.getuid()}"


def assert_answers(done):
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[[1, 2]]\n"


@pytest.mark.slow
@pytest.mark.parametrize("place", ["", "missing/deeper"])
def test_an_unwritable_home_is_replaced_by_a_spare_folder(home, place):
    make_read_only(home)
    done = run_unprivileged(QUERY, {**environment(home), "HOME": str(home / place)})
    assert_answers(done)
    assert done.stderr.count("cannot be written") == 1, done.stderr
    assert str(spare_of(home)) in done.stderr
    made = {path.name for path in spare_of(home).iterdir()}
    assert made >= {"pocl", "pyopencl"}, made
    assert list(home.iterdir()) == []


@pytest.mark.slow
def test_read_only_caches_are_replaced_by_a_spare_folder(home, caches):
    shutil.copytree(caches, home / ".cache")
    make_read_only(home / ".cache")
    done = run_unprivileged(QUERY, environment(home))
    assert_answers(done)
    assert "sqlite" not in done.stderr
    assert done.stderr.count("cannot be written") == 1


@pytest.mark.slow
@pytest.mark.parametrize("content", [b"no database", None])
def test_a_damaged_cache_of_pyopencl_is_replaced(home, caches, content):
    shutil.copytree(caches, home / ".cache")
    (database,) = (home / ".cache/pytools").glob("*invoker*.sqlite")
    if content is None:
        database.chmod(0o444)
    else:
        database.write_bytes(content)
    done = run_unprivileged(QUERY, environment(home))
    assert_answers(done)
    assert "Error" not in done.stderr


@pytest.mark.slow
def test_the_error_without_any_folder_gives_the_reason(home):
    make_read_only(home)
    nowhere = f"import tempfile; tempfile.tempdir = {str(home)!r}\n"
    done = run_unprivileged(nowhere + QUERY, environment(home))
    assert done.returncode != 0
    (last,) = [line for line in done.stderr.splitlines() if line.startswith("gpugda.errors.")]
    assert "DeviceError: no OpenCL device was found. PoCL finds none while" in last
    assert "POCL_CACHE_DIR" in last


# ------------------------------------------------------------------ the spare folder
@pytest.fixture
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(folders.tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(folders, "_spares", {})
    folders.spare_folder.cache_clear()
    yield tmp_path
    folders.spare_folder.cache_clear()


@pytest.mark.parametrize("taken", ["open to all", "link", "file"])
def test_a_spare_folder_of_another_user_is_not_used(temporary, taken):
    place = temporary / f"gpugda-{os.getuid()}"
    if taken == "open to all":
        place.mkdir()
        place.chmod(0o777)
    elif taken == "link":
        (temporary / "elsewhere").mkdir()
        place.symlink_to(temporary / "elsewhere")
    else:
        place.write_text("")
    found = folders.spare_folder()
    assert found not in (None, place)
    assert stat.S_IMODE(found.stat().st_mode) == 0o700
    shutil.rmtree(found)


def test_a_writable_folder_is_used_unchanged(temporary, caplog):
    assert writable_or_spare(temporary / "new" / "folder", "x") == temporary / "new" / "folder"
    assert not caplog.records
    assert list(temporary.iterdir()) == []


def test_a_spare_folder_is_logged_once(temporary, caplog):
    (temporary / "file").write_text("")
    for name in ("one", "two"):
        found = writable_or_spare(temporary / "file" / name, name)
        assert found == temporary / f"gpugda-{os.getuid()}" / name
    assert len(caplog.records) == 1
    assert len(folders.spares()) == 2


def test_relative_folders_count_as_unwritable():
    assert not can_write(Path("~/.cache"))
