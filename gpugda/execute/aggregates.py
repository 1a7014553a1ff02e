"""What aggregates make of the rows of each group, on columns.

Numbers, texts and entities are taken together for all groups; what has other values goes value by
value through the functions of `gpugda.expressions.functions`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.grouping import group_rows
from gpugda.execute.means import running_means
from gpugda.execute.sorting import float_order
from gpugda.execute.stable_order import stable_order
from gpugda.expressions.functions import find_aggregate
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.made_columns import column_of
from gpugda.expressions.operands import Constant, Operand, as_column, distinct_values, take

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gpugda.execute.grouping import Groups

__all__ = ["Rows", "aggregate"]

_LARGEST = 2**63 - 1
_EXACT = 2**53
"""Below it, integers are exact as floats, which are summed sooner."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows that have a value, with their groups.

    Args:
        groups: Number of groups.
        group_of: ``int64`` per row.
        values: The argument of the aggregate, without nulls.
    """

    groups: int
    group_of: NDArray[np.int64]
    values: Column

    def sorted(self) -> tuple[Column, NDArray[np.int64]]:
        """The values group by group, in the order of rows, and where each group begins."""
        order = stable_order(self.group_of)
        counts = np.bincount(self.group_of, minlength=self.groups)
        offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])
        return self.values.take(order), offsets


def aggregate(
    name: str,
    operand: Operand,
    further: Sequence[Operand],
    groups: Groups,
    row_count: int,
    *,
    distinct: bool,
) -> Operand:
    """One value per group.

    Args:
        name: Of the aggregate, in lower case.
        operand: Its argument in every row.
        further: Further arguments (a percentile), which are the same in all rows of a group.
        groups: Which rows belong together.
        row_count: Number of rows.
        distinct: Whether equal values of a group count once.

    Raises:
        UnsupportedQueryError: There is no such aggregate here.
        CypherTypeError: A value has a type that the aggregate is not defined for.
    """
    if find_aggregate(name) is None:
        raise UnsupportedQueryError(f"{name}() is not answered here", construct=f"{name}()")
    rows = _with_values(operand, groups, row_count)
    if distinct:
        rows = _each_once(rows)
    make = _BY_NAME.get((name, rows.values.kind))
    made = None if make is None or further else make(rows)
    return _folded(name, rows, further, groups) if made is None else made


def _with_values(operand: Operand, groups: Groups, row_count: int) -> Rows:
    column = as_column(operand, row_count)
    count = len(groups.first)
    if column.valid is None:
        return Rows(count, groups.group_of, column)
    kept = np.flatnonzero(column.valid)
    found = column.take(kept)
    return Rows(
        count, groups.group_of[kept], Column(found.kind, found.values, None, found.dictionary)
    )


def _each_once(rows: Rows) -> Rows:
    group: Operand = Column(ColumnKind.INTEGER, rows.group_of)
    first = np.sort(group_rows([group, rows.values], len(rows.group_of)).first)
    return Rows(rows.groups, rows.group_of[first], rows.values.take(first))


# ------------------------------------------------------------------ all groups together
def _count(rows: Rows) -> Operand:
    counts = np.bincount(rows.group_of, minlength=rows.groups).astype(np.int64)
    return Column(ColumnKind.INTEGER, counts)


def _collect(rows: Rows) -> Operand:
    values, offsets = rows.sorted()
    codes = np.arange(rows.groups, dtype=np.int32)
    return Column(ColumnKind.OBJECT, codes, None, ColumnLists(offsets, values))


def _sum_of_integers(rows: Rows) -> Operand | None:
    values = rows.values.values
    largest = max(abs(int(values.min())), abs(int(values.max()))) if len(values) else 0
    if largest * max(len(values), 1) > _LARGEST // 2:
        return None  # one may leave the 64 bits
    if largest * len(values) < _EXACT:
        exact = np.bincount(rows.group_of, weights=values, minlength=rows.groups)
        return Column(ColumnKind.INTEGER, exact.astype(np.int64))
    sums = np.zeros(rows.groups, dtype=np.int64)
    np.add.at(sums, rows.group_of, values)
    return Column(ColumnKind.INTEGER, sums)


def _sum_of_floats(rows: Rows) -> Operand | None:
    # In the order of rows, as Neo4j adds them.
    sums = np.bincount(rows.group_of, weights=rows.values.values, minlength=rows.groups)
    counts = np.bincount(rows.group_of, minlength=rows.groups)
    # The sum of nothing is an integer.
    return None if (counts == 0).any() else Column(ColumnKind.FLOAT, sums)


def _mean(rows: Rows) -> Operand | None:
    values, offsets = rows.sorted()
    means = running_means(values.values.astype(np.float64), offsets)
    if means is None:
        return None
    there = np.diff(offsets) > 0
    return Column(ColumnKind.FLOAT, means, None if there.all() else there)


def _least(rows: Rows) -> Operand | None:
    return _extreme(rows, last=False)


def _most(rows: Rows) -> Operand | None:
    return _extreme(rows, last=True)


def _extreme(rows: Rows, *, last: bool) -> Operand | None:
    if not len(rows.group_of):
        return Constant(None)
    column = rows.values
    if column.kind is ColumnKind.FLOAT:
        if np.isnan(column.values).any() or (column.values == 0).any():
            return _extreme_row(rows, last=last)  # NaN and the two zeros are told by their rows
        codes = float_order(column.values)
    else:
        codes = column.values.astype(np.int64, copy=False)
    edge = np.iinfo(np.int64)
    best = np.full(rows.groups, edge.min if last else edge.max)
    (np.maximum if last else np.minimum).at(best, rows.group_of, codes)
    there = np.bincount(rows.group_of, minlength=rows.groups) > 0
    best[~there] = codes[0]
    values = _floats_of(best) if column.kind is ColumnKind.FLOAT else best
    return Column(
        column.kind,
        values.astype(column.values.dtype, copy=False),
        None if there.all() else there,
        column.dictionary,
    )


def _floats_of(codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The numbers that `float_order` made codes of."""
    bits = np.where(codes < 0, codes ^ np.int64(_LARGEST), codes)
    floats: NDArray[np.float64] = bits.view(np.float64)
    return floats


def _extreme_row(rows: Rows, *, last: bool) -> Operand | None:
    """Of equal values the first row's, as value by value."""
    codes = float_order(rows.values.values + 0.0)
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
    items = [distinct[place] for place in places.tolist()]
    more = [_constants(each, groups) for each in further]
    results: list[Any] = []
    bounds = offsets.tolist()
    for group in range(rows.groups):
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
    ("sum", ColumnKind.INTEGER): _sum_of_integers,
    ("sum", ColumnKind.FLOAT): _sum_of_floats,
    ("avg", ColumnKind.INTEGER): _mean,
    ("avg", ColumnKind.FLOAT): _mean,
    **{("count", kind): _count for kind in ColumnKind},
    **{("collect", kind): _collect for kind in ColumnKind},
    **{
        (name, kind): make
        for name, make in (("min", _least), ("max", _most))
        for kind in (ColumnKind.INTEGER, ColumnKind.FLOAT, ColumnKind.STRING, ColumnKind.BOOLEAN)
    },
}
