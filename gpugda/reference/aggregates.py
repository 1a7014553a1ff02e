"""Aggregates over the rows of one group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.expressions import functions
from gpugda.query import ast
from gpugda.reference.trees import Row, parts_of
from gpugda.values import group_key, order_key

if TYPE_CHECKING:
    from gpugda.expressions.functions import Aggregate
    from gpugda.reference.evaluator import Evaluator

__all__ = ["Aggregation", "aggregates_in"]


def aggregates_in(expression: ast.Expression) -> list[ast.Expression]:
    """The aggregate calls in an expression, without those in its subqueries."""
    within = {
        id(part)
        for query in parts_of(expression)
        if isinstance(query, ast.Subquery)
        for part in parts_of(query.query)
    }
    return [
        part
        for part in parts_of(expression)
        if id(part) not in within
        and (
            isinstance(part, ast.CountStar)
            or (isinstance(part, ast.FunctionCall) and functions.find_aggregate(part.name))
        )
    ]


class Aggregation:
    """One aggregate over the rows of one group.

    Args:
        node: The aggregate call.
        evaluator: Evaluates expressions.
    """

    def __init__(self, node: ast.Expression, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._rows = 0
        self._items: list[Any] = []
        self._further: list[Any] | None = None
        self._call = node if isinstance(node, ast.FunctionCall) else None
        self._seen: set[Any] | None = set() if self._call and self._call.distinct else None

    def add(self, row: Row) -> None:
        """Adds a row of the group. Nulls do not count, nor do duplicates with DISTINCT."""
        self._rows += 1
        if self._call is None:
            return
        item = self._evaluator.value(self._call.arguments[0], row)
        if item is None:
            return
        if self._seen is not None:
            key = group_key(item)
            if key in self._seen:
                return
            self._seen.add(key)
        if self._further is None:
            self._further = [self._evaluator.value(each, row) for each in self._call.arguments[1:]]
        self._items.append(item)

    def result(self) -> Any:
        """The aggregate of all rows added."""
        if self._call is None:
            return self._rows
        aggregate = functions.find_aggregate(self._call.name)
        assert aggregate is not None
        if aggregate.name in ("min", "max"):
            return self._extreme(aggregate)
        if self._further is None and len(self._call.arguments) > 1:
            return None  # a percentile of an empty group
        return aggregate.fold(self._items, *(self._further or ()))

    def _extreme(self, aggregate: Aggregate) -> Any:
        def place(item: Any) -> Any:
            return order_key(self._evaluator.graph.in_order(item))

        pick = min if aggregate.name == "min" else max
        return pick(self._items, key=place, default=None)
