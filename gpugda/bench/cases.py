"""What is asked: query texts that can be made new, with their parameters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.bench.random_queries import RandomQuery

__all__ = ["FORMS", "Case", "cases_of", "quoted"]

FORMS = ("count", "rows", "predicate")
"""``count(*)``; whole nodes with a LIMIT; ``count(*)`` with a condition on a property."""


@dataclass(frozen=True, slots=True)
class Case:
    """One query.

    Args:
        name: Unique in a benchmark.
        density: ``dense`` or ``sparse``, empty for a query of the user's.
        node_count: Query nodes.
        relationship_count: Query relationships.
        form: One of `FORMS`, or ``own``.
        pieces: The text, cut where a tag comes in that makes it a text that nobody has seen.
        parameters: Values by name.
        row_limit: Where as many rows came, others might have come as well; 0 where the rows are
            never determined (SKIP); None without a limit.
        lists_unordered: Whether lists in the rows have no order, as those of ``collect``.
        renames: Whether the tag is in the names of variables; else only in a comment, which no
            plan cache of a server takes for a new query.
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
        """The text with a tag of letters and digits."""
        return tag.join(self.pieces)


def quoted(name: str) -> str:
    """A label, type or property key as Cypher writes any name."""
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
        properties: For each, properties by data node; nodes without any may be left out.
        forms: Which forms to make. The form with a predicate needs a property.
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
    """The MATCH clause, cut where each name of a variable has its tag."""
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
        # Under another name, so that columns are called alike whatever the tag.
        pieces.append(f"_{position} AS column_{position}{more}")
    return pieces


def _joined(*parts: Sequence[str]) -> tuple[str, ...]:
    """Pieces one after the other: the ends that meet become one piece."""
    pieces = [""]
    for part in parts:
        if part:
            pieces[-1] += part[0]
            pieces += part[1:]
    return tuple(pieces)


def _predicate(
    query: RandomQuery, known: Mapping[int, Mapping[str, Any]]
) -> tuple[int, str, Any] | None:
    """Position, key and value of a property that the embedding has; nodes with labels first."""
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
