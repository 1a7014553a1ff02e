"""PoCL without a linker."""

import os
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
    monkeypatch.setattr(linker, "_fine", set())


def device(platform="Portable Computing Language"):
    return SimpleNamespace(index=0, name="cpu", platform=platform)


def test_without_a_linker_nothing_is_built_and_the_process_lives(tmp_path):
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


@pytest.mark.parametrize(("builds", "asked"), [(True, 1), (False, 2)])
def test_another_process_tries_until_it_can(monkeypatch, builds, asked):
    tried = []
    monkeypatch.setattr(linker.shutil, "which", lambda name: None)
    monkeypatch.setattr(linker, "_builds_apart", lambda number: tried.append(number) or builds)
    for _ in range(2):
        with nullcontext() if builds else pytest.raises(DeviceError, match="no linker"):
            linker.check_linker(device())
    assert tried == [0] * asked


@pytest.mark.parametrize(("platform", "ld"), [("NVIDIA CUDA", None), (None, "/usr/bin/ld")])
def test_others_need_none(monkeypatch, platform, ld):
    monkeypatch.setattr(linker.shutil, "which", lambda name: ld)
    monkeypatch.setattr(linker, "_builds_apart", lambda number: pytest.fail("tried"))
    linker.check_linker(device(platform) if platform else device())
