"""Sorting in threads."""

import numpy as np
import pytest

import gpugda
from gpugda.data import counting, identifiers, threads
from gpugda.data import sort_numbers as sorting
from gpugda.data import sorting as csr_sorting
from gpugda.data.progress import SilentProgress
from gpugda.data.sort_numbers import sort_numbers
from gpugda.loading import load

CORES = [1, 4, 7]


@pytest.fixture(params=CORES)
def cores(request, monkeypatch):
    """So many cores, each of which is worth using."""
    for module in (threads, sorting):
        monkeypatch.setattr(module, "core_count", lambda: request.param)
    monkeypatch.setattr(sorting, "_FEWEST_NUMBERS", 1)
    for module in (csr_sorting, counting):
        monkeypatch.setattr(module, "_PIECE", 100)
    monkeypatch.setattr(identifiers, "_LOOKUP_ROWS", 100)


@pytest.mark.parametrize("count", [0, 1, 2, 6, 7, 8, 1000])
@pytest.mark.parametrize("largest", [1, 5, 2**63])
def test_numbers_come_sorted(cores, count, largest):
    numbers = np.random.default_rng(count).integers(0, largest, count, dtype=np.uint64)
    assert np.array_equal(sort_numbers(numbers.copy()), np.sort(numbers))


def test_a_graph_is_the_same_on_any_number_of_cores(cores, monkeypatch):
    arrays, statistics = _built()
    monkeypatch.undo()
    expected_arrays, expected_statistics = _built()
    for one, other in zip(arrays, expected_arrays, strict=True):
        assert np.array_equal(one, other)
    assert statistics == expected_statistics


def _built():
    random = np.random.default_rng(7)
    count = 3000
    source = gpugda.graph(
        nodes={"id": np.arange(50), "labels": [["A", "B"][i % 2] for i in range(50)]},
        relationships={
            "source": random.integers(0, 50, count),
            "target": random.integers(0, 50, count),
            "type": random.choice(["R", "S", "T"], count).tolist(),
            "n": np.arange(count),
        },
    )
    graph = load(source, SilentProgress()).graph
    arrays = [graph.relationship_properties["n"].values, graph.incoming.relationship_indexes]
    for csr in (graph.outgoing, graph.incoming):
        arrays += [csr.row_offsets, csr.neighbours, csr.run_offsets, csr.run_types]
    return arrays, graph.statistics


def test_an_error_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(threads, "core_count", lambda: 4)

    def work(number):
        if number == 2:
            raise ValueError(number)
        return number

    with pytest.raises(ValueError, match="2"):
        threads.in_threads(work, range(4))
    assert threads.in_threads(work, [0, 1, 3]) == [0, 1, 3]
