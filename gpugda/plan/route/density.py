"""The density rule of the thesis: sparse query graphs on large data graphs go to the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.route.cost import device_seconds, native_seconds
from gpugda.plan.route.route import Verdict

if TYPE_CHECKING:
    from gpugda.plan.route.route import RouteInput

__all__ = ["judge_by_density"]

_LARGE_GRAPH = 200_000
"""Number of data relationships from which a sparse query graph is left to the database."""

_DENSE_SHARE = 0.5
"""R / (N (N - 1) / 2) from which a query graph of medium density counts as dense."""


def judge_by_density(given: RouteInput) -> Verdict:
    """R relationships over N query nodes: 2N or more are dense, N - 1 or fewer sparse.

    Between them, the share of connected pairs of query nodes decides, and if that is medium, the
    size of the data graph.
    """
    nodes, relationships = given.shape
    large = given.relationship_count >= _LARGE_GRAPH
    pairs = nodes * (nodes - 1) / 2
    share = relationships / pairs if pairs else 0.0
    if relationships >= 2 * nodes:
        engine, why = "gpu", "at least twice as many relationships as nodes: dense"
    elif relationships < nodes:
        engine = "native" if large else "gpu"
        why = f"fewer relationships than nodes: sparse, on a {'large' if large else 'small'} graph"
    else:
        engine = "gpu" if share >= _DENSE_SHARE or not large else "native"
        why = f"{share:.0%} of the pairs of nodes are joined"
    return Verdict(
        engine,
        f"{relationships} relationships over {nodes} nodes, {why}",
        device_seconds(given),
        native_seconds(given),
        "density",
    )
