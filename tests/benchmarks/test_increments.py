"""Applies changes to a data graph, on the host and on the device, compared with a new build.

Run as a program it prints milliseconds: python tests/benchmarks/test_increments.py [RELATIONSHIPS] [DEVICE]
"""

from __future__ import annotations

import sys
import time

import numpy as np
import pyarrow as pa
import pytest

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.data.increments.apply import applied
from gpugda.data.values.column import Column, ColumnKind
from gpugda.data.values.columns import column_from_values
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.buffers import MemoryBudget
from gpugda.ports import (
    ChangeBatch,
    DatabaseVersion,
    GraphBatches,
    IdentifierPrefixes,
    LabelChanges,
    PropertyChanges,
)

TYPES = tuple("RSTUV")
NONE = np.empty(0, dtype=np.int64)
TURNS = 5
MIN_GAIN = 5.0
"""Minimum ratio of the time of a new build to that of a change."""


def make_graph(count):
    """A graph with hubs, and the random generator that made it."""
    random = np.random.default_rng(1)
    nodes = count // 10
    batch = NodeBatch(
        nodes,
        pa.array(np.arange(nodes)),
        random.integers(0, 3, nodes).astype(np.int32),
        (("A",), ("B",), ("A", "B")),
        {},
    )
    ends = (random.random(count) ** 3 * nodes).astype(np.int64), random.integers(0, nodes, count)
    relationships = _batch(*ends, random.integers(0, len(TYPES), count), np.arange(count))
    graph = build_data_graph(
        GraphBatches(
            iter([batch]),
            iter([relationships]),
            version=DatabaseVersion("a-database", 1),
            element_ids=IdentifierPrefixes("4:", "5:"),
            properties_complete=False,
        )
    )
    columns = {
        "number": Column(ColumnKind.INTEGER, np.arange(nodes)),
        "name": column_from_values([f"name {number % 100_000}" for number in range(nodes)]),
    }
    graph.add_properties(columns, list(columns), of_nodes=True)
    return graph, random


def _batch(starts, ends, types, ids):
    return RelationshipBatch(
        len(ids),
        pa.array(starts),
        pa.array(ends),
        types.astype(np.int32),
        TYPES,
        relationship_ids=ids.astype(np.int64),
    )


def make_changes(graph, random, relationships, nodes=0, properties=0):
    """Deletes and creates ``relationships``, half each; creates nodes; sets properties."""
    total, count, gone = graph.node_count, graph.relationship_count, relationships // 2
    indexes = np.sort(random.choice(count, gone, replace=False)) if gone else NONE
    ids = graph.external_ids.relationships[indexes]
    codes = np.array([TYPES.index(name) for name in graph.types.names])
    order = np.argsort(ids)
    indexes, ids = indexes[order], ids[order]
    new = relationships - gone
    changed = {
        "number": column_from_values([-1] * properties),
        "name": column_from_values([f"new {number}" for number in range(properties)]),
    }
    touched = np.arange(properties)
    return ChangeBatch(
        since=1,
        version=DatabaseVersion("a-database", 2),
        transaction_count=1,
        created_nodes=NodeBatch(
            nodes,
            pa.array(total + np.arange(nodes)),
            np.zeros(nodes, dtype=np.int32),
            (("A",),) if nodes else (),
            {},
        ),
        deleted_nodes=NONE,
        labels=LabelChanges(NONE, NONE.astype(np.int32), NONE.astype(np.bool_), ()),
        created_relationships=_batch(
            random.integers(0, total, new),
            random.integers(0, total, new),
            random.integers(0, len(TYPES), new),
            count + np.arange(new),
        ),
        deleted_relationships=_batch(
            graph.start_nodes()[indexes].astype(np.int64),
            graph.outgoing.neighbours[indexes].astype(np.int64),
            codes[graph.relationship_types()[indexes]],
            ids,
        ),
        node_properties={key: PropertyChanges(touched, each) for key, each in changed.items()},
        relationship_properties={},
    )


CASES = {
    "5 nodes' properties": (0, 0, 5),
    "1 relationship": (1, 0, 0),
    "10 relationships": (10, 0, 0),
    "1 node, 1 relationship, 1 property": (1, 1, 1),
    "1,000 relationships": (1000, 0, 0),
    "1,000 relationships, 10 nodes, 5 properties": (1000, 10, 5),
}


def measure(count, device=None):
    """Seconds of a new build, and the minimum of each case, on the host and on the device."""
    started = time.perf_counter()
    graph, random = make_graph(count)
    found = {"a fresh build": (time.perf_counter() - started, 0.0)}
    context = DeviceContext(choose_device(device))
    for name, case in CASES.items():
        changes = make_changes(graph, random, *case)
        copy = _copied(context, graph)
        times = []
        for _ in range(TURNS):
            started = time.perf_counter()
            following = applied(graph, changes)
            on_host = time.perf_counter() - started
            started = time.perf_counter()
            copied = _copied(context, following, copy)
            times.append((on_host, time.perf_counter() - started))
            # The same change again, in the memory that the previous state has released.
            copy, copy.graph = copied, graph
        copy.close()
        found[name] = tuple(map(min, zip(*times, strict=True)))
    found["copying it all to the device"] = 0.0, _seconds(lambda: _copied(context, graph).close())
    context.close()
    return found


def _copied(context, graph, like=None):
    copy = DeviceGraph(context, graph, like=like)
    if like is not None:
        like.close()  # as a session does
    copy.csr_arguments(MemoryBudget(1 << 50))
    context.finish()
    return copy


def _seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@pytest.mark.perf
@pytest.mark.slow
def test_changes_are_applied_much_faster_than_a_graph_is_built():
    found = measure(1_000_000)
    built, _ = found.pop("a fresh build")
    found.pop("copying it all to the device")
    assert all(built > MIN_GAIN * sum(seconds) for seconds in found.values()), found


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(f"{'milliseconds':45} {'host':>9} {'device':>9}")
    for what, (host, on_device) in measure(wanted, *sys.argv[2:3]).items():
        print(f"{what:45} {1000 * host:9.1f} {1000 * on_device:9.1f}")
