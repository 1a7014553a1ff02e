"""Reads temporal columns as numbers: numeric dictionaries, or values of a graph or query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.dictionaries import ObjectDictionary
from gpugda.expressions.kinds import kind_of_value
from gpugda.expressions.operands import Constant
from gpugda.expressions.temporal.moments import moment_of
from gpugda.expressions.temporal.rows import MomentRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.values.columns import Column
    from gpugda.expressions.operands import Operand

__all__ = ["moments_of", "moments_of_operand"]

_KINDS: Final = frozenset({"date", "localdatetime", "datetime"})
_FEW: Final = 64
"""Up to this many entries, single values are as fast."""
_FEW_ROWS: Final = 4
"""Entries per row from which on only the used entries are read."""


def moments_of(column: Column) -> MomentRows | None:
    """The dictionary values of a column, if all have one kind and offset; else None."""
    dictionary = column.dictionary
    if isinstance(dictionary, MomentRows):
        return dictionary
    if not isinstance(dictionary, ObjectDictionary) or len(dictionary) <= _FEW:
        return None
    if dictionary.kept is None:
        if len(column) * _FEW_ROWS < len(dictionary):
            return None
        dictionary.kept = _rows_of(dictionary.entries.tolist()) or False
    found: MomentRows | None = dictionary.kept or None
    return found


def _rows_of(entries: Sequence[Any]) -> MomentRows | None:
    if kind_of_value(entries[0]) not in _KINDS:
        return None
    kind = kind_of_value(entries[0])
    if any(kind_of_value(entry) != kind for entry in entries):
        return None
    moments = [moment_of(entry) for entry in entries]
    zone = moments[0].zone
    if isinstance(zone, str) or any(each.zone != zone for each in moments):
        return None
    days = np.array([each.days for each in moments], dtype=np.int64)
    if kind == "date":
        return MomentRows(days)
    return MomentRows(days, np.array([each.nanos for each in moments], dtype=np.int64), zone)


def moments_of_operand(operand: Operand) -> MomentRows | None:
    """One moment per row, or one for all rows; None as `moments_of`."""
    if isinstance(operand, Constant):
        return None if kind_of_value(operand.value) not in _KINDS else _rows_of([operand.value])
    rows = moments_of(operand)
    if rows is None or not len(rows):
        return None
    return rows.taken(operand.values)
