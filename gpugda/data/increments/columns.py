"""Property columns afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.column import Column, ColumnKind, constant_null, to_values
from gpugda.data.dictionaries import ObjectDictionary, StringDictionary, encode_objects
from gpugda.data.increments.dictionaries import extended_objects, extended_strings, without_unused

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.splice import Splice

__all__ = ["moved_column", "set_values"]

_SPARE_ENTRIES = 1024
_ENTRIES_PER_ROW = 2


def moved_column(column: Column, splice: Splice) -> Column:
    """A column with nulls for what came, without what went; itself where nothing did."""
    if not splice:
        return column
    if column.valid is not None:
        valid = splice.applied(column.valid, False)
    elif len(splice.places):
        valid = np.ones(splice.new_count, dtype=np.bool_)
        valid[splice.new_places()] = False
    else:
        valid = None
    return Column(column.kind, splice.applied(column.values, 0), valid, column.dictionary)


def set_values(
    column: Column | None, count: int, rows: NDArray[np.int64], new: Column, *, came: bool = False
) -> Column:
    """A column in which some rows have other values, or null; the old one stays as it is.

    Args:
        column: As it was; None where nothing had a value.
        count: Rows.
        rows: Which.
        new: The value of each.
        came: Are these rows of `moved_column` that came? They are written where they are, as nobody
            else has them yet.
    """
    if column is None:
        column = constant_null(count)
    if new.valid is not None and not new.valid.any():
        return _put(column, rows, None, new.valid, came=came)
    if column.valid is not None and not column.valid.any():
        column = _nulls_of(new, count)
    if column.kind is not new.kind:
        column, new = _as_objects(column), _as_objects(new)
    if isinstance(column.dictionary, StringDictionary):
        dictionary, old_codes, codes = extended_strings(column.dictionary, new, column.values)
        column = Column(column.kind, old_codes, column.valid, dictionary)
    elif isinstance(column.dictionary, ObjectDictionary):
        objects, codes = extended_objects(column.dictionary, new)
        column = Column(column.kind, column.values, column.valid, objects)
    else:
        codes = new.values
    return _tidy(_put(column, rows, codes, new.valid, came=came))


def _put(
    column: Column,
    rows: NDArray[np.int64],
    values: NDArray[Any] | None,
    valid: NDArray[np.bool_] | None,
    *,
    came: bool,
) -> Column:
    """Other values in some rows; without values these are null."""
    found = column.values
    if values is not None:
        found = found if came else found.copy()
        found[rows] = values if valid is None else np.where(valid, values, found.dtype.type(0))
    flags = column.valid
    if flags is not None or valid is not None:
        if flags is None:
            flags = np.ones(len(found), dtype=np.bool_)
        elif not came:
            flags = flags.copy()
        flags[rows] = True if valid is None else valid
        flags = None if flags.all() else flags
    return Column(column.kind, found, flags, column.dictionary)


def _nulls_of(like: Column, count: int) -> Column:
    """Nulls of the same kind."""
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


def _tidy(column: Column) -> Column:
    """Without entries that nothing has any more, once most are of that sort."""
    entries = column.distinct_count
    if entries is None or entries <= _ENTRIES_PER_ROW * len(column) + _SPARE_ENTRIES:
        return column
    return without_unused(column)
