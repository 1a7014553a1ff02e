"""Comparisons between two variables: those that the join tests, and what they imply."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gpugda.query import ast
from gpugda.query.ast import ComparisonOperator
from gpugda.query.shapes import variable_names
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.plan.variables import Variable


__all__ = [
    "ABOVE",
    "BELOW",
    "GROUPED",
    "SAME",
    "ComparedValues",
    "Comparison",
    "compared_values",
    "join_keys",
    "key_places",
    "never_same",
    "with_implied",
]

_NEGATED = {
    ComparisonOperator.EQUAL: ComparisonOperator.NOT_EQUAL,
    ComparisonOperator.NOT_EQUAL: ComparisonOperator.EQUAL,
}


@value(frozen=True, slots=True)
class ComparedValues:
    """``left operator right``, where each side reads exactly one variable.

    Args:
        left_name: The variable of the left side.
        left: The left expression.
        operator: The comparison operator.
        right_name: The variable of the right side, a different one.
        right: The right expression.
    """

    left_name: str
    left: ast.Expression
    operator: ComparisonOperator
    right_name: str
    right: ast.Expression


def compared_values(predicate: ast.Expression) -> ComparedValues | None:
    """The compared values of a predicate, also of ``NOT a.x = b.x``; None for any other form."""
    negated = False
    while isinstance(predicate, ast.Unary) and predicate.operator is ast.UnaryOperator.NOT:
        predicate, negated = predicate.operand, not negated
    if not isinstance(predicate, ast.Comparison) or len(predicate.operators) != 1:
        return None
    (left, right), (operator,) = predicate.operands, predicate.operators
    if negated:
        # NOT (a.x < b.x) is not a.x >= b.x: both comparisons are false if a side is NaN.
        if operator not in _NEGATED:
            return None
        operator = _NEGATED[operator]
    names = [tuple(variable_names(side)) for side in (left, right)]
    if [len(each) for each in names] != [1, 1] or names[0] == names[1]:
        return None
    return ComparedValues(names[0][0], left, operator, names[1][0], right)


BELOW, SAME, ABOVE = 1, 2, 4
GROUPED = 16
"""The bits of ``comparisons.h``."""

_BLOCK = 32
"""Key arrays begin at multiples of this number of entries."""

_Domain = tuple[bool, int | None]


@value(frozen=True, slots=True)
class Comparison:
    """A condition on the order of the keys of two variables in a row.

    Args:
        left: The left variable.
        right: The right variable, a different one.
        outcomes: Bits of the outcomes that pass: left ``BELOW`` right, ``SAME``, ``ABOVE``; and
            `GROUPED`.
        left_keys: Index of the key array for the left variable; None compares its index.
        right_keys: Index of the key array for the right variable; None compares its index.
        selectivity: Estimated share of all pairs that pass, 0 to 1.
        text: The condition as shown to users; empty for an implied comparison.
        is_redundant: True if earlier steps and the other comparisons of its step imply it.
    """

    left: Variable
    right: Variable
    outcomes: int
    left_keys: int | None
    right_keys: int | None
    selectivity: float
    text: str
    is_redundant: bool = False

    def variables(self) -> set[Variable]:
        """The variables that must be bound before the test."""
        return {self.left, self.right}

    def domain(self) -> _Domain | None:
        """The key domain of both sides, in which order is transitive; None if they differ."""
        if self.left.is_node != self.right.is_node or self.left_keys != self.right_keys:
            return None
        return self.left.is_node, self.left_keys


_MAX_ORDERED = 32
"""Largest number of variables in one order for which implied comparisons are derived: deriving
them takes cubic time, and using them takes the square of the number of pairs."""


def key_places(keys: Sequence[NDArray[np.uint32]]) -> list[int]:
    """The block at which each key array begins in the joined array."""
    blocks = [0, *(-(-len(each) // _BLOCK) for each in keys)]
    places: list[int] = np.cumsum(blocks).tolist()
    return places[:-1]


def join_keys(keys: Sequence[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """All key arrays in one array, at the blocks that `key_places` gives."""
    joined = np.zeros(_BLOCK * sum(-(-len(each) // _BLOCK) for each in keys), dtype=np.uint32)
    for each, place in zip(keys, key_places(keys), strict=True):
        joined[_BLOCK * place : _BLOCK * place + len(each)] = each
    return joined


def with_implied(
    comparisons: Sequence[Comparison], bound_at: Mapping[Variable, int]
) -> list[Comparison]:
    """The comparisons, plus implied ones that can be tested earlier.

    ``a < b`` and ``b < c`` imply ``a < c``, which is worth testing if ``b`` is bound last. In any
    other order it is redundant; on indexes it is kept, as it may cut lists that rows share.
    """
    asked = {frozenset((each.left, each.right)) for each in comparisons}
    implied: list[Comparison] = []
    for (_, keys), order in _orders(comparisons).items():
        for (low, high), strict in order.items():
            if low == high or frozenset((low, high)) in asked:
                continue
            last = max(bound_at[low], bound_at[high])
            between = {each for each, _ in order if (low, each) in order and (each, high) in order}
            redundant = any(bound_at[each] <= last for each in between - {low, high})
            if keys is None or not redundant:
                like = next(each for each in comparisons if low in (each.left, each.right))
                below = _below(low, high, strict=strict, like=like)
                implied.append(replace(below, is_redundant=redundant))
    return [*comparisons, *implied]


def never_same(comparisons: Sequence[Comparison]) -> Iterator[frozenset[int]]:
    """Pairs of query nodes, by position, that can never be bound to the same data node."""
    for each in comparisons:
        domain = each.domain()
        if domain is not None and domain[0] and not each.outcomes & SAME:
            yield frozenset((each.left.position, each.right.position))
    for (of_nodes, _), order in _orders(comparisons).items():
        if of_nodes:
            for (low, high), strict in order.items():
                if strict:
                    yield frozenset((low.position, high.position))


def _orders(
    comparisons: Sequence[Comparison],
) -> dict[_Domain, dict[tuple[Variable, Variable], bool]]:
    """Per domain, all ordered pairs (low, high), with True if the order is strict."""
    orders: dict[_Domain, dict[tuple[Variable, Variable], bool]] = {}
    for each in comparisons:
        domain, outcomes = each.domain(), each.outcomes & (BELOW | SAME | ABOVE)
        if domain is None or outcomes in (BELOW | ABOVE, SAME):
            continue
        pair = (each.left, each.right) if outcomes & BELOW else (each.right, each.left)
        known = orders.setdefault(domain, {})
        known[pair] = known.get(pair, False) or not outcomes & SAME
    for order in orders.values():
        _close(order)
    return orders


def _close(order: dict[tuple[Variable, Variable], bool]) -> None:
    """Adds implied pairs, unless there are too many variables; they are optional."""
    variables = sorted({each for pair in order for each in pair})
    if len(variables) > _MAX_ORDERED:
        return
    for middle, low, high in product(variables, repeat=3):  # Warshall's algorithm
        if (low, middle) in order and (middle, high) in order:
            strict = order[low, middle] or order[middle, high]
            order[low, high] = order.get((low, high), False) or strict


def _below(low: Variable, high: Variable, *, strict: bool, like: Comparison) -> Comparison:
    outcomes = BELOW if strict else BELOW | SAME
    outcomes |= like.outcomes & GROUPED
    return replace(like, left=low, right=high, outcomes=outcomes, text="")
