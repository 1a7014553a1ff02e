import numpy as np
import pytest

from gpugda.data import runs
from gpugda.data.runs import are_consecutive, places_in_runs, positions, repeated


@pytest.mark.parametrize(
    "lengths", [[], [0], [0, 0], [3], [2, 0, 3, 1, 0], [0, 5]], ids=lambda lengths: str(lengths)
)
@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.int32])
def test_each_run_counts_from_zero(lengths, kind):
    places = places_in_runs(np.array(lengths, dtype=kind))
    assert places.dtype == np.int64
    assert places.tolist() == [place for length in lengths for place in range(length)]


@pytest.mark.parametrize(
    "lengths", [[], [0], [0, 0], [3], [2, 0, 3, 1, 0], [0, 5], [1, 1]], ids=lambda each: str(each)
)
@pytest.mark.parametrize("kind", [np.int64, np.uint32])
@pytest.mark.parametrize("values", [np.uint16, np.int64])
@pytest.mark.parametrize("few", [0, 100])
def test_values_are_repeated(monkeypatch, lengths, kind, values, few):
    monkeypatch.setattr(runs, "_FEW", few)
    given = np.arange(10, 10 + len(lengths), dtype=values)
    found = repeated(given, np.array(lengths, dtype=kind))
    assert found.dtype == values
    assert found.tolist() == np.repeat(given, lengths).tolist()


@pytest.mark.parametrize("kind", [np.uint32, np.int64])
@pytest.mark.parametrize("few", [0, 100])
def test_positions_of_runs(monkeypatch, kind, few):
    monkeypatch.setattr(runs, "_FEW", few)
    starts, lengths = [9, 2, 0, 5], [2, 0, 3, 1]
    found = positions(np.array(starts, dtype=kind), np.array(lengths, dtype=kind))
    assert found.dtype == kind
    assert found.tolist() == [9, 10, 0, 1, 2, 5]


@pytest.mark.parametrize("window", [1, 2, 3, 100])
@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.int32])
def test_numbers_in_a_row(monkeypatch, window, kind):
    monkeypatch.setattr(runs, "_WINDOW", window)
    for numbers in ([0], [3], [3, 4], [0, 1, 2, 3, 4, 5]):
        assert are_consecutive(np.array(numbers, dtype=kind))
    for numbers in ([], [1, 1], [1, 0], [0, 2, 1, 3], [0, 0, 2, 3], [0, 1, 3, 3], [5, 4, 3]):
        assert not are_consecutive(np.array(numbers, dtype=kind))
