"""A device for kernel tests, with the work split of a CPU and of a GPU."""

import pytest
from split_devices import open_split

from gpugda.device.context import list_devices


@pytest.fixture(scope="session", params=[True, False], ids=["cpu-split", "gpu-split"])
def context(request):
    if not list_devices():
        pytest.skip("no OpenCL device")
    opened = open_split(like_cpu=request.param)
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
