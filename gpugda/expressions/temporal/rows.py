"""Dictionaries of dates, datetimes and durations as arrays of numbers.

All values of a dictionary have one kind and, with a zone, one offset from UTC. Values with named
zones and times of day are stored one by one instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.driver_values import as_driver_gives
from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND, SECONDS_PER_DAY
from gpugda.expressions.temporal.durations import make_duration
from gpugda.expressions.temporal.moments import Moment, value_of_moment
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["FIRST_DAY", "LAST_DAY", "DurationRows", "MomentRows", "joined_moments", "moment_column"]

FIRST_DAY: Final = -719_162
LAST_DAY: Final = 2_932_896
"""Days since 1970 of the first and last day of the years 1 to 9999, the range of the values."""


class _Rows:
    """Common base of the dictionaries."""

    __slots__ = ()

    def _parts(self) -> tuple[Numbers, ...]:
        raise NotImplementedError

    def _made(self, *parts: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._parts()[0])

    def value(self, code: int) -> Any:
        """A single value."""
        return self._made(*(int(part[code]) for part in self._parts()))

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """The values of these codes; creates equal ones once."""
        rows = zip(*(part[codes].tolist() for part in self._parts()), strict=True)
        known: dict[tuple[int, ...], Any] = {}
        found = []
        for row in rows:
            if row not in known:
                known[row] = self._made(*row)
            found.append(known[row])
        return found

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """As `values`, with times in the driver's form."""
        return [as_driver_gives(each) for each in self.values(codes)]


@value(frozen=True, slots=True, eq=False)
class MomentRows(_Rows):
    """A dictionary of dates or datetimes; see `Moment`.

    Args:
        days: Days since 1970.
        nanos: Nanoseconds since midnight; None for dates.
        offset: Offset from UTC in seconds; None without a zone.
    """

    days: Numbers
    nanos: Numbers | None = None
    offset: int | None = None

    @property
    def kind(self) -> str:
        """``date``, ``localdatetime`` or ``datetime``."""
        return Moment(0, None if self.nanos is None else 0, self.offset).kind

    @property
    def seconds(self) -> Numbers:
        """Whole seconds since 1970 in UTC; without a zone, as if in UTC."""
        of_day = 0 if self.nanos is None else self.nanos // NANOS_PER_SECOND
        return self.days * SECONDS_PER_DAY + of_day - (self.offset or 0)

    @property
    def fractions(self) -> Numbers:
        """Fraction of a second, in nanoseconds."""
        if self.nanos is None:
            return np.zeros_like(self.days)
        return self.nanos % NANOS_PER_SECOND

    def ranks(self) -> Numbers:
        """Numbers with the values' equality and order."""
        seconds, fractions = self.seconds, self.fractions
        if not fractions.any():
            return seconds
        _, places = np.unique(seconds, return_inverse=True)
        return places.reshape(-1) * NANOS_PER_SECOND + fractions

    def taken(self, places: NDArray[Any]) -> MomentRows:
        """The entries at these positions."""
        nanos = None if self.nanos is None else self.nanos[places]
        return MomentRows(self.days[places], nanos, self.offset)

    def _parts(self) -> tuple[Numbers, ...]:
        return (self.days,) if self.nanos is None else (self.days, self.nanos)

    def _made(self, *parts: int) -> Any:
        days, nanos = parts if len(parts) == 2 else (parts[0], None)
        return value_of_moment(Moment(days, nanos, self.offset, self.offset))


@value(frozen=True, slots=True, eq=False)
class DurationRows(_Rows):
    """A dictionary of durations.

    Args:
        months: Months of each duration.
        days: Days of each duration.
        seconds: Seconds of each duration.
        nanos: Nanoseconds of each duration, 0 to 999,999,999.
    """

    months: Numbers
    days: Numbers
    seconds: Numbers
    nanos: Numbers

    def _parts(self) -> tuple[Numbers, ...]:
        return self.months, self.days, self.seconds, self.nanos

    def _made(self, *parts: int) -> Any:
        return make_duration(*parts)


def moment_column(rows: MomentRows | DurationRows, valid: NDArray[np.bool_] | None) -> Column:
    """A column with one dictionary entry per row."""
    return Column(ColumnKind.OBJECT, np.arange(len(rows), dtype=np.int32), valid, rows)


def joined_moments(columns: Sequence[Column]) -> Column | None:
    """Concatenates columns; None unless all have one kind and offset."""
    rows = [each.dictionary for each in columns if isinstance(each.dictionary, MomentRows)]
    if len(rows) < len(columns) or len({(each.kind, each.offset) for each in rows}) > 1:
        return None
    nanos = [each.nanos for each in rows if each.nanos is not None]
    whole = MomentRows(
        np.concatenate([each.days for each in rows]),
        np.concatenate(nanos) if nanos else None,
        rows[0].offset,
    )
    before = np.cumsum([0, *map(len, rows)])
    codes = [
        (column.values + first).astype(np.int32)
        for column, first in zip(columns, before[:-1], strict=True)
    ]
    known = [np.ones(len(c), np.bool_) if c.valid is None else c.valid for c in columns]
    valid = np.concatenate(known)
    return Column(ColumnKind.OBJECT, np.concatenate(codes), None if valid.all() else valid, whole)
