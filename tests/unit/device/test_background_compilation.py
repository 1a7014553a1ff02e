"""Compilation in advance, by a thread or an earlier process."""

import json
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from gpugda.device import background_compilation, caches, program
from gpugda.device.background_compilation import BackgroundCompilation
from gpugda.errors import QueryTimeoutError
from gpugda.match.session import DeviceSession

CHILD = """
import json, os, sys
import gpugda
from gpugda.match.session import DeviceSession

session = DeviceSession(None, None, "once")
said = session.warm_soon()
session.warm()
left = session.warm_soon()
session.close()
folder = os.environ["POCL_CACHE_DIR"]
objects = lambda: sorted(name for _, _, names in os.walk(folder) for name in names if ".so" in name)
before = objects()
tables = {"id": list("abcd")}, {"source": list("abca"), "target": list("bcad"), "type": ["R"] * 4}
with gpugda.connect(gpugda.graph(*tables)) as graph:
    rows = graph.run("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)").value()
    rows += graph.run("MATCH (a)-->(b) WHERE a.id < b.id RETURN a.id, b.id ORDER BY a.id").value()
print(json.dumps([said, left, rows, len(before), objects() == before]))
"""


@pytest.mark.slow  # compiles every kernel
@pytest.mark.device
def test_a_second_process_finds_everything_compiled(tmp_path, context):
    if not context.is_pocl:
        pytest.skip("the device chosen is not PoCL's")
    environment = {**os.environ, "GPUGDA_DEVICE": "Portable"}
    for name in ("POCL_CACHE_DIR", "XDG_CACHE_HOME", "GPUGDA_CACHE_DIR"):
        (tmp_path / name).mkdir()
        environment[name] = str(tmp_path / name)
    found = []
    for _ in range(2):
        child = subprocess.run(
            [sys.executable, "-c", CHILD],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=550,
        )
        found.append(json.loads(child.stdout))
    (said, left, rows, objects, unchanged), second = found
    assert "being compiled in the background, once for this machine" in said
    assert left == ""
    assert rows == [3, "a", "a", "b"]
    assert objects > 25
    assert unchanged, "a query compiled what had been compiled"
    assert second == ["", "", rows, objects, True]


@pytest.mark.device
@pytest.mark.parametrize("compiled", [False, True])
def test_loading_compiled_programs_is_not_reported_as_compiling(
    context, caplog, monkeypatch, compiled
):
    monkeypatch.setattr(program, "_SLOW_BUILD_SECONDS", -1.0)
    monkeypatch.setattr(program, "is_everything_built", lambda context: compiled)
    monkeypatch.setattr(context, "programs", {})
    with caplog.at_level("INFO", "gpugda.device"):
        program._program(context, "prefix_sum.cl", "sum_blocks")
    assert ("compiling prefix_sum.cl" in caplog.text) is not compiled


def test_the_cache_folder_of_pocl_is_found():
    assert str(caches.pocl_folder({"POCL_CACHE_DIR": "/a"})) == "/a"
    assert str(caches.pocl_folder({"XDG_CACHE_HOME": "/b"})) == "/b/pocl/kcache"
    assert str(caches.pocl_folder({"HOME": "/c"})) == "/c/.cache/pocl/kcache"


@pytest.fixture
def slow_compiler(monkeypatch):
    """Compiles one file per permission, until told to stop."""
    may, files = threading.Semaphore(0), []

    def build(context, should_continue):
        while should_continue(len(files), 9):
            assert may.acquire(timeout=60)
            files.append(len(files))

    monkeypatch.setattr(background_compilation, "build_everything", build)
    return SimpleNamespace(may=may, files=files)


def device():
    return SimpleNamespace(everything_compiled=False, info=SimpleNamespace(name="a device"))


def test_stopping_ends_after_the_current_file(slow_compiler):
    made = BackgroundCompilation(device())
    with pytest.raises(QueryTimeoutError, match="0 of 9 files"):
        made.wait(0.3)
    threading.Timer(0.1, slow_compiler.may.release).start()
    made.stop()
    assert slow_compiler.files == [0]
    assert not made.is_under_way


@pytest.mark.device
def test_the_warmup_command_reports_what_it_compiled(context, capsys):
    from gpugda.cli.app import app

    app(["warmup"], standalone_mode=False)
    assert capsys.readouterr().out == f"the kernels for {context.info.name} are compiled\n"


@pytest.mark.device
def test_connecting_can_wait_for_compilation(context, monkeypatch):
    import gpugda

    asked = []
    monkeypatch.setattr(DeviceSession, "warm", lambda self, seconds=None: asked.append(seconds))
    graph = gpugda.graph({"id": ["a"]})
    with gpugda.connect(graph, warm=True) as accelerator:
        accelerator.warm(timeout=5)
    with gpugda.connect(graph):
        pass
    assert asked == [None, 5]
