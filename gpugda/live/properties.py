"""Properties of a snapshot that are read from the server on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.errors import StaleSnapshotError
from gpugda.live.age_clock import age_clock
from gpugda.live.catching_up import LateColumns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.column import Column
    from gpugda.data.values.property_store import PropertyStore
    from gpugda.live.keeper import SnapshotKeeper
    from gpugda.live.unkept import UnkeptProperties
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, DatabaseVersion, Progress
    from gpugda.query.reads import PropertyNeeds

__all__ = ["MissingProperties", "load_properties", "missing_properties", "refuse_unkept"]

_VALUES_PER_SECOND = 400_000.0
_MIN_SECONDS = 0.004


@dataclass(frozen=True, slots=True)
class MissingProperties:
    """Properties that a query reads and the snapshot does not have yet.

    Args:
        of_nodes: Keys, sorted; None for all.
        of_relationships: Keys, sorted; None for all.
        seconds: Expected seconds of reading them.
    """

    of_nodes: tuple[str, ...] | None
    of_relationships: tuple[str, ...] | None
    seconds: float

    def __bool__(self) -> bool:
        return self.of_nodes != () or self.of_relationships != ()

    def still_missing(self, graph: DataGraph) -> bool:
        """True if a graph does not have all of them."""
        pairs = (
            (self.of_nodes, graph.node_properties),
            (self.of_relationships, graph.relationship_properties),
        )
        return any(
            not store.complete if keys is None else bool(_missing(store, frozenset(keys)))
            for keys, store in pairs
        )

    def __str__(self) -> str:
        keys = [*(self.of_nodes or ()), *(self.of_relationships or ())]
        return ", ".join(keys) or "all properties"


def missing_properties(graph: DataGraph, needs: PropertyNeeds) -> MissingProperties:
    """The properties to read before a query with these needs can run on the graph."""
    if needs.all:
        return _all_missing(graph)
    of_nodes = _missing(graph.node_properties, needs.of_nodes)
    of_relationships = _missing(graph.relationship_properties, needs.of_relationships)
    values = len(of_nodes) * graph.node_count
    values += len(of_relationships) * graph.relationship_count
    return MissingProperties(of_nodes, of_relationships, _MIN_SECONDS + values / _VALUES_PER_SECOND)


def load_properties(
    keeper: SnapshotKeeper,
    server: DatabaseServer,
    loaded: LoadedGraph,
    missing: MissingProperties,
    progress: Progress | None = None,
) -> LoadedGraph | None:
    """The snapshot with these properties; None if the database changed, then nothing is kept.

    For a followed database it may be a later snapshot.

    Raises:
        SourceError: The properties cannot be read.
    """
    if loaded.graph.external_ids is None:
        return loaded  # an embedded graph has all of its properties
    refuse_unkept(keeper, missing)
    start = _following(keeper, server, loaded, missing)
    if start is None:
        return None
    found = _read(server, start, missing, keeper.unkept, progress)
    asked_at = age_clock()
    version = server.probe() if start.version is not None else None
    keeper.observe(version, asked_at)
    if found is None:
        return None
    if version != start.version and version is not None:
        # The values belong to either state or one between: the changes settle them.
        return _brought_up_to_date(keeper, LateColumns(start, found), version, missing, asked_at)
    if version is None and start.version is not None:
        return None
    for columns, keys, of_nodes in found:
        start.graph.add_properties(columns, keys, of_nodes=of_nodes)
    return start


def refuse_unkept(keeper: SnapshotKeeper, missing: MissingProperties) -> None:
    """Raises an earlier error at once where reading properties again would end in it.

    Raises:
        UnkeptPropertyError: Columns cannot hold one of the properties.
    """
    for keys, of_nodes in ((missing.of_nodes, True), (missing.of_relationships, False)):
        if keys != ():
            keeper.unkept.refuse(keys, of_nodes=of_nodes)


def _following(
    keeper: SnapshotKeeper, server: DatabaseServer, loaded: LoadedGraph, missing: MissingProperties
) -> LoadedGraph | None:
    """The newest snapshot, after the changes started to include these properties' values."""
    if not keeper.follows or keeper.freshness.policy == "manual":
        return loaded
    keeper.follower.include_values(
        frozenset(missing.of_nodes or ()), frozenset(missing.of_relationships or ())
    )
    asked_at = age_clock()
    newest = server.probe()
    if newest is None or newest == loaded.version:
        return loaded
    return keeper.catch_up(newest, asked_at)


def _brought_up_to_date(
    keeper: SnapshotKeeper,
    read: LateColumns,
    version: DatabaseVersion,
    missing: MissingProperties,
    asked_at: float,
) -> LoadedGraph | None:
    if not keeper.follows or keeper.freshness.policy == "manual":
        return None
    found = keeper.catch_up(version, asked_at, read)
    if found is None or missing.still_missing(found.graph):
        return None
    return found


def _read(
    server: DatabaseServer,
    loaded: LoadedGraph,
    missing: MissingProperties,
    unkept: UnkeptProperties,
    progress: Progress | None,
) -> list[tuple[Mapping[str, Column], tuple[str, ...] | None, bool]] | None:
    """Columns, keys requested, and True for nodes; None if something was deleted meanwhile."""
    ids = loaded.graph.external_ids
    assert ids is not None
    found = []
    for keys, numbers, of_nodes in (
        (missing.of_nodes, ids.nodes, True),
        (missing.of_relationships, ids.relationships, False),
    ):
        if keys == ():
            continue
        try:
            with unkept.reading(of_nodes=of_nodes):
                columns = server.read_properties(
                    keys, numbers, loaded.version, of_nodes=of_nodes, progress=progress
                )
        except StaleSnapshotError:  # a node or relationship was deleted meanwhile
            return None
        found.append((columns, keys, of_nodes))
    return found


def _all_missing(graph: DataGraph) -> MissingProperties:
    nodes = () if graph.node_properties.complete else None
    relationships = () if graph.relationship_properties.complete else None
    values = graph.node_count * (nodes is None) + graph.relationship_count * (relationships is None)
    seconds = _MIN_SECONDS + values / _VALUES_PER_SECOND if values else 0.0
    return MissingProperties(nodes, relationships, seconds)


def _missing(store: PropertyStore, keys: frozenset[str]) -> tuple[str, ...]:
    return () if store.complete else tuple(sorted(keys - store.loaded_keys))
