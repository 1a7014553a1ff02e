"""The device with the work split of a CPU and of a GPU, and the memory budgets of runs."""

from dataclasses import replace

import pytest

from gpugda.device.context import DeviceContext, choose_device
from gpugda.match.matcher import Matcher
from strategies import is_thorough


def open_split(*, like_cpu):
    """Opens the device with one of the splits.

    On PoCL, the kernels for the split of a GPU are compiled without optimisation, as nobody uses
    them there: that takes a fifth of the time. Thorough tests compile them as they are.
    """
    opened = DeviceContext(choose_device(), like_cpu=like_cpu)
    if opened.is_pocl and not like_cpu and not is_thorough():
        profile = opened.profile
        opened.profile = replace(profile, options=(*profile.options, "-cl-opt-disable"))
    return opened


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
        contexts[request.param] = open_split(like_cpu=request.param)
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
