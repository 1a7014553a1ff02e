"""What a patched array is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.data.patches.patch import Patch, joined
from gpugda.data.patches.rising import first_of_stretches
from gpugda.data.patches.shifts import Shifts
from gpugda.data.patches.stretches import Stretches
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.data.patches.splice import Splice
    from gpugda.data.patches.stretches import Origins

__all__ = ["Form"]

_CHECKED_EACH = 256
"""Stretches that are copied before somebody may end it."""


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """An array of unsigned or signed integers as changes to a base.

    Args:
        base: The array that it is made of.
        added: What was added since, by source.
        stretches: Where its entries come from.
        amounts: ``int64`` per stretch: what is added to its values; None for nothing.
        values: Where the numbers that are the base's values have come to; None where they stay.
    """

    base: NDArray[Any]
    added: NDArray[Any]
    stretches: Stretches
    amounts: NDArray[np.int64] | None = None
    values: Stretches | None = None

    def __len__(self) -> int:
        return self.stretches.count

    @property
    def size(self) -> int:
        """How much has to be looked through to find an entry."""
        return len(self.stretches) + (0 if self.values is None else len(self.values))

    def at(self, entries: NDArray[Any]) -> NDArray[Any]:
        """The values of some entries."""
        stretches, sources = self.stretches.find(entries.astype(np.int64, copy=False))
        in_base = sources < len(self.base)
        if in_base.all():
            found = self._moved(self.base[sources])
        else:
            found = np.empty(len(sources), dtype=self.base.dtype)
            found[in_base] = self._moved(self.base[sources[in_base]])
            found[~in_base] = self.added[sources[~in_base] - len(self.base)]
        return found if self.amounts is None else _plus(found, self.amounts[stretches])

    def first_not_below(self, wanted: NDArray[np.int64]) -> NDArray[np.int64]:
        """The first entry of this rising array that is not below each number, or its length."""
        assert self.values is None
        starts = self.stretches.starts
        # In or right after the last stretch that begins below the number.
        rows = np.searchsorted(self.at(starts).astype(np.int64), wanted) - 1
        found = np.zeros(len(wanted), dtype=np.int64)
        inside = np.flatnonzero(rows >= 0)
        rows = rows[inside]
        amounts = 0 if self.amounts is None else self.amounts[rows]
        places = self._places_within(rows, wanted[inside] - amounts)
        found[inside] = starts[rows] + places
        return found

    def _places_within(
        self, stretches: NDArray[np.intp], keys: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """In each rising stretch the first entry not below the key, from its start, or its length.

        ``keys``: without the stretches' amounts.
        """
        sources, lengths = self.stretches.sources[stretches], self.stretches.lengths()[stretches]
        base = len(self.base)
        in_base = sources < base
        found = np.empty(len(keys), dtype=np.int64)
        for array, some, first in ((self.base, in_base, 0), (self.added, ~in_base, base)):
            low = sources[some] - first
            found[some] = first_of_stretches(array, low, low + lengths[some], keys[some]) - low
        return found

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

    def made(self, check: Callable[[], None]) -> NDArray[Any]:
        """All of it. ``check`` is called now and then, and may raise to end it."""
        found = np.empty(len(self), dtype=self.base.dtype)
        size, pieces = len(self.base), self._pieces()
        for number, (start, end, source) in enumerate(pieces):
            if number % _CHECKED_EACH == 0:
                check()
            if source < size:
                found[start:end] = self.base[source : source + end - start]
        if self.values is not None:
            found = Shifts.of(self.values.since_base()).moved_all(found, self.values.base_count)
            check()
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
    def spliced(self, splice: Splice, added: Any) -> Form:
        """See `Patched.spliced`."""
        stretches, origins = self.stretches.spliced(splice)
        new = np.empty(len(splice.places), dtype=self.base.dtype)
        new[:] = added
        return Form(
            self.base,
            np.concatenate([self.added, new]),
            stretches,
            None if self.amounts is None else np.where(origins < 0, 0, self.amounts[origins]),
            self.values,
        )

    def stepped(self, places: NDArray[np.int64], sums: NDArray[np.int64]) -> Form:
        """See `Patched.stepped`."""
        stretches, origins = self.stretches.cut(places)
        step = np.searchsorted(places, stretches.starts, side="right") - 1
        amounts = np.where(step < 0, 0, sums[step])
        if self.amounts is not None:
            amounts += self.amounts[origins]
        return Form(self.base, self.added, stretches, amounts, self.values)

    def renumbered(self, splice: Splice) -> Form:
        """See `Patched.renumbered`."""
        assert self.amounts is None
        values = Stretches.whole(splice.count) if self.values is None else self.values
        values, _ = values.spliced(splice)
        added = splice.moved(self.added).astype(self.base.dtype)
        return Form(self.base, added, self.stretches, None, values)

    # ------------------------------------------------------------------ from an older one
    def since(self, older: Form | None) -> Patch | None:
        """What makes it of an older one with the same base, None for the base; None if unknown."""
        way = self._way(older)
        if way is None:
            return None
        if way.values is None:
            return Patch(way.origins, way.added, way.amounts, None, 0)
        shifts, bound = Shifts.of(way.values), way.values.older_count
        return Patch(way.origins, way.added, way.amounts, shifts, bound)

    def rebased(self, older: Form, base: NDArray[Any]) -> Form | None:
        """The same array, made of all of an older one with the same base; None if unknown."""
        way = self._way(older)
        if way is None:
            return None
        stretches = Stretches.since_older(way.origins, len(way.added))
        values = None
        if way.values is not None and self.values is not None:
            known = 0 if older.values is None else older.values.added_count
            moves, _ = joined(way.values, None)
            values = Stretches.since_older(moves, self.values.added_count - known)
        return Form(base, way.added, stretches, way.amounts, values)

    def _way(self, older: Form | None) -> _Way | None:
        if older is None:
            values = None if self.values is None else self.values.since_base()
            return self._joined(self.stretches.since_base(), 0, None, values)
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
        return self._joined(origins, len(older.added), older.amounts, values)

    def _joined(
        self,
        origins: Origins,
        known: int,
        before: NDArray[np.int64] | None,
        values: Origins | None,
    ) -> _Way:
        amounts = self.amounts
        if amounts is not None:
            amounts = amounts[origins.stretches]
            if before is not None:
                amounts -= np.where(origins.before < 0, 0, before[origins.before])
        origins, amounts = joined(origins, amounts)
        return _Way(origins, self.added[known:], amounts, values)


class _Way(NamedTuple):
    """From an older array to a newer one.

    origins: Where entries lie in the older one.
    added: What is new.
    amounts: Per stretch: what is added.
    values: Where numbers came from that the values are; None where they stay.
    """

    origins: Origins
    added: NDArray[Any]
    amounts: NDArray[np.int64] | None
    values: Origins | None


def _plus(values: NDArray[Any], amounts: NDArray[np.int64]) -> NDArray[Any]:
    return (values.astype(np.int64) + amounts).astype(values.dtype)
