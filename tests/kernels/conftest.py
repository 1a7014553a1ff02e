"""A device for kernel tests, with the work split of a CPU and of a GPU."""

import pytest

from gpugda.device.context import DeviceContext, choose_device, list_devices


@pytest.fixture(scope="session", params=[True, False], ids=["cpu-split", "gpu-split"])
def context(request):
    if not list_devices():
        pytest.skip("no OpenCL device")
    opened = DeviceContext(choose_device(), like_cpu=request.param)
    yield opened
    opened.close()


@pytest.fixture
def workspace(context):
    from gpugda.device.memory.buffers import MemoryBudget, Workspace

    with Workspace(context, MemoryBudget(1 << 31)) as opened:
        yield opened


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/kernels" in str(item.path):
            item.add_marker(pytest.mark.device)
