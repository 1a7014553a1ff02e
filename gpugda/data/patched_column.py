"""Property columns of patched arrays: a few changed values do not copy all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.column import Column, ColumnKind
from gpugda.data.patches.changing import renumbered, replaced, spliced
from gpugda.data.patches.patched import stored_bytes, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.column import Dictionary
    from gpugda.data.patches.patched import Array
    from gpugda.data.patches.splice import Splice

__all__ = ["PatchedColumn"]

_CODED = (ColumnKind.STRING, ColumnKind.OBJECT)
_FEW = 16
"""More than one in this many rows are read faster from the whole array."""


class PatchedColumn(Column):
    """A column whose arrays may be patched.

    `take` reads few rows without the whole arrays; ``values`` and ``valid`` materialise these.

    Args:
        kind: Kind of the values.
        array: The values; codes as ``uint32``.
        flags: ``bool`` per row, False for null; None if no row is null.
        dictionary: The values behind the codes.
        null_count: The number of nulls.
    """

    __slots__ = ("array", "flags", "null_count")
    array: Array
    flags: Array | None
    null_count: int

    def __init__(
        self,
        kind: ColumnKind,
        array: Array,
        flags: Array | None,
        dictionary: Dictionary | None,
        null_count: int,
    ) -> None:
        set_attribute = object.__setattr__  # the class is frozen, and some slots are the base's
        set_attribute(self, "kind", kind)
        set_attribute(self, "dictionary", dictionary)
        set_attribute(self, "array", array)
        set_attribute(self, "flags", flags if null_count else None)
        set_attribute(self, "null_count", null_count)

    @classmethod
    def of(cls, column: Column) -> PatchedColumn:
        """The same column in this form."""
        if isinstance(column, PatchedColumn):
            return column
        values, valid = column.values, column.valid
        array = values.view(np.uint32) if column.kind in _CODED else values
        nulls = 0 if valid is None else len(valid) - int(np.count_nonzero(valid))
        return cls(column.kind, array, valid, column.dictionary, nulls)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def values(self) -> NDArray[Any]:
        """See `Column`."""
        found = whole(self.array)
        return found.view(np.int32) if self.kind in _CODED else found

    @property
    def valid(self) -> NDArray[np.bool_] | None:
        """See `Column`."""
        return None if self.flags is None else whole(self.flags)

    @property
    def has_only_nulls(self) -> bool:
        """See `Column`."""
        return self.flags is not None and self.null_count == len(self)

    @property
    def nbytes(self) -> int:
        """See `Column`; size of the arrays as stored, and of their bases."""
        return stored_bytes(self.array) + (0 if self.flags is None else stored_bytes(self.flags))

    def take(self, rows: NDArray[Any]) -> Column:
        """See `Column`."""
        count = len(self)
        if (
            rows.dtype == np.bool_
            or len(rows) * _FEW > count
            or not 0 <= rows.min(initial=0) <= rows.max(initial=0) < count
        ):
            return super().take(rows)
        found = self.array[rows]
        values = found.view(np.int32) if self.kind in _CODED else found
        valid = None if self.flags is None else self.flags[rows]
        return Column(self.kind, values, valid, self.dictionary)

    # ------------------------------------------------------------------ next states
    def spliced(self, splice: Splice) -> PatchedColumn:
        """The column without some rows, and with nulls for others."""
        flags, nulls = self.flags, self.null_count
        if flags is not None:
            nulls -= int(np.count_nonzero(~flags[splice.removed]))
        if flags is not None or len(splice.places):
            nulls += len(splice.places)
            flags = spliced(self._all_flags(), splice, False)
        array = spliced(self.array, splice, 0)
        return PatchedColumn(self.kind, array, flags, self.dictionary, nulls)

    def with_dictionary(self, dictionary: Dictionary, moves: Splice | None) -> PatchedColumn:
        """The column with another dictionary, whose codes the old ones move to; None: they stay."""
        array = self.array if moves is None else renumbered(self.array, moves)
        return PatchedColumn(self.kind, array, self.flags, dictionary, self.null_count)

    def with_values(
        self,
        rows: NDArray[np.int64],
        values: NDArray[Any] | None,
        valid: NDArray[np.bool_] | None,
    ) -> PatchedColumn:
        """The column with other values in some rows.

        Args:
            rows: The rows, distinct.
            values: The new values; None for nulls only.
            valid: ``bool`` per row, False for null; None if no new value is null.
        """
        array, flags, nulls = self.array, self.flags, self.null_count
        if values is not None:
            array = replaced(array, rows, values)
        if flags is not None or valid is not None:
            before = self._all_flags()
            new = np.ones(len(rows), dtype=np.bool_) if valid is None else valid
            nulls += int(np.count_nonzero(before[rows])) - int(np.count_nonzero(new))
            flags = replaced(before, rows, new)
        return PatchedColumn(self.kind, array, flags, self.dictionary, nulls)

    def _all_flags(self) -> Array:
        return np.broadcast_to(np.True_, len(self)) if self.flags is None else self.flags
