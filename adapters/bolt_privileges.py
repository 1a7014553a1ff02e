"""Determines from ``SHOW USER PRIVILEGES`` whether a user sees the whole graph.

Conservative: anything but a plain grant of everything counts as a restriction. All queries are then
answered by the server, which applies the privileges.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["restriction_in"]

_WRITES = {
    "write",
    "merge",
    "create_element",
    "delete_element",
    "set_label",
    "remove_label",
    "set_property",
}
_SEGMENTS = {"NODE(*)": "nodes", "RELATIONSHIP(*)": "relationships"}


def restriction_in(privileges: Iterable[Mapping[str, Any]], database: str) -> str:
    """What the user may not see, as a sentence; empty if there is nothing.

    Args:
        privileges: Rows of ``SHOW USER PRIVILEGES``: access, action, resource, graph, segment.
        database: The database's name.
    """
    granted: set[tuple[str, str]] = set()
    for row in privileges:
        access, action, resource, graph, segment = _fields(row)
        if graph not in ("*", database):
            # Another database, or the home or default one, whose name is not known for certain: a
            # grant does not count, but a denial might apply.
            if access == "DENIED" and graph in ("HOME", "DEFAULT") and action not in _WRITES:
                return f"the user is denied {action!r} on the home database"
            continue
        if access == "DENIED" and action not in _WRITES:
            return f"the user is denied {action!r} on {segment or graph}"
        if access == "GRANTED":
            granted |= _reads(action, resource, segment)
    return _missing(granted)


def _fields(row: Mapping[str, Any]) -> tuple[str, str, str, str, str]:
    names = ("access", "action", "resource", "graph", "segment")
    access, action, resource, graph, segment = (str(row.get(name) or "") for name in names)
    return access.upper(), action.lower(), resource.lower(), graph, segment


def _reads(action: str, resource: str, segment: str) -> set[tuple[str, str]]:
    """The rights that a grant gives, as (traverse or read, segment)."""
    found = set()
    if segment in _SEGMENTS:
        if action in ("match", "read") and resource == "all_properties":
            found.add(("read", segment))
        if action == "traverse" or (action == "match" and resource == "all_properties"):
            found.add(("traverse", segment))
    return found


def _missing(granted: set[tuple[str, str]]) -> str:
    for segment, things in _SEGMENTS.items():
        if ("traverse", segment) not in granted:
            return f"the user has no privilege to traverse all {things}"
        if ("read", segment) not in granted:
            return f"the user has no privilege to read all properties of {things}"
    return ""
