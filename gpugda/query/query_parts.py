"""Query nodes and query relationships: what a query graph consists of."""

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
    """The name of a query node that has no variable."""
    return f"\0n{position}"


def anonymous_relationship_name(position: int) -> str:
    """The name of a query relationship that has no variable."""
    return f"\0r{position}"


def is_anonymous(name: str) -> bool:
    """Whether a query node or query relationship was written without a variable.

    The names made for those begin with a null character, which no query can contain.
    """
    return name.startswith("\0")


@value(frozen=True, slots=True)
class QueryNode:
    """A node to be found. ``labels`` must all hold.

    Anonymous nodes have names that no text can contain.
    """

    position: int
    name: str
    labels: tuple[LabelExpression, ...] = ()


@value(frozen=True, slots=True)
class QueryRelationship:
    """A relationship to be found between the query nodes at positions ``source`` and ``target``.

    Args:
        position: Place in the query graph.
        name: The variable, or a name that no text can contain.
        source: Start node; for an undirected one, the node written first.
        target: End node; for an undirected one, the node written second.
        directed: False where either direction fits.
        types: What its type must satisfy, None for any.
        clause: Number of its MATCH clause, counting those that have relationships: relationships
            of one clause are distinct.
        same_as: Position of an earlier query relationship that it must equal, where an earlier
            clause binds the same variable.
    """

    position: int
    name: str
    source: int
    target: int
    directed: bool
    types: LabelExpression | None
    clause: int
    same_as: int | None = None
