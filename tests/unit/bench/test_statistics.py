"""Statistics compared with values computed by hand."""

import math

import pytest

from gpugda.bench.statistics import break_even, figures_of, geometric_mean, percentile


def test_figures_of_several_values():
    figures = figures_of([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert figures.mean == 5
    assert figures.deviation == pytest.approx(math.sqrt(32 / 7))
    assert figures.median == 4.5
    assert (figures.least, figures.largest, figures.count) == (2, 9, 8)
    # Position 0.95 * 7 = 6.65 of 0…7, between 7 and 9.
    assert figures.percentile_95 == pytest.approx(7 + 0.65 * 2)


def test_figures_of_one_value_and_of_none():
    assert figures_of([3.0]).deviation == 0
    assert figures_of([3.0]).percentile_95 == 3
    assert math.isnan(figures_of([]).mean)


@pytest.mark.parametrize(("percent", "expected"), [(0, 1), (50, 2.5), (100, 4)])
def test_percentiles_are_interpolated(percent, expected):
    assert percentile([4, 1, 3, 2], percent) == expected


def test_the_geometric_mean():
    assert geometric_mean([1, 100]) == pytest.approx(10)
    assert geometric_mean([0.5, 2]) == pytest.approx(1)
    assert math.isnan(geometric_mean([]))


def test_break_even_is_the_first_query_that_pays():
    assert break_even(1.0, 0.3, 0.1) == 5
    assert break_even(1.0, 0.5, 0.1) == 3  # 2.5, so the third query pays
    assert break_even(1.0, 0.1, 0.1) == math.inf
    assert math.isnan(break_even(1.0, math.nan, 0.1))
