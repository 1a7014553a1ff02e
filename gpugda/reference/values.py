"""Values of expressions: operators and function calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.errors import CypherSyntaxError, CypherTypeError
from gpugda.expressions import functions
from gpugda.expressions.operators import arithmetic, text
from gpugda.expressions.operators.types import is_of_type
from gpugda.expressions.regex.matching import matches
from gpugda.query import ast
from gpugda.reference import inner_values, logic
from gpugda.reference.evaluator import Evaluator
from gpugda.reference.trees import Scope
from gpugda.text_order import as_stored
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.reference.graph import PlainGraph

__all__ = ["make_evaluator"]


def make_evaluator(
    graph: PlainGraph, parameters: Mapping[str, Any], text: str, version: int = 5
) -> Evaluator:
    """The evaluator of a query's expressions; see `Evaluator`."""
    return Evaluator(graph, parameters, text, _METHODS, version)


# ------------------------------------------------------------------ operators
def _unary(evaluator: Evaluator, node: ast.Unary, row: Mapping[Any, Any]) -> Any:
    if node.operator is ast.UnaryOperator.NOT:
        return logic.negation(evaluator, node, row)
    operand = evaluator.value(node.operand, row)
    if node.operator is ast.UnaryOperator.IS_NULL:
        return operand is None
    if node.operator is ast.UnaryOperator.IS_NOT_NULL:
        return operand is not None
    minus = node.operator is ast.UnaryOperator.MINUS
    return arithmetic.minus(operand) if minus else arithmetic.plus(operand)


def _binary(evaluator: Evaluator, node: ast.Binary, row: Mapping[Any, Any]) -> Any:
    if node.operator in logic.CONNECTIVES:
        return logic.connected(evaluator, node, row)
    if node.operator is ast.BinaryOperator.IN:
        return _membership(evaluator, node, row)
    # Sums lean to the left: iterate along them, as thousands of terms would exceed the recursion.
    spine: list[ast.Binary] = []
    left: ast.Expression = node
    while isinstance(left, ast.Binary) and left.operator not in _NO_LEFT_SPINE:
        if spine and isinstance(row, Scope) and evaluator.shape(left) in row:
            break
        spine.append(left)
        left = left.left
    value = evaluator.value(left, row)
    for part in reversed(spine):
        value = _operated(part, value, evaluator.value(part.right, row))
    return value


def _membership(evaluator: Evaluator, node: ast.Binary, row: Mapping[Any, Any]) -> bool | None:
    found = evaluator.value(node.right, row)
    if found is None or (isinstance(found, list) and not found):
        return values.is_in(None, found)  # Neo4j does not evaluate the left side in this case
    return values.is_in(evaluator.value(node.left, row), found)


def _operated(node: ast.Binary, left: Any, right: Any) -> Any:
    both_literals = isinstance(node.left, ast.Literal) and isinstance(node.right, ast.Literal)
    if node.operator is ast.BinaryOperator.DIVIDE and both_literals and isinstance(left, float):
        # Neo4j divides two literals at compile time, where 1.0 / 0 is infinite.
        right = float(right) if isinstance(right, int) and right == 0 else right
    return _BINARY[node.operator](left, right)


def _comparison(evaluator: Evaluator, node: ast.Comparison, row: Mapping[Any, Any]) -> bool | None:
    operands = [
        evaluator.graph.in_order(evaluator.value(operand, row)) for operand in node.operands
    ]
    result: bool | None = True
    for left, operator, right in zip(operands, node.operators, operands[1:], strict=False):
        result = values.and_(result, _COMPARISONS[operator](left, right))
    return result


def _label_predicate(
    evaluator: Evaluator, node: ast.LabelPredicate, row: Mapping[Any, Any]
) -> bool | None:
    subject = evaluator.value(node.subject, row)
    if subject is None:
        return None
    if not isinstance(subject, Entity):
        raise CypherTypeError(f"{subject!r} has no labels")
    return evaluator.labels_fit(subject, node.labels, row)


def _type_predicate(evaluator: Evaluator, node: ast.TypePredicate, row: Mapping[Any, Any]) -> bool:
    return is_of_type(evaluator.value(node.operand, row), node.type) != node.negated


def _normalized(
    evaluator: Evaluator, node: ast.NormalizedPredicate, row: Mapping[Any, Any]
) -> bool | None:
    found = text.is_normalized(evaluator.value(node.operand, row), str(node.form))
    return values.not_(found) if node.negated else found


# ------------------------------------------------------------------ calls
def _function(evaluator: Evaluator, node: ast.FunctionCall, row: Mapping[Any, Any]) -> Any:
    if node.name.lower() == "exists" and len(node.arguments) == 1:
        argument = evaluator.value(node.arguments[0], row)
        return argument if isinstance(argument, bool) else argument is not None
    function = functions.find_function(node.name, evaluator.version)
    if function is None and functions.find_aggregate(node.name) is not None:
        raise CypherSyntaxError(f"the aggregate {node.name}() cannot stand here")
    if function is None:
        raise evaluator.unsupported(f"the function {node.name}()", node)
    found = (evaluator.value(argument, row) for argument in node.arguments)
    if node.name.lower() == "coalesce":  # arguments after the first value are not evaluated
        return next((each for each in found if each is not None), None)
    return function(evaluator.context, list(found))


_NO_LEFT_SPINE = (*logic.CONNECTIVES, ast.BinaryOperator.IN)

_BINARY: dict[ast.BinaryOperator, Callable[[Any, Any], Any]] = {
    ast.BinaryOperator.STARTS_WITH: text.starts_with,
    ast.BinaryOperator.ENDS_WITH: text.ends_with,
    ast.BinaryOperator.CONTAINS: text.contains,
    ast.BinaryOperator.MATCHES: matches,
    ast.BinaryOperator.CONCATENATE: arithmetic.concatenate,
    ast.BinaryOperator.ADD: arithmetic.add,
    ast.BinaryOperator.SUBTRACT: arithmetic.subtract,
    ast.BinaryOperator.MULTIPLY: arithmetic.multiply,
    ast.BinaryOperator.DIVIDE: arithmetic.divide,
    ast.BinaryOperator.MODULO: arithmetic.modulo,
    ast.BinaryOperator.POWER: arithmetic.power,
}

_COMPARISONS: dict[ast.ComparisonOperator, Callable[[Any, Any], bool | None]] = {
    ast.ComparisonOperator.EQUAL: values.equals,
    ast.ComparisonOperator.NOT_EQUAL: lambda a, b: values.not_(values.equals(a, b)),
    ast.ComparisonOperator.LESS: values.less,
    ast.ComparisonOperator.LESS_EQUAL: lambda a, b: values.less(a, b, or_equal=True),
    ast.ComparisonOperator.GREATER: values.greater,
    ast.ComparisonOperator.GREATER_EQUAL: lambda a, b: values.greater(a, b, or_equal=True),
}

_METHODS: dict[type, Callable[[Evaluator, Any, Any], Any]] = {
    ast.Literal: lambda evaluator, node, row: as_stored(node.value),
    ast.Parameter: lambda evaluator, node, row: evaluator.parameters.value(node),
    ast.Property: lambda evaluator, node, row: evaluator.property(
        evaluator.value(node.subject, row), node.key
    ),
    ast.Unary: _unary,
    ast.Binary: _binary,
    ast.Comparison: _comparison,
    ast.LabelPredicate: _label_predicate,
    ast.TypePredicate: _type_predicate,
    ast.NormalizedPredicate: _normalized,
    ast.FunctionCall: _function,
    **inner_values.METHODS,
}
