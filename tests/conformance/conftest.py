"""One device for all accelerators, so that an example does not load every kernel again."""

import pytest

from gpugda.device.context import DeviceContext
from gpugda.execute import device_session


class KeptContext(DeviceContext):
    """Stays open when an accelerator is closed."""

    def close(self):
        self.finish()


@pytest.fixture(scope="package", autouse=True)
def one_device():
    made = []

    def opened(info):
        if not made:
            made.append(KeptContext(info))
        return made[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_session, "DeviceContext", opened)
        yield
    for context in made:
        DeviceContext.close(context)
