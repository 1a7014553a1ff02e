"""The queries of a benchmark: texts that can be made new, with their parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.bench.random_queries import RandomQuery

__all__ = ["FORMS", "Case", "cases_of", "quoted"]

FORMS = ("count", "rows", "predicate")
"""``count(*)``; whole nodes with a LIMIT; ``count(*)`` with a predicate on a property."""


@dataclass(frozen=True, slots=True)
class Case:
    """One query.

    Args:
        name: Name, unique in a benchmark.
        density: ``dense`` or ``sparse``; empty for a user's query.
        node_count: Number of query nodes.
        relationship_count: Number of query relationships.
        form: One of `FORMS`, or ``own``.
        pieces: The text, split where a tag is inserted to make a text that no cache contains.
        parameters: Values by name.
        row_limit: With this many rows, the choice of rows is not determined; 0 if it never is
            (SKIP); None without a limit.
        lists_unordered: True if lists in the rows have no order, as those of ``collect``.
        renames: True if the tag is part of variable names; else it is only in a comment, which does
            not make a query new to a server's plan cache.
    """

    name: str
    density: str
    node_count: int
    relationship_count: int
    form: str
    pieces: tuple[str, ...]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    row_limit: int | None = None
    lists_unordered: bool = False
    renames: bool = True

    def text(self, tag: str) -> str:
        """The text with a tag of letters and digits inserted."""
        return tag.join(self.pieces)


def quoted(name: str) -> str:
    """A label, type or property key, quoted for Cypher."""
    return f"`{name.replace('`', '``')}`"


def cases_of(
    queries: Sequence[RandomQuery],
    properties: Sequence[Mapping[int, Mapping[str, Any]]],
    forms: Sequence[str],
    row_limit: int,
) -> list[Case]:
    """The cases of query graphs of one size and density.

    Args:
        queries: The query graphs.
        properties: For each query graph, properties by data node; nodes without any may be absent.
        forms: Forms to generate. The form with a predicate needs a property.
        row_limit: LIMIT of the form that returns nodes.
    """
    made = []
    for number, (query, known) in enumerate(zip(queries, properties, strict=True), start=1):
        for form in forms:
            case = _case(query, known, form, row_limit, number)
            if case is not None:
                made.append(case)
    return made


def _case(
    query: RandomQuery,
    known: Mapping[int, Mapping[str, Any]],
    form: str,
    row_limit: int,
    number: int,
) -> Case | None:
    nodes, relationships = len(query.labels), len(query.relationships)
    condition: list[str] = []
    parameters: dict[str, Any] = {}
    if form == "predicate":
        found = _predicate(query, known)
        if found is None:
            return None
        position, key, parameters["value"] = found
        condition = [" WHERE n", f"_{position}.{quoted(key)} = $value"]
    return Case(
        f"{query.density}-{nodes}-{query.wanted}-{number:03}-{form}",
        query.density,
        nodes,
        relationships,
        form,
        _joined(_pattern(query), condition, _returned(nodes, form, row_limit)),
        parameters,
        row_limit if form == "rows" else None,
    )


def _pattern(query: RandomQuery) -> list[str]:
    """The MATCH clause, split where the tag of each variable name is inserted."""
    pieces = ["MATCH "]
    seen: set[int] = set()

    def node(position: int) -> None:
        labels = (
            "" if position in seen else "".join(f":{quoted(x)}" for x in query.labels[position])
        )
        seen.add(position)
        pieces[-1] += "(n"
        pieces.append(f"_{position}{labels})")

    for number, (start, kind, end) in enumerate(query.relationships):
        pieces[-1] += ", " if number else ""
        node(start)
        pieces[-1] += f"-[:{quoted(kind)}]->"
        node(end)
    if not query.relationships:
        node(0)
    return pieces


def _returned(nodes: int, form: str, row_limit: int) -> list[str]:
    if form != "rows":
        return [" RETURN count(*) AS count"]
    pieces = [" RETURN n"]
    for position in range(nodes):
        more = ", n" if position + 1 < nodes else f" LIMIT {row_limit}"
        # Aliases keep the column names the same for all tags.
        pieces.append(f"_{position} AS column_{position}{more}")
    return pieces


def _joined(*parts: Sequence[str]) -> tuple[str, ...]:
    """Concatenates pieces; the adjoining ends of two parts become one piece."""
    pieces = [""]
    for part in parts:
        if part:
            pieces[-1] += part[0]
            pieces += part[1:]
    return tuple(pieces)


def _predicate(
    query: RandomQuery, known: Mapping[int, Mapping[str, Any]]
) -> tuple[int, str, Any] | None:
    """Position, key and value of a property of the embedding; prefers nodes with labels."""
    choices = [
        (not query.labels[position], position, key)
        for position, node in enumerate(query.node_indexes)
        for key, value in known.get(node, {}).items()
        if isinstance(value, str | int)
    ]
    if not choices:
        return None
    _, position, key = min(choices)
    return position, key, known[query.node_indexes[position]][key]
