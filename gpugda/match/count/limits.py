"""Which patterns vectors may count; few modules are loaded to tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery

__all__ = ["may_use_vectors"]

_MIN_NODES, _MAX_NODES, _MAX_LINKS = 4, 12, 8
"""A join counts triangles as fast."""


def may_use_vectors(bound: BoundQuery) -> bool:
    """True if a pattern has enough nodes and a cycle."""
    nodes, count = len(bound.nodes), len(bound.relationships)
    return _MIN_NODES <= nodes <= min(count, _MAX_NODES) and count <= _MAX_LINKS
