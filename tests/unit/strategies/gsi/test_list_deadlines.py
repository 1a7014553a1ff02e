"""Making lists on the host stops at a deadline, with a clock that advances at each reading.

A piece is a few entries here, so that small graphs have many.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from bound_queries import NO_MASKS, Node, Relationship, make_plan
from gpugda_strategies.gsi.entries import Partition, sorted_lists
from gpugda_strategies.gsi.options import GsiOptions
from gpugda_strategies.gsi.pcsr import hashed_lists, make_lists
from gpugda_strategies.gsi.strategy import GsiStrategy
from gpugda_strategies.pbe.host_rows import make_host_rows, partition_lists
from gpugda_strategies.pbe.kept import KeptParts
from gpugda_strategies.pbe.partitions import PartitionPlan
from gpugda_strategies.sgsi.segments import HostSegments
from graphs import make_graph

from gpugda import deadline
from gpugda.data.threads import core_count
from gpugda.deadline import working_until
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import QueryTimeoutError
from gpugda.match.embeddings import StrategyReport

NODES, PIECE = 40, 8
AT_ONCE = 3 * core_count() + 1
"""Threads look at the clock for the pieces that they have begun."""
BOTH = Partition(None, True, True)
KINDS = [BOTH, Partition(None, True, False), Partition((1,), False, True), Partition((0, 1), 1, 1)]


@pytest.fixture
def looks(monkeypatch):
    """The number of clock readings; each reading advances it by a second."""
    made = [0]

    class Clock:
        @staticmethod
        def monotonic():
            made[0] += 1
            return float(made[0])

    monkeypatch.setattr(deadline, "time", Clock)
    for module in ("entries", "pcsr"):
        monkeypatch.setattr(f"gpugda_strategies.gsi.{module}.PIECE", PIECE)
    return made


@pytest.fixture
def graph():
    random = np.random.default_rng(5)
    ends = random.integers(0, NODES, (300, 2)).tolist()
    return make_graph(
        [("", {})] * NODES, [(a, "RS"[n % 2], b, {}) for n, (a, b) in enumerate(ends)]
    )


def in_order(graph, partition):
    """The expected result of `sorted_lists`, entry by entry."""
    columns = graph.start_nodes(), graph.outgoing.neighbours, graph.relationship_types()
    found = []
    for number, (start, end, kind) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
        if partition.types is not None and kind not in partition.types:
            continue
        if partition.outgoing:
            found.append((start, end, number))
        if partition.incoming and not (partition.outgoing and start == end):
            found.append((end, start, number))
    return sorted(found)


def owners_of(found):
    """The owner of each entry."""
    assert (np.diff(found.offsets) > 0).all()
    assert (np.diff(found.owners.astype(np.int64)) > 0).all()
    return np.repeat(found.owners, np.diff(found.offsets)).tolist()


@pytest.mark.usefixtures("looks")
@pytest.mark.parametrize("partition", KINDS)
def test_pieces_give_the_same_entries(graph, partition):
    found = sorted_lists(graph, partition)
    pairs = list(zip(owners_of(found), found.neighbours.tolist(), strict=True))
    wanted = in_order(graph, partition)
    assert pairs == [each[:2] for each in wanted]
    triples = zip(
        owners_of(found), found.neighbours.tolist(), found.relationships.tolist(), strict=True
    )
    assert sorted(triples) == wanted


@pytest.mark.parametrize("partition", KINDS)
def test_entries_are_sorted_piece_by_piece(looks, graph, partition):
    entries = len(in_order(graph, partition))
    with working_until(1e9):
        sorted_lists(graph, partition)
    # A piece has at least one node's entries, and at most a piece per direction.
    assert looks[0] >= entries // (2 * max(PIECE, NODES))
    assert looks[0] >= 4


@pytest.mark.parametrize("hashed", [15, None])
@pytest.mark.parametrize("seconds", [2, 8, 14])
def test_making_lists_stops_at_the_deadline(looks, graph, hashed, seconds):
    with working_until(float(seconds)), pytest.raises(QueryTimeoutError):
        make_lists(graph, BOTH, hashed=hashed)
    assert seconds <= looks[0] < seconds + AT_ONCE


def test_gathering_lists_checks_the_deadline_per_piece(looks, graph):
    found = sorted_lists(graph, BOTH)
    looks[0] = 0
    with working_until(1e9):
        hashed_lists(found, 15)
    assert looks[0] >= 2 * (len(found.neighbours) // (2 * max(PIECE, NODES)))
    assert looks[0] >= 20


def test_interrupted_segments_are_not_stored(looks, graph):
    host = HostSegments(graph, 15, None)
    for seconds in (2, 10, 40):
        looks[0] = 0
        with working_until(float(seconds)), pytest.raises(QueryTimeoutError):
            host.find(BOTH, 1 << 10, 64)
    found = host.find(BOTH, 1 << 10, 64)
    assert found.entries == len(in_order(graph, BOTH))


def test_interrupted_partitions_are_not_stored(looks, graph):
    kept = KeptParts(15)
    with working_until(5.0), pytest.raises(QueryTimeoutError):
        kept.rows(graph, BOTH)
    assert kept.nbytes == 0
    rows = make_host_rows(graph, BOTH)
    assert kept.rows(graph, BOTH).nbytes == rows.nbytes
    of_node, nothing = np.arange(NODES, dtype=np.uint16) % 2, np.empty(0, dtype=np.uint32)
    order = np.argsort(of_node, kind="stable").astype(np.uint32)
    firsts = np.array([0, NODES // 2, NODES])
    plan = PartitionPlan(2, of_node.astype(np.uint16), order, firsts, nothing, "turns", 0.0)
    looks[0] = 0
    with working_until(3.0), pytest.raises(QueryTimeoutError):
        partition_lists(rows, plan, 15)
    assert 3 <= looks[0] < 3 + AT_ONCE


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
def test_a_run_interrupted_while_making_lists_stores_none(context, graph, monkeypatch):
    strategy = GsiStrategy(DeviceGraph(context, graph), options=GsiOptions(signatures=False))
    plan = make_plan([Node()] * 3, [Relationship(0, 1), Relationship(1, 2)])
    made = []

    def late():
        made.append(deadline.working_deadline())
        raise QueryTimeoutError("late")

    try:
        with monkeypatch.context() as patch:
            patch.setattr("gpugda_strategies.gsi.entries.check_time", late)
            with pytest.raises(QueryTimeoutError):
                strategy.count(plan, NO_MASKS, StrategyReport(), 1e9)
        assert made == [1e9]
        assert strategy.cached_bytes() == 0
        found = strategy.count(plan, NO_MASKS, StrategyReport())
        starts = np.bincount(graph.start_nodes(), minlength=NODES)
        ends = np.bincount(graph.outgoing.neighbours, minlength=NODES)
        loops = int((graph.start_nodes() == graph.outgoing.neighbours).sum())
        assert found == int((starts * ends).sum()) - loops
    finally:
        strategy.graph.close()


def test_masked_entries_of_segments_are_chosen_piece_by_piece(looks, graph, monkeypatch):
    monkeypatch.setattr("gpugda_strategies.sgsi.segments.PIECE", PIECE)
    mask = np.random.default_rng(6).integers(0, 1 << 32, 10, dtype=np.uint32)
    found = sorted_lists(graph, BOTH)
    with working_until(1e9):
        looks[0] = 0
        segments = HostSegments(graph, 15, 32).find(BOTH, 1 << 10, 64, mask)
    assert looks[0] >= len(found.relationships) // PIECE
    passing = [each for each in found.relationships.tolist() if mask[each // 32] >> each % 32 & 1]
    kept = [each.lists.relationships.tolist() for each in segments.parts]
    assert sorted(chain.from_iterable(kept)) == sorted(passing)


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
def test_parallel_relationships_are_counted_until_the_deadline_of_the_run(
    context, graph, monkeypatch
):
    strategy, made = GsiStrategy(DeviceGraph(context, graph)), []
    plan = make_plan([Node()] * 3, [Relationship(0, 1, directed=False), Relationship(1, 2)])

    def late():
        made.append(deadline.working_deadline())
        raise QueryTimeoutError("late")

    try:
        with monkeypatch.context() as patch:
            patch.setattr("gpugda.data.statistics.parallel.check_time", late)
            with pytest.raises(QueryTimeoutError):
                strategy.count(plan, NO_MASKS, StrategyReport(), 1e9)
        assert made == [1e9]
        assert strategy.count(plan, NO_MASKS, StrategyReport()) > 0
    finally:
        strategy.graph.close()
