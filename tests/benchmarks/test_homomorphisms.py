"""Compares sparse elimination with one sum over all values of all variables."""

import time
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from benchmarks import homomorphisms
from benchmarks.homomorphisms import MODULUS, Pattern, TooLongError
from hypothesis import given, settings
from hypothesis import strategies as st

from strategies import examples


def dense(sizes, weights, joined):
    """The sum that a pattern defines; ``joined`` has matrices by pairs of indexes in ``sizes``."""
    letters = "abcdef"[: len(sizes)]
    terms = [*letters, *(letters[x] + letters[y] for x, y, _ in joined)]
    return int(np.einsum(",".join(terms) + "->", *weights, *(matrix for _, _, matrix in joined)))


def sparse(sizes, weights, joined, dtype=np.uint64):
    pattern = Pattern(dtype)
    for name, weight in enumerate(weights):
        pattern.variable(name, weight)
    for x, y, matrix in joined:
        rows, columns = np.nonzero(matrix)
        times = matrix[rows, columns]
        pattern.step(x, y, np.repeat(rows, times), np.repeat(columns, times))
    return pattern.count(time.process_time() + 60)


@settings(max_examples=examples(200))
@given(
    st.integers(0, 2**32),
    st.integers(1, 6),
    st.sampled_from([0.2, 0.4, 0.6, 0.8]),
    st.sampled_from([2, 8, 10**6]),
)
def test_random_patterns_are_counted(seed, variables, share, piece):
    # numpy draws the numbers; what matters is which variables are joined.
    draw = np.random.default_rng(seed)
    sizes = draw.integers(2, 5, variables)
    weights = [draw.integers(1, 4, size) for size in sizes]
    joined = []
    for x, y in combinations(range(variables), 2):
        while draw.random() < share:
            one, other = (x, y) if draw.random() < 0.5 else (y, x)
            joined.append((one, other, draw.integers(0, 3, (sizes[one], sizes[other]))))
    with mock.patch.object(homomorphisms, "PIECE", piece):
        assert sparse(sizes, weights, joined[:20]) == dense(sizes, weights, joined[:20])


def test_a_self_loop_step_keeps_values_with_self_loops():
    matrix = np.array([[2, 5], [1, 3]])
    assert sparse([2], [np.array([1, 10])], [(0, 0, matrix)]) == 32


def test_floats_detect_integer_overflow():
    hub = [(0, leaf, np.ones((1, 10_000), int)) for leaf in range(1, 6)]
    sizes, weights = [1] + [10_000] * 5, [np.ones(1, int)] + [np.ones(10_000, int)] * 5
    assert sparse(sizes, weights, hub) == 10**20 % MODULUS
    assert sparse(sizes, weights, hub, np.float64) == 1e20


def test_counting_stops_at_the_deadline():
    pattern = Pattern()
    pattern.variable("a", np.ones(1))
    with pytest.raises(TooLongError):
        pattern.count(time.process_time() - 1)
