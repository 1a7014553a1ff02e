"""Lists, maps and map projections built from values of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.errors import QueryError
from gpugda.expressions.evaluation.apply_function import apply_function, faulty_rows, with_position
from gpugda.expressions.operands import (
    Constant,
    Evaluated,
    Fault,
    Operand,
    distinct_values,
    value_at,
)
from gpugda.expressions.operators.maps import projected
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.expressions.evaluation.evaluator import Evaluator

__all__ = ["list_literal", "map_literal", "map_projection", "python_values"]


def list_literal(evaluator: Evaluator, node: ast.ListLiteral) -> Evaluated:
    """``[a, b]``."""
    return _composed(evaluator, node.items, list)


def map_literal(evaluator: Evaluator, node: ast.MapLiteral) -> Evaluated:
    """``{key: a}``."""
    names = [name for name, _ in node.entries]
    items = [item for _, item in node.entries]
    return _composed(evaluator, items, lambda row: dict(zip(names, row, strict=True)))


def _composed(
    evaluator: Evaluator, nodes: Sequence[ast.Expression], make: Callable[[Any], Any]
) -> Evaluated:
    items = [evaluator.value(node) for node in nodes]
    faults = tuple(fault for item in items for fault in item.faults)
    operands = [item.operand for item in items]
    if all(isinstance(operand, Constant) for operand in operands):
        return Evaluated(Constant(make([value_at(operand, 0) for operand in operands])), faults)
    rows = _rows(evaluator, operands)
    return Evaluated(_objects([make(row) for row in rows], evaluator.row_count), faults)


def _rows(evaluator: Evaluator, operands: Sequence[Operand]) -> Any:
    return zip(*(python_values(each, evaluator.row_count) for each in operands), strict=True)


def _objects(values: Sequence[Any], row_count: int) -> Column:
    codes = np.arange(row_count, dtype=np.int32)
    return Column(ColumnKind.OBJECT, codes, None, ObjectDictionary(values))


# ------------------------------------------------------------------ map projections
def map_projection(evaluator: Evaluator, node: ast.MapProjection) -> Evaluated:
    """``subject {.key, .*, key: value, name}``."""
    keys: list[tuple[str | None, bool]] = []
    nodes: list[ast.Expression] = [node.subject]
    for selector in node.selectors:
        key, item = _selected(selector)
        keys.append((key, item is not None))
        if item is not None:
            nodes.append(item)
    context = evaluator.context

    def make(subject: Any, *items: Any) -> dict[str, Any] | None:
        values = iter(items)
        parts = [(key, next(values) if written else ...) for key, written in keys]
        return projected(subject, parts, context)

    found = [evaluator.value(each) for each in nodes]
    operands = [each.operand for each in found]
    if len(nodes) == 1 or all(isinstance(operand, Constant) for operand in operands):
        return apply_function(evaluator, node, make, found)
    return _made_in_rows(evaluator, node, found, make)


def _selected(selector: ast.MapSelector) -> tuple[str | None, ast.Expression | None]:
    if isinstance(selector, ast.MapEntry):
        return selector.key, selector.value
    if isinstance(selector, ast.MapVariable):
        return selector.variable.name, selector.variable
    return (selector.key if isinstance(selector, ast.MapProperty) else None), None


def _made_in_rows(
    evaluator: Evaluator,
    node: ast.Expression,
    found: Sequence[Evaluated],
    make: Callable[..., Any],
) -> Evaluated:
    faults = tuple(fault for each in found for fault in each.faults)
    sound = ~np.broadcast_to(faulty_rows(faults), evaluator.row_count)
    rows = _rows(evaluator, [each.operand for each in found])
    values: list[Any] = []
    errors: dict[int, QueryError] = {}
    for row, (arguments, counts) in enumerate(zip(rows, sound.tolist(), strict=True)):
        try:
            values.append(make(*arguments) if counts else None)
        except QueryError as error:
            errors[row] = with_position(error, evaluator, node)
            values.append(None)
    valid = np.array([value is not None for value in values], dtype=np.bool_)
    column = _objects(values, len(values))
    column = Column(column.kind, column.values, valid, column.dictionary)
    if not errors:
        return Evaluated(column, faults)
    failed = np.zeros(evaluator.row_count, dtype=np.bool_)
    failed[list(errors)] = True
    return Evaluated(column, (*faults, Fault(failed, lambda row: errors[row])))


# ------------------------------------------------------------------ rows
def python_values(operand: Operand, row_count: int) -> list[Any]:
    """The values row by row."""
    places, values = distinct_values(operand, row_count)
    return [values[place] for place in places.tolist()]
