"""What Neo4j's tools ask any server, answered for an embedded graph.

Browser, Bloom and cypher-shell call some procedures and ``SHOW`` commands when they connect. Such a
call becomes ``UNWIND $rows AS row WITH row.a AS a …``, so that what follows it (YIELD, WHERE,
RETURN) means what it means in any query.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.accelerator import Accelerator
    from gpugda.data.data_graph import DataGraph
    from gpugda.result.result import Result

__all__ = ["answer_for_tools"]

_CALL = re.compile(
    r"\s*CALL\s+(?P<name>[\w.]+)\s*(?:\(\s*\))?\s*(?:YIELD\s+(?P<columns>.*?))?"
    r"(?P<rest>\s*(?:\bWHERE\b|\bRETURN\b|\bWITH\b|\bORDER\b).*)?;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_SHOW = re.compile(
    r"\s*SHOW\s+(?P<what>(?:\w+\s+)*?\w+)(?:\s+YIELD\s+(?P<columns>.*?))?"
    r"(?P<rest>\s*(?:\bWHERE\b|\bRETURN\b|\bORDER\b).*)?;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_COLUMN = re.compile(r"\s*(\w+)(?:\s+AS\s+(\w+))?\s*", re.IGNORECASE)

Rows = list[dict[str, Any]]


def answer_for_tools(
    accelerator: Accelerator, database: str, text: str, parameters: Mapping[str, Any]
) -> Result | None:
    """The answer to a procedure or command that is known here; None for any other query."""
    found = _CALL.fullmatch(text)
    make = _PROCEDURES.get(found.group("name").lower()) if found else None
    if make is None:
        found = _SHOW.fullmatch(text)
        make = _COMMANDS.get(" ".join(found.group("what").upper().split())) if found else None
    if found is None or make is None:
        return None
    graph = accelerator.run("MATCH (n) RETURN n LIMIT 0", engine="reference").table.graph
    columns, rows = make(graph, database)
    chosen = _chosen(found.group("columns"), columns)
    if chosen is None:
        return None
    items = ", ".join(f"gpugda_row.{name} AS {shown}" for name, shown in chosen)
    rest = found.group("rest") or ""
    names = ", ".join(shown for _, shown in chosen)
    condition = rest if rest.strip()[:5].upper() in ("WHERE", "ORDER") else ""
    if condition and "RETURN" not in condition.upper():
        rest = f"{condition} RETURN {names}"
    query = f"UNWIND $gpugda_rows AS gpugda_row WITH {items} {rest or f'RETURN {names}'}"
    return accelerator.run(query, {**parameters, "gpugda_rows": rows}, engine="reference")


def _chosen(text: str | None, columns: tuple[str, ...]) -> list[tuple[str, str]] | None:
    if text is None or text.strip() == "*":
        return [(name, name) for name in columns]
    found = [_COLUMN.fullmatch(item) for item in text.split(",")]
    if any(each is None or each.group(1) not in columns for each in found):
        return None
    return [(each.group(1), each.group(2) or each.group(1)) for each in found if each]


def _single(name: str, values: Any) -> tuple[tuple[str, ...], Rows]:
    return (name,), [{name: value} for value in values]


def _components(graph: DataGraph, database: str) -> tuple[tuple[str, ...], Rows]:
    row = {"name": "Neo4j Kernel", "versions": ["5.26.0"], "edition": "community"}
    return ("name", "versions", "edition"), [row]


def _databases(graph: DataGraph, database: str) -> tuple[tuple[str, ...], Rows]:
    text = (
        "name,type,aliases,access,address,role,writer,requestedStatus,currentStatus,statusMessage,"
        "default,home,constituents"
    )
    rows: Rows = [
        {
            "name": name,
            "type": "system" if name == "system" else "standard",
            "aliases": [],
            "access": "read-only",
            "address": "",
            "role": "primary",
            "writer": False,
            "requestedStatus": "online",
            "currentStatus": "online",
            "statusMessage": "",
            "default": name == database,
            "home": name == database,
            "constituents": [],
        }
        for name in (database, "system")
    ]
    return tuple(text.split(",")), rows


def _user(graph: DataGraph, database: str) -> tuple[tuple[str, ...], Rows]:
    return ("username", "roles", "flags"), [{"username": "neo4j", "roles": [], "flags": []}]


def _nothing(*columns: str) -> Callable[[DataGraph, str], tuple[tuple[str, ...], Rows]]:
    return lambda graph, database: (columns, [])


_PROCEDURES: dict[str, Callable[[DataGraph, str], tuple[tuple[str, ...], Rows]]] = {
    "dbms.components": _components,
    "db.ping": lambda graph, database: _single("success", [True]),
    "db.labels": lambda graph, database: _single("label", graph.labels.names),
    "db.relationshiptypes": lambda graph, database: _single("relationshipType", graph.types.names),
    "db.propertykeys": lambda graph, database: _single(
        "propertyKey", sorted({*graph.node_properties, *graph.relationship_properties})
    ),
    "dbms.showcurrentuser": _user,
    "dbms.clientconfig": _nothing("name", "description", "value", "dynamic"),
    "db.indexes": _nothing("name", "type"),
}
_COMMANDS = {
    "DATABASES": _databases,
    "DATABASE": _databases,
    "HOME DATABASE": lambda graph, database: (
        _databases(graph, database)[0],
        _databases(graph, database)[1][:1],
    ),
    "DEFAULT DATABASE": lambda graph, database: (
        _databases(graph, database)[0],
        _databases(graph, database)[1][:1],
    ),
    "CURRENT USER": lambda graph, database: (
        ("user", "roles", "passwordChangeRequired", "suspended", "home"),
        [{"user": "neo4j", "roles": [], "passwordChangeRequired": False}],
    ),
    "INDEXES": _nothing("id", "name", "state", "type", "labelsOrTypes", "properties"),
    "CONSTRAINTS": _nothing("id", "name", "type", "entityType", "labelsOrTypes", "properties"),
    "PROCEDURES": _nothing("name", "description", "mode", "worksOnSystem"),
    "FUNCTIONS": _nothing("name", "category", "description"),
}
