"""Representation of a patched array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.data.patches.patch import Patch, joined
from gpugda.data.patches.shifts import Shifts
from gpugda.data.patches.stretches import Stretches
from gpugda.data.runs import places_in_runs
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.data.patches.splice import Splice
    from gpugda.data.patches.stretches import Origins

__all__ = ["Form"]

_CHECKED_EACH = 256
"""Stretches copied between two calls of ``check``."""


@value(frozen=True, slots=True, eq=False)
class Form:
    """An array of unsigned or signed integers as changes to a base.

    Args:
        base: The base array.
        added: Values inserted since; sources beyond the base refer to them.
        stretches: Source of each stretch of entries.
        amounts: ``int64`` per stretch: amount added to its values; None: 0.
        values: Renumbering of the base's values; None: unchanged.
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
        """Number of stretches to search for an entry."""
        return len(self.stretches) + (0 if self.values is None else len(self.values))

    def at(self, entries: NDArray[Any]) -> NDArray[Any]:
        """The values at the given positions."""
        stretches, sources = self.stretches.find(entries.astype(np.int64, copy=False))
        in_base = sources < len(self.base)
        if np.count_nonzero(in_base) == len(sources):
            found = self._moved(self.base[sources])
        else:
            found = np.empty(len(sources), dtype=self.base.dtype)
            found[in_base] = self._moved(self.base[sources[in_base]])
            found[~in_base] = self.added[sources[~in_base] - len(self.base)]
        return found if self.amounts is None else _plus(found, self.amounts[stretches])

    def _moved(self, values: NDArray[Any]) -> NDArray[Any]:
        if self.values is None:
            return values
        return Shifts.of(self.values.since_base()).moved(values)

    def places(self, sources: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of entries of the base; -1 for removed ones."""
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
        """Positions of entries that were inserted and not removed since."""
        rows = np.flatnonzero(self.stretches.sources >= len(self.base))
        lengths = self.stretches.lengths()[rows]
        return np.repeat(self.stretches.starts[rows], lengths) + places_in_runs(lengths)

    def made(self, check: Callable[[], None]) -> NDArray[Any]:
        """Materialises the array. ``check`` is called at intervals and may raise to cancel."""
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

    # ------------------------------------------------------------------ next states
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

    # ------------------------------------------------------------------ differences to older forms
    def since(self, older: Form | None) -> Patch | None:
        """The patch from an older form on the same base (None: the base itself); None: unknown."""
        difference = self._difference(older)
        if difference is None:
            return None
        if difference.values is None:
            return Patch(difference.origins, difference.added, difference.amounts, None, 0)
        shifts, bound = Shifts.of(difference.values), difference.values.older_count
        return Patch(difference.origins, difference.added, difference.amounts, shifts, bound)

    def rebased(self, older: Form, base: NDArray[Any]) -> Form | None:
        """The same array with the materialised older form as base; None if not possible."""
        difference = self._difference(older)
        if difference is None:
            return None
        stretches = Stretches.since_older(difference.origins, len(difference.added))
        values = None
        if difference.values is not None and self.values is not None:
            known = 0 if older.values is None else older.values.added_count
            moves, _ = joined(difference.values, None)
            values = Stretches.since_older(moves, self.values.added_count - known)
        return Form(base, difference.added, stretches, difference.amounts, values)

    def _difference(self, older: Form | None) -> _Difference | None:
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
    ) -> _Difference:
        amounts = self.amounts
        if amounts is not None:
            amounts = amounts[origins.stretches]
            if before is not None:
                amounts -= np.where(origins.before < 0, 0, before[origins.before])
        origins, amounts = joined(origins, amounts)
        return _Difference(origins, self.added[known:], amounts, values)


class _Difference(NamedTuple):
    """Difference between an older and a newer array.

    origins: Positions in the older array.
    added: New values.
    amounts: Amount added, per stretch.
    values: Renumbering of the values; None: unchanged.
    """

    origins: Origins
    added: NDArray[Any]
    amounts: NDArray[np.int64] | None
    values: Origins | None


def _plus(values: NDArray[Any], amounts: NDArray[np.int64]) -> NDArray[Any]:
    return (values.astype(np.int64) + amounts).astype(values.dtype)
