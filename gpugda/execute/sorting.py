"""Sorts rows: by integer keys, by ORDER BY, and for the first k only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.deadline import check_time, checked
from gpugda.expressions.operands import Constant, Operand, take, used_codes
from gpugda.expressions.temporal.moment_columns import moments_of
from gpugda.expressions.text_columns import refuse_unknown_order
from gpugda.values import order_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


__all__ = [
    "float_order",
    "order_codes",
    "order_keys",
    "sorted_places",
    "sorted_rows",
    "stable_order",
    "stable_order_of_keys",
    "top_rows",
]

_AFTER_ALL_FLOATS = np.int64(2**63 - 1)
_RUN: Final = 1 << 19
"""Objects that are sorted between two checks of the deadline."""


def order_keys(operand: Operand) -> list[NDArray[Any]]:
    """The sort keys of an operand, most significant first; null sorts last. Constants have none."""
    check_time()
    if isinstance(operand, Constant):
        return []
    if operand.valid is None or operand.valid.all():
        return [order_codes(operand)]
    is_null = (~operand.valid).astype(np.int8)
    return [is_null, np.where(operand.valid, order_codes(operand), 0)]


def order_codes(column: Column) -> NDArray[Any]:
    """One integer per row that sorts like the value; undefined for null rows."""
    if column.kind is ColumnKind.FLOAT:
        return float_order(column.values)
    if column.kind is ColumnKind.OBJECT:
        return _object_order(column)
    if column.kind is ColumnKind.BOOLEAN:
        return column.values.astype(np.int8)
    refuse_unknown_order(column)
    # Text codes sort like the texts: their dictionary is sorted.
    return column.values.astype(np.int64, copy=False)


def float_order(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Integers that sort like the numbers: -0.0 before 0.0, NaN last."""
    bits = values.view(np.int64) if values.flags.c_contiguous else values.copy().view(np.int64)
    # Negative floats have the sign bit set and grow downwards; -0.0 comes just before 0.0.
    ordered = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    return np.where(np.isnan(values), _AFTER_ALL_FLOATS, ordered)


def _object_order(column: Column) -> NDArray[np.int64]:
    dictionary = column.dictionary
    if dictionary is None or len(dictionary) == 0:  # all rows are null
        return np.zeros(len(column), dtype=np.int64)
    moments = moments_of(column)
    if moments is not None:
        ordered: NDArray[np.int64] = moments.ranks()[column.values]
        return ordered
    used, places = used_codes(column.values, len(dictionary))
    keys = [order_key(value) for value in checked(dictionary.values(used.astype(np.int32)))]
    ranks = np.zeros(len(keys), dtype=np.int64)
    rank, before = -1, None
    for place in checked(sorted_places(keys)):
        rank += keys[place] != before
        before = keys[place]
        ranks[place] = rank
    return ranks[places]


def sorted_places(keys: Sequence[Any], run: int = _RUN) -> list[int]:
    """Places of the keys in their order; sorts runs of them, which the last sort only merges."""
    places = list(range(len(keys)))
    for start in range(0, len(keys), run):
        check_time()
        places[start : start + run] = sorted(places[start : start + run], key=keys.__getitem__)
    check_time()
    if len(keys) > run:
        places.sort(key=keys.__getitem__)
    return places


_BITS: Final = 64
_SHORT: Final = 1 << 16
_FEW: Final = 1 << 10


def stable_order(key: NDArray[Any]) -> NDArray[np.int64]:
    """Row numbers sorted by a key of signed integers."""
    check_time()
    count = len(key)
    if count <= _FEW:
        return np.argsort(key, kind="stable")
    low = int(key.min())
    spread = int(key.max()) - low
    if spread < _SHORT:
        # NumPy argsorts 16-bit numbers by radix sort.
        return np.argsort((key - key.dtype.type(low)).astype(np.uint16), kind="stable")
    # Differences of extreme values wrap to the right unsigned numbers.
    rising = key.astype(np.uint64) - np.int64(low).astype(np.uint64)
    return _packed(rising, spread.bit_length())


def stable_order_of_keys(keys: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
    """Row numbers sorted by several keys, the most significant first."""
    if len(keys) == 1:
        return stable_order(keys[0])
    if len(keys[0]) <= _FEW:
        return np.lexsort(list(keys)[::-1])
    order: NDArray[np.int64] | None = None
    for key in reversed(_side_by_side(keys)):  # the least significant first
        order = stable_order(key) if order is None else order[stable_order(key[order])]
    assert order is not None
    return order


def _side_by_side(keys: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Combines adjacent keys into one number where both fit beside the row number."""
    room = _BITS - (len(keys[0]) - 1).bit_length()
    made: list[NDArray[Any]] = []
    used = _BITS
    for key in keys:
        low = int(key.min())
        bits = (int(key.max()) - low).bit_length()
        if used + bits <= room:
            # Below 2^63, so the sign bit stays clear.
            made[-1] = (made[-1] << np.int64(bits)) | (key.astype(np.int64) - low)
            used += bits
            continue
        rising = bits < _BITS
        made.append(key.astype(np.int64) - low if rising else key)
        used = bits
    return made


def _packed(rising: NDArray[np.uint64], bits: int) -> NDArray[np.int64]:
    count = len(rising)
    row_bits = (count - 1).bit_length()
    dropped = np.uint64(max(0, bits + row_bits - _BITS))
    behind = np.uint64(row_bits)
    packed = (rising >> dropped) << behind
    packed |= np.arange(count, dtype=np.uint64)
    packed.sort()
    check_time()
    order = (packed & ((np.uint64(1) << behind) - np.uint64(1))).astype(np.int64)
    if dropped:
        packed >>= behind
        _sort_ties(order, packed, rising)
    return order


def _sort_ties(
    order: NDArray[np.int64], tops: NDArray[np.uint64], rising: NDArray[np.uint64]
) -> None:
    """Reorders rows that agree in the sorted bits but differ in the dropped ones."""
    sorted_keys = rising[order]
    if not (sorted_keys[1:] < sorted_keys[:-1]).any():
        return
    same = tops[1:] == tops[:-1]
    places = np.flatnonzero(np.append(same, False) | np.insert(same, 0, False))
    rows = order[places]
    order[places] = rows[np.lexsort([rows, rising[rows], tops[places]])]


_SAMPLES: Final = 1 << 12
_MARGIN: Final = 1 << 5
"""Samples added to the limit's share of the sample, as that share may be off."""
_WINDOW: Final = 1 << 14
"""Rows whose keys are made at a time, so that they stay in the processor's cache."""


def top_rows(
    operand: Operand, descending: bool, limit: int, *, is_only_key: bool
) -> NDArray[np.int64] | None:
    """Rows that contain the first ``limit`` rows of the order, in rising order.

    None if the sampled threshold leaves too few rows or would hardly remove any, and for constants,
    objects and a limit of 0.

    Args:
        operand: The most significant sort key.
        descending: True if the key sorts downwards.
        limit: Number of rows wanted.
        is_only_key: True if rows with equal keys keep their order, so that later ones can be left
            out.
    """
    if isinstance(operand, Constant) or operand.kind is ColumnKind.OBJECT or limit == 0:
        return None  # the order of objects depends on the other rows
    row_count = len(operand)
    sampled = operand.take(np.arange(0, row_count, max(1, row_count // _SAMPLES)))
    sample = _keys_of(sampled, descending)
    order = stable_order_of_keys(sample)
    place = limit * len(order) // row_count + _MARGIN
    if 4 * place > len(order):
        return None
    at = int(order[place])
    is_null = sampled.valid is not None and not sampled.valid[at]
    if is_null and descending:
        assert operand.valid is not None
        rows = np.flatnonzero(~operand.valid)  # null comes first: no other row is needed
        return _enough(rows[:limit] if is_only_key else rows, limit)
    if operand.kind is ColumnKind.FLOAT and not is_null and not np.isnan(sampled.values[at]):
        return _enough(_floats_up_to(operand, sampled.values[at], descending), limit)
    threshold = [key[at] for key in sample]
    found = []
    for start in range(0, row_count, _WINDOW):
        keys = _keys_of(_window(operand, start), descending)
        found.append(np.flatnonzero(_up_to(keys, threshold)))
        found[-1] += start
    return _enough(np.concatenate(found), limit)


def _enough(rows: NDArray[np.int64], limit: int) -> NDArray[np.int64] | None:
    return rows if len(rows) >= limit else None


def _floats_up_to(column: Column, threshold: float, descending: bool) -> NDArray[np.int64]:
    """Rows up to a number, compared as floats: without keys, and with -0.0 and 0.0 as equals."""
    if descending:  # null, then NaN, then numbers
        found = ~(column.values < threshold)
        if column.valid is not None:
            found |= ~column.valid
    else:
        found = column.values <= threshold
        if column.valid is not None:
            found &= column.valid
    return np.flatnonzero(found)


def _window(column: Column, start: int) -> Column:
    rows = slice(start, start + _WINDOW)
    valid = None if column.valid is None else column.valid[rows]
    return Column(column.kind, column.values[rows], valid, column.dictionary)


def _keys_of(column: Column, descending: bool) -> list[NDArray[Any]]:
    """Sort keys, as many for each window of a column."""
    codes = order_codes(column)
    if column.valid is None:
        return [~codes if descending else codes]
    is_null = (~column.valid).astype(np.int8)
    keys = [is_null, np.where(column.valid, codes, 0)]
    return [~key for key in keys] if descending else keys


def _up_to(keys: Sequence[NDArray[Any]], threshold: Sequence[Any]) -> NDArray[np.bool_]:
    """True for rows that come before the threshold or are equal to it, key by key."""
    *first, least = keys
    found: NDArray[np.bool_] = least <= threshold[-1]
    for key, limit in zip(reversed(first), threshold[-2::-1], strict=True):
        found = (key < limit) | ((key == limit) & found)
    return found


_SAMPLED_ROWS: Final = 1 << 15
"""From this many rows on, a sample of the keys selects the rows that ORDER BY … LIMIT sorts."""


def sorted_rows(
    operands: Sequence[Operand],
    descending: Sequence[bool],
    row_count: int,
    limit: int | None = None,
) -> NDArray[np.int64]:
    """Row numbers in sorted order; rows with equal keys keep their order.

    Args:
        operands: Sort keys, most significant first.
        descending: One per key.
        row_count: Number of rows.
        limit: Number of rows wanted, the first of the order; None for all of them.
    """
    if limit is not None and row_count >= _SAMPLED_ROWS and operands:
        rows = top_rows(operands[0], descending[0], limit, is_only_key=len(operands) == 1)
        if rows is not None:
            selected = [take(operand, rows) for operand in operands]
            return rows[sorted_rows(selected, descending, len(rows))[:limit]]
    keys = [
        ~array if turned else array
        for operand, turned in zip(operands, descending, strict=True)
        for array in order_keys(operand)
    ]
    rows = np.arange(row_count, dtype=np.int64)
    if not keys:
        return rows[:limit]
    if limit is not None and 4 * limit < row_count:
        rows = _candidates(keys[0], limit)
        keys = [key[rows] for key in keys]
    order = stable_order_of_keys(keys)[:limit]
    return rows[order]


def _candidates(key: NDArray[Any], limit: int) -> NDArray[np.int64]:
    # Whatever the other keys say, the first rows are among those up to this value.
    if limit == 0:
        return np.zeros(0, dtype=np.int64)
    last = np.partition(key, limit - 1)[limit - 1]
    return np.flatnonzero(key <= last)
