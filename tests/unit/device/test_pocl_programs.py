"""PoCL's kernels: compiled by another process, and loaded only if they are intact."""

import json
import os
import shutil
import subprocess
import sys
import time

import pytest

from gpugda.device import pocl_entries, pocl_programs
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.devices import list_devices
from gpugda.device.program import get_kernel
from gpugda.errors import DeviceError

ASK = """
import gpugda
from gpugda.errors import DeviceError
from gpugda.match.extend.strategy import ExtendStrategy
ExtendStrategy.walked_pairs = 0  # so few pairs need no launch
tables = {"id": ["a", "b"]}, {"source": ["a"], "target": ["b"], "type": ["R"]}
with gpugda.connect(gpugda.graph(*tables)) as graph:
    for ask in (lambda: graph.run("MATCH (x)-->(y) RETURN x.id", engine="gpu"), graph.calibrate):
        for _ in range(2):
            try:
                print("answered", ask())
            except DeviceError as error:
                print("refused", error)
    print(graph.run("MATCH (x)-->(y) RETURN x.id, y.id", engine="reference").values())
"""


@pytest.mark.slow
def test_a_missing_linker_is_an_error_and_no_crash(tmp_path):
    if not any("Portable" in each.platform for each in list_devices()):
        pytest.skip("no PoCL here")
    environment = {**os.environ, "PATH": str(tmp_path), "GPUGDA_DEVICE": "Portable"}
    for name in ("POCL_CACHE_DIR", "XDG_CACHE_HOME", "GPUGDA_CACHE_DIR"):
        environment[name] = str(tmp_path / name)
    child = subprocess.run(
        [sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    *refused, rows = child.stdout.splitlines()
    assert len(refused) == 4
    for line in refused:
        assert line.startswith("refused")
        assert "binutils" in line
    assert rows == "[['a', 'b']]"


def run_with_noexec(folder, code, environment):
    """Runs Python code with a file system mounted without ``exec`` on the folder."""
    folder.mkdir()
    script = 'mount -t tmpfs -o noexec,mode=700 tmpfs "$1" || exit 77; exec "$2" -c "$3"'
    return unshared([script, str(folder), sys.executable, code], environment)


def unshared(arguments, environment):
    """Runs a script of the shell with arguments, where it may mount file systems."""
    script, *rest = arguments
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if os.getuid() == 0:
        unshare = ["unshare", "--mount"]
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here")
    child = subprocess.run(
        [*unshare, "sh", "-c", script, "sh", *rest],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode == 77 or "unshare failed" in child.stderr:
        pytest.skip(f"file systems cannot be mounted here: {child.stderr.strip()}")
    return child


def test_kernels_that_cannot_be_loaded_are_an_error_and_no_crash(tmp_path):
    if not any("Portable" in each.platform for each in list_devices()):
        pytest.skip("no PoCL here")
    noexec = tmp_path / "noexec"
    environment = {**os.environ, "TMPDIR": str(noexec), "GPUGDA_DEVICE": "Portable"}
    for name in ("POCL_CACHE_DIR", "XDG_CACHE_HOME", "GPUGDA_CACHE_DIR"):
        environment[name] = str(noexec / name)
    child = run_with_noexec(noexec, ASK, environment)
    assert child.returncode == 0, child.stderr
    *refused, rows = child.stdout.splitlines()
    assert len(refused) == 4
    for line in refused:
        assert line.startswith("refused")
        assert "noexec" in line
        assert "POCL_CACHE_DIR" in line
    assert rows == "[['a', 'b']]"


def test_kernels_are_loaded_from_the_spare_folder_instead(tmp_path):
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    environment["POCL_CACHE_DIR"] = str(tmp_path / "noexec" / "pocl")
    code = "import os, gpugda.device; print(os.environ['POCL_CACHE_DIR'])"
    child = run_with_noexec(tmp_path / "noexec", code, environment)
    assert child.stdout.strip() == str(tmp_path / "tmp" / f"gpugda-{os.getuid()}" / "pocl")


# ------------------------------------------------------------------ damaged files
def damage_of(kind, path):
    content = path.read_bytes()
    if kind == "missing":
        path.unlink()
    else:
        path.write_bytes(
            {
                "empty": b"",
                "cut": content[: len(content) // 2],
                "bit": content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
            }[kind]
        )


def kept(folder, name="foo"):
    """An entry with two files, as the compiler leaves it."""
    source = folder / f"new-{name}"
    place = source / f"{name}_1"
    (place / "1-1-1").mkdir(parents=True)
    files = [place / "1-1-1" / f"{name}_1.so", place / f"{name}.bc"]
    for path in files:
        path.write_bytes(path.name.encode() * 100)
    path = pocl_entries.files_of("1", name, large=False, folder=folder)
    pocl_entries.keep_files(path, files, source)
    return path


@pytest.mark.parametrize("kind", ["missing", "empty", "cut", "bit"])
@pytest.mark.parametrize("place", ["foo_1/1-1-1/foo_1.so", "foo_1/foo.bc", ""])
def test_damaged_files_are_removed(tmp_path, kind, place, caplog):
    path = kept(tmp_path)
    assert pocl_entries.is_intact(path)
    damage_of(kind, tmp_path / place if place else path)
    assert not pocl_entries.is_intact(path)
    is_unknown = not place and kind == "missing"
    assert ("is damaged" in caplog.text) is not is_unknown
    assert not path.exists()
    caplog.clear()
    assert not pocl_entries.is_intact(path)
    assert not caplog.records
    if place:
        assert [each for each in tmp_path.rglob("*") if each.is_file()] == []


def test_what_nobody_uses_is_removed(tmp_path):
    old, new = kept(tmp_path), kept(tmp_path, "bar")
    left = [tmp_path / "tempfile_a", tmp_path / "tempfile_b"]
    for path in left:
        path.touch()
    long_ago = time.time() - 200 * 86_400
    for path in (old, left[0]):
        os.utime(path, (long_ago, long_ago))
    pocl_entries.remove_unused(tmp_path)
    assert not old.exists()
    assert not left[0].exists()
    assert new.exists()
    assert left[1].exists()


QUERY = """
import logging, sys
logging.basicConfig(format="%(message)s")
import gpugda
from gpugda.match.extend.strategy import ExtendStrategy
ExtendStrategy.walked_pairs = 0  # so few pairs need no launch
tables = {"id": ["a", "b"]}, {"source": ["a"], "target": ["b"], "type": ["R"]}
with gpugda.connect(gpugda.graph(*tables)) as graph:
    print(graph.run("MATCH (x)-->(y) RETURN x.id, y.id", engine="gpu").values())
"""


def ask(folder, code=QUERY, **more):
    environment = {**os.environ, "GPUGDA_DEVICE": "Portable", "POCL_CACHE_DIR": str(folder), **more}
    child = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert child.returncode == 0, child.stderr
    return child


@pytest.mark.slow
def test_a_process_finds_damaged_kernels_and_compiles_them_anew(tmp_path):
    """PoCL would end the process for each of these."""
    if not any("Portable" in each.platform for each in list_devices()):
        pytest.skip("no PoCL here")
    assert ask(tmp_path).stdout == "[['a', 'b']]\n"
    whole = sorted(tmp_path.rglob("*.so"))
    codes = sorted(tmp_path.glob("*.program"))
    assert whole
    assert codes
    for kind in ("empty", "cut", "missing"):
        for path in (*whole, *codes):
            damage_of(kind, path)
        child = ask(tmp_path)
        assert child.stdout == "[['a', 'b']]\n"
        assert "is damaged" in child.stderr
        assert sorted(tmp_path.rglob("*.so")) == whole
    child = ask(tmp_path, PATH=str(tmp_path))  # without a linker: nothing is compiled
    assert child.stdout == "[['a', 'b']]\n"
    assert child.stderr == ""


FULL = """
import os, subprocess, sys
folder, code = sys.argv[1:]
def ask():
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    print(child.returncode, (child.stdout + child.stderr).strip().splitlines()[-1])
def fill():
    with open(f"{folder}/large", "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError:
            pass
fill()
ask()
os.unlink(f"{folder}/large")
ask()
fill()
ask()
"""


@pytest.mark.slow
def test_a_full_disk_is_an_error_and_no_crash(tmp_path):
    if not any("Portable" in each.platform for each in list_devices()):
        pytest.skip("no PoCL here")
    disk = tmp_path / "disk"
    disk.mkdir()
    script = 'mount -t tmpfs -o mode=700,size=9m tmpfs "$1" || exit 77; exec "$2" -c "$3" "$1" "$4"'
    environment = {**os.environ, "GPUGDA_DEVICE": "Portable", "GPUGDA_CACHE_DIR": str(disk / "c")}
    environment["POCL_CACHE_DIR"] = str(disk / "pocl")
    child = unshared([script, str(disk), sys.executable, FULL, QUERY], environment)
    assert child.returncode == 0, child.stderr
    full, roomy, full_again = child.stdout.splitlines()
    assert "DeviceError" in full
    assert "no room left" in full
    assert roomy == full_again == "0 [['a', 'b']]"


# ------------------------------------------------------------------ the process that compiles
@pytest.fixture
def compiler(monkeypatch, tmp_path):
    """A new process that compiles, for a folder without kernels."""
    made = pocl_programs._Process()
    monkeypatch.setattr(pocl_programs, "_process", made)
    monkeypatch.setattr(pocl_programs, "_known", set())
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    yield made
    made.stop()
    assert list(tmp_path.glob("new-*")) == []


@pytest.fixture
def cpu():
    try:
        context = DeviceContext(choose_device("Portable"))
    except DeviceError:
        pytest.skip("no PoCL here")
    context.loaded.programs.clear()
    yield context
    context.close()


CRASH = "import os, sys; print('LLVM ERROR: none', file=sys.stderr, flush=True); os.abort()"


def test_a_crash_of_the_compiler_is_an_error(compiler, cpu, monkeypatch):
    monkeypatch.setattr(pocl_programs, "_SERVE", CRASH)
    started = []
    start = pocl_programs._started
    monkeypatch.setattr(
        pocl_programs, "_started", lambda *given: started.append(given) or start(*given)
    )
    for _ in range(3):
        with pytest.raises(DeviceError, match="LLVM ERROR: none"):
            get_kernel(cpu, "prefix_sum.cl", "scan_block_sums", "bQ").compile()
    assert len(started) == 1, "what failed is not tried again at once"


@pytest.mark.slow
def test_a_compiler_that_ended_is_started_again(compiler, cpu, tmp_path):
    kernels = [("scan_block_sums", "bQ"), ("write_prefix_sums", "bQQIQbIb")]
    for name, parameters in kernels:
        get_kernel(cpu, "prefix_sum.cl", name, parameters).compile()
        compiler._child.stdin.close()  # as if it had been idle
        assert compiler._child.wait(60) == 0
    assert len(list(tmp_path.glob("*.files"))) == 2
    assert len(list(tmp_path.glob("*.program"))) == 1


@pytest.mark.slow
def test_kernels_for_many_work_groups_are_compiled_apart(compiler, cpu, tmp_path):
    found = get_kernel(cpu, "prefix_sum.cl", "scan_block_sums", "bQ")
    found.compile()
    before = set(tmp_path.rglob("*.so"))
    found._compile_large()
    (large,) = set(tmp_path.rglob("*.so")) - before
    assert [json.loads(path.read_text()) for path in tmp_path.glob("*-large.files")] == [
        {str(large.relative_to(tmp_path)): pocl_entries._sum(large)}
    ]


def test_without_a_python_the_kernels_are_compiled_here(compiler, cpu, monkeypatch, tmp_path):
    monkeypatch.setattr(pocl_programs, "_python", lambda: None)
    get_kernel(cpu, "prefix_sum.cl", "scan_block_sums", "bQ").compile()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("executable", "frozen", "found"),
    [(sys.executable, False, True), ("/opt/app", False, None), (sys.executable, True, False)],
)
def test_programs_that_contain_python_do_not_start_themselves(
    monkeypatch, executable, frozen, found
):
    monkeypatch.setattr(sys, "executable", executable)
    monkeypatch.setattr(sys, "frozen", frozen, raising=False)
    python = pocl_programs._python()
    assert (python is not None) is found if found is not None else python != executable


TWO_KERNELS = """
kernel __attribute__((reqd_work_group_size(3, 1, 1))) void of_threes(global uint *out) {
    out[0] = 1;
}
kernel void with_local_words(local uint *found, global uint *out) {
    found[0] = 1;
    out[0] = found[0];
}
"""


def test_a_kernel_that_cannot_be_launched_stops_no_other():
    context = DeviceContext(choose_device("Portable Computing"))
    program = pocl_programs.load_program(context, "two.cl", TWO_KERNELS, [])
    with pytest.raises(DeviceError, match=r"two[.]cl does not run on"):
        pocl_programs.compile_kernels(context, "two.cl", program, ["of_threes"])
    pocl_programs.compile_kernels(context, "two.cl", program, ["with_local_words"])
    assert not pocl_programs.missing_kernels(program, ["with_local_words"])
