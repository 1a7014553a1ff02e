"""Evaluates expressions on columns, for all rows at once.

The module that evaluates a class of syntax nodes is imported at the first such node: most queries
use few classes.
"""

from __future__ import annotations

from functools import reduce
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gpugda.errors import UnsupportedQueryError
from gpugda.expressions import boolean_columns as logic
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluation.evaluator import Evaluator, Handlers
from gpugda.expressions.operands import Constant, Evaluated, Operand, as_column, check_faults
from gpugda.query import ast
from gpugda.query.query_graph import AggregateReference, ColumnReference, KeyReference
from gpugda.text_order import as_stored

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpugda.data.values.columns import Column
    from gpugda.expressions.boolean_columns import Truth

__all__ = ["Environment", "evaluate", "evaluate_operand", "evaluate_truth", "evaluate_value"]


def evaluate(expression: ast.Expression, environment: Environment) -> Column:
    """The value in each row.

    Raises:
        QueryError: An operation is not defined for a value in some row.
        ParameterMissingError: A parameter has no value.
        UnsupportedQueryError: The expression is not supported.
    """
    return as_column(evaluate_operand(expression, environment), environment.row_count)


def evaluate_operand(expression: ast.Expression, environment: Environment) -> Operand:
    """As ``evaluate``, but a value constant over all rows stays a constant."""
    evaluated = evaluate_value(expression, environment)
    check_faults(evaluated.faults, environment.row_count)
    return evaluated.operand


def evaluate_value(expression: ast.Expression, environment: Environment) -> Evaluated:
    """As ``evaluate_operand``, but returns the errors of rows as faults instead of raising."""
    try:
        return Evaluator(environment, _HANDLERS).value(expression)
    except RecursionError:
        raise _too_deep(environment) from None


def evaluate_truth(conditions: Sequence[ast.Expression], environment: Environment) -> Truth:
    """The conjunction of conditions; returns the errors of rows as faults instead of raising."""
    evaluator = Evaluator(environment, _HANDLERS)
    try:
        return reduce(logic.and_, map(evaluator.truth, conditions), logic.ALWAYS)
    except RecursionError:
        raise _too_deep(environment) from None


def _too_deep(environment: Environment) -> UnsupportedQueryError:
    message = "an expression is nested too deeply for this engine: split it over several clauses"
    return UnsupportedQueryError(message, environment.text, construct="deep nesting")


def _subquery(evaluator: Evaluator, node: ast.Expression) -> Evaluated:
    runner = evaluator.environment.subqueries
    if runner is None:
        raise evaluator.unsupported(node, "a subquery or pattern")
    return Evaluated(runner.run(node, evaluator.environment))


def _literal(_: Evaluator, node: ast.Literal) -> Evaluated:
    return Evaluated(Constant(as_stored(node.value)))


def _parameter(evaluator: Evaluator, node: ast.Parameter) -> Evaluated:
    return Evaluated(Constant(evaluator.environment.parameters.get(node.name, node.span)))


def _variable(evaluator: Evaluator, node: ast.Variable) -> Evaluated:
    return Evaluated(evaluator.environment.variables[node.name])


def _key(evaluator: Evaluator, node: Any) -> Evaluated:
    return Evaluated(evaluator.environment.keys[node.position])


def _aggregate(evaluator: Evaluator, node: Any) -> Evaluated:
    return Evaluated(evaluator.environment.aggregates[node.position])


def _output(evaluator: Evaluator, node: Any) -> Evaluated:
    return Evaluated(evaluator.environment.outputs[node.position])


def _all_of(
    places: Mapping[type, str], known: Mapping[type, Callable[[Evaluator, Any], Any]]
) -> Mapping[type, Callable[[Evaluator, Any], Any]]:
    """Handlers by class of syntax node.

    Args:
        places: Module in `gpugda.expressions.evaluation` and function of handlers loaded lazily.
        known: Handlers already loaded.
    """
    every = dict(known)

    def later(kind: type, place: str) -> Callable[[Evaluator, Any], Any]:
        def first(evaluator: Evaluator, node: Any) -> Any:
            module, _, name = place.partition(".")
            loaded = import_module(f"gpugda.expressions.evaluation.{module}")
            every[kind] = getattr(loaded, name)
            return every[kind](evaluator, node)

        return first

    every.update({kind: later(kind, place) for kind, place in places.items()})
    return every


_HANDLERS = Handlers(
    conditions=_all_of(
        {
            ast.Unary: "conditions.unary",
            ast.Binary: "conditions.binary",
            ast.Comparison: "conditions.comparison",
            ast.LabelPredicate: "labels.label_predicate",
            ast.TypePredicate: "conditions.type_predicate",
            ast.NormalizedPredicate: "conditions.normalized_predicate",
            ast.ListPredicate: "comprehension.list_predicate",
            ast.AllReduce: "reducing.all_reduce",
        },
        {},
    ),
    values=_all_of(
        {
            ast.Unary: "arithmetic.signed",
            ast.Binary: "arithmetic.binary",
            ast.Property: "parts.property_access",
            ast.Subscript: "parts.subscript",
            ast.Slice: "parts.slice_of",
            ast.FunctionCall: "calls.call",
            ast.Trim: "calls.trim",
            ast.Case: "case.case",
            ast.CaseOperand: "case.case_operand",
            ast.ListLiteral: "composed.list_literal",
            ast.MapLiteral: "composed.map_literal",
            ast.MapProjection: "composed.map_projection",
            ast.ListComprehension: "comprehension.list_comprehension",
            ast.Reduce: "reducing.reduce_list",
        },
        {
            ast.Literal: _literal,
            ast.Parameter: _parameter,
            ast.Variable: _variable,
            ast.ExistsSubquery: _subquery,
            ast.CountSubquery: _subquery,
            ast.CollectSubquery: _subquery,
            ast.PatternExpression: _subquery,
            ast.PatternComprehension: _subquery,
            ast.ShortestPathExpression: _subquery,
            KeyReference: _key,
            AggregateReference: _aggregate,
            ColumnReference: _output,
        },
    ),
)
