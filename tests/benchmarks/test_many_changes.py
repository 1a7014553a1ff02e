"""A day's changes: a million changes in random transactions on one graph.

Run as a program, it prints their time and memory, and the query time on the last graph compared with
a new one: python tests/benchmarks/test_many_changes.py [RELATIONSHIPS] [CHANGES] [A TRANSACTION]
"""

from __future__ import annotations

import gc
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.data.increments.apply import applied
from gpugda.data.patches import changing, patched
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.buffers import MemoryBudget
from gpugda.loading import LoadedGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.registry import find_matcher
from gpugda.ports import (
    ChangeBatch,
    DatabaseVersion,
    GraphBatches,
    IdentifierPrefixes,
    LabelChanges,
)
from gpugda.query.prepare import prepare

TYPES = tuple("RSTUV")
NONE = np.empty(0, dtype=np.int64)
QUERY = "MATCH (a:B)-[:R]->(b)-[:S]->(c:B) RETURN count(*) AS n"


class Database:
    """Relationships in arrays; transactions delete some and create others."""

    def __init__(self, count):
        self.random = np.random.default_rng(1)
        self.nodes, self.next_id = count // 10, count
        self.rows = np.stack([*self._drawn(count), np.arange(count)])

    def _drawn(self, count):
        starts = (self.random.random(count) ** 3 * self.nodes).astype(np.int64)
        ends = self.random.integers(0, self.nodes, count)
        return starts, ends, self.random.integers(0, len(TYPES), count)

    def transact(self, size, number):
        """Deletes and creates relationships, half each; sometimes creates a node."""
        total = self.rows.shape[1]
        places = self.random.choice(total, size // 2, replace=False)
        gone = self.rows[:, places]
        nodes = np.arange(self.nodes, self.nodes + (number % 10 == 0))
        self.nodes += len(nodes)
        ids = np.arange(self.next_id, self.next_id + size - size // 2)
        self.next_id += len(ids)
        new = np.stack([*self._drawn(len(ids)), ids])
        self.rows[:, places] = new[:, : len(places)]
        if len(ids) > len(places):
            self.rows = np.concatenate([self.rows, new[:, len(places) :]], axis=1)
        return ChangeBatch(
            since=number,
            version=DatabaseVersion("a-database", number + 1),
            transaction_count=1,
            created_nodes=_nodes(nodes),
            deleted_nodes=NONE,
            labels=LabelChanges(NONE, NONE.astype(np.int32), NONE.astype(np.bool_), ()),
            created_relationships=_relationships(new),
            deleted_relationships=_relationships(gone[:, np.argsort(gone[3])]),
            node_properties={},
            relationship_properties={},
        )

    def graph(self):
        """A new graph of the current state."""
        return build_data_graph(
            GraphBatches(
                [_nodes(np.arange(self.nodes))],
                [_relationships(self.rows)],
                version=DatabaseVersion("a-database", 1),
                element_ids=IdentifierPrefixes("4:", "5:"),
                properties_complete=False,
            )
        )


def _nodes(ids):
    codes = (ids % 2).astype(np.int32)
    return NodeBatch(len(ids), pa.array(ids), codes, (("A",), ("A", "B")), {})


def _relationships(rows):
    starts, ends, types, ids = rows
    return RelationshipBatch(
        len(ids),
        pa.array(starts),
        pa.array(ends),
        types.astype(np.int32),
        TYPES,
        relationship_ids=ids,
    )


def content(graph):
    """Source, target, type (by name) and id of all relationships, by id; and the nodes' labels."""
    ids = graph.external_ids
    order = np.argsort(ids.relationships)
    kinds = np.array([TYPES.index(name) for name in graph.types.names])
    return [
        graph.start_nodes()[order],
        graph.outgoing.neighbours[order],
        kinds[graph.relationship_types()[order]],
        ids.relationships[order],
        ids.nodes,
        graph.label_bits(graph.labels.get("B")),
    ]


def resident():
    """Resident bytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def run_all(count, changes, size, tell=lambda *_: None):
    """Applies ``changes`` changes, ``size`` per transaction, on host and device."""
    database = Database(count)
    graph = database.graph()
    context = DeviceContext(choose_device(None))
    copy = DeviceGraph(context, graph)
    sizes, times = [], []
    for number in range(changes // size):
        batch = database.transact(size, number)
        started = time.perf_counter()
        graph = applied(graph, batch)
        following = DeviceGraph(context, graph, like=copy)
        following.csr_arguments(_budget())
        context.finish()
        times.append(time.perf_counter() - started)
        copy.close()
        copy = following
        if number % 100 == 99:
            gc.collect()
            sizes.append(resident())
            tell(number + 1, size, sizes, times)
    fresh = database.graph()
    for ours, theirs in zip(content(graph), content(fresh), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    graph.outgoing.check()
    graph.incoming.check()
    return graph, fresh, copy, context, sizes, times


def query_seconds(graph, copy, turns=15):
    """The minimum time of a query of two steps on a graph that is on the device."""
    loaded = LoadedGraph(graph, "benchmark", 0.0, datetime.now(UTC))
    query = prepare(QUERY)
    plan, times = loaded.plan(query, "extend"), []
    runner = find_matcher("extend")(copy, memory_limit=None, refinement="once")
    for _ in range(turns):
        started = time.perf_counter()
        table = plan.pipeline.run(graph, runner, {}, StrategyReport(), None)
        times.append(time.perf_counter() - started)
    return min(times), table


def _budget():
    return MemoryBudget(1 << 50)


@pytest.mark.slow
def test_ten_thousand_changes_equal_a_fresh_graph(monkeypatch):
    """All arrays are patched and often rebuilt: `run_all` compares the graphs."""
    monkeypatch.setattr(changing, "PATCHED_FROM", 0)
    monkeypatch.setattr(patched, "FEW_STRETCHES", 200)
    monkeypatch.setattr(patched, "MAX_STRETCHES", 1000)
    _, _, copy, context, _, times = run_all(20_000, 10_000, 50)
    assert len(times) == 200
    copy.close()
    context.close()


def tell(transactions, size, sizes, times):
    """Prints a line about the changes so far."""
    if transactions % 200 == 0:
        some = sorted(times[-200:])
        print(
            f"{transactions * size:9,} changes: {1000 * some[100]:6.1f} ms in the middle, "
            f"{1000 * some[198]:7.1f} at most of 99 in 100, {sizes[-1] >> 20:6,} MiB",
            flush=True,
        )


if __name__ == "__main__":
    wanted = [int(each) for each in sys.argv[1:]]
    count, changes, size = (*wanted, *(1_000_000, 1_000_000, 500)[len(wanted) :])
    last, fresh, copy, context, sizes, times = run_all(count, changes, size, tell)
    print(f"all equal; {sum(times):.1f} s, {max(times):.3f} s the longest")
    fresh_copy = DeviceGraph(context, fresh)
    found = [[], []]
    for _ in range(5):
        for place, (graph, on_device) in enumerate(((last, copy), (fresh, fresh_copy))):
            found[place].append(query_seconds(graph, on_device)[0])
    best = [1000 * min(each) for each in found]
    print(f"query, ms: {best[0]:.2f} after the changes, {best[1]:.2f} on a fresh graph")
