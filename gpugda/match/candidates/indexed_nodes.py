"""Uses an index to find the only nodes for which comparisons with known values can hold."""

from __future__ import annotations

import math
import threading
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import StringDictionary
from gpugda.query import ast
from gpugda.query.ast import ComparisonOperator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.expressions.parameters import Parameters

__all__ = ["BucketIndex", "find_index", "indexed_nodes"]

_BUCKETS = 1 << 16
_INDEXED = (ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.STRING)
_MIN_ROWS = 1 << 17
"""For columns with fewer rows a scan is faster than an index lookup."""
_SCANS = 48
"""Building an index costs as much as this many scans. It is built only after as many scans, so that
the total time is at most twice the optimum."""
_MAX_BYTES = 1 << 29


class BucketIndex:
    """Rows sorted by bucket; buckets divide the range from least to greatest value equally.

    Equal values share a bucket, and larger values never lie in earlier buckets. Nulls and NaN are
    in no bucket.

    Args:
        column: A column of numbers or texts.
    """

    def __init__(self, column: Column) -> None:
        values = column.values
        valid = np.ones(len(values), np.bool_) if column.valid is None else column.valid
        if column.kind is ColumnKind.FLOAT:
            valid = valid & ~np.isnan(values)
        rows = np.flatnonzero(valid).astype(np.uint32)
        kept = values if len(rows) == len(values) else values[rows]
        self._low = float(kept.min()) if len(kept) else 0.0
        self._width = (float(kept.max()) if len(kept) else 0.0) - self._low
        buckets = self._buckets(kept)
        self._rows = rows[np.argsort(buckets, kind="stable")]
        counts = np.bincount(buckets, minlength=_BUCKETS)
        self._firsts = np.concatenate([[0], np.cumsum(counts)])

    @property
    def nbytes(self) -> int:
        """Size on the host in bytes."""
        return int(self._rows.nbytes + self._firsts.nbytes)

    def between(self, low: float, high: float, most: int) -> NDArray[np.uint32] | None:
        """A superset of the rows with values from ``low`` to ``high``; None if above ``most``."""
        ends = self._buckets(np.array([low, high]))
        first, last = self._firsts[ends[0]], self._firsts[int(ends[1]) + 1]
        return None if last - first > most else self._rows[first:last]

    def _buckets(self, values: NDArray[Any]) -> NDArray[np.uint16]:
        # Each of these operations is monotonic in spite of rounding.
        if not math.isfinite(self._width) or self._width <= 0:
            return np.zeros(len(values), np.uint16)
        with np.errstate(over="ignore"):
            shares = (values.astype(np.float64) - self._low) / self._width
        np.clip(shares, 0.0, 1.0, out=shares)
        return (shares * (_BUCKETS - 1)).astype(np.uint16)


@dataclass(slots=True)
class _Known:
    """Scan counts and indexes of a graph's node properties; the most recently used come last."""

    scans: dict[str, int] = field(default_factory=dict)
    indexes: dict[str, tuple[Column, BucketIndex]] = field(default_factory=dict)


_known: weakref.WeakKeyDictionary[DataGraph, _Known] = weakref.WeakKeyDictionary()
_lock = threading.Lock()


def find_index(graph: DataGraph, key: str, column: Column) -> BucketIndex | None:
    """The index of a node property that was scanned often enough; otherwise None.

    Args:
        graph: The graph that has the property.
        key: The property key.
        column: The property's values.
    """
    if len(column) < _MIN_ROWS or column.kind not in _INDEXED:
        return None
    with _lock:
        known = _known.setdefault(graph, _Known())
        found = known.indexes.pop(key, None)
        if found is None or found[0] is not column:
            known.scans[key] = known.scans.get(key, 0) + 1
            if known.scans[key] <= _SCANS:
                return None
            found = column, BucketIndex(column)
            known.scans[key] = 0
        known.indexes[key] = found
        while sum(index.nbytes for _, index in known.indexes.values()) > _MAX_BYTES:
            del known.indexes[next(iter(known.indexes))]
        return found[1]


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
