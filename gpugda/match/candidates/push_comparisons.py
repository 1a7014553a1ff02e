"""Comparisons of two variables' values that the join can test itself, by keys.

Each side is evaluated once for all nodes (or relationships). The masks remove what has no key, so
that kernels only compare two numbers.
"""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.caching import LruCache
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_value
from gpugda.expressions.operands import as_column
from gpugda.expressions.parameters import Parameters
from gpugda.match.candidates.keys import make_keys
from gpugda.match.candidates.selections import bitmap_of
from gpugda.plan.comparisons import (
    ABOVE,
    BELOW,
    GROUPED,
    SAME,
    ComparedValues,
    Comparison,
    compared_values,
)
from gpugda.plan.variables import Variable
from gpugda.query import ast
from gpugda.query.ast import ComparisonOperator
from gpugda.query.render import expression_text
from gpugda.query.shapes import rewrite, shape
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.candidates.keys import Keys
    from gpugda.match.embeddings import Masks
    from gpugda.plan.plan import BoundQuery

__all__ = ["push_comparisons"]

_OUTCOMES = {
    ComparisonOperator.EQUAL: SAME,
    ComparisonOperator.NOT_EQUAL: BELOW | ABOVE,
    ComparisonOperator.LESS: BELOW,
    ComparisonOperator.LESS_EQUAL: BELOW | SAME,
    ComparisonOperator.GREATER: ABOVE,
    ComparisonOperator.GREATER_EQUAL: ABOVE | SAME,
}
_EQUALITIES = (ComparisonOperator.EQUAL, ComparisonOperator.NOT_EQUAL)
_IN_ORDER = 0.5
_KEPT_KEYS = 8
_MAX_ROWS_KEPT = 1 << 25
_kept: Final[weakref.WeakKeyDictionary[DataGraph, LruCache[Any, Keys | None]]] = (
    weakref.WeakKeyDictionary()
)


def push_comparisons(
    bound: BoundQuery, graph: DataGraph, parameters: Mapping[str, Any], masks: Masks
) -> tuple[Masks, BoundQuery]:
    """The masks with comparisons for the join, and the query without these residuals.

    Nothing is taken if a remaining condition may raise an error: a comparison that is null must not
    hide it, because null AND an error is an error.
    """
    if not bound.residuals:
        return masks, bound
    taker = _Pushdown(bound, graph, parameters, masks)
    left = [each for each in bound.residuals if not taker.take(each)]
    if len(left) == len(bound.residuals) or not all(map(_never_fails, left)):
        return masks, bound
    return taker.masks(), replace(bound, residuals=tuple(left))


class _Pushdown:
    def __init__(
        self, bound: BoundQuery, graph: DataGraph, parameters: Mapping[str, Any], masks: Masks
    ) -> None:
        self._text = bound.query.text
        self._parameters = Parameters(parameters, self._text)
        self._graph = graph
        self._masks = masks
        self._variables = {each.name: Variable(True, each.position) for each in bound.nodes}
        # If a relationship variable occurs in several clauses, the first stands for all: they are
        # equal.
        for each in reversed(bound.relationships):
            self._variables[each.name] = Variable(False, each.position)
        self._comparisons: list[Comparison] = []
        self._keys: list[NDArray[np.uint32]] = []
        self._fits: list[tuple[Variable, NDArray[np.bool_]]] = []
        self._cache: dict[Any, Any] = {}

    def take(self, predicate: ast.Expression) -> bool:
        """Turns a predicate into a comparison of the join, if possible."""
        values = compared_values(predicate)
        if values is None:
            return False
        left, right = self._variables[values.left_name], self._variables[values.right_name]
        outcomes, text = _OUTCOMES[values.operator], expression_text(predicate)
        if left.is_node and right.is_node and _compares_indexes(values):
            nodes = max(self._graph.node_count, 1)
            share = 1 / nodes if outcomes == SAME else _IN_ORDER
            self._comparisons.append(Comparison(left, right, outcomes, None, None, share, text))
            return True
        keys = self._kept_keys(values, left, right)
        if keys is None:
            return False
        for variable, fits in ((left, keys.left_fits), (right, keys.right_fits)):
            if fits is not None:
                self._fits.append((variable, fits))
        slots = (self._slot(keys.left), self._slot(keys.right))
        if outcomes == SAME:
            share = 1 / keys.distinct
        else:
            share = 1.0 if outcomes == BELOW | ABOVE else _IN_ORDER
        grouped = GROUPED if keys.grouped else 0
        self._comparisons.append(Comparison(left, right, outcomes | grouped, *slots, share, text))
        return True

    def masks(self) -> Masks:
        """The masks with the comparisons that were taken."""
        nodes, relationships = dict(self._masks.nodes), dict(self._masks.relationships)
        for variable, fits in self._fits:
            masks = nodes if variable.is_node else relationships
            bits = bitmap_of(fits)
            known = masks.get(variable.position)
            masks[variable.position] = bits if known is None else known & bits
        return replace(
            self._masks,
            nodes=nodes,
            relationships=relationships,
            comparisons=tuple(self._comparisons),
            keys=tuple(self._keys),
        )

    def _slot(self, keys: NDArray[np.uint32]) -> int:
        for slot, known in enumerate(self._keys):
            if known is keys:
                return slot
        self._keys.append(keys)
        return len(self._keys) - 1

    # ------------------------------------------------------------------ keys
    def _kept_keys(self, values: ComparedValues, left: Variable, right: Variable) -> Keys | None:
        """The keys, reused from an earlier query with this comparison and no parameters."""
        has_parameters = any(
            isinstance(each, ast.Parameter) for side in _sides(values) for each in walk(side)
        )
        if has_parameters or max(map(self._count, (left, right))) > _MAX_ROWS_KEPT:
            return self._keys_of(values, left, right)
        kept = _kept.setdefault(self._graph, LruCache(_KEPT_KEYS))
        sides = [_without_names(side) for side in _sides(values)]
        operator = values.operator if values.operator in _EQUALITIES else "order"
        key = (left.is_node, sides[0], operator, right.is_node, sides[1])
        return kept.get(key, lambda: self._keys_of(values, left, right))

    def _keys_of(self, values: ComparedValues, left: Variable, right: Variable) -> Keys | None:
        columns = (
            self._column(values.left, values.left_name, left),
            self._column(values.right, values.right_name, right),
        )
        if columns[0] is None or columns[1] is None:
            return None
        return make_keys(columns[0], columns[1], values.operator)

    def _count(self, variable: Variable) -> int:
        return self._graph.node_count if variable.is_node else self._graph.relationship_count

    def _column(self, side: ast.Expression, name: str, variable: Variable) -> Column | None:
        """The value of a side for every node (or relationship); None if it may be an error."""
        graph = self._graph
        count = self._count(variable)
        kind = ColumnKind.NODE if variable.is_node else ColumnKind.RELATIONSHIP
        environment = Environment(
            count,
            self._parameters,
            self._text,
            graph,
            {name: Column(kind, np.arange(count, dtype=np.uint32))},
            everything=True,
            cache=self._cache,
        )
        try:
            found = evaluate_value(side, environment)
        except UnsupportedQueryError:  # without rows it would not be evaluated
            return None
        if any(np.any(fault.rows) for fault in found.faults):
            return None
        return as_column(found.operand, count)


def _sides(values: ComparedValues) -> tuple[ast.Expression, ast.Expression]:
    return values.left, values.right


def _without_names(side: ast.Expression) -> Any:
    return shape(rewrite(side, _nameless))


def _nameless(node: ast.Expression) -> ast.Expression | None:
    return ast.Variable(node.span, "") if isinstance(node, ast.Variable) else None


def _compares_indexes(values: ComparedValues) -> bool:
    """True if it compares ids, whose order is that of node indexes, or tests equal element ids."""
    sides = _sides(values)
    if all(isinstance(side, ast.Variable) for side in sides):
        return True
    names = {_function_of_variable(side) for side in sides}
    return names == {"id"} or (names == {"elementid"} and values.operator in _EQUALITIES)


def _function_of_variable(side: ast.Expression) -> str | None:
    if not isinstance(side, ast.FunctionCall) or len(side.arguments) != 1:
        return None
    return side.name.lower() if isinstance(side.arguments[0], ast.Variable) else None


# ------------------------------------------------------------------ conditions that raise no error
_SOUND_VALUES = (ast.Literal, ast.Parameter, ast.Variable)
_JOINED = (ast.BinaryOperator.AND, ast.BinaryOperator.OR, ast.BinaryOperator.XOR)


def _never_fails(condition: ast.Expression) -> bool:
    """True if the condition is true, false or null for all values."""
    if isinstance(condition, ast.Comparison):
        return all(map(_is_sound, condition.operands))
    if isinstance(condition, ast.Binary) and condition.operator in _JOINED:
        return _never_fails(condition.left) and _never_fails(condition.right)
    if isinstance(condition, ast.Unary):
        if condition.operator is ast.UnaryOperator.NOT:
            return _never_fails(condition.operand)
        return _is_sound(condition.operand)
    return False


def _is_sound(value: ast.Expression) -> bool:
    if isinstance(value, ast.Property):
        return isinstance(value.subject, ast.Variable)
    return isinstance(value, _SOUND_VALUES) or _function_of_variable(value) in ("id", "elementid")
