"""Relationships by ranges of nodes, and graphs built from them in threads."""

import numpy as np
import pytest

import gpugda
from gpugda.data import build, identifiers, sorting, threads
from gpugda.data.build import SilentProgress
from gpugda.data.sorting import Entries, NodeRanges, bits_for, piece_size
from gpugda.data.statistics import counting
from gpugda.loading import load

CORES = [1, 4, 7]


@pytest.fixture(params=CORES)
def cores(request, monkeypatch):
    """A number of cores, with every core worth using."""
    monkeypatch.setattr(threads, "core_count", lambda: request.param)
    monkeypatch.setattr(sorting, "_RANGE", 100)
    for module in (build, counting, sorting, threads):
        monkeypatch.setattr(module, "_PIECE", 100)
    monkeypatch.setattr(identifiers, "_LOOKUP_ROWS", 100)


@pytest.mark.parametrize("count", [0, 1, 99, 2000])
@pytest.mark.parametrize("node_count", [1, 2, 40_000, 2**32 - 2])
def test_ranges_hold_the_entries_of_their_nodes_in_order(cores, count, node_count):
    random = np.random.default_rng(count)
    rows = random.integers(0, node_count, count, dtype=np.uint32)
    rows[: count // 3] = node_count - 1  # one node has a large share
    types = random.integers(0, 9, count).astype(np.uint16)
    others = random.integers(0, node_count, count, dtype=np.uint32)
    ranges = NodeRanges(
        rows,
        lambda piece: Entries(rows[piece], types[piece], others[piece], None),
        node_count,
        type_ids=np.dtype(np.uint16),
        with_arrivals=True,
    )
    assert ranges.borders[0] == 0
    assert ranges.borders[-1] == node_count
    assert ranges.offsets[-1] == count
    assert (len(ranges) > 1) == (count > 1000)
    for number in range(len(ranges)):
        first, last = ranges.borders[number : number + 2]
        expected = np.flatnonzero((rows >= first) & (rows < last))
        found = ranges.of(number)
        assert ranges.offsets[number + 1] - ranges.offsets[number] == len(expected)
        for field, values in zip(found, (rows, types, others), strict=False):
            assert np.array_equal(field, values[expected])
        assert np.array_equal(found.arrivals, expected)


@pytest.mark.parametrize("count", [1, 2**20, 65_000_000, 10**9, 2**32 - 2])
def test_range_and_position_in_a_piece_fit_32_bits(count):
    size = piece_size(count)
    assert bits_for(size) + sorting._MAX_RANGE_BITS <= 32
    assert -(-count // size) <= 256


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
