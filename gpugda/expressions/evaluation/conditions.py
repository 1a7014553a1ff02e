"""Conditions: logic, comparison, ``IN``, text tests, labels and types."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions import boolean_columns as logic
from gpugda.expressions.boolean_columns import Truth
from gpugda.expressions.compare_columns import compare, equal
from gpugda.expressions.evaluation.apply_function import apply_function
from gpugda.expressions.id_order import by_ids, index_of_element_id, index_of_id
from gpugda.expressions.label_columns import ENTITY_KINDS
from gpugda.expressions.list_columns import is_in
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    both,
    either,
    inverted,
    validity,
)
from gpugda.expressions.operators.text import is_normalized
from gpugda.expressions.operators.types import is_of_type
from gpugda.expressions.text_columns import texts_match
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator, ComparisonOperator, UnaryOperator
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.expressions.evaluation.evaluator import Evaluator

__all__ = ["binary", "comparison", "normalized_predicate", "type_predicate", "unary", "with_faults"]

_CONNECTIVES = {
    BinaryOperator.AND: logic.and_,
    BinaryOperator.OR: logic.or_,
    BinaryOperator.XOR: logic.xor_,
}
_TEXT_TESTS = (BinaryOperator.STARTS_WITH, BinaryOperator.ENDS_WITH, BinaryOperator.CONTAINS)


def unary(evaluator: Evaluator, node: ast.Unary) -> Truth:
    """NOT, IS NULL, IS NOT NULL."""
    if node.operator is UnaryOperator.NOT:
        return logic.not_(evaluator.truth(node.operand))
    operand = evaluator.value(node.operand)
    is_null = node.operator is UnaryOperator.IS_NULL
    return with_faults(logic.null_test(operand.operand, is_null=is_null), operand)


def binary(evaluator: Evaluator, node: ast.Binary) -> Truth:
    """Connectives, IN, text tests and ``=~``."""
    if node.operator in _CONNECTIVES:
        return _CONNECTIVES[node.operator](evaluator.truth(node.left), evaluator.truth(node.right))
    if node.operator is BinaryOperator.IN:
        return _membership(evaluator, node)
    left, right = evaluator.value(node.left), evaluator.value(node.right)
    if node.operator is BinaryOperator.MATCHES:
        from gpugda.expressions.regex.matching import matches  # slow to import

        return _of_flags(evaluator, node, matches, left, right)
    operands = (left.operand, right.operand)
    found = texts_match(node.operator, *operands, evaluator.row_count, evaluator.cache)
    return with_faults(found, left, right)


def _of_flags(
    evaluator: Evaluator,
    node: ast.Expression,
    function: Callable[..., bool | None],
    *arguments: Evaluated,
) -> Truth:
    """Applies a function that returns a boolean or null."""
    found = apply_function(evaluator, node, function, arguments)
    message = evaluator.type_error
    truth = logic.truth_of_operand(
        found, evaluator.row_count, lambda text: message(text, node.span)
    )
    return with_faults(Truth(truth.holds, truth.fails), Evaluated(found.operand, truth.faults))


# ------------------------------------------------------------------ comparison
def comparison(evaluator: Evaluator, node: ast.Comparison) -> Truth:
    """``a < b <= c``: each adjacent pair must hold."""
    pairs = zip(node.operands, node.operators, node.operands[1:], strict=False)
    return reduce(logic.and_, (_compared(evaluator, *pair) for pair in pairs))


def _compared(
    evaluator: Evaluator, left: ast.Expression, operator: ComparisonOperator, right: ast.Expression
) -> Truth:
    if operator in (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL):
        a, b = _pair(evaluator, left, right)
        sides = (a.operand, b.operand)
    else:
        a, b = evaluator.value(left), evaluator.value(right)
        graph = evaluator.environment.graph
        sides = (by_ids(a.operand, graph), by_ids(b.operand, graph))
    truth = compare(operator, *sides, evaluator.row_count, evaluator.cache)
    return with_faults(truth, a, b)


def _pair(
    evaluator: Evaluator, left: ast.Expression, right: ast.Expression
) -> tuple[Evaluated, Evaluated]:
    """Two values to be compared for equality.

    For ``id()`` and ``elementId()`` against known values these are indexes, so that no ids are
    looked up and no texts created.
    """
    if _is_id(right) and not _is_id(left):
        b, a = _pair(evaluator, right, left)
        return a, b
    other = evaluator.value(right)
    if not _is_id(left) or not isinstance(other.operand, Constant):
        return evaluator.value(left), other
    subject, graph = evaluator.value(left.arguments[0]), evaluator.environment.graph
    column = subject.operand
    if graph is None or isinstance(column, Constant) or column.kind not in ENTITY_KINDS:
        return evaluator.value(left), other
    find = index_of_id if left.name.lower() == "id" else index_of_element_id
    known = find(graph, column.kind, other.operand.value)
    indexes = Column(ColumnKind.INTEGER, column.values, column.valid)
    return Evaluated(indexes, subject.faults), Evaluated(Constant(known), other.faults)


def _is_id(node: ast.Expression) -> TypeGuard[ast.FunctionCall]:
    if not isinstance(node, ast.FunctionCall) or node.name.lower() not in ("id", "elementid"):
        return False
    return len(node.arguments) == 1


# ------------------------------------------------------------------ IN
def _membership(evaluator: Evaluator, node: ast.Binary) -> Truth:
    row_count, cache = evaluator.row_count, evaluator.cache
    if isinstance(node.right, ast.ListLiteral):
        items = [evaluator.value(item) for item in node.right.items]
        if not all(isinstance(item.operand, Constant) for item in items):
            left = evaluator.value(node.left)
            found = [equal(left.operand, item.operand, row_count, cache) for item in items]
            return with_faults(reduce(logic.or_, found), left, *items)
    left, right = _pair(evaluator, node.left, node.right)
    truth = is_in(left.operand, right.operand, row_count, cache)
    return with_faults(truth, _left_of_in(evaluator, left, right), right)


def _left_of_in(evaluator: Evaluator, left: Evaluated, right: Evaluated) -> Evaluated:
    """The left side of ``IN``; Neo4j does not evaluate it if the list is empty or null."""
    if not left.faults:
        return left
    lists = right.operand
    is_null = lists.value is None if isinstance(lists, Constant) else inverted(validity(lists))
    # Null is known not to be in a list only if the list is empty.
    is_empty = is_in(Constant(None), lists, evaluator.row_count, evaluator.cache).fails
    is_read = inverted(either(is_null, is_empty))
    faults = (Fault(both(fault.rows, is_read), fault.error) for fault in left.faults)
    return Evaluated(left.operand, tuple(faults))


# ------------------------------------------------------------------ types and normal forms
_SAMPLES: dict[ColumnKind, Any] = {
    ColumnKind.BOOLEAN: True,
    ColumnKind.INTEGER: 0,
    ColumnKind.FLOAT: 0.0,
    ColumnKind.STRING: "",
    ColumnKind.NODE: Entity(True, 0),
    ColumnKind.RELATIONSHIP: Entity(False, 0),
}


def type_predicate(evaluator: Evaluator, node: ast.TypePredicate) -> Truth:
    """``operand IS [NOT] :: type``."""

    def test(item: Any) -> bool:
        return is_of_type(item, node.type) != node.negated

    operand = evaluator.value(node.operand)
    column = operand.operand
    if isinstance(column, Column) and column.kind in _SAMPLES:
        # All values of a kind give the same result, so test one sample.
        sample = Column(ColumnKind.BOOLEAN, np.ones(len(column), np.bool_), column.valid)
        kind, plain = column.kind, test
        operand = Evaluated(sample, operand.faults)
        return _of_flags(
            evaluator, node, lambda item: plain(_SAMPLES[kind] if item else None), operand
        )
    return _of_flags(evaluator, node, test, operand)


def normalized_predicate(evaluator: Evaluator, node: ast.NormalizedPredicate) -> Truth:
    """``operand IS [NOT] [form] NORMALIZED``."""
    form = str(node.form)
    truth = _of_flags(
        evaluator, node, lambda text: is_normalized(text, form), evaluator.value(node.operand)
    )
    return logic.not_(truth) if node.negated else truth


def with_faults(truth: Truth, *operands: Evaluated) -> Truth:
    """The condition without the rows where an operand fails; these rows become faults."""
    faults = tuple(fault for operand in operands for fault in operand.faults)
    holds, fails = truth.holds, truth.fails
    for fault in faults:
        sound = inverted(fault.rows)
        holds, fails = both(holds, sound), both(fails, sound)
    return Truth(holds, fails, truth.faults + faults)
