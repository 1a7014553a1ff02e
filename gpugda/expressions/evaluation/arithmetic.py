"""``+ - * / % ^`` and signs: numbers as arrays, other values one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import QueryError
from gpugda.expressions import column_arithmetic
from gpugda.expressions.evaluation.apply_function import apply_function, faulty_rows, with_position
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Flags,
    Operand,
    both,
    inverted,
    value_at,
)
from gpugda.expressions.operators import arithmetic
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator, UnaryOperator
from gpugda.values import is_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.expressions.evaluation.evaluator import Evaluator

__all__ = ["binary", "signed"]

_SINGLE: dict[BinaryOperator, Callable[[Any, Any], Any]] = {
    BinaryOperator.CONCATENATE: arithmetic.concatenate,
    BinaryOperator.ADD: arithmetic.add,
    BinaryOperator.SUBTRACT: arithmetic.subtract,
    BinaryOperator.MULTIPLY: arithmetic.multiply,
    BinaryOperator.DIVIDE: arithmetic.divide,
    BinaryOperator.MODULO: arithmetic.modulo,
    BinaryOperator.POWER: arithmetic.power,
}
_NUMERIC = (ColumnKind.INTEGER, ColumnKind.FLOAT)


def binary(evaluator: Evaluator, node: ast.Binary) -> Evaluated:
    """An operator between two values."""
    left, right = evaluator.value(node.left), evaluator.value(node.right)
    if _is_folded(node):
        right = Evaluated(Constant(float(node.right.value)))  # type: ignore[attr-defined]
    return _computed(evaluator, node, node.operator, left, right)


def _is_folded(node: ast.Binary) -> bool:
    # Neo4j folds literals at compile time: 1.0 / 0 is then infinite, not a division by zero.
    if node.operator is not BinaryOperator.DIVIDE or not isinstance(node.right, ast.Literal):
        return False
    left, right = node.left, node.right.value
    if type(right) is not int or right != 0:
        return False
    return isinstance(left, ast.Literal) and isinstance(left.value, float)


def signed(evaluator: Evaluator, node: ast.Unary) -> Evaluated:
    """``-operand``, computed as 0 - operand, and ``+operand``."""
    operand = evaluator.value(node.operand)
    if node.operator is UnaryOperator.PLUS:
        return operand
    return _computed(evaluator, node, BinaryOperator.SUBTRACT, Evaluated(Constant(0)), operand)


def _computed(
    evaluator: Evaluator,
    node: ast.Expression,
    operator: BinaryOperator,
    left: Evaluated,
    right: Evaluated,
) -> Evaluated:
    single = _SINGLE[operator]
    find = column_arithmetic.OPERATORS.get(operator)
    a, b = left.operand, right.operand
    if find is None or not (_is_numeric(a) and _is_numeric(b)) or _are_constant(a, b):
        return apply_function(evaluator, node, single, (left, right))
    faults = left.faults + right.faults
    operand, refused = find(a, b)
    if refused is False:
        return Evaluated(operand, faults)

    def error(row: int) -> QueryError:
        return _error_of(single, value_at(a, row), value_at(b, row), evaluator, node)

    rows: Flags = both(refused, inverted(faulty_rows(faults)))
    return Evaluated(operand, (*faults, Fault(rows, error)))


def _error_of(
    single: Callable[[Any, Any], Any], a: Any, b: Any, evaluator: Evaluator, node: ast.Expression
) -> QueryError:

    try:
        single(a, b)
    except QueryError as error:
        return with_position(error, evaluator, node)
    raise AssertionError(f"{a!r} and {b!r} can be calculated with")


def _is_numeric(operand: Operand) -> bool:
    if isinstance(operand, Column):
        return operand.kind in _NUMERIC
    return is_number(operand.value)


def _are_constant(a: Operand, b: Operand) -> bool:
    return isinstance(a, Constant) and isinstance(b, Constant)
