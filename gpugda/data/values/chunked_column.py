"""Columns in pieces: chunks of a result, pieces of batches, and patches of a changed graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.changing import renumbered, replaced, spliced
from gpugda.data.patches.patched import stored_bytes, whole
from gpugda.data.values.column import Column, ColumnKind, constant_null, to_values
from gpugda.data.values.dictionaries import (
    ObjectDictionary,
    StringDictionary,
    encode_objects,
    merge_objects,
    merge_strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.patches.patched import Array
    from gpugda.data.patches.splice import Splice
    from gpugda.data.values.column import Dictionary

__all__ = ["ChunkedColumn", "PatchedColumn", "can_be_chunked", "chunks_of", "concatenate_columns"]


class ChunkedColumn(Column):
    """A column of chunks for which `can_be_chunked` is True.

    Sequential reading and Arrow use the chunks as they are, so a result is not copied and takes no
    second copy of its memory. Other callers read ``values``, which concatenates the chunks. Must be
    used by one thread at a time.
    """

    __slots__ = ("_chunks",)
    _chunks: tuple[Column, ...]

    def __init__(self, chunks: Sequence[Column]) -> None:
        set_attribute = object.__setattr__  # the class is frozen, and the slots are the base's
        set_attribute(self, "kind", chunks[0].kind)
        set_attribute(self, "dictionary", chunks[0].dictionary)
        flat = [each for chunk in chunks for each in chunks_of(chunk)]
        some = [each for each in flat if len(each)]
        set_attribute(self, "_chunks", tuple(some or flat[:1]))

    def __len__(self) -> int:
        return sum(len(chunk) for chunk in self._chunks)

    @property
    def chunks(self) -> tuple[Column, ...]:
        """The chunks in order; only one after they were concatenated."""
        return self._chunks

    @property
    def values(self) -> NDArray[Any]:
        """The values of all chunks as one array."""
        return self._whole().values

    @property
    def valid(self) -> NDArray[np.bool_] | None:
        """The null masks of all chunks as one array."""
        return self._whole().valid

    def _whole(self) -> Column:
        if len(self._chunks) > 1:
            values = np.concatenate([chunk.values for chunk in self._chunks])
            valid = None
            if any(chunk.valid is not None for chunk in self._chunks):
                valid = np.concatenate([_validity(chunk) for chunk in self._chunks])
            whole = Column(self.kind, values, valid, self.dictionary)
            object.__setattr__(self, "_chunks", (whole,))
        return self._chunks[0]


def can_be_chunked(columns: Sequence[Column]) -> bool:
    """True if the values have one kind, and their codes one dictionary."""
    first = columns[0]
    return all(each.kind is first.kind and each.dictionary is first.dictionary for each in columns)


def chunks_of(column: Column, start: int = 0, stop: int | None = None) -> Iterator[Column]:
    """The rows ``start … stop-1`` as slices of the chunks, without copying.

    Yields at least one chunk, which is empty only if there are no rows.
    """
    stop = len(column) if stop is None else min(stop, len(column))
    chunks = column.chunks if isinstance(column, ChunkedColumn) else (column,)
    if start >= stop:
        yield _part(chunks[0], 0, 0)
    first = 0
    for chunk in chunks:
        low, high = max(start - first, 0), min(stop - first, len(chunk))
        if low < high:
            yield chunk if high - low == len(chunk) else _part(chunk, low, high)
        first += len(chunk)


def _part(chunk: Column, low: int, high: int) -> Column:
    valid = None if chunk.valid is None else chunk.valid[low:high]
    return Column(chunk.kind, chunk.values[low:high], valid, chunk.dictionary)


def _validity(chunk: Column) -> NDArray[np.bool_]:
    return np.ones(len(chunk), dtype=np.bool_) if chunk.valid is None else chunk.valid


def concatenate_columns(columns: Sequence[Column | None], counts: Sequence[int]) -> Column:
    """See ``concatenate``."""
    pieces = [None if column is None or _all_null(column) else column for column in columns]
    kinds = {piece.kind for piece in pieces if piece is not None}
    if not kinds:
        return constant_null(sum(counts))
    if len(pieces) == 1 and pieces[0] is not None:
        return pieces[0]
    if len(kinds) > 1:
        return _mixed(pieces, counts)
    kind = kinds.pop()
    dictionary, values = _common_codes([piece for piece in pieces if piece is not None])
    filled = _fill(pieces, counts, values)
    return Column(kind, np.concatenate(filled), _join_valid(pieces, counts), dictionary)


def _all_null(column: Column) -> bool:
    return column.valid is not None and not column.valid.any()


def _common_codes(
    pieces: Sequence[Column],
) -> tuple[StringDictionary | ObjectDictionary | None, list[NDArray[Any]]]:
    dictionaries = [piece.dictionary for piece in pieces]
    values = [piece.values for piece in pieces]
    first = dictionaries[0]
    if first is None or all(dictionary is first for dictionary in dictionaries):
        assert first is None or isinstance(first, StringDictionary | ObjectDictionary)
        return first, values
    merged: StringDictionary | ObjectDictionary
    if isinstance(first, StringDictionary):
        strings = [each for each in dictionaries if isinstance(each, StringDictionary)]
        merged, new_codes = merge_strings(strings)
    else:
        objects = [each for each in dictionaries if isinstance(each, ObjectDictionary)]
        merged, new_codes = merge_objects(objects)
    renewed = [new[old] if len(new) else old for new, old in zip(new_codes, values, strict=True)]
    return merged, renewed


def _fill(
    pieces: Sequence[Column | None], counts: Sequence[int], values: Sequence[NDArray[Any]]
) -> list[NDArray[Any]]:
    remaining = iter(values)
    dtype = values[0].dtype
    return [
        np.zeros(count, dtype=dtype) if piece is None else next(remaining)
        for piece, count in zip(pieces, counts, strict=True)
    ]


def _join_valid(pieces: Sequence[Column | None], counts: Sequence[int]) -> NDArray[np.bool_] | None:
    if all(piece is not None and piece.valid is None for piece in pieces):
        return None
    parts = [_piece_valid(piece, count) for piece, count in zip(pieces, counts, strict=True)]
    return np.concatenate(parts)


def _piece_valid(piece: Column | None, count: int) -> NDArray[np.bool_]:
    if piece is None:
        return np.zeros(count, dtype=np.bool_)
    return np.ones(count, dtype=np.bool_) if piece.valid is None else piece.valid


def _mixed(pieces: Sequence[Column | None], counts: Sequence[int]) -> Column:
    values: list[Any] = []
    for piece, count in zip(pieces, counts, strict=True):
        values.extend([None] * count if piece is None else to_values(piece))
    codes, dictionary = encode_objects(values)
    return Column(ColumnKind.OBJECT, codes, _join_valid(pieces, counts), dictionary)


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
