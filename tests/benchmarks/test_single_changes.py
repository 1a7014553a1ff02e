"""Time of a small transaction of each kind until a query's next answer, by stage.

Run as a program, it prints the median milliseconds of several turns: processor time, or wall time,
which means something on an idle machine. 1,000 changes are made in one transaction, in ten that the
server reports in one answer, as it does for all commits since the last query, and in ten that are
applied one by one, as if a query had come after each. The follower's thread beside the queries is
excluded:
python tests/benchmarks/test_single_changes.py [RELATIONSHIPS] [TURNS] [wall]
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.test_increments import NONE, TYPES, make_graph
from benchmarks.test_increments import _batch as relationships_of
from benchmarks.told_at_once import TRANSACTIONS, events_of
from gpugda_adapters.change_events import ChangeEvents, net_changes

from gpugda.data.batches import NodeBatch
from gpugda.data.increments.apply import applied
from gpugda.data.increments.searching import lower_bound
from gpugda.data.values.column import Column, ColumnKind
from gpugda.data.values.columns import column_from_values
from gpugda.live.compacting import Compactor
from gpugda.live.shared import SharedState
from gpugda.loading import LoadedGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.session import DeviceSession
from gpugda.ports import ChangeBatch, DatabaseVersion, LabelChanges, PropertyChanges
from gpugda.query.prepare import prepare

QUERIES = {
    "one step": "MATCH (a:A)-[:R]->(b) WHERE a.number < 200000 RETURN count(*) AS n",
    "two steps": "MATCH (a:A)-[:R]->(b)-[:S]->(c:B) WHERE a.number < 20000 RETURN count(*) AS n",
}
STAGES = ("apply", "plan", "arrays", "query")
NOTHING, MIXED, TOLD_AT_ONCE = "nothing", "mixed", f"1,000 of {TRANSACTIONS}"
CASES = {
    NOTHING: (0, NOTHING, 0),
    **{
        kind: (1, kind, 1)
        for kind in ("number", "text", "label", "node", "relationship", "deleted")
    },
    "1,000 together": (1, MIXED, 1_000),
    TOLD_AT_ONCE: (1, MIXED, 1_000),
    "1,000 in 10": (10, MIXED, 100),
}
"""Number of batches before a query, kind of changes, number of changes in each batch."""


class Writer:
    """Makes small transactions on the current state of a graph."""

    def __init__(self, graph, random):
        self.random, self.text = random, 0
        self.number = graph.relationship_count

    def transaction(self, kind, graph, count):
        """``count`` changes of a kind to a graph; for `MIXED`, of most kinds."""
        self.graph = graph
        parts = {kind: count}
        if kind == MIXED:
            share = count // 10
            parts = {"relationship": 4 * share, "deleted": 3 * share, "number": 2 * share}
            parts["node"] = count - sum(parts.values())
        return ChangeBatch(
            since=1,
            version=DatabaseVersion("a-database", 2),
            transaction_count=1,
            created_nodes=self._nodes(parts.get("node", 0)),
            deleted_nodes=NONE,
            labels=self._labels(parts.get("label", 0)),
            created_relationships=self._created(parts.get("relationship", 0)),
            deleted_relationships=self._deleted(parts.get("deleted", 0)),
            node_properties=self._properties(parts),
            relationship_properties={},
        )

    def _nodes(self, count):
        last = int(self.graph.external_ids.nodes[-1]) + 1
        sets = (("A",),) if count else ()
        ids = pa.array(last + np.arange(count))
        return NodeBatch(count, ids, np.zeros(count, dtype=np.int32), sets, {})

    def _some(self, count):
        return np.sort(self.random.choice(self.graph.node_count, count, replace=False))

    def _labels(self, count):
        nodes = self._some(count)
        bits = self.graph.label_bits(self.graph.labels.get("B"))
        there = (bits[nodes >> 5] >> (nodes & 31)) & 1
        return LabelChanges(
            self.graph.external_ids.nodes[nodes],
            np.zeros(count, dtype=np.int32),
            there == 0,
            ("B",) if count else (),
        )

    def _created(self, count):
        ids = self.number + np.arange(count)
        self.number += count
        ends = (self.random.integers(0, self.graph.node_count, count) for _ in range(2))
        nodes = self.graph.external_ids.nodes
        starts, ends = (nodes[each] for each in ends)
        return relationships_of(starts, ends, self.random.integers(0, len(TYPES), count), ids)

    def _deleted(self, count):
        graph, parts = self.graph, self.graph.outgoing.parts
        indexes = np.sort(self.random.choice(graph.relationship_count, count, replace=False))
        nodes = graph.external_ids.nodes
        codes = np.array([TYPES.index(name) for name in graph.types.names])
        types = parts.run_types[_rows_of(parts.run_starts, indexes)]
        starts, ends = _rows_of(parts.row_offsets, indexes), parts.neighbours[indexes]
        ids = graph.external_ids.array[indexes]
        order = np.argsort(ids)
        return relationships_of(
            nodes[starts][order], nodes[ends][order], codes[types][order], ids[order]
        )

    def _properties(self, parts):
        found = {}
        nodes = self.graph.external_ids.nodes
        if count := parts.get("number", 0):
            values = Column(ColumnKind.INTEGER, self.random.integers(0, 1 << 20, count))
            found["number"] = PropertyChanges(nodes[self._some(count)], values)
        if count := parts.get("text", 0):
            self.text += 1
            values = column_from_values([f"new {self.text} {each}" for each in range(count)])
            found["name"] = PropertyChanges(nodes[self._some(count)], values)
        if count := parts.get("node", 0):
            ids = int(nodes[-1]) + 1 + np.arange(count)
            new = Column(ColumnKind.INTEGER, np.arange(count))
            known = found.get("number")
            if known is not None:
                ids = np.concatenate([known.ids, ids])
                new = Column(ColumnKind.INTEGER, np.concatenate([known.values.values, new.values]))
            found["number"] = PropertyChanges(ids, new)
        return found


def _rows_of(offsets, entries):
    """The row of each entry, from the offsets of all rows."""
    ends = np.full(len(entries), len(offsets))
    return lower_bound(offsets, np.zeros_like(ends), ends, entries + 1) - 1


class Asker:
    """Runs one query on each state."""

    def __init__(self, graph, text, device=None):
        self.query, self.session = prepare(text), DeviceSession(device, None, "once")
        self.state = SharedState()
        self.loaded = self.state.loaded = LoadedGraph(graph, "benchmark", 0.0, datetime.now(UTC))
        self.compactor = Compactor(self.state)

    def step(self, transactions, clock=time.process_time):
        """Seconds of each stage, after transactions applied one by one; and the answer.

        ``transactions``: Functions that make one on the newest state; their time is excluded.
        """
        applying, graph = 0.0, self.loaded.graph
        for make in transactions:
            batch = make(graph)
            started = clock()
            if isinstance(batch, ChangeEvents):
                batch = net_changes(batch, 1, DatabaseVersion("a-database", 2))
            graph = applied(graph, batch)
            self.loaded = self.loaded.followed_by(graph, batch.version, 1)
            applying += clock() - started
        self._compact()
        times = [clock()]
        plan = self.loaded.plan(self.query, "extend")
        times.append(clock())
        with self.session.strategy("extend", graph) as strategy:
            times.append(clock())
            table = plan.pipeline.run(graph, strategy, {}, StrategyReport(), None)
        times.append(clock())
        return np.array([applying, *np.diff(times)]), int(table.columns[0].values[0])

    def _compact(self):
        """Runs the compaction of the follower's thread, whose time is not counted."""
        self.state.loaded = self.loaded
        if self.compactor.start_if_it_pays(self.loaded.graph):
            self.compactor.wait()


def expected(graph, text):
    """The answer, computed with NumPy."""
    types, count = graph.relationship_types(), graph.node_count
    numbers = graph.node_properties.columns["number"]
    kept = _has_label(graph, "A") & (numbers.values < (20_000 if "(c:B)" in text else 200_000))
    if numbers.valid is not None:
        kept &= numbers.valid
    first, second = (types == graph.types.get(name) for name in "RS")
    starts, ends = graph.start_nodes(), graph.outgoing.neighbours
    ways = np.ones(count, dtype=np.int64)
    if "(c:B)" in text:
        ways = np.bincount(starts[second & _has_label(graph, "B")[ends]], minlength=count)
    return int(ways[ends[first & kept[starts]]].sum())


def _has_label(graph, name):
    bits = graph.label_bits(graph.labels.get(name))
    return np.unpackbits(bits.view(np.uint8), bitorder="little")[: graph.node_count] == 1


def _composed(second, first):
    return lambda graph: second(first(graph))


def measure(count, turns, text, clock=time.process_time):
    """By case, the median seconds of each stage, the answer and the graph."""
    graph, random = make_graph(count)
    asker, writer = Asker(graph, text), Writer(graph, random)
    for _ in range(3):
        asker.step([])
    for name, (transactions, kind, changes) in CASES.items():
        make = partial(writer.transaction, kind, count=changes)
        if name == TOLD_AT_ONCE:
            make = _composed(events_of, make)
        makes, times = [make] * transactions, []
        for turn in range(turns + 2):
            taken, answer = asker.step(makes, clock)
            if turn > 1:  # the first turns of a kind allocate new arrays
                times.append(taken)
        yield name, np.median(np.array(times), axis=0), answer, asker.loaded.graph


@pytest.mark.perf
@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_answers_after_single_changes_are_those_of_all_arrays(text):
    for kind, _, answer, graph in measure(200_000, 3, text):
        assert answer == expected(graph, text), kind


def main(count=10_000_000, turns=15, clock=time.process_time):
    """Prints a table for each query."""
    for name, text in QUERIES.items():
        print(f"{name:17}" + "".join(f"{each:>9}" for each in (*STAGES, "all", "besides")))
        alone, last = None, ()
        for kind, times, answer, graph in measure(count, turns, text, clock):
            alone = times.sum() if alone is None else alone
            cells = [*times, times.sum(), times.sum() - alone]
            print(f"{kind:17}" + "".join(f"{1000 * each:9.2f}" for each in cells), flush=True)
            last = answer, graph
        assert last[0] == expected(last[1], text)


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:] if each != "wall"]
    main(*numbers, clock=time.perf_counter if "wall" in sys.argv else time.process_time)
