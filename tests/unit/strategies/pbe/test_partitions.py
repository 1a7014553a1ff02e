"""Partitions of graphs of every shape, by METIS, by label propagation and by the order of nodes."""

from __future__ import annotations

import subprocess
import time

import numpy as np
import pytest
from gpugda_strategies.gsi.entries import Partition
from gpugda_strategies.pbe.host_rows import make_host_rows, partition_lists
from gpugda_strategies.pbe.metis import can_run_metis
from gpugda_strategies.pbe.partitions import make_partitions
from graphs import dense_graph, make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.errors import DeviceError, QueryTimeoutError

needs_metis = pytest.mark.skipif(not can_run_metis(), reason="pymetis is not installed")
ANY = Partition(None, True, True)


def graph_of(nodes, pairs):
    return make_graph([("", {})] * nodes, [(a, "R", b, {}) for a, b in pairs])


def two_cliques(size):
    """Two complete graphs, and one relationship between them."""
    one = [(a, b) for a in range(size) for b in range(a)]
    return graph_of(2 * size, [*one, *((a + size, b + size) for a, b in one), (0, size)])


SHAPES = {
    "empty": graph_of(0, []),
    "one node": graph_of(1, []),
    "one node with a loop": graph_of(1, [(0, 0), (0, 0)]),
    "no relationships": graph_of(40, []),
    "isolated nodes": graph_of(40, [(0, 1), (1, 2), (2, 0)]),
    "all in one hub": graph_of(60, [(0, at) for at in range(1, 60)]),
    "parallel relationships": graph_of(20, [(0, 1)] * 30 + [(at, at + 1) for at in range(19)]),
    "dense": dense_graph(20),
}


def checked(graph, count):
    plan = make_partitions(graph, count)
    assert plan.count == count
    assert plan.of_node.dtype == np.uint16
    assert len(plan.of_node) == graph.node_count
    assert plan.of_node.max(initial=0) < count
    parts = [plan.nodes_of(each) for each in range(count)]
    assert [part.tolist() for part in parts] == [
        np.flatnonzero(plan.of_node == each).tolist() for each in range(count)
    ]
    ends = zip(graph.start_nodes(), graph.outgoing.neighbours, strict=True)
    crossing = [at for at, (a, b) in enumerate(ends) if plan.of_node[a] != plan.of_node[b]]
    assert plan.crossing.tolist() == crossing
    return plan


@pytest.mark.parametrize("metis", [True, False])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_graph_is_partitioned(shape, count, metis, monkeypatch):
    if not metis:
        monkeypatch.setattr("gpugda_strategies.pbe.partitions.can_run_metis", lambda: False)
    checked(SHAPES[shape], count)


@needs_metis
def test_metis_cuts_between_cliques():
    plan = checked(two_cliques(12), 2)
    assert plan.by == "METIS"
    assert len(plan.crossing) == 1


@needs_metis
@pytest.mark.parametrize(
    "pairs",
    [[(at % 3, at // 3 % 3) for at in range(400)], [(0, at) for at in range(100)]],
    ids=["three nodes", "a hub"],
)
def test_metis_prints_nothing_if_few_nodes_have_all_relationships(pairs, capfd):
    plan = checked(graph_of(len(pairs), pairs), len(pairs) // 3)
    assert plan.by == "METIS"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("only", ["can_run_metis", "_MAX_METIS"])
def test_label_propagation_moves_nodes_to_their_neighbours(only, monkeypatch):
    value = (lambda: False) if only == "can_run_metis" else 10
    monkeypatch.setattr(f"gpugda_strategies.pbe.partitions.{only}", value)
    # Four cliques whose nodes take turns: in order of nodes, most relationships would cross.
    pairs = [(a, b) for a in range(160) for b in range(a) if a % 4 == b % 4]
    graph = graph_of(160, [*pairs, (0, 1), (1, 2), (2, 3)])
    plan = checked(graph, 4)
    assert plan.by == "label propagation"
    assert len(plan.crossing) < len(pairs) // 2
    sizes = np.diff(plan.firsts)
    assert sizes.sum() == 160
    assert sizes.max() <= 1.1 * 40


def test_partitions_that_are_too_many_to_count_are_in_order_of_nodes(monkeypatch):
    monkeypatch.setattr("gpugda_strategies.pbe.partitions.can_run_metis", lambda: False)
    monkeypatch.setattr("gpugda_strategies.pbe.partitions.MAX_PROPAGATED", 2)
    plan = checked(dense_graph(30), 3)
    assert plan.by == "order of nodes"
    sizes = np.diff(plan.firsts)
    assert sizes.min() >= 9
    assert sizes.max() <= 11


@pytest.mark.parametrize("pieces", [1, 7])
def test_pieces_of_label_propagation_cover_all_nodes(pieces, monkeypatch):
    monkeypatch.setattr("gpugda_strategies.pbe.partitions.can_run_metis", lambda: False)
    monkeypatch.setattr("gpugda_strategies.pbe.propagation._PIECE", pieces)
    monkeypatch.setattr("gpugda_strategies.pbe.propagation._MAX_COUNTS", 6)
    monkeypatch.setattr("gpugda_strategies.pbe.propagation._FIRST_BATCH", 2)
    for shape in SHAPES.values():
        checked(shape, 2)


def test_label_propagation_stops_at_its_time_limit(monkeypatch):
    monkeypatch.setattr("gpugda_strategies.pbe.partitions.can_run_metis", lambda: False)
    with pytest.raises(QueryTimeoutError):
        make_partitions(two_cliques(12), 2, time.monotonic() - 1)


@needs_metis
def test_a_large_graph_is_partitioned_in_another_process(monkeypatch):
    monkeypatch.setattr("gpugda_strategies.pbe.metis._FEW_ENTRIES", 0)
    plan = checked(two_cliques(12), 2)
    assert plan.by == "METIS"
    assert len(plan.crossing) == 1


@needs_metis
def test_partitioning_stops_at_its_time_limit(monkeypatch):
    monkeypatch.setattr("gpugda_strategies.pbe.metis._FEW_ENTRIES", 0)
    with pytest.raises(QueryTimeoutError):
        make_partitions(two_cliques(12), 2, time.monotonic() + 0.05)

    def too_long(*_, timeout, **__):
        raise subprocess.TimeoutExpired("metis", timeout)

    monkeypatch.setattr(subprocess, "run", too_long)
    with pytest.raises(QueryTimeoutError, match="give the first query more time"):
        make_partitions(two_cliques(12), 2, time.monotonic() + 100)


@needs_metis
def test_a_failure_of_partitioning_is_a_device_error(monkeypatch):
    monkeypatch.setattr("gpugda_strategies.pbe.metis._FEW_ENTRIES", 0)
    failed = subprocess.CompletedProcess([], 1, "", "Traceback\nMemoryError: too large\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(DeviceError, match="MemoryError: too large"):
        make_partitions(two_cliques(12), 2)


@given(
    pairs=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=20),
    places=st.lists(st.integers(0, 2), min_size=6, max_size=6),
    key=st.sampled_from([ANY, Partition((0,), True, False), Partition(None, False, True)]),
)
def test_lists_of_partitions_are_those_within_them(pairs, places, key):
    graph = graph_of(6, pairs)
    with pytest.MonkeyPatch.context() as patched:
        of_node = np.array(places, dtype=np.uint16)
        patched.setattr("gpugda_strategies.pbe.partitions._divided", lambda *_: (of_node, "drawn"))
        plan = make_partitions(graph, 3)
    rows = make_host_rows(graph, key) if graph.types.names else None
    if rows is None:
        return
    starts, ends = graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist()
    for partition, lists in enumerate(partition_lists(rows, plan, 5)):
        seen = [
            (other, at)
            for at, (a, b) in enumerate(zip(starts, ends, strict=True))
            if places[a] == places[b] == partition
            for other in ([b] if key.outgoing else []) + ([a] if key.incoming else [])
        ]
        expected = sorted(set(seen))  # a self-loop is in its list once
        found = zip(lists.neighbours.tolist(), lists.relationships.tolist(), strict=True)
        assert sorted(found) == expected
