"""Measures a device's throughput on a small generated graph."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpugda.calibration.kept import keep_device_rates, kept_device_rates
from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.data.values.columns import column_from_values
from gpugda.device.memory.uploads import PageLocked
from gpugda.execute.pipeline import plan_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.registry import DEFAULT_STRATEGY
from gpugda.match.session import DeviceSession
from gpugda.plan.cost import DeviceRates
from gpugda.query.parser import parse
from gpugda.query.prepare import prepare
from gpugda.query.statement import statement_of

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph

__all__ = ["calibrate_device", "device_rates"]

_NODES = 1 << 14
_RELATIONSHIPS = 200_000
_REPEATS = 7
_SENT_BYTES = 1 << 24
_VALUE_SECONDS = 0.3e-6
"""Time to create a row of Python values; independent of the device."""

_SHORT = "MATCH (a:A)-[:R]->(b) WHERE a.k = 16000 RETURN count(*)"
_LONG = "MATCH (a:A)-[:R]->(b)-[:R]->(c)-[:R]->(d)-[:R]->(e) WHERE a.k = 16000 RETURN count(*)"
_PAIRS = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)"
_ROWS = "MATCH (a)-[:R]->(b) RETURN a.k, b.k"


class _NoIds:
    element_ids = None
    properties_complete = True

    def __init__(self, nodes: NodeBatch, relationships: RelationshipBatch) -> None:
        self.nodes = (nodes,)
        self.relationships = (relationships,)


def device_rates(session: DeviceSession, *, again: bool = False) -> DeviceRates:
    """The rates of the session's device: stored ones, or measured now and then stored.

    Raises:
        DeviceError: There is no device, or it failed.
    """
    info = session.info
    rates = None if again else kept_device_rates(info)
    if rates is None:
        # Use a separate session: the user's session keeps its graph on the device.
        with closing(DeviceSession(info.index, None, "once")) as measured:
            rates = calibrate_device(measured)
        keep_device_rates(info, rates)
    return rates


def calibrate_device(session: DeviceSession) -> DeviceRates:
    """Measures the rates of a device in 1-2 s; the first time it also compiles kernels.

    Raises:
        DeviceError: There is no device, or it failed.
    """
    graph = _graph()
    short, long = _seconds(session, graph, _SHORT), _seconds(session, graph, _LONG)
    pairs, rows = _seconds(session, graph, _PAIRS), _seconds(session, graph, _ROWS)
    # Each path of two relationships is a pair that the last step tests.
    out = np.diff(graph.outgoing.row_offsets).astype(np.int64)
    tested = int(out[graph.outgoing.neighbours].sum()) + graph.relationship_count
    return DeviceRates(
        query_seconds=short,
        step_seconds=max((long - short) / 3, 1e-5),
        pairs_per_second=tested / max(pairs - short, 1e-5),
        rows_per_second=1.0 / (max(rows - short, 1e-5) / graph.relationship_count + _VALUE_SECONDS),
        prepare_seconds=_preparation(graph),
        sent_bytes_per_second=_sent_bytes_per_second(session, graph),
    )


def _sent_bytes_per_second(session: DeviceSession, graph: DataGraph) -> float:
    """Upload rate from page-locked memory, as for graphs beyond the limit, without other work."""
    values = np.zeros(_SENT_BYTES, dtype=np.uint8)
    with (
        session.strategy(DEFAULT_STRATEGY, graph) as strategy,
        strategy.running(StrategyReport(), None) as run,
        run.locked(),
    ):
        context = strategy.graph.context
        locked = PageLocked(context, context.profile.page_locked_bytes)
        target = run.workspace.allocate(values.size, np.uint8, "what is sent")
        uploads, times = run.workspace.uploads(), []
        for _ in range(_REPEATS):
            started = time.perf_counter()
            uploads.begin(target, 0, locked.of(values))
            uploads.finish()
            times.append(time.perf_counter() - started)
        locked.close()
    return _SENT_BYTES / max(min(times), 1e-6)


def _graph() -> DataGraph:
    random = np.random.default_rng(1)
    # Skewed degrees, as in real graphs.
    ends = (random.random((2, _RELATIONSHIPS)) ** 2 * _NODES).astype(np.int64)
    # No loops and no parallel relationships, which are rare in real graphs.
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    nodes = NodeBatch(
        count=_NODES,
        ids=pa.array(np.arange(_NODES)),
        label_codes=(np.arange(_NODES) % 4 == 0).astype(np.int32),
        label_sets=((), ("A",)),
        properties={"k": column_from_values(list(range(_NODES)))},
    )
    relationships = RelationshipBatch(
        count=ends.shape[1],
        source_ids=pa.array(ends[0]),
        target_ids=pa.array(ends[1]),
        type_codes=np.zeros(ends.shape[1], dtype=np.int32),
        type_names=("R",),
    )
    return build_data_graph(_NoIds(nodes, relationships))


def _seconds(session: DeviceSession, graph: DataGraph, text: str) -> float:
    """Least time of several runs without the first; other programs can only add to it."""
    plan = plan_of(prepare(text), graph, DEFAULT_STRATEGY)
    times = []
    for _ in range(_REPEATS + 1):
        with session.strategy(DEFAULT_STRATEGY, graph) as strategy:
            started = time.perf_counter()
            plan.pipeline.run(graph, strategy, {}, StrategyReport())
            times.append(time.perf_counter() - started)
        if sum(times) > 1.0 and len(times) > 2:
            break
    return min(times[1:])


def _preparation(graph: DataGraph) -> float:
    """Seconds of parsing, checking, binding and ordering, per relationship."""
    started = time.perf_counter()
    for _ in range(_REPEATS):
        plan_of(statement_of(parse(_LONG)), graph, DEFAULT_STRATEGY)
    return (time.perf_counter() - started) / _REPEATS / 5
