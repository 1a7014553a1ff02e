"""Decides whether an expression creates a new number in each row or passes on an existing one.

Neo4j groups NaN by object identity. An addition creates a new object; ``coalesce(v, 1)`` passes on
the object in ``v``. For expressions that may do either, the answer is unknown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.data.columns import ColumnKind
from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, ColumnReference, KeyReference
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.expressions.environment import Environment

__all__ = ["creates_own_nan", "is_constant_folded"]

_ARITHMETIC: Final = frozenset(
    (
        ast.BinaryOperator.ADD,
        ast.BinaryOperator.SUBTRACT,
        ast.BinaryOperator.MULTIPLY,
        ast.BinaryOperator.DIVIDE,
        ast.BinaryOperator.MODULO,
        ast.BinaryOperator.POWER,
    )
)
_MAKERS: Final = frozenset(("sqrt", "exp", "log", "log10", "sin", "cos", "tan"))
"""Functions that always create a new number."""
_PASSING: Final = (
    ast.Parameter,
    AggregateReference,
    ColumnReference,
    KeyReference,
    ast.Subquery,
    ast.PatternComprehension,
)
"""Expressions whose value may be the same object in several rows."""


def is_constant_folded(expression: ast.Expression) -> bool:
    """True if Neo4j computes the value once per query: a parameter, or arithmetic on literals."""
    if isinstance(expression, ast.Parameter):
        return True
    allowed = (ast.Literal, ast.Unary, ast.Binary)
    return all(isinstance(each, allowed) for each in walk(expression))


def creates_own_nan(expression: ast.Expression, environment: Environment) -> bool:
    """True if a NaN result belongs to its row alone; False if that is unknown.

    Args:
        expression: Neither a variable nor a property of one.
        environment: Environment of the rows.
    """
    if _is_arithmetic(expression) and not is_constant_folded(expression):
        return True
    if isinstance(expression, ast.FunctionCall) and expression.name.lower() in _MAKERS:
        return True
    return all(_is_read(each, environment) for each in _leaves(expression))


def _is_arithmetic(node: ast.Node) -> bool:
    if isinstance(node, ast.Unary):
        return node.operator is ast.UnaryOperator.MINUS
    return isinstance(node, ast.Binary) and node.operator in _ARITHMETIC


def _leaves(expression: ast.Expression) -> Iterator[ast.Expression]:
    """Sources of values: all subexpressions but variables that the expression itself binds."""
    own: set[str] = set()
    for node in walk(expression):
        if isinstance(node, ast.ListComprehension | ast.ListPredicate | ast.Reduce):
            own.add(node.variable.name)
        if isinstance(node, ast.Reduce):
            own.add(node.accumulator.name)
        is_own = isinstance(node, ast.Variable) and node.name in own
        if isinstance(node, ast.Expression) and not is_own:
            yield node


def _is_read(node: ast.Expression, environment: Environment) -> bool:
    """True if the node's value is created anew each time it is read."""
    if isinstance(node, ast.Variable):
        column = environment.variables.get(node.name)
        kinds = (ColumnKind.NODE, ColumnKind.RELATIONSHIP)
        return column is not None and column.kind in kinds
    if _is_arithmetic(node) and is_constant_folded(node):
        return isinstance(node, ast.Unary)
    return not isinstance(node, _PASSING)
