"""Programs stay loaded in the contexts that are closed, on PoCL alone."""

from contextlib import ExitStack, closing

import pytest

from gpugda.device import program
from gpugda.device.context import DeviceContext, choose_device, list_devices
from gpugda.device.launch.prefix_sum import PrefixSum
from gpugda.device.spare_contexts import kept_context

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]


@pytest.fixture
def loads(monkeypatch):
    """Files that were loaded; contexts of earlier tests are left aside."""
    while kept_context(choose_device()) is not None:
        pass
    found = []
    load = program._load

    def noted(context, file, *rest):
        found.append(file)
        return load(context, file, *rest)

    monkeypatch.setattr(program, "_load", noted)
    return found


def test_who_opens_the_device_next_finds_the_programs_loaded(loads):
    for _ in range(3):
        with closing(DeviceContext(choose_device())) as context:
            PrefixSum(context)
    assert len(loads) == (1 if context.is_pocl else 3)


def test_two_that_are_open_at_once_share_nothing(loads):
    with ExitStack() as stack:
        one, other = (stack.enter_context(closing(DeviceContext(choose_device()))) for _ in "ab")
        PrefixSum(one)
        PrefixSum(other)
        assert one.context is not other.context
    assert len(loads) == 2


def test_another_text_is_another_program(loads, monkeypatch):
    def opened():
        with closing(DeviceContext(choose_device())) as context:
            PrefixSum(context)

    opened()
    text = program.kernel_text("prefix_sum.cl")
    monkeypatch.setattr(program, "kernel_text", lambda _: text + "\n")
    opened()
    assert len(loads) == 2
