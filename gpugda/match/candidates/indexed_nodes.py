"""Uses an index to find the only nodes for which comparisons with known values can hold."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from gpugda.data.bucket_index import find_index
from gpugda.data.columns import Column, ColumnKind
from gpugda.data.dictionaries import StringDictionary
from gpugda.query import ast
from gpugda.query.ast import ComparisonOperator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.expressions.parameters import Parameters

__all__ = ["indexed_nodes"]

_FEW = 16
"""A list of more than one in this many nodes is no faster than a scan of all nodes."""
_LESS = (ComparisonOperator.LESS, ComparisonOperator.LESS_EQUAL)
_GREATER = (ComparisonOperator.GREATER, ComparisonOperator.GREATER_EQUAL)


def indexed_nodes(
    predicates: Sequence[ast.Expression], graph: DataGraph, parameters: Parameters
) -> NDArray[Any] | None:
    """A superset of the nodes for which the conjuncts hold; None if no index applies.

    Only comparisons are considered: they raise a type error for no node, so that skipping nodes
    hides no error.
    """
    if not all(map(_is_plain, predicates)):
        return None
    found = [
        nodes
        for key, bounds in _bounds(predicates, parameters).items()
        if (nodes := _nodes(graph, key, bounds)) is not None
    ]
    return min(found, key=len, default=None)


def _is_plain(predicate: ast.Expression) -> bool:
    return isinstance(predicate, ast.Comparison) and all(
        isinstance(each, ast.Literal | ast.Parameter)
        or (isinstance(each, ast.Property) and isinstance(each.subject, ast.Variable))
        for each in predicate.operands
    )


_Bounds = list[tuple[ComparisonOperator, Any]]


def _bounds(predicates: Sequence[ast.Expression], parameters: Parameters) -> dict[str, _Bounds]:
    """The comparisons of each property: operator and value."""
    bounds: dict[str, _Bounds] = {}
    for predicate in predicates:
        for key, operator, other in _comparisons(predicate):
            if isinstance(other, ast.Literal):
                value = other.value
            else:
                value = parameters.get(other.name, other.span)
            bounds.setdefault(key, []).append((operator, value))
    return bounds


_TURNED = {
    ComparisonOperator.LESS: ComparisonOperator.GREATER,
    ComparisonOperator.LESS_EQUAL: ComparisonOperator.GREATER_EQUAL,
    ComparisonOperator.GREATER: ComparisonOperator.LESS,
    ComparisonOperator.GREATER_EQUAL: ComparisonOperator.LESS_EQUAL,
}


def _comparisons(
    predicate: ast.Expression,
) -> Iterator[tuple[str, ComparisonOperator, ast.Literal | ast.Parameter]]:
    assert isinstance(predicate, ast.Comparison)
    pairs = zip(predicate.operands, predicate.operators, predicate.operands[1:], strict=False)
    for left, operator, right in pairs:
        if isinstance(left, ast.Property) and isinstance(right, ast.Literal | ast.Parameter):
            yield left.key, operator, right
        elif isinstance(right, ast.Property) and isinstance(left, ast.Literal | ast.Parameter):
            yield right.key, _TURNED.get(operator, operator), left


def _nodes(graph: DataGraph, key: str, bounds: _Bounds) -> NDArray[Any] | None:
    column = graph.node_properties.get(key)
    if column is None:
        return None
    low, high = _range(column, bounds)
    if low == -math.inf and high == math.inf:
        return None
    index = find_index(graph, key, column)
    return None if index is None else index.between(low, high, len(column) // _FEW)


def _range(column: Column, bounds: _Bounds) -> tuple[float, float]:
    """The range of values, or of dictionary codes, in which all comparisons may hold."""
    low, high = -math.inf, math.inf
    for operator, value in bounds:
        number = _number(column, operator, value)
        if number is None:
            continue
        if operator is ComparisonOperator.EQUAL or operator in _GREATER:
            low = max(low, number)
        if operator is ComparisonOperator.EQUAL or operator in _LESS:
            high = min(high, number)
    return low, high


def _number(column: Column, operator: ComparisonOperator, value: Any) -> float | None:
    if column.kind is ColumnKind.STRING:
        is_found = operator is ComparisonOperator.EQUAL and type(value) is str
        if not is_found or not isinstance(column.dictionary, StringDictionary):
            return None
        return float(column.dictionary.find(value))
    return float(value) if type(value) in (int, float) and not math.isnan(value) else None
