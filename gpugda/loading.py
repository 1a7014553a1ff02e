"""Loads a graph from a source, and keeps the plans made for it."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from gpugda.caching import LruCache
from gpugda.data.build import build_data_graph
from gpugda.errors import SourceError
from gpugda.execute.pipeline import make_pipeline, plan_of
from gpugda.ports import DatabaseServer, GraphSource, Progress, Projection, SnapshotFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.sorting import RowSorter, SortedRows, Unsorted
    from gpugda.execute.pipeline import KeptPhysical, Pipeline, QueryPlan
    from gpugda.ports import DatabaseVersion, GraphBatches
    from gpugda.query.statement import Statement

__all__ = ["LoadedGraph", "load"]

logger = logging.getLogger("gpugda.loading")

PLANS_KEPT = 512


@dataclass(slots=True, eq=False)
class LoadedGraph:
    """A data graph and its cached plans.

    A refresh creates a new one; results keep the one that they came from.

    Args:
        graph: The data graph.
        source_name: Name of the source, as shown to users.
        seconds: Time to read and build the graph.
        loaded_at: Time of loading.
        version: The state of the database; None for sources that do not change.
        projection: The part of the database that was read; queries must not depend on the rest.
        transactions: Number of transactions applied since it was read.
        plans: Plans by query text and strategy.
        pipelines: Operators of queries of one pattern, by text; None for other queries. All states
            of a database share them: the patterns' plans carry over. Operators of other queries
            choose between alternatives for one graph.
        physicals: Physical plans, with the facts that they rest on. All states share them, too.
    """

    graph: DataGraph
    source_name: str
    seconds: float
    loaded_at: datetime
    version: DatabaseVersion | None = None
    projection: Projection = field(default_factory=Projection)
    transactions: int = 0
    plans: LruCache[tuple[str, str], QueryPlan] = field(
        default_factory=lambda: LruCache(PLANS_KEPT)
    )
    pipelines: LruCache[str, Pipeline | None] = field(default_factory=lambda: LruCache(PLANS_KEPT))
    physicals: LruCache[object, KeptPhysical] = field(default_factory=lambda: LruCache(PLANS_KEPT))
    _described: str | None = field(default=None, repr=False)

    def plan(self, query: Statement, strategy: str) -> QueryPlan:
        """The plan of a query, cached by its text."""

        def make() -> QueryPlan:
            made = cache(lambda: make_pipeline(query))
            shared = self.pipelines.get(
                query.text, lambda: None if made().one_pattern is None else made()
            )
            return plan_of(query, self.graph, strategy, shared or made(), self.physicals)

        return self.plans.get((query.text, strategy), make)

    def followed_by(
        self, graph: DataGraph, version: DatabaseVersion, transactions: int
    ) -> LoadedGraph:
        """The same database in a later state, this many transactions later."""
        return LoadedGraph(
            graph,
            self.source_name,
            self.seconds,
            datetime.now(UTC),
            version,
            self.projection,
            self.transactions + transactions,
            self.plans if graph is self.graph else LruCache(PLANS_KEPT),
            self.pipelines,
            self.physicals,
        )

    @property
    def followed(self) -> str:
        """How the graph reached its state, if by applied changes; otherwise empty."""
        if self.version is None:
            return ""
        return (
            f"changes were applied up to transaction {self.version.transaction} "
            f"({self.transactions} transactions since it was read)"
        )

    @property
    def described(self) -> str:
        """Name, state and load time, for summaries."""
        if self._described is None:
            at = "" if self.version is None else f" at transaction {self.version.transaction}"
            when = self.loaded_at.isoformat(timespec="seconds")
            self._described = f"{self.source_name}{at}, loaded {when}"
        return self._described


def load(
    source: GraphSource,
    progress: Progress,
    *,
    gentle: bool = False,
    repair: Callable[[GraphBatches], GraphBatches] | None = None,
    sorter: RowSorter | None = None,
) -> LoadedGraph:
    """Loads the graph of a source.

    Args:
        source: An embedded graph, or a database.
        progress: Receives the progress.
        gentle: True to leave most of a database server's capacity to others.
        repair: Builds one consistent state from a server that changes while it is read.
        sorter: Sorts many relationships, possibly faster than the host.

    Raises:
        SourceError: The source cannot be read, or is inconsistent.
    """
    started = time.perf_counter()
    version, projection = None, Projection()
    opened: AbstractContextManager[GraphBatches | SnapshotFolder]
    if isinstance(source, DatabaseServer) and (gentle or repair):
        opened = source.read(progress, gentle=gentle, moving=repair is not None)
    else:
        opened = source.read(progress)
    with opened as content:
        if isinstance(content, SnapshotFolder):
            from gpugda.snapshot.opening import open_saved  # others need none of that room

            saved = open_saved(content.path, trust=content.trust)
            _require_all_properties(saved.graph, source.name)
            graph, projection = saved.graph, saved.manifest.projection
        else:
            content = content if repair is None else repair(content)
            graph = _built(content, progress, sorter)
            version = content.version
    if isinstance(source, DatabaseServer):
        projection = source.projection
    seconds = time.perf_counter() - started
    logger.info(
        "%s: %d nodes, %d relationships in %.2f s",
        source.name,
        graph.node_count,
        graph.relationship_count,
        seconds,
    )
    return LoadedGraph(graph, source.name, seconds, datetime.now(UTC), version, projection)


def _built(content: GraphBatches, progress: Progress, sorter: RowSorter | None) -> DataGraph:
    from gpugda.device.graph.host_rows import HostRows  # others need none of OpenCL

    rows = HostRows()

    def sort(given: Unsorted, *, with_order: bool) -> SortedRows | None:
        found = sorter(given, with_order=with_order) if sorter else None
        return found or rows.sorted(given, with_order=with_order)

    return build_data_graph(content, progress, sorter=sort, counter=rows)


def _require_all_properties(graph: DataGraph, name: str) -> None:
    if not (graph.node_properties.complete and graph.relationship_properties.complete):
        raise SourceError(
            f"{name} lacks properties that were not read from its database, as snapshots in the "
            "cache do: connect to the database, which uses it, or save one with gpugda snapshot "
            "save"
        )
