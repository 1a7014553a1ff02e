"""Computes aggregates of groups on columns.

Numbers, texts and entities are aggregated for all groups at once; other values go one by one
through the functions of `gpugda.expressions.functions`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.deadline import check_time, checked
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.aggregation.grouped_rows import Rows
from gpugda.execute.aggregation.grouping import group_rows
from gpugda.execute.aggregation.percentiles import percentiles_of
from gpugda.execute.aggregation.sums import sum_of_floats, sum_of_integers, sum_of_known_floats
from gpugda.execute.sorting import float_order
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.functions import find_aggregate
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import Constant, Operand, as_column, distinct_values, take
from gpugda.expressions.text_columns import refuse_unknown_order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gpugda.execute.aggregation.grouping import Groups

__all__ = ["Rows", "aggregate"]


def aggregate(
    name: str,
    operand: Operand,
    further: Sequence[Operand],
    groups: Groups,
    row_count: int,
    *,
    distinct: bool,
    weights: NDArray[np.uint64] | None = None,
) -> Operand:
    """One value per group.

    Args:
        name: Name of the aggregate, in lower case.
        operand: Its argument in each row.
        further: Further arguments (a percentile); constant within a group.
        groups: The group of each row.
        row_count: Number of rows.
        distinct: True if equal values of a group count once.
        weights: Multiplicity of each row.

    Raises:
        UnsupportedQueryError: No aggregate of this name is supported.
        CypherTypeError: The aggregate is not defined for the type of a value.
    """
    if find_aggregate(name) is None:
        raise UnsupportedQueryError(
            f"{name}() is not supported by this engine", construct=f"{name}()"
        )
    if name == "sum" and not distinct and weights is None and _is_float(operand):
        known = sum_of_known_floats(operand, groups)
        if known is not None:
            return known
    check_time()
    rows = _with_values(operand, groups, row_count, weights)
    if distinct:
        rows = _deduplicated(rows)
    made = _vectorised(name, rows, further)
    return _folded(name, rows.expanded(), further, groups) if made is None else made


def _is_float(operand: Operand) -> TypeGuard[Column]:
    return isinstance(operand, Column) and operand.kind is ColumnKind.FLOAT


def _vectorised(name: str, rows: Rows, further: Sequence[Operand]) -> Operand | None:
    """The aggregate of all groups at once; None if no vectorised function exists for it."""
    if not further:
        make = _BY_NAME.get((name, rows.values.kind))
        if make is not None and name not in _WITH_WEIGHTS:
            rows = rows.expanded()
        return None if make is None else make(rows)
    (share, *_) = further
    if name not in _PERCENTILES or not isinstance(share, Constant):
        return None
    rows = rows.expanded()
    return percentiles_of(rows.values, rows.group_of, rows.groups, share.value, _PERCENTILES[name])


def _with_values(
    operand: Operand, groups: Groups, row_count: int, weights: NDArray[np.uint64] | None
) -> Rows:
    column = as_column(operand, row_count)
    count = len(groups.first)
    if column.valid is None or column.valid.all():
        there = Column(column.kind, column.values, None, column.dictionary)
        return Rows(count, groups.group_of, there, row_count > 0, weights)
    kept = np.flatnonzero(column.valid)
    found = column.take(kept)
    there = Column(found.kind, found.values, None, found.dictionary)
    left = None if weights is None else weights[kept]
    return Rows(count, groups.group_of[kept], there, weights=left)


def _deduplicated(rows: Rows) -> Rows:
    groups = [Column(ColumnKind.INTEGER, rows.group_of)] if rows.groups > 1 else []
    first = group_rows([*groups, rows.values], len(rows.group_of)).first
    return Rows(rows.groups, rows.group_of[first], rows.values.take(first), rows.everywhere)


# ------------------------------------------------------------------ all groups together
def _count(rows: Rows) -> Operand:
    counts = np.bincount(rows.group_of, minlength=rows.groups).astype(np.int64)
    return Column(ColumnKind.INTEGER, counts)


def _collect(rows: Rows) -> Operand:
    values, offsets = rows.sorted()
    codes = np.arange(rows.groups, dtype=np.int32)
    return Column(ColumnKind.OBJECT, codes, None, ColumnLists(offsets, values))


def _mean(rows: Rows) -> Operand | None:
    from gpugda.execute.aggregation.means import (  # opens a device itself
        means_of_rows,
        running_means,
    )

    found = means_of_rows(rows)
    if found is not None:
        means, there = found
        return Column(ColumnKind.FLOAT, means, None if there.all() else there)
    values, offsets = rows.expanded().sorted()
    made = running_means(values.values.astype(np.float64), offsets)
    if made is None:
        return None
    there = np.diff(offsets) > 0
    return Column(ColumnKind.FLOAT, made, None if there.all() else there)


def _spread(rows: Rows, less: int) -> Operand | None:
    from gpugda.execute.aggregation.means import spreads_of_rows  # as above

    found = spreads_of_rows(rows, less)
    return None if found is None else Column(ColumnKind.FLOAT, found)


def _least(rows: Rows) -> Operand | None:
    return _extreme(rows, last=False)


def _most(rows: Rows) -> Operand | None:
    return _extreme(rows, last=True)


def _extreme(rows: Rows, *, last: bool) -> Operand | None:
    if not len(rows.group_of):
        return Constant(None)
    column = rows.values
    refuse_unknown_order(column)
    values = column.values
    if rows.groups == 1:
        return _extreme_of_all(rows, last=last)
    if column.kind is ColumnKind.FLOAT:
        if np.isnan(values).any() or (values == 0).any():
            return _extreme_row(rows, last=last)  # NaN and the two zeros need the total order
    else:
        values = values.astype(np.int64, copy=False)
    best = np.full(rows.groups, _edge(values.dtype, least=last), dtype=values.dtype)
    (np.maximum if last else np.minimum).at(best, rows.group_of, values)
    there = rows.groups_with_rows()
    if there is not None:
        best[~there] = values[0]
    return Column(
        column.kind, best.astype(column.values.dtype, copy=False), there, column.dictionary
    )


def _extreme_of_all(rows: Rows, *, last: bool) -> Operand | None:
    column = rows.values
    best = column.values.max(keepdims=True) if last else column.values.min(keepdims=True)
    if column.kind is ColumnKind.FLOAT and not abs(best[0]) > 0:
        return _extreme_row(rows, last=last)  # NaN and the two zeros need the total order
    return Column(column.kind, best, None, column.dictionary)


def _edge(dtype: np.dtype[Any], *, least: bool) -> Any:
    """The least value of the dtype, or the greatest."""
    if dtype.kind == "f":
        return -np.inf if least else np.inf
    return np.iinfo(dtype).min if least else np.iinfo(dtype).max


def _extreme_row(rows: Rows, *, last: bool) -> Operand | None:
    """The extreme row in Cypher's order: -0.0 before 0.0, NaN last."""
    codes = float_order(rows.values.values)
    order = np.lexsort([~codes if last else codes, rows.group_of])
    counts = np.bincount(rows.group_of, minlength=rows.groups)
    places = np.clip(np.cumsum(counts) - counts, 0, len(order) - 1)
    found = rows.values.take(order[places])
    return Column(found.kind, found.values, None if (counts > 0).all() else counts > 0)


# ------------------------------------------------------------------ value by value
def _folded(name: str, rows: Rows, further: Sequence[Operand], groups: Groups) -> Operand:
    found = find_aggregate(name)
    assert found is not None
    values, offsets = rows.sorted()
    places, distinct = distinct_values(values, len(values))
    items = [distinct[place] for place in checked(places.tolist())]
    more = [_constants(each, groups) for each in further]
    results: list[Any] = []
    bounds = offsets.tolist()
    for group in checked(range(rows.groups)):
        arguments = [each[group] for each in more]
        results.append(found.fold(items[bounds[group] : bounds[group + 1]], *arguments))
    return column_of(results)


def _constants(operand: Operand, groups: Groups) -> list[Any]:
    count = len(groups.first)
    if isinstance(operand, Constant):
        return [operand.value] * count
    places, values = distinct_values(take(operand, groups.first), count)
    return [values[place] for place in places.tolist()]


_BY_NAME: dict[tuple[str, ColumnKind], Callable[[Rows], Operand | None]] = {
    ("sum", ColumnKind.INTEGER): sum_of_integers,
    ("sum", ColumnKind.FLOAT): sum_of_floats,
    ("avg", ColumnKind.INTEGER): _mean,
    ("avg", ColumnKind.FLOAT): _mean,
    **{
        (name, kind): partial(_spread, less=less)
        for name, less in (("stdev", 1), ("stdevp", 0))
        for kind in (ColumnKind.INTEGER, ColumnKind.FLOAT)
    },
    **{("count", kind): _count for kind in ColumnKind},
    **{("collect", kind): _collect for kind in ColumnKind},
    **{
        (name, kind): make
        for name, make in (("min", _least), ("max", _most))
        for kind in (ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.STRING, ColumnKind.BOOLEAN)
    },
}
_WITH_WEIGHTS = frozenset({"min", "max", "sum", "avg", "stdev", "stdevp"})
"""Aggregates that can use weights instead of expanded rows."""
_PERCENTILES = {"percentilecont": True, "percentiledisc": False}
"""True if the percentile interpolates between two values."""
