"""Access to parts of values: ``subject.key``, ``subject[index]``, ``subject[start..end]``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.evaluation.apply_function import apply_function
from gpugda.expressions.label_columns import ENTITY_KINDS, property_of_entities
from gpugda.expressions.list_columns import element_at, part_of
from gpugda.expressions.operands import Constant, Evaluated, Operand
from gpugda.expressions.operators import access
from gpugda.expressions.temporal.component_columns import component_column
from gpugda.expressions.temporal.moment_columns import moments_of
from gpugda.expressions.temporal.rows import DurationRows
from gpugda.values import kind_of

if TYPE_CHECKING:
    from gpugda.expressions.evaluation.evaluator import Evaluator
    from gpugda.query import ast

__all__ = ["property_access", "property_of", "slice_of", "subscript"]

_WITHOUT_PROPERTIES = frozenset({"boolean", "number", "string", "list", "path"})


def property_access(evaluator: Evaluator, node: ast.Property) -> Evaluated:
    """``subject.key``."""
    return property_of(evaluator, node, evaluator.value(node.subject), node.key)


def property_of(
    evaluator: Evaluator, node: ast.Expression, subject: Evaluated, key: str
) -> Evaluated:
    """A property of entities, maps, temporal or spatial values."""
    operand = subject.operand
    if _are_entities(operand):
        assert isinstance(operand, Column)
        found = property_of_entities(operand, key, evaluator.environment)
        return Evaluated(found, subject.faults)
    if _is_without_properties(operand):
        fault = evaluator.mismatch(operand, node.span, "expected a map but was")
        return Evaluated(Constant(None), (*subject.faults, fault))
    found_at_once = _component(operand, key)
    if found_at_once is not None:
        return Evaluated(found_at_once, subject.faults)
    context = evaluator.context
    return apply_function(
        evaluator, node, lambda item: access.property_of(item, key, context), (subject,)
    )


def _component(operand: Operand, key: str) -> Column | None:
    """A component of dates, datetimes or durations for all rows at once; None if not possible."""
    if not isinstance(operand, Column):
        return None
    durations = operand.dictionary if isinstance(operand.dictionary, DurationRows) else None
    rows = moments_of(operand) if durations is None else durations
    return None if rows is None else component_column(operand, rows, key)


def _are_entities(operand: Operand) -> bool:
    return isinstance(operand, Column) and operand.kind in ENTITY_KINDS


def _is_without_properties(operand: Operand) -> bool:
    if isinstance(operand, Constant):
        return kind_of(operand.value) in _WITHOUT_PROPERTIES
    return operand.kind is not ColumnKind.OBJECT


def subscript(evaluator: Evaluator, node: ast.Subscript) -> Evaluated:
    """``subject[index]``, also ``entity[key]``."""
    subject, index = evaluator.value(node.subject), evaluator.value(node.index)
    known = index.operand.value if isinstance(index.operand, Constant) else None
    if isinstance(known, str) and _are_entities(subject.operand):
        return property_of(evaluator, node, subject, known)
    found = element_at(subject.operand, index.operand)
    if found is not None:
        return Evaluated(found, (*subject.faults, *index.faults))
    context = evaluator.context

    def part(item: Any, key: Any) -> Any:
        return access.subscript(item, key, context)

    return apply_function(evaluator, node, part, (subject, index))


def slice_of(evaluator: Evaluator, node: ast.Slice) -> Evaluated:
    """``subject[start..end]``."""
    bounds = [
        Evaluated(Constant(...)) if bound is None else evaluator.value(bound)
        for bound in (node.start, node.end)
    ]
    subject, (start, end) = evaluator.value(node.subject), bounds
    found = part_of(subject.operand, start.operand, end.operand)
    if found is not None:
        return Evaluated(found, (*subject.faults, *start.faults, *end.faults))
    return apply_function(evaluator, node, access.slice_of, (subject, start, end))
