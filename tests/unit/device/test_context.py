"""An opened device."""

import logging
import time

import pytest

from gpugda import process
from gpugda.device import program
from gpugda.device.context import choose_device, list_devices
from gpugda.device.failures import device_failure
from gpugda.device.kernel_text import kernel_text
from gpugda.device.program import get_kernel
from gpugda.errors import DeviceError, MemoryLimitError

pytestmark = pytest.mark.device


def test_devices_are_described(context):
    info = context.info
    assert list_devices()[info.index] == info
    assert info.type in ("cpu", "gpu", "accelerator", "custom")
    assert info.version.startswith("OpenCL ")
    assert 0 < info.max_allocation_bytes <= info.global_memory_bytes
    assert choose_device(info.index) == choose_device(str(info.index)) == info


def test_a_closed_device_is_refused(context):
    context.close()
    context.close()
    with pytest.raises(DeviceError, match="closed"):
        context.finish()


def test_a_device_is_refused_after_a_fork(context, monkeypatch):
    monkeypatch.setattr(process, "_known", -1)
    with pytest.raises(DeviceError, match="fork"):
        context.finish()


def test_kernels_are_cached(context):
    first = get_kernel(context, "join.cl", "count_valid", "bQQIbIb")
    assert get_kernel(context, "join.cl", "count_valid", "bQQIbIb") is first


def test_headers_are_included_once():
    text = kernel_text("candidate_filter.cl")
    assert "#include" not in text
    assert text.count("typedef struct {\n    global const uint *neighbours;") == 1


def test_a_kernel_that_does_not_build_is_a_device_error(context, monkeypatch):
    monkeypatch.setattr(program, "kernel_text", lambda file: "kernel void broken( { nonsense }")
    with pytest.raises(DeviceError, match=r"broken\.cl does not build for") as caught:
        get_kernel(context, "broken.cl", "broken", "").compile()
    assert "error" in caught.value.build_log


def test_a_slow_build_is_logged(context, monkeypatch, caplog):
    monkeypatch.setattr(program, "_SLOW_BUILD_SECONDS", 0.0)
    monkeypatch.setattr(program, "is_everything_built", lambda _: False)
    with caplog.at_level(logging.INFO, "gpugda.device"):
        get_kernel(context, "prefix_sum.cl", "scan_block_sums", "bQ").compile()
    assert "prefix_sum.cl" in caplog.text
    assert "first time" in caplog.text


@pytest.mark.parametrize("code", [-4, -6, -61])
def test_full_device_memory_is_a_memory_limit_error(code):
    error = device_failure(_failure(code), "allocating", "Some GPU")
    assert isinstance(error, MemoryLimitError)
    assert str(error).startswith("allocating on Some GPU: ")


@pytest.mark.parametrize("code", [-5, -36, -9999, -30])
def test_other_failures_are_device_errors(code):
    error = device_failure(_failure(code), "launching join", "Some GPU")
    assert type(error) is DeviceError
    assert f"error {code}" in str(error)


def _failure(code):
    error = RuntimeError("clSomething failed")
    error.code = code
    return error


def test_compiling_does_not_count_as_device_time(context):
    launched = get_kernel(context, "prefix_sum.cl", "write_prefix_sums", "bQQIQbIb")
    launched._kernel = None
    before, wall = context.clock(), time.perf_counter()
    launched.compile()
    taken = time.perf_counter() - wall
    assert context.compiling_seconds > 0
    assert context.clock() - before < taken
