"""Kernels compiled by other processes."""

import os
import subprocess
import sys
import time

import pytest

from gpugda.device import background_compilation, program
from gpugda.device.background_compilation import CompileProcesses
from gpugda.device.kernel_text import kernel_names, kernel_text

WRITES = """
import os, sys
open(os.path.join(os.environ["HERE"], "-".join(sys.argv[1:])), "w").close()
"""
SLEEPS = "import time; time.sleep(600)"
FAILS = "import sys; sys.exit(3)"
NOT_CLOSED = """
import pathlib, sys
from gpugda.device import background_compilation
background_compilation.core_count = lambda: 4
background_compilation.program_folder = lambda: pathlib.Path(sys.argv[1])
background_compilation._LATER_SECONDS = 600
background_compilation.CompileProcesses(None)
"""


@pytest.fixture
def on_cores(tmp_path, monkeypatch):
    """Four cores, a folder for programs, and nothing compiled yet."""
    monkeypatch.setattr(background_compilation, "core_count", lambda: 4)
    monkeypatch.setattr(background_compilation, "program_folder", lambda: tmp_path)
    monkeypatch.setattr(background_compilation, "is_everything_built", lambda context: False)
    monkeypatch.setenv("HERE", str(tmp_path))
    return monkeypatch


@pytest.mark.slow
@pytest.mark.device
def test_each_process_has_a_share_and_finds_the_package(on_cores, context, tmp_path):
    on_cores.setattr(background_compilation, "_BUILD", f"import gpugda.device.program\n{WRITES}")
    on_cores.setattr(sys, "path", ["", *sys.path])
    compiling = CompileProcesses(context)
    compiling.wait()
    number = context.info.index
    assert sorted(os.listdir(tmp_path)) == [f"{number}-{share}-3" for share in range(3)]


@pytest.mark.device
def test_stored_programs_delay_the_compile_processes(on_cores, context, tmp_path):
    (tmp_path / "a.program").touch()
    looked = []
    on_cores.setattr(
        background_compilation, "is_everything_built", lambda context: looked.append(1) or True
    )
    compiling = CompileProcesses(context)
    compiling.stop()
    assert not looked
    on_cores.setattr(background_compilation, "_LATER_SECONDS", 0.01)
    CompileProcesses(context).wait()
    assert looked


def test_compile_processes_do_not_delay_exit(tmp_path):
    (tmp_path / "a.program").touch()
    subprocess.run([sys.executable, "-c", NOT_CLOSED, str(tmp_path)], check=True, timeout=120)


@pytest.mark.device
def test_stopping_ends_the_processes(on_cores, context):
    on_cores.setattr(background_compilation, "_BUILD", SLEEPS)
    begun = []
    real = background_compilation._begun
    on_cores.setattr(
        background_compilation, "_begun", lambda *a: begun.append(real(*a)) or begun[-1]
    )
    compiling = CompileProcesses(context)
    while len(begun) < 3:
        time.sleep(0.01)
    compiling.stop()
    assert [each.returncode is not None for each in begun] == [True] * 3


@pytest.mark.device
def test_failed_compile_processes_are_only_logged(on_cores, context, caplog):
    on_cores.setattr(background_compilation, "_BUILD", FAILS)
    with caplog.at_level("INFO", "gpugda.device"):
        CompileProcesses(context).wait()
    assert "3 of them not to the end" in caplog.text


@pytest.mark.device
@pytest.mark.parametrize("missing", ["cores", "folder", "work"])
def test_no_compile_process_starts_without_need(on_cores, context, missing):
    on_cores.setattr(background_compilation, "_begun", lambda *a: pytest.fail("begun"))
    if missing == "cores":
        on_cores.setattr(background_compilation, "core_count", lambda: 2)
    elif missing == "folder":
        on_cores.setattr(background_compilation, "program_folder", lambda: None)
    else:
        on_cores.setattr(background_compilation, "is_everything_built", lambda context: True)
    CompileProcesses(context).wait()


@pytest.mark.device
def test_shares_contain_each_kernel_once(context, monkeypatch):
    built = []
    monkeypatch.setattr(
        program, "_program", lambda context, file, name, level: built.append((file, name))
    )
    for share in range(3):
        program.build_share(context, share, 3)
    files = program._files(context)
    assert sorted(built) == sorted(
        (file, name) for file in files for name in kernel_names(kernel_text(file))
    )
