"""If home and caches cannot be used, a private folder below the temporary one is."""

import os
import shutil
import stat
import sys
from pathlib import Path

import pytest
from unprivileged import make_read_only, run_unprivileged

from gpugda import folders
from gpugda.device.caches import why_pocl_cannot_load
from gpugda.folders import can_write, code_folder, others_can_change, writable_or_spare

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the children's rights are Linux's")

QUERY = """
import logging
import gpugda
from gpugda.match.extend.strategy import ExtendStrategy
ExtendStrategy.walked_pairs = 0  # so few pairs need no launch
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
    assert [path.name for path in made.iterdir()] == ["gpugda"]
    return made


@pytest.fixture
def home(tmp_path, caches):
    """A home folder, and beside it one for temporary files that holds compiled kernels."""
    (tmp_path / "home").mkdir()
    shutil.copytree(caches / "gpugda", spare_of(tmp_path / "home"))
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
    assert made >= {"pocl"}, made
    assert list(home.iterdir()) == []


@pytest.mark.slow
def test_read_only_caches_are_replaced_by_a_spare_folder(home, caches):
    shutil.copytree(caches, home / ".cache")
    make_read_only(home / ".cache")
    done = run_unprivileged(QUERY, environment(home))
    assert_answers(done)
    assert done.stderr.count("cannot be written") == 1


@pytest.mark.slow
def test_the_error_without_any_folder_gives_the_reason(home):
    make_read_only(home)
    nowhere = f"import tempfile; tempfile.tempdir = {str(home)!r}\n"
    done = run_unprivileged(nowhere + QUERY, environment(home))
    assert done.returncode != 0
    (last,) = [line for line in done.stderr.splitlines() if line.startswith("gpugda.errors.")]
    assert "DeviceError: no OpenCL device was found. PoCL finds none while" in last
    assert str(home) in last
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


@pytest.mark.skipif(os.getuid() != 0, reason="rights do not bind root alone: can_write asks them")
def test_folders_in_which_nothing_can_be_created_count_as_unwritable():
    assert not can_write(Path("/proc/.cache/gpugda"))


# ------------------------------------------------------------------ other users
STRANGER = 65534
two_users = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as two users")


def give_away(path):
    os.chown(path, STRANGER, STRANGER, follow_symlinks=False)


@pytest.fixture
def stranger(tmp_path):
    """A folder of another user."""
    folder = tmp_path / "stranger"
    folder.mkdir()
    give_away(folder)
    return folder


@two_users
def test_what_others_can_change_is_noticed(tmp_path, stranger):
    own = tmp_path / "own"
    own.mkdir()
    (stranger / "given").mkdir()  # by root, in a folder that its owner can rename
    os.symlink(own, stranger / "link")
    os.symlink(stranger / "given", own / "way")
    os.symlink("../stranger/given", own / "relative")
    os.symlink(own / "loop", own / "loop")
    assert others_can_change(own) == others_can_change(own / "missing" / "deeper") == ""
    for folder in (stranger, stranger / "given", stranger / "link", stranger / "missing"):
        assert f"{stranger} belongs to another user" in others_can_change(folder)
    for name in ("way", "relative"):
        assert f"{stranger} belongs to another user" in others_can_change(own / name)
    assert "cannot be examined" in others_can_change(own / "loop")


@two_users
def test_links_of_others_are_noticed(tmp_path):
    place = tmp_path / "open"
    place.mkdir()
    place.chmod(0o1777)
    (place / "own").mkdir()
    os.symlink(place / "own", place / "link")
    assert others_can_change(place / "own") == others_can_change(place / "link") == ""
    give_away(place / "link")
    assert "link belongs to another user" in others_can_change(place / "link")


@two_users
@pytest.mark.parametrize(
    ("mode", "group", "said"),
    [
        (0o777, 0, "other users may replace files"),
        (0o775, STRANGER, "other users may replace files"),
        (0o1777, 0, ""),
        (0o775, 0, ""),
        (0o755, STRANGER, ""),
    ],
)
def test_rights_above_a_folder_count(tmp_path, mode, group, said):
    above = tmp_path / "above"
    (above / "folder").mkdir(parents=True)
    os.chown(above, 0, group)
    above.chmod(mode)
    assert said in others_can_change(above / "folder")
    assert bool(said) == bool(others_can_change(above / "folder"))


@two_users
def test_code_lies_in_a_folder_of_its_user_alone(temporary, stranger):
    own = temporary / "own"
    assert code_folder(own, "x") == own
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    own.chmod(0o755)
    assert code_folder(own, "x") == own
    assert stat.S_IMODE(own.stat().st_mode) == 0o700
    own.chmod(0o733)
    os.symlink(stranger, temporary / "link")
    for folder in (own, stranger, stranger / "new", temporary / "link"):
        found = code_folder(folder, "x")
        assert found == temporary / "gpugda-0" / "x"
        assert stat.S_IMODE(found.stat().st_mode) == 0o700
    assert list(stranger.iterdir()) == []


@two_users
def test_a_temporary_folder_that_others_can_change_is_not_used(temporary, monkeypatch, stranger):
    (temporary / "other").mkdir()
    monkeypatch.setattr(folders.tempfile, "tempdir", str(stranger))
    monkeypatch.setattr(folders, "_OTHER_PLACES", (str(stranger), str(temporary / "other")))
    assert folders.spare_folder() == temporary / "other" / "gpugda-0"
    assert list(stranger.iterdir()) == []


def test_a_pocl_that_was_started_before_is_refused_if_others_can_change_its_folder(tmp_path):
    variables = {"POCL_CACHE_DIR": str(tmp_path)}
    assert why_pocl_cannot_load(variables) == ""
    tmp_path.chmod(0o777)
    assert "import gpugda first" in why_pocl_cannot_load(variables)


LOADED = """
import os
print(os.environ["POCL_CACHE_DIR"])
print(*(line.split()[-1] for line in open("/proc/self/maps") if ".so" in line))
"""


@pytest.mark.slow
@two_users
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "POCL_CACHE_DIR", "TMPDIR"])
def test_kernels_of_another_user_are_not_loaded(caches, home, stranger, variable):
    """All kernels of the query lie where the variable leads, put there by another user."""
    name = {"HOME": ".cache/gpugda", "XDG_CACHE_HOME": "gpugda", "TMPDIR": "gpugda-0"}
    planted = stranger / name.get(variable, "")
    shutil.copytree(caches / "gpugda", planted, dirs_exist_ok=True)
    if variable == "POCL_CACHE_DIR":
        planted = stranger / "pocl"
    for path in (stranger, *stranger.rglob("*")):
        give_away(path)
        path.chmod(0o777)
    place = planted if variable == "POCL_CACHE_DIR" else stranger
    more = {"HOME": "/proc"} if variable == "TMPDIR" else {}
    # The folder of the user's own that takes its place has the kernels, too: compiling takes long.
    done = run_unprivileged(QUERY + LOADED, {**environment(home), **more, variable: str(place)})
    assert done.returncode == 0, done.stderr
    rows, folder, loaded = done.stdout.splitlines()
    assert rows == "[[1, 2]]"
    assert not folder.startswith(str(stranger))
    assert str(stranger) not in loaded
    assert folder in loaded
    assert done.stderr.count(" is used, which") == 1, done.stderr
