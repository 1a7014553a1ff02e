"""PoCL without a linker, or with a folder from which no code can be loaded."""

import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from gpugda.device import linker
from gpugda.device.devices import list_devices
from gpugda.errors import DeviceError

ASK = """
import gpugda
from gpugda.errors import DeviceError
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


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(linker, "_tested_devices", set())


def device(platform="Portable Computing Language"):
    return SimpleNamespace(index=0, name="cpu", platform=platform)


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
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    if os.getuid() == 0:
        unshare = ["unshare", "--mount"]
    if shutil.which("unshare") is None:
        pytest.skip("no unshare here")
    child = subprocess.run(
        [*unshare, "sh", "-c", script, "sh", str(folder), sys.executable, code],
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


@pytest.mark.parametrize(("builds", "asked"), [(True, 1), (False, 2)])
def test_another_process_tests_the_build_until_it_succeeds(monkeypatch, builds, asked):
    tried = []
    monkeypatch.setattr(linker.shutil, "which", lambda name: None)
    monkeypatch.setattr(linker, "_builds_apart", lambda number: tried.append(number) or builds)
    for _ in range(2):
        with nullcontext() if builds else pytest.raises(DeviceError, match="no linker"):
            linker.check_linker(device())
    assert tried == [0] * asked


@pytest.mark.parametrize(("platform", "ld"), [("NVIDIA CUDA", None), (None, "/usr/bin/ld")])
def test_other_platforms_and_machines_with_a_linker_are_not_tested(monkeypatch, platform, ld):
    monkeypatch.setattr(linker.shutil, "which", lambda name: ld)
    monkeypatch.setattr(linker, "_builds_apart", lambda number: pytest.fail("tried"))
    linker.check_linker(device(platform) if platform else device())
