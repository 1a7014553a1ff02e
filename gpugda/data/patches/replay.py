"""Replays the last changes of an array, to find its difference to a recent state.

In plain Python: with the few entries of a small transaction, arrays take longer to set up.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.data.patches.patch import Patch
from gpugda.data.patches.shifts import Shifts
from gpugda.data.patches.stretches import Origins

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.data.patches.splice import Splice

__all__ = ["Replay"]


class _Piece(NamedTuple):
    """Consecutive entries that come from consecutive places.

    start: The first entry.
    place: Its place in the older array, or, behind that array's end, among the added values.
    amount: The amount added to its values.
    """

    start: int
    place: int
    amount: int = 0


class Replay:
    """An array as changes to an older one, whose values are not known.

    Its changes are those of `Form`.

    Args:
        count: The number of entries of the older array.
    """

    __slots__ = ("_added", "_count", "_older_count", "_pieces", "_values")

    def __init__(self, count: int) -> None:
        self._older_count = self._count = count
        self._pieces = [_Piece(0, 0)] if count else []
        self._added: list[int] = []
        self._values: Replay | None = None

    def spliced(self, splice: Splice, added: Any) -> None:
        """See `Patched.spliced`."""
        places = splice.places.tolist()
        new = self._older_count + len(self._added)
        self._added += np.broadcast_to(added, len(places)).tolist()
        # At one entry, values are inserted before it is removed.
        events = [(place, False) for place in places]
        events += [(entry, True) for entry in splice.removed.tolist()]
        found, since, shift = list[_Piece](), 0, 0
        for entry, is_removed in sorted(events):
            found += self._within(since, entry, shift)
            since = entry + is_removed
            if is_removed:
                shift -= 1
                continue
            found.append(_Piece(entry + shift, new))
            new, shift = new + 1, shift + 1
        self._pieces = [*found, *self._within(since, self._count, shift)]
        self._count = splice.new_count

    def _within(self, since: int, until: int, shift: int) -> Iterator[_Piece]:
        """The pieces of the entries ``since … until-1``, which move by ``shift``."""
        first = bisect_right(self._pieces, since, key=_start_of) - 1
        for piece in self._pieces[max(first, 0) :]:
            if since >= until or piece.start >= until:
                return
            start = max(piece.start, since)
            yield _Piece(start + shift, piece.place + start - piece.start, piece.amount)

    def stepped(self, places: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
        """See `Patched.stepped`."""
        starts = [*places.tolist(), self._count]
        found = [*self._within(0, starts[0], 0)]
        for start, end, amount in zip(starts, starts[1:], sums.tolist(), strict=False):
            found += [
                piece._replace(amount=piece.amount + amount)
                for piece in self._within(start, end, 0)
            ]
        self._pieces = found

    def renumbered(self, splice: Splice) -> None:
        """See `Patched.renumbered`."""
        if self._values is None:
            self._values = Replay(splice.count)
        self._values.spliced(splice, 0)
        removed, places = splice.removed.tolist(), splice.places.tolist()
        self._added = [
            number - bisect_left(removed, number) + bisect_right(places, number)
            for number in self._added
        ]

    def patch(self, kind: np.dtype[Any]) -> Patch:
        """The difference to the older array, of this dtype."""
        older_count = self._older_count
        pieces: list[_Piece] = []
        before = None
        for piece in self._pieces:
            # Pieces that continue the one before are merged with it.
            way = piece.place - piece.start, piece.place >= older_count, piece.amount
            if way != before:
                pieces.append(piece)
            before = way
        starts, places, amounts = np.array(pieces, dtype=np.int64).reshape(-1, 3).T
        origins = Origins(
            starts,
            places,
            np.arange(len(pieces)),
            np.where(places < older_count, 0, -1),
            older_count,
            self._count,
        )
        added = np.array(self._added, dtype=np.int64).astype(kind)
        values = self._values
        if values is None:
            return Patch(origins, added, amounts, None, 0)
        return Patch(origins, added, amounts, values._shifts(), values._older_count)

    def _shifts(self) -> Shifts:
        """Shifts of the positions in the older array."""
        shifts: list[tuple[int, int]] = []
        for piece in self._pieces:
            amount = piece.start - piece.place
            if piece.place < self._older_count and (not shifts or shifts[-1][1] != amount):
                shifts.append((piece.place, amount))
        starts, amounts = np.array(shifts, dtype=np.int64).reshape(-1, 2).T
        return Shifts(starts, amounts)


def _start_of(piece: _Piece) -> int:
    return piece.start
