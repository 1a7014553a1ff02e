"""An array with changes that are not applied until somebody needs all of it.

Changing one takes as long as there are changes, not entries; so does looking at some entries.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpugda.data.patches.patch import Patch, joined
from gpugda.data.patches.shifts import Shifts
from gpugda.data.patches.stretches import Stretches
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.splice import Splice
    from gpugda.data.patches.stretches import Origins

__all__ = ["Array", "Patched", "whole"]

FEW_STRETCHES = 1 << 8
"""With more than these, the whole array becomes the base once it is there."""
MOST_STRETCHES = 1 << 13
"""With more, it is made."""


class Patched:
    """An array of unsigned or signed integers, unchangeable, usable from several threads.

    Args:
        base: The array that it is made of.
        added: What was added since, by source.
        stretches: Where its entries come from.
        amounts: ``int64`` per stretch: what is added to its values; None for nothing.
        values: Where the numbers that are the base's values have come to; None where they stay.
    """

    __slots__ = ("_lock", "_whole", "added", "amounts", "base", "stretches", "values")

    def __init__(
        self,
        base: NDArray[Any],
        added: NDArray[Any],
        stretches: Stretches,
        amounts: NDArray[np.int64] | None = None,
        values: Stretches | None = None,
    ) -> None:
        self.base, self.added, self.stretches = base, added, stretches
        self.amounts, self.values = amounts, values
        self._lock = threading.Lock()
        self._whole: NDArray[Any] | None = None

    def __len__(self) -> int:
        return self.stretches.count

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values."""
        return self.base.dtype

    @property
    def nbytes(self) -> int:
        """Bytes that it takes beside its base."""
        made = 0 if self._whole is None else self._whole.nbytes
        return made + self.added.nbytes + 16 * len(self.stretches)

    @property
    def is_worn(self) -> bool:
        """Whether it has so many stretches that making it whole pays."""
        return self._whole is None and self._size > FEW_STRETCHES

    @property
    def is_worn_out(self) -> bool:
        """Whether changes are to be applied to the whole."""
        return self._size > (MOST_STRETCHES if self._whole is None else FEW_STRETCHES)

    @property
    def _size(self) -> int:
        return len(self.stretches) + (0 if self.values is None else len(self.values))

    def __getitem__(self, entries: NDArray[Any]) -> NDArray[Any]:
        """The values of some entries."""
        if self._whole is not None:
            found: NDArray[Any] = self._whole[entries]
            return found
        stretches, sources = self.stretches.find(entries.astype(np.int64, copy=False))
        in_base = sources < len(self.base)
        if in_base.all():
            found = self._moved(self.base[sources])
        else:
            found = np.empty(len(sources), dtype=self.dtype)
            found[in_base] = self._moved(self.base[sources[in_base]])
            found[~in_base] = self.added[sources[~in_base] - len(self.base)]
        return found if self.amounts is None else _plus(found, self.amounts[stretches])

    def _moved(self, values: NDArray[Any]) -> NDArray[Any]:
        if self.values is None:
            return values
        return Shifts.of(self.values.since_base()).moved(values)

    def places(self, sources: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where entries of the base lie now; -1 for those that went."""
        stretches = self.stretches
        order = np.argsort(stretches.sources)
        found = np.searchsorted(stretches.sources[order], sources, side="right") - 1
        rows = order[np.maximum(found, 0)] if len(order) else found
        inside = found >= 0
        inside[inside] = (
            sources[inside] - stretches.sources[rows[inside]] < stretches.lengths()[rows[inside]]
        )
        places = np.full(len(sources), -1, dtype=np.int64)
        rows = rows[inside]
        places[inside] = stretches.starts[rows] + sources[inside] - stretches.sources[rows]
        return places

    def added_places(self) -> NDArray[np.int64]:
        """Where the entries lie that were added and are still there."""
        rows = np.flatnonzero(self.stretches.sources >= len(self.base))
        lengths = self.stretches.lengths()[rows]
        return np.repeat(self.stretches.starts[rows], lengths) + places_in_runs(lengths)

    def whole(self) -> NDArray[Any]:
        """All of it, made once."""
        with self._lock:
            if self._whole is None:
                self._whole = self._made()
            return self._whole

    def _made(self) -> NDArray[Any]:
        found = np.empty(len(self), dtype=self.dtype)
        size, pieces = len(self.base), self._pieces()
        for start, end, source in pieces:
            if source < size:
                found[start:end] = self.base[source : source + end - start]
        if self.values is not None:
            found = Shifts.of(self.values.since_base()).moved_all(found, self.values.base_count)
        for start, end, source in pieces:
            if source >= size:
                found[start:end] = self.added[source - size : source - size + end - start]
        if self.amounts is not None:
            for (start, end, _), amount in zip(pieces, self.amounts.tolist(), strict=True):
                if amount:
                    found[start:end] += found.dtype.type(amount % (1 << 8 * found.itemsize))
        return found

    def _pieces(self) -> list[tuple[int, int, int]]:
        stretches = self.stretches
        ends = stretches.starts + stretches.lengths()
        columns = (stretches.starts.tolist(), ends.tolist(), stretches.sources.tolist())
        return list(zip(*columns, strict=True))

    # ------------------------------------------------------------------ the next one
    def spliced(self, splice: Splice, added: Any) -> Patched:
        """Without entries that went, with others.

        Args:
            splice: Which and where.
            added: The new values, or one for all.
        """
        stretches, origins = self.stretches.spliced(splice)
        new = np.empty(len(splice.places), dtype=self.dtype)
        new[:] = added
        return Patched(
            self.base,
            np.concatenate([self.added, new]),
            stretches,
            None if self.amounts is None else np.where(origins < 0, 0, self.amounts[origins]),
            self.values,
        )

    def stepped(self, places: NDArray[np.int64], sums: NDArray[np.int64]) -> Patched:
        """With more from each place on: the sum that stands with it, up to the next place."""
        stretches, origins = self.stretches.cut(places)
        step = np.searchsorted(places, stretches.starts, side="right") - 1
        amounts = np.where(step < 0, 0, sums[step])
        if self.amounts is not None:
            amounts += self.amounts[origins]
        return Patched(self.base, self.added, stretches, amounts, self.values)

    def renumbered(self, splice: Splice) -> Patched:
        """With the values that entries of another array have afterwards that these numbered."""
        assert self.amounts is None
        values = Stretches.whole(splice.count) if self.values is None else self.values
        values, _ = values.spliced(splice)
        added = splice.moved(self.added).astype(self.dtype)
        return Patched(self.base, added, self.stretches, None, values)

    def since(self, older: NDArray[Any] | Patched) -> Patch | None:
        """What makes this array of an older one; None where that is not known."""
        if older is self.base or (isinstance(older, Patched) and older._whole is self.base):
            values = None if self.values is None else self.values.since_base()
            return self._patch(self.stretches.since_base(), 0, None, values)
        if not isinstance(older, Patched) or older.base is not self.base:
            return None
        origins = self.stretches.since(older.stretches)
        if origins is None:
            return None
        values = None
        if self.values is not None:
            values = (
                self.values.since_base()
                if older.values is None
                else self.values.since(older.values)
            )
            if values is None:
                return None
        return self._patch(origins, len(older.added), older.amounts, values)

    def _patch(
        self,
        origins: Origins,
        known: int,
        before: NDArray[np.int64] | None,
        values: Origins | None,
    ) -> Patch:
        amounts = self.amounts
        if amounts is not None:
            amounts = amounts[origins.stretches]
            if before is not None:
                amounts -= np.where(origins.before < 0, 0, before[origins.before])
        origins, amounts = joined(origins, amounts)
        added = self.added[known:]
        if values is None:
            return Patch(origins, added, amounts, None, 0)
        return Patch(origins, added, amounts, Shifts.of(values), values.older_count)


def _plus(values: NDArray[Any], amounts: NDArray[np.int64]) -> NDArray[Any]:
    return (values.astype(np.int64) + amounts).astype(values.dtype)


Array: TypeAlias = "NDArray[Any] | Patched"


def whole(array: Array) -> NDArray[Any]:
    """All of an array."""
    return array.whole() if isinstance(array, Patched) else array
