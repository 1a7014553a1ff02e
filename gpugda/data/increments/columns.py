"""Property columns after changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.increments.dictionaries import extended_objects, extended_strings, without_unused
from gpugda.data.patches.changing import is_patched_length
from gpugda.data.values.chunked_column import PatchedColumn
from gpugda.data.values.column import Column, ColumnKind, constant_null, to_values
from gpugda.data.values.dictionaries import ObjectDictionary, StringDictionary, encode_objects

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.splice import Splice
    from gpugda.data.values.column import Dictionary

__all__ = ["moved_column", "set_values"]

_SPARE_ENTRIES = 1024
_ENTRIES_PER_ROW = 2
_MANY = 1 << 12
"""With more changed rows, copying all values is faster than patching them."""


def moved_column(column: Column, splice: Splice) -> Column:
    """The column with nulls for added rows and without removed ones; itself if there are none."""
    if not splice:
        return column
    # Rows that are appended to plain arrays take their spare capacity.
    if isinstance(column, PatchedColumn) or not splice.only_appends:
        patched = _patched(column, splice.size)
        if patched is not None:
            return patched.spliced(splice)
    if column.valid is not None:
        valid = splice.applied(column.valid, False)
    elif len(splice.places):
        valid = np.ones(splice.new_count, dtype=np.bool_)
        valid[splice.new_places()] = False
    else:
        valid = None
    return Column(column.kind, splice.applied(column.values, 0), valid, column.dictionary)


def set_values(
    column: Column | None,
    count: int,
    rows: NDArray[np.int64],
    new: Column,
    *,
    in_place: bool = False,
) -> Column:
    """The column with other values, or null, in some rows; the given one does not change.

    Args:
        column: The column before; None if no row had a value.
        count: The number of rows.
        rows: The rows that change, distinct.
        new: The new value of each of these rows.
        in_place: True if all ``rows`` were added by `moved_column`, so that nothing else refers to
            them yet and they need no copy.
    """
    if column is None:
        column = constant_null(count)
    if new.has_only_nulls:
        return _put(column, rows, None, new.valid, in_place=in_place)
    if column.has_only_nulls:
        column = _nulls_of(new, count)
    if column.kind is not new.kind:
        column, new = _as_objects(column), _as_objects(new)
    codes = new.values
    if isinstance(column.dictionary, StringDictionary):
        texts, moves, codes = extended_strings(column.dictionary, new)
        column = _translated(column, texts, moves)
    elif isinstance(column.dictionary, ObjectDictionary):
        objects, codes = extended_objects(column.dictionary, new)
        column = _translated(column, objects, None)
    return _without_many_unused(_put(column, rows, codes, new.valid, in_place=in_place))


def _patched(column: Column, changed: int) -> PatchedColumn | None:
    """The column in a form that few changed rows need not copy; None for short ones or many."""
    if changed > _MANY or not is_patched_length(len(column)):
        return None
    return PatchedColumn.of(column)


def _translated(
    column: Column, dictionary: Dictionary, moves: Splice | NDArray[np.int32] | None
) -> Column:
    """The column with an extended dictionary.

    Args:
        column: The column.
        dictionary: The dictionary.
        moves: The splice of the old dictionary, or the new code of each old one; None if old codes
            stay.
    """
    if dictionary is column.dictionary:
        return column
    if not isinstance(moves, np.ndarray):
        if isinstance(column, PatchedColumn) or (moves and is_patched_length(len(column))):
            return PatchedColumn.of(column).with_dictionary(dictionary, moves)
        codes = column.values
        if moves:
            codes = moves.renumbered(codes.view(np.uint32)).view(np.int32)
    else:
        codes = moves[column.values]
    return Column(column.kind, codes, column.valid, dictionary)


def _put(
    column: Column,
    rows: NDArray[np.int64],
    values: NDArray[Any] | None,
    valid: NDArray[np.bool_] | None,
    *,
    in_place: bool,
) -> Column:
    """The column with other values in some rows; nulls if ``values`` is None."""
    if values is not None and valid is not None:
        values = np.where(valid, values, values.dtype.type(0))
    if isinstance(column, PatchedColumn) or not in_place:
        patched = _patched(column, len(rows))
        if patched is not None:
            return patched.with_values(rows, values, valid)
        in_place = False
    found = column.values
    if values is not None:
        found = found if in_place else found.copy()
        found[rows] = values
    flags = column.valid
    if flags is not None or valid is not None:
        if flags is None:
            flags = np.ones(len(found), dtype=np.bool_)
        elif not in_place:
            flags = flags.copy()
        flags[rows] = True if valid is None else valid
        flags = None if flags.all() else flags
    return Column(column.kind, found, flags, column.dictionary)


def _nulls_of(like: Column, count: int) -> Column:
    """A column of nulls of the same kind and with the same dictionary."""
    dictionary = like.dictionary
    return Column(
        like.kind,
        np.zeros(count, dtype=like.values.dtype),
        np.zeros(count, dtype=np.bool_),
        dictionary,
    )


def _as_objects(column: Column) -> Column:
    if column.kind is ColumnKind.OBJECT:
        return column
    codes, dictionary = encode_objects(to_values(column))
    return Column(ColumnKind.OBJECT, codes, column.valid, dictionary)


def _without_many_unused(column: Column) -> Column:
    """The column without unused dictionary entries, once these are the majority."""
    entries = column.distinct_count
    if entries is None or entries <= _ENTRIES_PER_ROW * len(column) + _SPARE_ENTRIES:
        return column
    return without_unused(column)
