"""Columns of temporal values as arrays of numbers: dictionaries of dates, datetimes and durations.

All values of a dictionary are of one kind, and have one offset from UTC where they have a zone.
Named zones, and times of day, stay values one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.data.temporal import as_driver_gives
from gpugda.expressions.temporal.calendar import NANOS_PER_SECOND, SECONDS_PER_DAY
from gpugda.expressions.temporal.durations import make_duration
from gpugda.expressions.temporal.moments import Moment, made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["FIRST_DAY", "LAST_DAY", "DurationRows", "MomentRows", "joined_moments", "moment_column"]

FIRST_DAY: Final = -719_162
LAST_DAY: Final = 2_932_896
"""Days since 1970 of the years 1 to 9999, which is all that values can hold."""


class _Rows:
    """What all dictionaries of such values do."""

    __slots__ = ()

    def _parts(self) -> tuple[Numbers, ...]:
        raise NotImplementedError

    def _made(self, *parts: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self._parts()[0])

    def value(self, code: int) -> Any:
        """One value."""
        return self._made(*(int(part[code]) for part in self._parts()))

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """Many values, equal ones made once."""
        rows = zip(*(part[codes].tolist() for part in self._parts()), strict=True)
        known: dict[tuple[int, ...], Any] = {}
        found = []
        for row in rows:
            if row not in known:
                known[row] = self._made(*row)
            found.append(known[row])
        return found

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """As `values`, with times as the driver gives them."""
        return [as_driver_gives(each) for each in self.values(codes)]


@dataclass(frozen=True, slots=True, eq=False)
class MomentRows(_Rows):
    """A dictionary of dates or datetimes; see `Moment`.

    Args:
        days: Since 1970, of the years 1 to 9999.
        nanos: Since midnight; None for dates.
        offset: From UTC in seconds, where they have a zone.
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
        """Whole seconds since 1970 in UTC; without a zone as if it were in UTC."""
        of_day = 0 if self.nanos is None else self.nanos // NANOS_PER_SECOND
        return self.days * SECONDS_PER_DAY + of_day - (self.offset or 0)

    @property
    def fractions(self) -> Numbers:
        """What is left of a second, in nanoseconds."""
        if self.nanos is None:
            return np.zeros_like(self.days)
        return self.nanos % NANOS_PER_SECOND

    def ranks(self) -> Numbers:
        """Numbers that are equal where the values are, and sort like them."""
        seconds, fractions = self.seconds, self.fractions
        if not fractions.any():
            return seconds
        _, places = np.unique(seconds, return_inverse=True)
        return places.reshape(-1) * NANOS_PER_SECOND + fractions

    def taken(self, places: NDArray[Any]) -> MomentRows:
        """Those at some places."""
        nanos = None if self.nanos is None else self.nanos[places]
        return MomentRows(self.days[places], nanos, self.offset)

    def _parts(self) -> tuple[Numbers, ...]:
        return (self.days,) if self.nanos is None else (self.days, self.nanos)

    def _made(self, *parts: int) -> Any:
        days, nanos = parts if len(parts) == 2 else (parts[0], None)
        return made(Moment(days, nanos, self.offset, self.offset))


@dataclass(frozen=True, slots=True, eq=False)
class DurationRows(_Rows):
    """A dictionary of durations.

    Args:
        months: Of each.
        days: Likewise.
        seconds: Likewise.
        nanos: 0 to 999,999,999.
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
    """A column with one entry of the dictionary for each row."""
    return Column(ColumnKind.OBJECT, np.arange(len(rows), dtype=np.int32), valid, rows)


def joined_moments(columns: Sequence[Column]) -> Column | None:
    """One column of several; None where they are not all of one kind and offset."""
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
