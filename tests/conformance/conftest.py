"""One device for all accelerators, so that examples do not reload the kernels."""

import pytest

from gpugda.device.context import DeviceContext
from gpugda.match import session as device_session


class KeptContext(DeviceContext):
    """Stays open when an accelerator is closed."""

    def close(self):
        self.finish()


@pytest.fixture(scope="session")
def contexts():
    """At most one context, opened on first use."""
    made = []
    yield made
    for context in made:
        DeviceContext.close(context)


@pytest.fixture(scope="module", autouse=True)
def one_device(contexts):
    """Only for these modules: elsewhere, closing an accelerator closes its device."""

    def opened(info, **made):
        if not contexts:
            contexts.append(KeptContext(info, **made))
        return contexts[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_session, "DeviceContext", opened)
        yield
