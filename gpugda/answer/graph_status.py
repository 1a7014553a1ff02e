"""Status entries about a loaded graph."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpugda.loading import LoadedGraph

__all__ = ["graph_status"]


def graph_status(loaded: LoadedGraph | None) -> dict[str, Any]:
    """Returns source, size and age of the graph, for `Accelerator.status`."""
    if loaded is None:
        return {"source": "no snapshot yet"}
    age = datetime.now(UTC) - loaded.loaded_at
    return {
        "source": loaded.source_name,
        "transaction": None if loaded.version is None else loaded.version.transaction,
        "nodes": loaded.graph.node_count,
        "relationships": loaded.graph.relationship_count,
        "labels": len(loaded.graph.labels),
        "types": len(loaded.graph.types),
        "loaded_at": loaded.loaded_at.isoformat(timespec="seconds"),
        "age_seconds": age.total_seconds(),
        "load_seconds": loaded.seconds,
        "host_bytes": loaded.graph.nbytes,
        "plans_cached": len(loaded.plans),
    }
