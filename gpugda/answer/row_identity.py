"""Identities of result rows: equal if and only if a user sees the same values."""

from __future__ import annotations

from typing import Any

__all__ = ["row_identity"]


def row_identity(value: Any) -> Any:
    """A hashable identity of a value; for nodes and relationships it includes all shown data."""
    # By attributes, since values may be the driver's or gpugda's own.
    if hasattr(value, "element_id"):
        return ("entity", value.element_id, *_shown(value), row_identity(dict(value.items())))
    if hasattr(value, "relationships"):
        return ("path", row_identity(list(value.nodes)), row_identity(list(value.relationships)))
    if isinstance(value, dict):
        return ("map", *((key, row_identity(each)) for key, each in sorted(value.items())))
    if type(value) in (list, tuple):
        return ("list", *map(row_identity, value))
    # Points and durations are tuples, too.
    return (type(value).__name__, getattr(value, "srid", None), repr(value))


def _shown(entity: Any) -> tuple[Any, ...]:
    """Labels of a node, or type and ends of a relationship: another may have reused its id."""
    if hasattr(entity, "labels"):
        return ("labels", *sorted(entity.labels))
    return ("type", entity.type, *(node.element_id for node in entity.nodes))
