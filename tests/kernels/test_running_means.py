"""Running means on the processor, against sequential steps in Python."""

import math

import numpy as np
import pytest

from gpugda.device.launch import ordered_sums as module
from gpugda.device.launch.ordered_sums import RunningMeans

pytestmark = pytest.mark.one_split


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
def test_running_means_of_states(kernels, monkeypatch, groups, rows, integers):
    random = np.random.default_rng(rows)
    values = random.integers(-(2**63), 2**63 - 1, rows) if integers else random.normal(size=rows)
    group_of = random.integers(0, groups, rows)
    monkeypatch.setattr(module, "_ROWS", 300)  # so that there are several launches
    found = kernels.states([(values, group_of)], groups)
    assert found.tolist() == [steps(values[group_of == group]) for group in range(groups)]


def test_infinite_means_stay_infinite(kernels):
    values = np.array([1.0, math.inf, 2.0, -3.0])
    rows = [(values, np.zeros(4, np.int64))]
    found = kernels.states(rows, 1, infinite=True)
    assert found[0, :2].tolist() == steps(values.tolist(), infinite=True)[:2] == [4.0, math.inf]
    assert math.isnan(kernels.states(rows, 1)[0, 1])


def drawn(rows=40_000):
    """Values whose blocks are all accepted, mostly rejected, and in between."""
    random = np.random.default_rng(1)
    normal, half = random.normal(size=rows), rows // 2
    return {
        "around zero": normal,
        "far from zero": normal + 1e6,
        "rising": np.arange(rows) / 3,
        "prices": random.integers(0, 100_000, rows) / 100,
        "integers": random.integers(-(2**62), 2**62, rows),
        "of all sizes": normal * 10.0 ** random.integers(-30, 30, rows),
        "over a power of two": np.concatenate([np.full(half, 0.999), np.full(half, 1.002)]),
        "large": normal * 1e307,
        "tiny": normal * 5e-324 * 1000,
        "zeros": np.full(rows, -0.0),
        "to and fro": np.tile([1.0, -1.0], half),
        "infinite": np.concatenate([normal[:half], [math.inf], normal[half:]]),
        "not a number": np.concatenate([normal[:half], [math.nan], normal[half:]]),
    }


DRAWN = drawn()


@pytest.mark.parametrize("launch", [1 << 24, 9_000])
@pytest.mark.parametrize("name", DRAWN)
def test_lanes_round_as_single_steps(kernels, monkeypatch, name, launch):
    monkeypatch.setattr(module, "_ROWS", launch)
    rows = [(DRAWN[name], np.zeros(len(DRAWN[name]), np.int64))]
    wanted = steps(DRAWN[name].tolist())
    assert repr(kernels.states(rows, 1).tolist()) == repr([wanted])
    assert repr(kernels.states(rows, 1, squares=False)[0, :2].tolist()) == repr(wanted[:2])


def test_running_means_of_many_random_columns(kernels):
    for seed in range(100):
        random = np.random.default_rng(seed)
        values = random.normal(random.normal() * 10.0 ** random.integers(-6, 3), size=12_000)
        values = np.round(values, int(random.integers(1, 12)))
        found = kernels.states([(values, np.zeros(len(values), np.int64))], 1)
        assert found.tolist() == [steps(values.tolist())], seed
