"""Properties of a snapshot that are read from the server when a query asks for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.errors import StaleSnapshotError

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.property_store import PropertyStore
    from gpugda.live.keeper import SnapshotKeeper
    from gpugda.loading import LoadedGraph
    from gpugda.ports import DatabaseServer, Progress
    from gpugda.query.property_needs import PropertyNeeds

__all__ = ["MissingProperties", "load_properties", "missing_properties"]

_VALUES_PER_SECOND = 400_000.0
_SECONDS_AT_LEAST = 0.004


@dataclass(frozen=True, slots=True)
class MissingProperties:
    """Properties that a query reads and the snapshot does not have yet.

    Args:
        of_nodes: Keys, sorted; None for all.
        of_relationships: Keys, sorted; None for all.
        seconds: What reading them is expected to take.
    """

    of_nodes: tuple[str, ...] | None
    of_relationships: tuple[str, ...] | None
    seconds: float

    def __bool__(self) -> bool:
        return self.of_nodes != () or self.of_relationships != ()

    def __str__(self) -> str:
        keys = [*(self.of_nodes or ()), *(self.of_relationships or ())]
        return ", ".join(keys) or "all properties"


def missing_properties(graph: DataGraph, needs: PropertyNeeds) -> MissingProperties:
    """What has to be read before a query with these needs can run on the graph."""
    if needs.all:
        return _all_missing(graph)
    of_nodes = _missing(graph.node_properties, needs.of_nodes)
    of_relationships = _missing(graph.relationship_properties, needs.of_relationships)
    values = len(of_nodes) * graph.node_count
    values += len(of_relationships) * graph.relationship_count
    return MissingProperties(
        of_nodes, of_relationships, _SECONDS_AT_LEAST + values / _VALUES_PER_SECOND
    )


def load_properties(
    keeper: SnapshotKeeper,
    server: DatabaseServer,
    loaded: LoadedGraph,
    missing: MissingProperties,
    progress: Progress | None = None,
) -> bool:
    """Reads properties into the snapshot; False if the database changed, then nothing is kept.

    Raises:
        SourceError: They cannot be read.
    """
    graph = loaded.graph
    ids = graph.external_ids
    if ids is None:
        return True  # an embedded graph has all its properties
    found = []
    for keys, numbers, of_nodes in (
        (missing.of_nodes, ids.nodes, True),
        (missing.of_relationships, ids.relationships, False),
    ):
        if keys == ():
            continue
        try:
            columns = server.read_properties(
                keys, numbers, loaded.version, of_nodes=of_nodes, progress=progress
            )
        except StaleSnapshotError:  # something was deleted meanwhile
            keeper.confirm(loaded)
            return False
        found.append((columns, keys, of_nodes))
    if not keeper.confirm(loaded):
        return False
    for columns, keys, of_nodes in found:
        graph.add_properties(columns, keys, of_nodes=of_nodes)
    return True


def _all_missing(graph: DataGraph) -> MissingProperties:
    nodes = () if graph.node_properties.complete else None
    relationships = () if graph.relationship_properties.complete else None
    values = graph.node_count * (nodes is None) + graph.relationship_count * (relationships is None)
    seconds = _SECONDS_AT_LEAST + values / _VALUES_PER_SECOND if values else 0.0
    return MissingProperties(nodes, relationships, seconds)


def _missing(store: PropertyStore, keys: frozenset[str]) -> tuple[str, ...]:
    return () if store.complete else tuple(sorted(keys - store.loaded_keys))
