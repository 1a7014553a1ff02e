"""Sums in row order on the processor, against sequential addition."""

import math

import numpy as np
import pytest

from gpugda.device.launch import ordered_sums as module
from gpugda.device.launch.ordered_sums import OrderedSum

pytestmark = pytest.mark.one_split


@pytest.fixture
def kernel(context):
    if not context.is_cpu or context.info.type != "cpu":
        pytest.skip("the kernel is for the processor alone")
    return OrderedSum(context)


def steps(values):
    with np.errstate(all="ignore"):
        return float(np.add.accumulate(np.concatenate([[0.0], values]))[-1])


def drawn(rows=20_000):
    """Values whose sums stay between two powers of 2, leave them, or lie between two floats."""
    random = np.random.default_rng(1)
    normal = random.normal(size=rows)
    return {
        "around zero": normal,
        "rising": random.random(rows),
        "falling": -random.random(rows) * 1e9,
        "far from zero": np.concatenate([[2.0**40], normal]),
        "just above a power": np.concatenate([[2.0**40], normal / 2**14]),
        "just below a power": np.concatenate([[np.nextafter(2.0**40, 0)], normal / 2**14]),
        "just below, negative": np.concatenate([[-np.nextafter(2.0**40, 0)], normal / 2**14]),
        "between two": np.concatenate([[2.0**53], random.integers(0, 3, rows)]),
        "halves": np.concatenate([[2.0**52], random.integers(-3, 4, rows) / 2]),
        "of all sizes": normal * 10.0 ** random.integers(-30, 30, rows),
        "large": normal * 1e306,
        "tiny": normal * 5e-324 * 1000,
        "prices": random.integers(0, 100_000, rows) / 100,
        "infinite": np.concatenate([normal, [math.inf], normal]),
        "opposite": np.concatenate([normal, [math.inf], normal, [-math.inf], normal]),
        "not a number": np.concatenate([normal, [math.nan], normal]),
        "zeros": np.full(rows, -0.0),
    }


DRAWN = drawn()


@pytest.mark.parametrize("name", DRAWN)
def test_each_addition_is_rounded(kernel, name):
    values = DRAWN[name]
    assert repr(kernel.total(values)) == repr(steps(values))


@pytest.mark.parametrize("rows", [0, 1, 255, 256, 257, 1000])
def test_sums_of_rows_across_blocks(kernel, monkeypatch, rows):
    monkeypatch.setattr(module, "_ROWS", 300)  # so that there are several launches
    values = np.random.default_rng(rows).normal(size=rows) + 3
    assert kernel.total(values) == steps(values)


def test_sums_of_many_random_columns(kernel):
    for seed in range(300):
        random = np.random.default_rng(seed)
        values = random.normal(random.normal() * 2, 10.0 ** random.integers(-3, 4), 3000)
        values = np.round(values, int(random.integers(0, 12)))
        assert kernel.total(values) == steps(values), seed


def test_a_started_sum_is_continued(kernel):
    values = np.random.default_rng(2).normal(size=1000)
    assert kernel.total(values[300:], steps(values[:300])) == steps(values)
