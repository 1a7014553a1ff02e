"""The device with the work split of a CPU and of a GPU, and the memory budgets of runs."""

import pytest

from gpugda.device.context import DeviceContext, choose_device
from gpugda.match.matcher import Matcher


@pytest.fixture(scope="session")
def contexts():
    """Both contexts, opened on first use: not per module, as each has to load the kernels."""
    made = {}
    yield made
    for opened in made.values():
        opened.close()


@pytest.fixture(scope="module", params=[True, False], ids=["cpu-split", "gpu-split"])
def context(request, contexts):
    if request.param not in contexts:
        contexts[request.param] = DeviceContext(choose_device(), like_cpu=request.param)
    return contexts[request.param]


@pytest.fixture
def budgets(monkeypatch):
    """The budgets of all runs, in order."""
    made = []
    original = Matcher._workspace

    def workspace(strategy):
        opened = original(strategy)
        made.append(opened.budget)
        return opened

    monkeypatch.setattr(Matcher, "_workspace", workspace)
    return made
