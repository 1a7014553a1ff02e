"""``+ - * / % ^`` and signs: numbers as arrays, other values one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.arrow_numbers import arrow_numbers, numpy_numbers
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import QueryError
from gpugda.expressions.evaluation.apply_function import apply_function, faulty_rows, with_position
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Flags,
    Operand,
    both,
    inverted,
    validity,
    value_at,
)
from gpugda.expressions.operators import arithmetic
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator, UnaryOperator
from gpugda.values import is_number

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.expressions.evaluation.evaluator import Evaluator


__all__ = ["OPERATORS", "binary", "signed"]

_SMALLEST: Final = -(2**63)

Calculated = tuple[Operand, Flags]


def _add(left: Operand, right: Operand) -> Calculated:
    return _of_numbers(left, right, "add_checked", _added, np.add)


def _subtract(left: Operand, right: Operand) -> Calculated:
    return _of_numbers(left, right, "subtract_checked", _subtracted, np.subtract)


def _multiply(left: Operand, right: Operand) -> Calculated:
    return _of_numbers(left, right, "multiply_checked", _multiplied, np.multiply)


def _of_numbers(
    left: Operand,
    right: Operand,
    checked: str,
    find: Callable[[Any, Any], tuple[NDArray[np.int64], NDArray[np.bool_]]],
    of_floats: Callable[..., NDArray[Any]],
) -> Calculated:
    valid = both(validity(left), validity(right))
    if _is_float(left) or _is_float(right):
        with np.errstate(all="ignore"):
            return _column(of_floats(_mixed(left), _mixed(right)), valid), False
    try:
        found = pc.call_function(checked, [_arrow(left), _arrow(right)])
    except pa.ArrowInvalid:  # an overflow, perhaps in a null row
        with np.errstate(all="ignore"):
            values, refused = find(_raw(left), _raw(right))
        return _column(values, valid), _where(both(refused, valid))
    return _column(numpy_numbers(found), valid), False


def _added(a: Any, b: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    total = np.add(a, b, dtype=np.int64)
    return total, ((a ^ total) & (b ^ total)) < 0


def _subtracted(a: Any, b: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    rest = np.subtract(a, b, dtype=np.int64)
    return rest, ((a ^ b) & (a ^ rest)) < 0


def _multiplied(a: Any, b: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    product = np.multiply(a, b, dtype=np.int64)
    a, b = np.broadcast_arrays(a, b)
    back = np.zeros_like(product)
    divides = (b != 0) & ~((b == -1) & (product == _SMALLEST))
    np.floor_divide(product, b, out=back, where=divides)
    wrong = divides & ((back != a) | (back * b != product))
    return product, wrong | ((b == -1) & (a == _SMALLEST))


# ------------------------------------------------------------------ division
def _divide(left: Operand, right: Operand) -> Calculated:
    valid = both(validity(left), validity(right))
    by_zero = both(_raw(right) == 0, validity(right)) if not _is_float(right) else False
    refused = _where(by_zero)
    if _is_float(left) or _is_float(right):
        with np.errstate(all="ignore"):
            return _column(np.divide(_mixed(left), _mixed(right)), valid), refused
    dividend, divisor = _raw(left), _raw(right)
    if isinstance(divisor, int) and divisor not in (0, -1):
        return _column(numpy_numbers(pc.divide(_arrow(left), _arrow(right))), valid), refused
    # Divided by -1, the smallest integer gives itself, like NumPy's negation.
    dividend, divisor = np.broadcast_arrays(_long(dividend), _long(divisor))
    if not np.any(divisor == 0) and dividend.min(initial=0) > _SMALLEST:
        return _column(numpy_numbers(pc.divide(_arrow(left), _arrow(right))), valid), False
    safe = np.where((divisor == 0) | (divisor == -1), 1, divisor)
    dividend = np.where(divisor == -1, np.negative(dividend), dividend)
    found = pc.divide(arrow_numbers(dividend), arrow_numbers(safe))
    return _column(numpy_numbers(found), valid), refused


def _modulo(left: Operand, right: Operand) -> Calculated:
    valid = both(validity(left), validity(right))
    if _is_float(left) or _is_float(right):
        with np.errstate(all="ignore"):
            return _column(np.fmod(_mixed(left), _mixed(right)), valid), False
    dividend, divisor = np.broadcast_arrays(_long(_raw(left)), _long(_raw(right)))
    refused = _where(both(divisor == 0, valid))
    # The remainder by -1 is 0; computing it for the smallest integer would fault.
    safe = np.where((divisor == 0) | (divisor == -1), 1, divisor)
    return _column(np.fmod(dividend, safe), valid), refused


def _power(left: Operand, right: Operand) -> Calculated:
    valid = both(validity(left), validity(right))
    base, exponent = np.broadcast_arrays(_floats(left), _floats(right))
    # C's pow, as for single values: NumPy's may differ in the last digit.
    found = numpy_numbers(pc.power(arrow_numbers(base), arrow_numbers(exponent)))
    unlike = ((np.abs(base) == 1) & np.isinf(exponent)) | ((base == 1) & np.isnan(exponent))
    return _column(np.where(unlike, np.nan, found) if unlike.any() else found, valid), False


OPERATORS: Final[dict[BinaryOperator, Callable[[Operand, Operand], Calculated]]] = {
    BinaryOperator.ADD: _add,
    BinaryOperator.SUBTRACT: _subtract,
    BinaryOperator.MULTIPLY: _multiply,
    BinaryOperator.DIVIDE: _divide,
    BinaryOperator.MODULO: _modulo,
    BinaryOperator.POWER: _power,
}


# ------------------------------------------------------------------ conversion
def _is_float(operand: Operand) -> bool:
    if isinstance(operand, Constant):
        return isinstance(operand.value, float)
    return operand.kind is ColumnKind.FLOAT


def _raw(operand: Operand) -> Any:
    return operand.value if isinstance(operand, Constant) else operand.values


def _floats(operand: Operand) -> Any:
    if isinstance(operand, Constant):
        return float(operand.value)
    return operand.values.astype(np.float64, copy=False)


def _mixed(operand: Operand) -> Any:
    """Values that NumPy converts to float when combined with a float operand."""
    return float(operand.value) if isinstance(operand, Constant) else operand.values


def _arrow(operand: Operand) -> Any:
    if isinstance(operand, Constant):
        return pa.scalar(operand.value, pa.int64())
    return arrow_numbers(operand.values)


def _long(values: Any) -> NDArray[np.int64]:
    return np.asarray(values, dtype=np.int64)


def _column(values: NDArray[Any], valid: Flags) -> Operand:
    kind = ColumnKind.INTEGER if values.dtype == np.int64 else ColumnKind.FLOAT
    if valid is False:
        return Constant(None)
    return Column(kind, values, None if valid is True else valid)


def _where(rows: Any) -> Flags:
    """The mask, or False if no row is set, so that later steps can skip it."""
    if isinstance(rows, np.ndarray):
        return rows if rows.any() else False
    return bool(rows)


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
    find = OPERATORS.get(operator)
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
