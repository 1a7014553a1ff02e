"""Variables of partial embeddings: query nodes and query relationships."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery

__all__ = ["Variable", "ends_of", "node_variable", "relationship_variable"]


class Variable(NamedTuple):
    """A query node or a query relationship, by position."""

    is_node: bool
    position: int


# Cached: a look-up is cheaper than creating the values for hundreds of tests.
@lru_cache(maxsize=1024)
def node_variable(position: int) -> Variable:
    """The variable of a query node."""
    return Variable(True, position)


@lru_cache(maxsize=1024)
def relationship_variable(position: int) -> Variable:
    """The variable of a query relationship."""
    return Variable(False, position)


def ends_of(bound: BoundQuery, variable: Variable) -> tuple[int, ...]:
    """The query node of a variable, or both ends of its query relationship."""
    if variable.is_node:
        return (variable.position,)
    each = bound.relationships[variable.position]
    return each.source, each.target
