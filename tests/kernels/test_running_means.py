"""Running means on the processor, against Python's steps."""

import math

import numpy as np
import pytest

from gpugda.device.launch import running_means as module
from gpugda.device.launch.running_means import RunningMeans


@pytest.fixture
def kernels(context):
    if not context.is_cpu or context.info.type != "cpu":
        pytest.skip("the kernel is for the processor alone")
    return RunningMeans(context)


def steps(values, *, infinite=False):
    count, mean, squares = 0, 0.0, 0.0
    for item in map(float, values):
        count += 1
        after = mean + (item - mean) / count
        if infinite and math.isinf(mean) and math.isfinite(item):
            after = mean
        squares += (item - mean) * (item - after)
        mean = after
    return [float(count), mean, squares]


@pytest.mark.parametrize("groups", [1, 2, 40])
@pytest.mark.parametrize("rows", [0, 1, 1000])
@pytest.mark.parametrize("integers", [False, True])
def test_states(kernels, monkeypatch, groups, rows, integers):
    random = np.random.default_rng(rows)
    values = random.integers(-(2**63), 2**63 - 1, rows) if integers else random.normal(size=rows)
    group_of = random.integers(0, groups, rows)
    monkeypatch.setattr(module, "_ROWS", 300)  # so that there are several launches
    found = kernels.states([(values, group_of)], groups)
    assert found.tolist() == [steps(values[group_of == group]) for group in range(groups)]


def test_infinite_means_stay(kernels):
    values = np.array([1.0, math.inf, 2.0, -3.0])
    rows = [(values, np.zeros(4, np.int64))]
    found = kernels.states(rows, 1, infinite=True)
    assert found[0, :2].tolist() == steps(values.tolist(), infinite=True)[:2] == [4.0, math.inf]
    assert math.isnan(kernels.states(rows, 1)[0, 1])
