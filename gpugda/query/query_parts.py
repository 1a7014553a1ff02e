"""Query nodes and query relationships, the elements of a query graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.query.ast import LabelExpression

__all__ = [
    "QueryNode",
    "QueryRelationship",
    "anonymous_node_name",
    "anonymous_relationship_name",
    "is_anonymous",
]


def anonymous_node_name(position: int) -> str:
    """The name of a query node without a variable."""
    return f"\0n{position}"


def anonymous_relationship_name(position: int) -> str:
    """The name of a query relationship without a variable."""
    return f"\0r{position}"


def is_anonymous(name: str) -> bool:
    """True for the name of a query node or query relationship without a variable.

    Such names begin with a null character, which no query can contain.
    """
    return name.startswith("\0")


@value(frozen=True, slots=True)
class QueryNode:
    """A node to match; it must satisfy all of ``labels``.

    Anonymous nodes have names that no text can contain.
    """

    position: int
    name: str
    labels: tuple[LabelExpression, ...] = ()


@value(frozen=True, slots=True)
class QueryRelationship:
    """A relationship to match between the query nodes at positions ``source`` and ``target``.

    Args:
        position: Position in the query graph.
        name: Variable, or a name that no text can contain.
        source: Start node; for an undirected one, the node written first.
        target: End node; for an undirected one, the node written second.
        directed: False if either direction matches.
        types: Type expression; None for any type.
        clause: Number of its MATCH clause, among those with relationships: relationships of one
            clause are distinct.
        same_as: Position of an earlier query relationship that it must equal, if an earlier clause
            binds the same variable.
    """

    position: int
    name: str
    source: int
    target: int
    directed: bool
    types: LabelExpression | None
    clause: int
    same_as: int | None = None
