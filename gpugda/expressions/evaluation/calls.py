"""Function calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.boolean_columns import null_test, operand_of_truth
from gpugda.expressions.evaluation.apply_function import apply_function, apply_per_row
from gpugda.expressions.evaluation.case import coalesce
from gpugda.expressions.evaluation.temporal_calls import (
    TEMPORAL_CALLS,
    fields_call,
    temporal_call,
)
from gpugda.expressions.evaluation.vectorised_calls import vectorised_call
from gpugda.expressions.functions import find_function
from gpugda.expressions.label_columns import FUNCTIONS
from gpugda.expressions.operands import Constant, Evaluated, Operand
from gpugda.values import Entity

if TYPE_CHECKING:
    from gpugda.expressions.evaluation.evaluator import Evaluator
    from gpugda.query import ast

__all__ = ["call", "trim"]


def call(evaluator: Evaluator, node: ast.FunctionCall) -> Evaluated:
    """``name(arguments)``.

    Raises:
        UnsupportedQueryError: The function is not supported.
        CypherSyntaxError: The number of arguments is wrong.
    """
    name = node.name.lower()
    if name == "exists" and len(node.arguments) == 1:
        return _exists(evaluator.value(node.arguments[0]))
    function = find_function(name, 25)
    if function is None:
        raise evaluator.unsupported(node, f"the function {node.name}()")
    if name == "coalesce":
        return coalesce(evaluator, node)
    if name in TEMPORAL_CALLS and (made := fields_call(evaluator, name, node)) is not None:
        return made
    arguments = [evaluator.value(argument) for argument in node.arguments]
    if name in FUNCTIONS and len(arguments) == 1:
        return _of_entity(evaluator, node, arguments[0])
    temporal = name in TEMPORAL_CALLS
    found = (
        temporal_call(evaluator, name, arguments) if temporal else vectorised_call(name, arguments)
    )
    if found is not None:
        return found
    context = evaluator.context

    def evaluated(*values: Any) -> Any:
        return function(context, values)

    if not function.deterministic:
        return apply_per_row(evaluator, node, evaluated, arguments)
    return apply_function(evaluator, node, evaluated, arguments)


def _exists(argument: Evaluated) -> Evaluated:
    """``exists((a)-->(b))``: the pattern's truth value; for other values, whether not null."""
    operand = argument.operand
    if isinstance(operand, Column) and operand.kind is ColumnKind.BOOLEAN:
        return argument
    truth = null_test(operand, is_null=False)
    return Evaluated(operand_of_truth(truth), argument.faults)


def _of_entity(evaluator: Evaluator, node: ast.FunctionCall, argument: Evaluated) -> Evaluated:
    kinds, function = FUNCTIONS[node.name.lower()]
    operand = argument.operand
    if isinstance(operand, Constant) and operand.value is None:
        return argument
    if isinstance(operand, Column) and operand.kind in kinds:
        found = function(evaluator.environment.graph, operand, evaluator.cache)
        return Evaluated(found, argument.faults)
    if _may_be_entity(operand):
        return _from_values(evaluator, node, argument)
    fault = evaluator.mismatch(operand, node.span, f"expected a {' or '.join(kinds)} but was")
    return Evaluated(Constant(None), (*argument.faults, fault))


def _may_be_entity(operand: Operand) -> bool:
    if isinstance(operand, Constant):
        return isinstance(operand.value, Entity)
    return operand.kind is ColumnKind.OBJECT


def _from_values(evaluator: Evaluator, node: ast.FunctionCall, argument: Evaluated) -> Evaluated:
    function, context = find_function(node.name), evaluator.context
    assert function is not None
    return apply_function(evaluator, node, lambda item: function(context, [item]), [argument])


def trim(evaluator: Evaluator, node: ast.Trim) -> Evaluated:
    """``trim(side characters FROM subject)``."""
    characters = node.characters
    given = Evaluated(Constant(...)) if characters is None else evaluator.value(characters)
    side = str(node.side)

    def evaluated(characters: Any, text: Any) -> str | None:
        from gpugda.expressions.functions.text import trimmed  # rarely needed

        return trimmed(side, characters, text)

    return apply_function(evaluator, node, evaluated, (given, evaluator.value(node.subject)))
