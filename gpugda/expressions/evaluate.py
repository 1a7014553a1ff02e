"""Expressions over columns: one evaluation for all rows."""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from gpugda.data.columns import Column, ColumnKind, to_values
from gpugda.data.dictionaries import ObjectDictionary
from gpugda.deadline import check_time
from gpugda.errors import CypherTypeError, UnsupportedQueryError
from gpugda.expressions import boolean_columns as logic
from gpugda.expressions.boolean_columns import Truth
from gpugda.expressions.compare_columns import compare, equal
from gpugda.expressions.environment import Environment
from gpugda.expressions.id_order import by_ids
from gpugda.expressions.known_ids import index_of_element_id, index_of_id
from gpugda.expressions.label_columns import ENTITY_KINDS, FUNCTIONS, label_flags
from gpugda.expressions.membership import is_in
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Operand,
    as_column,
    both,
    check_faults,
    distinct_values,
    inverted,
    validity,
    value_at,
)
from gpugda.expressions.property_columns import property_of
from gpugda.expressions.simplify import sole_operand
from gpugda.expressions.text_columns import texts_match
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator, ComparisonOperator, UnaryOperator
from gpugda.query.query_graph import AggregateReference, ColumnReference, KeyReference
from gpugda.values import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.types import Span

__all__ = ["Environment", "evaluate", "evaluate_operand", "evaluate_truth", "evaluate_value"]

_CONNECTIVES = {
    BinaryOperator.AND: logic.and_,
    BinaryOperator.OR: logic.or_,
    BinaryOperator.XOR: logic.xor_,
}
_TEXT_TESTS = (BinaryOperator.STARTS_WITH, BinaryOperator.ENDS_WITH, BinaryOperator.CONTAINS)


def evaluate(expression: ast.Expression, environment: Environment) -> Column:
    """The value in every row.

    Raises:
        CypherTypeError: In some row a value has a type for which an operation is not defined.
        ParameterMissingError: A parameter has no value.
        UnsupportedQueryError: An expression that nothing here evaluates.
    """
    return as_column(evaluate_operand(expression, environment), environment.row_count)


def evaluate_operand(expression: ast.Expression, environment: Environment) -> Operand:
    """As ``evaluate``, but what is the same in all rows stays one value."""
    evaluated = _Evaluator(environment).value(expression)
    check_faults(evaluated.faults, environment.row_count)
    return evaluated.operand


def evaluate_value(expression: ast.Expression, environment: Environment) -> Evaluated:
    """As ``evaluate_operand``; raises nothing for single rows, but leaves their faults."""
    return _Evaluator(environment).value(expression)


def evaluate_truth(conditions: Sequence[ast.Expression], environment: Environment) -> Truth:
    """Whether all conditions hold; raises nothing for single rows, but leaves their faults."""
    evaluator = _Evaluator(environment)
    return reduce(logic.and_, map(evaluator.truth, conditions), logic.ALWAYS)


class _Evaluator:
    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.row_count = environment.row_count
        self.cache = environment.cache

    def value(self, node: Any) -> Evaluated:
        """Any expression as a value."""
        check_time()
        only = sole_operand(node)
        if only is not None:
            return self.value(only)
        if type(node) in _CONDITIONS:
            truth = self.truth(node)
            return Evaluated(logic.operand_of_truth(truth), truth.faults)
        if type(node) not in _VALUES:
            raise self._unsupported(node, getattr(node, "construct", type(node).__name__))
        return _VALUES[type(node)](self, node)

    def truth(self, node: Any) -> Truth:
        """Any expression as a condition."""
        if type(node) in _CONDITIONS:
            return _CONDITIONS[type(node)](self, node)
        return logic.truth_of_operand(
            self.value(node), self.row_count, lambda message: self._type_error(message, node.span)
        )

    # -------------------------------------------------------------- conditions
    def unary(self, node: ast.Unary) -> Truth:
        if node.operator is UnaryOperator.NOT:
            return logic.not_(self.truth(node.operand))
        if node.operator not in (UnaryOperator.IS_NULL, UnaryOperator.IS_NOT_NULL):
            raise self._unsupported(node, f"the operator {node.operator}")
        operand = self.value(node.operand)
        is_null = node.operator is UnaryOperator.IS_NULL
        return _with_faults(logic.null_test(operand.operand, is_null=is_null), operand)

    def binary(self, node: ast.Binary) -> Truth:
        if node.operator in _CONNECTIVES:
            return _CONNECTIVES[node.operator](self.truth(node.left), self.truth(node.right))
        if node.operator is BinaryOperator.IN:
            return self._membership(node)
        if node.operator not in _TEXT_TESTS:
            raise self._unsupported(node, f"the operator {node.operator}")
        left, right = self.value(node.left), self.value(node.right)
        found = texts_match(node.operator, left.operand, right.operand, self.row_count, self.cache)
        return _with_faults(found, left, right)

    def comparison(self, node: ast.Comparison) -> Truth:
        pairs = zip(node.operands, node.operators, node.operands[1:], strict=False)
        return reduce(logic.and_, (self._compared(*pair) for pair in pairs))

    def _compared(
        self, left: ast.Expression, operator: ComparisonOperator, right: ast.Expression
    ) -> Truth:
        if operator in (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL):
            a, b = self._pair(left, right)
            sides = (a.operand, b.operand)
        else:
            a, b = self.value(left), self.value(right)
            graph = self.environment.graph
            sides = (by_ids(a.operand, graph), by_ids(b.operand, graph))
        truth = compare(operator, *sides, self.row_count, self.cache)
        return _with_faults(truth, a, b)

    def _pair(self, left: ast.Expression, right: ast.Expression) -> tuple[Evaluated, Evaluated]:
        """Two values to be tested for equality.

        Of ``id()`` and ``elementId()`` against known values it is the indexes, so that no ids are
        looked up and no texts made.
        """
        if _is_id(right) and not _is_id(left):
            b, a = self._pair(right, left)
            return a, b
        other = self.value(right)
        if not _is_id(left) or not isinstance(other.operand, Constant):
            return self.value(left), other
        subject, graph = self.value(left.arguments[0]), self.environment.graph
        column = subject.operand
        if graph is None or isinstance(column, Constant) or column.kind not in ENTITY_KINDS:
            return self.value(left), other
        find = index_of_id if left.name.lower() == "id" else index_of_element_id
        known = find(graph, column.kind, other.operand.value)
        indexes = Column(ColumnKind.INTEGER, column.values, column.valid)
        return Evaluated(indexes, subject.faults), Evaluated(Constant(known), other.faults)

    def _membership(self, node: ast.Binary) -> Truth:
        if isinstance(node.right, ast.ListLiteral):
            items = [self.value(item) for item in node.right.items]
            if not all(isinstance(item.operand, Constant) for item in items):
                left = self.value(node.left)
                found = [
                    equal(left.operand, item.operand, self.row_count, self.cache) for item in items
                ]
                return _with_faults(reduce(logic.or_, found), left, *items)
        left, right = self._pair(node.left, node.right)
        if isinstance(right.operand, Constant) and isinstance(right.operand.value, dict):
            fault = self._fault(right.operand, node.right.span, "expected a list but was")
            return Truth(False, False, (*left.faults, *right.faults, fault))
        found_in = is_in(left.operand, right.operand, self.row_count, self.cache)
        return _with_faults(found_in, left, right)

    def label_predicate(self, node: ast.LabelPredicate) -> Truth:
        subject = self.value(node.subject)
        column = subject.operand
        if isinstance(column, Constant) and column.value is None:
            return _with_faults(logic.UNKNOWN, subject)
        graph = self.environment.graph
        if isinstance(column, Constant) or column.kind not in ENTITY_KINDS or graph is None:
            fault = self._fault(column, node.span, "expected a node or relationship but was")
            return Truth(False, False, (*subject.faults, fault))
        found, valid = label_flags(graph, column, node.labels, self.environment), validity(column)
        return Truth(both(found, valid), both(inverted(found), valid), subject.faults)

    # -------------------------------------------------------------- values
    def parameter(self, node: ast.Parameter) -> Evaluated:
        return Evaluated(Constant(self.environment.parameters.get(node.name, node.span)))

    def variable(self, node: ast.Variable) -> Evaluated:
        return Evaluated(self.environment.variables[node.name])

    def property(self, node: ast.Property) -> Evaluated:
        subject = self.value(node.subject)
        operand, refused = property_of(subject.operand, node.key, self.environment)
        if refused is False:
            return Evaluated(operand, subject.faults)
        fault = self._fault(subject.operand, node.span, "expected a map but was")
        return Evaluated(operand, (*subject.faults, Fault(both(refused, fault.rows), fault.error)))

    def function(self, node: ast.FunctionCall) -> Evaluated:
        name = node.name.lower()
        if name not in FUNCTIONS or len(node.arguments) != 1:
            raise self._unsupported(node, f"the function {node.name}()")
        argument = self.value(node.arguments[0])
        operand, (kinds, function) = argument.operand, FUNCTIONS[name]
        if isinstance(operand, Constant) and operand.value is None:
            return argument
        if isinstance(operand, Constant) or operand.kind not in kinds:
            fault = self._fault(operand, node.span, f"expected a {' or '.join(kinds)} but was")
            return Evaluated(Constant(None), (*argument.faults, fault))
        return Evaluated(function(self.environment.graph, operand, self.cache), argument.faults)

    def list_literal(self, node: ast.ListLiteral) -> Evaluated:
        return self._composed(node.items, list)

    def map_literal(self, node: ast.MapLiteral) -> Evaluated:
        names = [name for name, _ in node.entries]
        items = [item for _, item in node.entries]
        return self._composed(items, lambda row: dict(zip(names, row, strict=True)))

    def _composed(self, nodes: Sequence[ast.Expression], make: Callable[[Any], Any]) -> Evaluated:
        items = [self.value(node) for node in nodes]
        faults = tuple(fault for item in items for fault in item.faults)
        operands = [item.operand for item in items]
        if all(isinstance(operand, Constant) for operand in operands):
            return Evaluated(Constant(make([value_at(operand, 0) for operand in operands])), faults)
        columns = [self._python_values(*pair) for pair in zip(nodes, operands, strict=True)]
        dictionary = ObjectDictionary([make(row) for row in zip(*columns, strict=True)])
        codes = np.arange(self.row_count, dtype=np.int32)
        return Evaluated(Column(ColumnKind.OBJECT, codes, None, dictionary), faults)

    def _python_values(self, node: ast.Expression, operand: Operand) -> list[Any]:
        values = _python_values(operand, self.row_count)
        if not isinstance(operand, Column) or operand.kind is not ColumnKind.FLOAT:
            return values
        node = sole_operand(node) or node
        if not isinstance(node, ast.Property) or not isinstance(node.subject, ast.Variable):
            return values
        # Grouping tells NaNs apart by object: that of one node is one, in all rows and chunks.
        owners = self.environment.variables[node.subject.name]
        known = self.cache.setdefault(("nan", owners.kind, node.key), {})
        return [
            known.setdefault(owner, value) if value is not None and math.isnan(value) else value
            for owner, value in zip(owners.values.tolist(), values, strict=True)
        ]

    def subquery(self, node: ast.Expression) -> Evaluated:
        runner = self.environment.subqueries
        if runner is None:
            raise self._unsupported(node, "a subquery or pattern")
        return Evaluated(runner.run(node, self.environment))

    # -------------------------------------------------------------- errors
    def _type_error(self, message: str, span: Span) -> CypherTypeError:
        return CypherTypeError(message, self.environment.text, span)

    def _fault(self, operand: Operand, span: Span, expected: str) -> Fault:
        """All rows that are not null are errors."""

        def error(row: int) -> CypherTypeError:
            described = describe(value_at(operand, row))
            return self._type_error(f"Type mismatch: {expected} {described}", span)

        return Fault(validity(operand), error)

    def _unsupported(self, node: ast.Expression, construct: str) -> UnsupportedQueryError:
        message = f"{construct} is not answered here"
        text = self.environment.text
        return UnsupportedQueryError(message, text, node.span, construct=construct)


def _is_id(node: ast.Expression) -> TypeGuard[ast.FunctionCall]:
    if not isinstance(node, ast.FunctionCall) or node.name.lower() not in ("id", "elementid"):
        return False
    return len(node.arguments) == 1


def _with_faults(truth: Truth, *operands: Evaluated) -> Truth:
    """A condition on operands; where one of them fails it neither holds nor fails."""
    faults = tuple(fault for operand in operands for fault in operand.faults)
    holds, fails = truth.holds, truth.fails
    for fault in faults:
        sound = inverted(fault.rows)
        holds, fails = both(holds, sound), both(fails, sound)
    return Truth(holds, fails, truth.faults + faults)


def _python_values(operand: Operand, row_count: int) -> list[Any]:
    if isinstance(operand, Column) and operand.kind is ColumnKind.FLOAT:
        return to_values(operand)  # each NaN an object of its own, as grouping tells them apart
    places, values = distinct_values(operand, row_count)
    return [values[place] for place in places.tolist()]


_CONDITIONS: dict[type, Callable[[_Evaluator, Any], Truth]] = {
    ast.Unary: _Evaluator.unary,
    ast.Binary: _Evaluator.binary,
    ast.Comparison: _Evaluator.comparison,
    ast.LabelPredicate: _Evaluator.label_predicate,
}

_VALUES: dict[type, Callable[[_Evaluator, Any], Evaluated]] = {
    ast.Literal: lambda evaluator, node: Evaluated(Constant(node.value)),
    ast.Parameter: _Evaluator.parameter,
    ast.Variable: _Evaluator.variable,
    ast.Property: _Evaluator.property,
    ast.FunctionCall: _Evaluator.function,
    ast.ExistsSubquery: _Evaluator.subquery,
    ast.CountSubquery: _Evaluator.subquery,
    ast.CollectSubquery: _Evaluator.subquery,
    ast.PatternExpression: _Evaluator.subquery,
    ast.PatternComprehension: _Evaluator.subquery,
    ast.ShortestPathExpression: _Evaluator.subquery,
    ast.ListLiteral: _Evaluator.list_literal,
    ast.MapLiteral: _Evaluator.map_literal,
    KeyReference: lambda evaluator, node: Evaluated(evaluator.environment.keys[node.position]),
    AggregateReference: lambda evaluator, node: Evaluated(
        evaluator.environment.aggregates[node.position]
    ),
    ColumnReference: lambda evaluator, node: Evaluated(
        evaluator.environment.outputs[node.position]
    ),
}
