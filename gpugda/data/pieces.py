"""Columns in pieces, which are concatenated only if a caller needs one array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.column import Column

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

__all__ = ["PiecedColumn", "can_stay_apart", "pieces_of"]


class PiecedColumn(Column):
    """A column of pieces for which `can_stay_apart` is True.

    Sequential reading and Arrow use the pieces as they are, so a result is not copied and takes no
    second copy of its memory. Other callers read ``values``, which concatenates the pieces. Must be
    used by one thread at a time.
    """

    __slots__ = ("_pieces",)
    _pieces: tuple[Column, ...]

    def __init__(self, pieces: Sequence[Column]) -> None:
        set_attribute = object.__setattr__  # the class is frozen, and the slots are the base's
        set_attribute(self, "kind", pieces[0].kind)
        set_attribute(self, "dictionary", pieces[0].dictionary)
        flat = [each for piece in pieces for each in pieces_of(piece)]
        some = [each for each in flat if len(each)]
        set_attribute(self, "_pieces", tuple(some or flat[:1]))

    def __len__(self) -> int:
        return sum(len(piece) for piece in self._pieces)

    @property
    def pieces(self) -> tuple[Column, ...]:
        """The pieces in order; only one after they were concatenated."""
        return self._pieces

    @property
    def values(self) -> NDArray[Any]:
        """The values of all pieces as one array."""
        return self._whole().values

    @property
    def valid(self) -> NDArray[np.bool_] | None:
        """The null masks of all pieces as one array."""
        return self._whole().valid

    def _whole(self) -> Column:
        if len(self._pieces) > 1:
            values = np.concatenate([piece.values for piece in self._pieces])
            valid = None
            if any(piece.valid is not None for piece in self._pieces):
                valid = np.concatenate([_validity(piece) for piece in self._pieces])
            whole = Column(self.kind, values, valid, self.dictionary)
            object.__setattr__(self, "_pieces", (whole,))
        return self._pieces[0]


def can_stay_apart(columns: Sequence[Column]) -> bool:
    """True if the values have one kind, and their codes one dictionary."""
    first = columns[0]
    return all(each.kind is first.kind and each.dictionary is first.dictionary for each in columns)


def pieces_of(column: Column, start: int = 0, stop: int | None = None) -> Iterator[Column]:
    """The rows ``start … stop-1`` as slices of the pieces, without copying.

    Yields at least one piece, which is empty only if there are no rows.
    """
    stop = len(column) if stop is None else min(stop, len(column))
    pieces = column.pieces if isinstance(column, PiecedColumn) else (column,)
    if start >= stop:
        yield _part(pieces[0], 0, 0)
    first = 0
    for piece in pieces:
        low, high = max(start - first, 0), min(stop - first, len(piece))
        if low < high:
            yield piece if high - low == len(piece) else _part(piece, low, high)
        first += len(piece)


def _part(piece: Column, low: int, high: int) -> Column:
    valid = None if piece.valid is None else piece.valid[low:high]
    return Column(piece.kind, piece.values[low:high], valid, piece.dictionary)


def _validity(piece: Column) -> NDArray[np.bool_]:
    return np.ones(len(piece), dtype=np.bool_) if piece.valid is None else piece.valid
