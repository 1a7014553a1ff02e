"""Programs stay loaded in closed contexts, on PoCL only."""

import uuid
from collections import defaultdict
from contextlib import ExitStack, closing

import pytest

from gpugda.device import context as context_module
from gpugda.device import program
from gpugda.device.context import DeviceContext, choose_device, list_devices
from gpugda.device.program import get_kernel

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]


KERNEL = ("prefix_sum.cl", "scan_block_sums", "bQ")


@pytest.fixture
def loads(monkeypatch):
    """Loads of the test's own source text; loads by other contexts are ignored."""
    text = f"{program.kernel_text('prefix_sum.cl')}\n// {uuid.uuid4()}\n"
    monkeypatch.setattr(program, "kernel_text", lambda _: text)
    monkeypatch.setattr(context_module, "_kept", defaultdict(list))

    keep_context = context_module.keep_context

    def kept_if_own(info, loaded):
        if any(made_from.startswith(text) for made_from, _ in loaded.programs):
            keep_context(info, loaded)

    monkeypatch.setattr(context_module, "keep_context", kept_if_own)
    found = []
    load = program._load

    def noted(context, file, made_from, options):
        if made_from.startswith(text):
            found.append(file)
        return load(context, file, made_from, options)

    monkeypatch.setattr(program, "_load", noted)
    return found


def test_the_next_context_reuses_loaded_programs(loads):
    for _ in range(3):
        with closing(DeviceContext(choose_device())) as context:
            get_kernel(context, *KERNEL).compile()
    assert len(loads) == (1 if context.is_pocl else 3)


def test_two_open_contexts_share_no_program(loads):
    with ExitStack() as stack:
        one, other = (stack.enter_context(closing(DeviceContext(choose_device()))) for _ in "ab")
        get_kernel(one, *KERNEL).compile()
        get_kernel(other, *KERNEL).compile()
        assert one.context is not other.context
    assert len(loads) == 2


def test_a_changed_kernel_text_is_another_program(loads, monkeypatch):
    def opened():
        with closing(DeviceContext(choose_device())) as context:
            get_kernel(context, *KERNEL).compile()

    opened()
    text = program.kernel_text("prefix_sum.cl")
    monkeypatch.setattr(program, "kernel_text", lambda _: f"{text}// and more\n")
    opened()
    assert len(loads) == 2
