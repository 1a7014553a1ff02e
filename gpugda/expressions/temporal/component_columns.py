"""Vectorised components of temporal columns and durations: ``.year``, ``.days``, …."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.temporal import calendar_columns as calendar
from gpugda.expressions.temporal.components import OF_DURATION, OF_TIME, towards_zero
from gpugda.expressions.temporal.moments import Moment
from gpugda.expressions.temporal.rows import DurationRows, MomentRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

__all__ = ["component_column"]

_LARGEST: Final = 2**63 - 1
_SIZES: Final = {"nanoseconds": 10**9, "microseconds": 10**6, "milliseconds": 10**3}


def component_column(column: Column, rows: MomentRows | DurationRows, key: str) -> Column | None:
    """``column.key``; None if it must go value by value, or the component does not exist.

    ``rows``: the values of the column's dictionary.
    """
    read = _of_moments if isinstance(rows, MomentRows) else _of_durations
    found = read(rows, key.lower())  # type: ignore[arg-type]  # it is of the kind that was asked
    if found is None or not len(found):
        return None
    return Column(ColumnKind.INTEGER, found[column.values], column.valid)


def _of_durations(rows: DurationRows, name: str) -> Numbers | None:
    read: Any = OF_DURATION.get(name)  # works on integers and on arrays of them
    most = int(np.abs(rows.seconds).max(initial=0))
    if read is None or (most + 1) * _SIZES.get(name, 1) > _LARGEST:
        return None
    return np.asarray(read(rows.months, rows.days, rows.seconds, rows.nanos))


def _of_moments(rows: MomentRows, name: str) -> Numbers | None:
    if name in _OF_DAYS:
        return _OF_DAYS[name](rows.days)
    if rows.nanos is not None and name in OF_TIME:
        read: Any = OF_TIME[name]  # works on integers and on arrays of them
        moments: Any = Moment
        return np.asarray(read(moments(None, rows.nanos)))
    if rows.nanos is None or rows.offset is None:
        return None
    millis: Any = rows.seconds * 1000 + rows.nanos % 10**9 // 10**6
    if name == "epochmillis":
        return np.asarray(millis)
    if name == "epochseconds":
        return np.asarray(towards_zero(millis, 1000))
    if name in ("offsetseconds", "offsetminutes"):
        size = 60 if name == "offsetminutes" else 1
        return np.full(len(rows), towards_zero(rows.offset, size))
    return None


_OF_DAYS: dict[str, Callable[[Numbers], Numbers]] = {
    "year": lambda days: calendar.months_and_days(days)[0] // 12 + 1970,
    "quarter": lambda days: calendar.months_and_days(days)[0] % 12 // 3 + 1,
    "month": lambda days: calendar.months_and_days(days)[0] % 12 + 1,
    "week": lambda days: calendar.weeks_and_years(days)[0],
    "weekyear": lambda days: calendar.weeks_and_years(days)[1],
    "day": lambda days: calendar.months_and_days(days)[1],
    "ordinalday": lambda days: days - calendar.year_starts(days) + 1,
    "dayofweek": calendar.week_days,
    "weekday": calendar.week_days,
    "dayofquarter": lambda days: days - calendar.quarter_starts(days) + 1,
    "quarterday": lambda days: days - calendar.quarter_starts(days) + 1,
}
