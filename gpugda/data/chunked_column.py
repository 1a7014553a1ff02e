"""Columns in chunks, which are concatenated only if a caller needs one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.column import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["ChunkedColumn", "can_be_chunked", "chunks_of"]


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
