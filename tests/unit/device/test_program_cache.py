"""Kernels built with tuned or plain options, and cached on disk."""

import hashlib
import logging
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from gpugda import folders
from gpugda.cli import doctor
from gpugda.device import program, program_cache
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.program import build_everything, get_kernel
from gpugda.errors import DeviceError

pytestmark = pytest.mark.device

KERNEL = ("prefix_sum.cl", "scan_block_sums", "bQ")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path / "cache"))
    # PoCL caches programs itself; here it represents drivers that do not.
    monkeypatch.setattr(DeviceContext, "is_pocl", False)
    return tmp_path / "cache" / "programs"


@pytest.fixture
def compiled(monkeypatch):
    """The files that were compiled."""
    files = []
    original = program._compiled

    def compile_it(context, file, text, options):
        files.append(file)
        return original(context, file, text, options)

    monkeypatch.setattr(program, "_compiled", compile_it)
    return files


def build(info=None):
    """In a new context, as another process would."""
    context = DeviceContext(info or choose_device())
    try:
        get_kernel(context, *KERNEL).compile()
        return dict(context.plain_builds)
    finally:
        context.close()


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def test_a_program_is_compiled_once(context, folder, compiled):
    build()
    build()
    assert compiled == ["prefix_sum.cl"]
    assert only_file(folder).stat().st_mode & 0o077 == 0
    assert folder.stat().st_mode & 0o077 == 0


def test_another_driver_has_another_program(context, folder, compiled):
    build()
    build(replace(context.info, driver_version="another one"))
    build(replace(context.info, name="another device"))
    assert compiled == ["prefix_sum.cl"] * 3
    assert len(list(folder.iterdir())) == 3


def valid_but_no_program():
    return program_cache._MAGIC + hashlib.sha256(b"no program").digest() + b"no program"


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content[:1000],
        lambda content: b"",
        lambda content: content[:5000] + bytes([content[5000] ^ 1]) + content[5001:],
        lambda content: b"another version\n" + content,
        lambda content: valid_but_no_program(),
    ],
    ids=["truncated", "beginning", "empty", "bit", "version", "no program"],
)
def test_damaged_programs_are_compiled_again(context, folder, compiled, damage, caplog):
    build()
    path = only_file(folder)
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    with caplog.at_level(logging.INFO, "gpugda.device"):
        build()
    assert compiled == ["prefix_sum.cl"] * 2
    assert "is discarded and compiled anew" in caplog.text
    build()
    assert compiled == ["prefix_sum.cl"] * 2
    assert only_file(folder) == path


def test_an_unwritable_folder_is_ignored(context, tmp_path, monkeypatch, compiled, caplog):
    monkeypatch.setattr(DeviceContext, "is_pocl", False)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(folders, "spare_folder", lambda: None)
    monkeypatch.setattr(DeviceContext, "is_pocl", False)
    with caplog.at_level(logging.INFO, "gpugda.device"):
        build()
        build()
    assert compiled == ["prefix_sum.cl"] * 2


def test_an_unwritable_folder_is_replaced_by_a_spare_one(context, tmp_path, monkeypatch, compiled):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(folders, "spare_folder", lambda: tmp_path)
    monkeypatch.setattr(DeviceContext, "is_pocl", False)
    build()
    build()
    assert compiled == ["prefix_sum.cl"]
    assert only_file(tmp_path / "gpugda/programs")


def test_a_full_disk_is_ignored(context, folder, compiled, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with caplog.at_level(logging.INFO, "gpugda.device"):
        build()
    assert "No space left" in caplog.text


def test_programs_that_others_can_change_are_not_run(context, folder, compiled, caplog):
    build()
    folder.chmod(0o777)
    with caplog.at_level(logging.INFO, "gpugda.device"):
        build()
    assert compiled == ["prefix_sum.cl"] * 2
    assert "private" in caplog.text


@pytest.mark.parametrize("value", ["off", "not/absolute"])
def test_no_program_is_stored_if_the_cache_is_off(context, tmp_path, monkeypatch, compiled, value):
    monkeypatch.setenv("GPUGDA_CACHE_DIR", value)
    monkeypatch.chdir(tmp_path)
    build()
    assert list(tmp_path.iterdir()) == []


def test_programs_unused_for_long_are_removed(context, folder):
    build()
    old = folder / f"{'0' * 64}.program"
    old.write_bytes(b"")
    os.utime(old, (0, 0))
    build(replace(context.info, driver_version="newer"))
    assert not old.exists()
    assert len(list(folder.iterdir())) == 2


SUMS = """
import numpy as np
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.launch.primitives import PrefixSum
DeviceContext.is_pocl = False
context = DeviceContext(choose_device())
with Workspace(context, MemoryBudget(1 << 20)) as workspace:
    values = workspace.upload(np.arange(1000, dtype=np.uint32))
    print(workspace.download(PrefixSum(context).run(workspace, values, 0, 1000))[-1])
"""


@pytest.mark.slow
def test_processes_share_the_cache(context, folder):
    def start():
        return subprocess.Popen(
            [sys.executable, "-c", SUMS], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )

    both = [start(), start()]  # both find it empty, and fill it
    assert [process.communicate(timeout=120)[0].strip() for process in both] == [b"499500"] * 2
    assert [process.returncode for process in both] == [0, 0]
    assert all(path.suffix == ".program" for path in folder.iterdir())


# ------------------------------------------------------------------ options that a compiler rejects
@pytest.fixture
def unknown_options(monkeypatch):
    """Makes every compiler reject the device's options."""
    original = DeviceContext.__init__

    def init(self, info, **settings):
        original(self, info, **settings)
        self.profile = replace(self.profile, options=("-no-such-option",))

    monkeypatch.setattr(DeviceContext, "__init__", init)
    monkeypatch.setattr(program, "_files", lambda context, **_: ["prefix_sum.cl"])


def test_plain_options_are_used_and_logged(unknown_options, folder, caplog):
    with caplog.at_level(logging.WARNING, "gpugda.device"):
        plain = build()
    assert list(plain) == ["prefix_sum.cl"]
    assert "plain build options are used" in caplog.text


def test_the_doctor_reports_plain_options(unknown_options, folder):
    finding = doctor.built(choose_device())
    assert finding.good is None
    assert "not with -no-such-option: plain build options" in finding.text


def test_the_doctor_reports_that_kernels_build(folder, monkeypatch):
    monkeypatch.setattr(program, "_files", lambda context, **_: ["prefix_sum.cl"])
    (findings,) = [group for title, group in doctor.diagnose() if title == doctor.DEVICES]
    assert any("kernels build with" in finding.text for finding in findings)


def test_a_kernel_that_never_builds_gives_the_reason(context, monkeypatch, folder):
    monkeypatch.setattr(
        program, "kernel_text", lambda file: "kernel void broken(uint a) {\n nonsense\n}\n"
    )
    with pytest.raises(DeviceError) as caught:
        build_everything(context)
    assert "error" in caught.value.build_log
    finding = doctor.built(choose_device())
    assert finding.good is False
    assert "do not build" in finding.text
