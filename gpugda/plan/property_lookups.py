"""Nodes whose property equals a value of the rows, so that an index can find them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.query import ast
from gpugda.query.shapes import variable_names
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

from gpugda.plan.pattern_reader import needs_each_row

__all__ = ["PropertyLookup", "property_lookup"]


@value(frozen=True, slots=True)
class PropertyLookup:
    """A condition ``node.key = value``."""

    node: str
    key: str
    value: ast.Expression
    condition: ast.Expression


def property_lookup(
    conditions: Sequence[ast.Expression],
    components: Sequence[frozenset[str]],
    known: Collection[str],
    readable: frozenset[str],
) -> PropertyLookup | None:
    """Finds a node, in a component without bound nodes, with a property that the rows determine.

    Args:
        conditions: The conjuncts of the clause.
        components: The connected components of the clause's nodes.
        known: Nodes and relationships that are bound in the rows.
        readable: The columns of the rows.
    """
    unknown = frozenset[str]().union(*(part for part in components if not part & set(known)))
    for condition in conditions:
        for subject, other in _sides(condition):
            if not isinstance(subject, ast.Property) or not isinstance(
                subject.subject, ast.Variable
            ):
                continue
            name, read = subject.subject.name, variable_names(other)
            if name in unknown and read and read <= readable and not needs_each_row(other):
                return PropertyLookup(name, subject.key, other, condition)
    return None


def _sides(condition: ast.Expression) -> Iterator[tuple[ast.Expression, ast.Expression]]:
    """Both operands of an equality, in both orders."""
    if not isinstance(condition, ast.Comparison) or len(condition.operators) > 1:
        return
    if condition.operators[0] is ast.ComparisonOperator.EQUAL:
        left, right = condition.operands
        yield left, right
        yield right, left
