"""Vectorised subscripts, slices and ``IN``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda import values
from gpugda.data.runs import are_consecutive, places_in_runs
from gpugda.data.values.columns import Column, ColumnKind, constant_null
from gpugda.data.values.dictionaries import StringDictionary
from gpugda.expressions.boolean_columns import NEVER, UNKNOWN, Truth, pairwise
from gpugda.expressions.compare_columns import equal, kind_of_operand
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import Constant, Flags, Operand, both, either, inverted, validity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.expressions.text_columns import Cache


__all__ = ["element_at", "is_in", "is_in_lists", "part_of"]

_LARGEST_PLACE: Final = 2**31 - 1
_WHOLE: Final = (ColumnKind.INTEGER, ColumnKind.NODE, ColumnKind.RELATIONSHIP)
"""Kinds whose values are equal exactly where their numbers are."""


def element_at(lists: Operand, index: Operand) -> Column | None:
    """``lists[index]``; None if it must go value by value."""
    whole = _whole_numbers(index)
    if whole is None or not isinstance(lists, Column):
        return None
    parts = _parts(lists)
    if parts is None:
        return None
    firsts, counts, elements = parts
    if not len(elements):
        return constant_null(len(lists))
    if isinstance(index, Constant):
        place = whole + counts if whole < 0 else whole
    else:
        place = np.where(whole < 0, whole + counts, whole)
    known = both(validity(lists), validity(index))
    there = np.broadcast_to(both((place >= 0) & (place < counts), known), len(lists))
    if there.all():
        return elements.take(firsts + place if np.any(place) else firsts)
    found = elements.take(np.where(there, firsts + place, 0))
    there = there if found.valid is None else there & found.valid
    return Column(found.kind, found.values, there, found.dictionary)


def part_of(lists: Operand, start: Operand, end: Operand) -> Column | None:
    """``lists[start..end]``, with ``...`` for an omitted bound; None as `element_at`."""
    if not isinstance(lists, Column) or not (_is_bound(start) and _is_bound(end)):
        return None
    per_row = _parts(lists)
    if per_row is None:
        return None
    # Slice each distinct list once, unless there are fewer rows than lists.
    assert lists.dictionary is not None
    once = len(lists.dictionary) <= len(lists)
    offsets, elements = _offsets(lists), per_row[2]
    firsts, counts = (offsets[:-1], np.diff(offsets)) if once else per_row[:2]
    low = _clipped(start, counts, 0)
    kept = np.maximum(_clipped(end, counts, counts) - low, 0)
    made = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(kept)])
    places = np.arange(made[-1], dtype=np.int64)
    places += np.repeat(firsts + low - made[:-1], kept)
    codes = lists.values if once else np.arange(len(lists), dtype=np.int32)
    return Column(lists.kind, codes, lists.valid, ColumnLists(made, elements.take(places)))


def is_in_lists(left: Operand, lists: Column, cache: Cache) -> Truth | None:
    """``left IN lists``; None if it must go value by value."""
    parts = _parts(lists)
    if parts is None or parts[2].valid is not None:
        return None
    _, counts, elements = parts
    valid = validity(lists)
    if isinstance(left, Constant):
        if left.value is None or elements.kind is ColumnKind.OBJECT:
            return None
        codes, offsets, elements = _used(lists, elements)
        same = equal(elements, left, len(elements), cache).holds
        hits = np.flatnonzero(np.broadcast_to(same, len(elements)))
        met = _of_lists(np.searchsorted(offsets, hits, side="right") - 1, codes, offsets)
        return Truth(both(met, valid), both(inverted(met), valid))
    if left.kind is not elements.kind or left.kind not in _WHOLE:
        return None
    found = both(_pairs_met(left, lists, elements), both(validity(left), valid))
    # Nothing is in an empty list, not even null.
    denied = both(either(counts == 0, validity(left)), inverted(found))
    return Truth(found, both(denied, valid))


# ------------------------------------------------------------------ lists
def _offsets(lists: Column) -> NDArray[np.int64]:
    assert isinstance(lists.dictionary, ColumnLists)
    return lists.dictionary.offsets


def _parts(lists: Column) -> tuple[NDArray[np.int64], NDArray[np.int64], Column] | None:
    """Per row, offset and length of its list; and the elements of all lists."""
    dictionary = lists.dictionary
    if not isinstance(dictionary, ColumnLists):
        return None
    elements = dictionary.elements
    if not len(dictionary):
        nothing = np.zeros(len(lists), dtype=np.int64)
        return nothing, nothing, elements
    if are_consecutive(lists.values):
        ends = dictionary.offsets[lists.values[0] : int(lists.values[-1]) + 2]
        return ends[:-1], np.diff(ends), elements
    firsts = dictionary.offsets[lists.values]
    return firsts, dictionary.offsets[1:][lists.values] - firsts, elements


# ------------------------------------------------------------------ positions
def _whole_numbers(index: Operand) -> Any:
    """The positions as ``int64``, one or per row; None if they are not integers."""
    if isinstance(index, Constant):
        is_whole = isinstance(index.value, int) and not isinstance(index.value, bool)
        return np.int64(index.value) if is_whole else None
    return index.values if index.kind is ColumnKind.INTEGER else None


def _is_bound(bound: Operand) -> bool:
    if not isinstance(bound, Constant) or isinstance(bound.value, bool):
        return False
    value = bound.value
    return value is ... or (isinstance(value, int) and abs(value) <= _LARGEST_PLACE)


def _clipped(bound: Operand, counts: NDArray[np.int64], otherwise: Any) -> NDArray[np.int64]:
    """A slice bound as a position from 0 to the length of each list."""
    assert isinstance(bound, Constant)
    if bound.value is ...:
        return np.broadcast_to(np.int64(0) + otherwise, counts.shape)
    place = bound.value + counts if bound.value < 0 else np.full(counts.shape, bound.value)
    clipped: NDArray[np.int64] = np.clip(place, 0, counts)
    return clipped


# ------------------------------------------------------------------ IN
def _used(lists: Column, elements: Column) -> tuple[NDArray[Any], NDArray[np.int64], Column]:
    """List number of each row, list offsets, and elements, restricted to the lists of rows.

    Keeps all lists unless there are more lists than rows.
    """
    offsets = _offsets(lists)
    if len(offsets) - 1 <= len(lists):
        return lists.values, offsets, elements
    used, codes = np.unique(lists.values, return_inverse=True)
    firsts = offsets[used]
    counts = offsets[used + 1] - firsts
    places = np.repeat(firsts, counts) + places_in_runs(counts)
    return codes, np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), elements.take(places)


def _of_lists(
    owners: NDArray[Any], codes: NDArray[Any], offsets: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """True for rows whose list is one of ``owners``."""
    met = np.zeros(max(len(offsets) - 1, 1), dtype=np.bool_)
    met[owners] = True
    found: NDArray[np.bool_] = met[codes]
    return found


def _pairs_met(left: Column, lists: Column, elements: Column) -> NDArray[np.bool_]:
    """Per row, True if its list contains its value."""
    offsets = _offsets(lists)
    counts = np.diff(offsets)[lists.values]
    if counts.sum() <= 2 * (len(elements) + len(lists)):  # few rows share a list
        rows = np.repeat(np.arange(len(lists)), counts)
        places = offsets[lists.values[rows]] + places_in_runs(counts)
        met = np.zeros(len(lists), dtype=np.bool_)
        met[rows[elements.values[places] == left.values[rows]]] = True
        return met
    codes, offsets, elements = _used(lists, elements)
    distinct, numbers = np.unique(elements.values, return_inverse=True)
    if not len(distinct):
        return np.zeros(len(lists), dtype=np.bool_)
    places = np.minimum(np.searchsorted(distinct, left.values), len(distinct) - 1)
    same = distinct[places] == left.values
    if len(offsets) == 2:
        return np.asarray(same, dtype=np.bool_)  # a single list contains all distinct values
    owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    known = owners * len(distinct) + numbers
    asked = codes.astype(np.int64) * len(distinct) + places
    found: NDArray[np.bool_] = same & np.isin(asked, known)
    return found


_FEW_ITEMS = 8
_LARGEST = 2**63 - 1
"""Up to this many items are compared one by one."""
_WINDOW = 1 << 14
"""Rows whose intermediate results fit in the processor's cache."""


def is_in(left: Operand, right: Operand, row_count: int, cache: Cache) -> Truth:
    """``left IN right``. A right side that is no list counts as a list of itself."""
    if isinstance(right, Column):
        if right.kind is ColumnKind.OBJECT:
            together = is_in_lists(left, right, cache)
            if together is not None:
                return together
            return pairwise(values.is_in, left, right, row_count)
        return equal(left, right, row_count, cache)
    if right.value is None:
        return UNKNOWN
    items = right.value if values.kind_of(right.value) == "list" else [right.value]
    if not items:
        return NEVER
    if isinstance(left, Constant) or left.kind is ColumnKind.OBJECT:
        return pairwise(values.is_in, left, Constant(items), row_count)
    return _among(left, items)


def _among(column: Column, items: Sequence[Any]) -> Truth:
    valid = validity(column)
    kind = kind_of_operand(column)
    found = _found(column, [item for item in items if values.kind_of(item) == kind])
    if any(item is None for item in items):
        return Truth(both(found, valid), False)
    return Truth(both(found, valid), both(inverted(found), valid))


def _found(column: Column, items: list[Any]) -> Flags:
    # All items are of the column's kind.
    if not items:
        return False
    if column.kind is ColumnKind.BOOLEAN:
        return _one_of(column.values, items, np.bool_)
    if column.kind is ColumnKind.INTEGER:
        integers = [min(int(item), _LARGEST) for item in items if _is_integer(item)]
        return _one_of(column.values, integers, np.int64)
    if column.kind is ColumnKind.FLOAT:
        floats = [float(item) for item in items if isinstance(item, float) or _is_float(item)]
        return _one_of(column.values, floats, np.float64)
    if column.kind in (ColumnKind.NODE, ColumnKind.RELATIONSHIP):
        return _one_of(column.values, [item.index for item in items], np.uint32)
    if isinstance(column.dictionary, StringDictionary) and len(column.dictionary):
        if len(items) <= _FEW_ITEMS:
            codes = {int(code) for code in column.dictionary.find_all(items)} - {-1}
            return _one_of(column.values, sorted(codes), np.int32)
        known = np.zeros(len(column.dictionary) + 1, dtype=np.bool_)
        # Code -1 of an unknown text selects the extra last entry, which no row uses.
        known[column.dictionary.find_all(items)] = True
        found: NDArray[np.bool_] = known[column.values]
        return found
    return False


def _is_integer(item: float) -> bool:
    if isinstance(item, int):
        return True
    return item.is_integer() and -(2.0**63) <= item <= 2.0**63  # which equals the largest integer


def _is_float(item: int) -> bool:
    return int(float(item)) == item or item == _LARGEST


def _one_of(array: NDArray[Any], items: list[Any], dtype: Any) -> Flags:
    if not items:
        return False
    if len(items) > _FEW_ITEMS:
        return np.isin(array, np.array(items, dtype=dtype))
    found = np.empty(len(array), dtype=np.bool_)
    for start in range(0, len(array), _WINDOW):
        part, flags = array[start : start + _WINDOW], found[start : start + _WINDOW]
        np.equal(part, dtype(items[0]), out=flags)
        for item in items[1:]:
            flags |= part == dtype(item)
    return found
