"""What a column of partial embeddings holds."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpugda.plan.plan import BoundQuery

__all__ = ["Variable", "ends_of", "node_variable", "relationship_variable"]


class Variable(NamedTuple):
    """A query node or a query relationship, by its position."""

    is_node: bool
    position: int


# Some for each of hundreds of tests would take longer to make than to look up.
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
