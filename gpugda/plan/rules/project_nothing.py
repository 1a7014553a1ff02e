"""Drops the last projection of a subquery whose rows are only counted.

Neo4j does not compute what such a subquery returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan import logical
from gpugda.plan.facts import Facts, Wanted

if TYPE_CHECKING:
    from gpugda.plan.logical import Logical

__all__ = ["project_nothing"]


def project_nothing(tree: Logical, facts: Facts) -> Logical:
    """The rows below the last projection, if no column is wanted."""
    if facts.wanted is Wanted.ROWS or not isinstance(tree, logical.Project):
        return tree
    return tree if isinstance(tree.input, logical.Aggregate) else tree.input
