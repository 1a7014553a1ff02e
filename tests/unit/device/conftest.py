import pytest

from gpugda.device.context import DeviceContext, choose_device, list_devices


@pytest.fixture
def context():
    if not list_devices():
        pytest.skip("no OpenCL device")
    opened = DeviceContext(choose_device())
    yield opened
    opened.close()
