"""Temporal values on whole columns, against single values."""

from __future__ import annotations

import random
import re
from typing import Any

import numpy as np
import pytest

from gpugda.data.values.columns import Column, ColumnKind, to_values
from gpugda.errors import QueryError
from gpugda.execute.aggregation.grouping import group_rows
from gpugda.execute.batch import RowTable, stacked
from gpugda.execute.sorting import sorted_rows
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate
from gpugda.expressions.operands import as_column
from gpugda.expressions.parameters import Parameters
from gpugda.expressions.temporal import moment_columns
from gpugda.expressions.temporal.rows import DurationRows, MomentRows
from gpugda.query.parser import parse

ROWS = 126
_DRAWN = random.Random(1)


def drawn(low: int, high: int) -> list[int]:
    return [_DRAWN.randint(low, high) for _ in range(ROWS)]


def texts(form: str) -> list[str]:
    ranges = {"Y": (1, 9999), "M": (1, 12), "D": (1, 28), "h": (0, 23), "m": (0, 59), "s": (0, 59)}
    sizes = {"Y": 4}
    return [
        "".join(
            f"{_DRAWN.randint(*ranges[c]):0{sizes.get(c, 2)}}" if c in ranges else c for c in form
        )
        for _ in range(ROWS)
    ]


VARIABLES: dict[str, list[Any]] = {
    "seconds": drawn(-(10**10), 10**10),
    "millis": drawn(-(10**13), 10**13),
    "year": drawn(1, 9999),
    "month": drawn(1, 12),
    "day": drawn(1, 28),
    "hour": drawn(0, 23),
    "minute": drawn(0, 59),
    "second": drawn(0, 59),
    "thousandth": drawn(0, 999),
    "nanos": drawn(0, 999_999_999),
    "few": drawn(1, 5),
    "dates": texts("Y-M-D"),
    "moments": texts("Y-M-DTh:m:s"),
    "short": texts("Y-M-DTh:m"),
    "zoned": texts("Y-M-DTh:m:sZ"),
    "offset": texts("Y-M-DTh:m:s-03:30"),
    "exact": texts("Y-M-DTh:m:s.123456789Z"),
    "thousandths": texts("Y-M-DTh:m:s.ss7"),
    "mixed": [a or b for a, b in zip(texts("Y-M-DTh:m:s"), texts("Y-M-D"), strict=True)],
    "perhaps": [text if n % 3 else None for n, text in enumerate(texts("Y-M-DTh:m:s"))],
    "bad": [*texts("Y-M-D")[1:], "2021-02-29"],
    "worse": [*texts("Y-M-DTh:m:sZ")[1:], "2021-02-28T24:00:00Z"],
    "other": [*texts("Y-M-DTh:m:s")[1:], "20210228T120000"],
    "offsets": [*texts("Y-M-DTh:m:sZ")[1:], "2021-02-28T10:00:00+01:00"],
    "named": ["2021-02-28T10:00:00[Europe/Berlin]"] * (ROWS - 1) + ["2021-02-28T10:00:00Z"],
    "null": [None, *drawn(1, 12)[1:]],
    "float": [1.5] * (ROWS - 1) + [2],
}
VARIABLES["mixed"][::2] = texts("Y-M-D")[::2]


FEW = 63
"""Row count up to which evaluation goes value by value."""


def made_column(text: str, rows: slice = slice(ROWS)) -> Column:
    """A column with the values of some rows."""
    used = set(re.findall(r"\w+", text))
    columns = {name: column_of(VARIABLES[name][rows]) for name in VARIABLES if name in used}
    parts: Any = parse(f"RETURN {text}").parts[0]
    expression = parts.clauses[0].projection.items[0].expression
    count = len(range(ROWS)[rows])
    return evaluate(expression, Environment(count, Parameters({}, text), text, variables=columns))


def found(text: str, rows: slice = slice(ROWS)) -> list[Any] | str:
    """The results as Python values, or the kind of the error."""
    try:
        return to_values(made_column(text, rows))
    except QueryError as error:
        return type(error).__name__


def one_by_one(text: str) -> list[Any] | str:
    values: list[Any] = []
    for first in range(0, ROWS, FEW):
        each = found(text, slice(first, first + FEW))
        if isinstance(each, str):
            return each
        values += each
    return values


MADE = [
    "datetime({epochSeconds: seconds})",
    "datetime({epochMillis: millis})",
    "datetime({epochMillis: millis, timezone: '+05:30'})",
    "datetime.fromepoch(seconds, nanos)",
    "datetime.fromepochmillis(millis)",
    "date({year: year, month: month, day: day})",
    "date({Year: year, month: 2})",
    "date({year: year})",
    "localdatetime({year: year, month: month, day: day, hour: hour, minute: minute})",
    "datetime({year: year, month: month, day: day, hour: hour, minute: minute, second: second,"
    " nanosecond: nanos})",
    "datetime({year: 2020, month: 2, day: day, hour: 1, minute: 2, second: 3,"
    " millisecond: thousandth, timezone: '-01:00'})",
    "date(dates)",
    "datetime(dates)",
    "localdatetime(moments)",
    "datetime(moments)",
    "datetime(short)",
    "datetime(zoned)",
    "datetime(offset)",
    "datetime(exact)",
    "localdatetime(thousandths)",
    "localdatetime(mixed)",
    "datetime(perhaps)",
    "date(datetime(offset))",
    "localdatetime(datetime({epochSeconds: seconds}))",
    "datetime(localdatetime(moments))",
]
LEFT = [
    "date(bad)",
    "datetime(worse)",
    "datetime(other)",
    "datetime(offsets)",
    "datetime(named)",
    "date(moments)",
    "localdatetime(zoned)",
    "date({year: year, month: month + 1, day: day})",
    "date({year: year, month: month, day: day + 5})",
    "date({year: year - 5})",
    "date({year: year, month: null})",
    "date({year: float})",
    "date({year: year, day: day})",
    "date({year: year, hour: hour})",
    "date({year: year, week: few})",
    "datetime({epochSeconds: seconds * 100})",
    "datetime({epochSeconds: seconds, nanosecond: nanos})",
    "datetime({year: year, month: month, day: day, hour: hour, millisecond: thousandth})",
    "datetime({year: year, month: month, day: day, timezone: 'Europe/Berlin'})",
    "datetime.fromepoch(seconds, nanos * 2)",
    "datetime.fromepochmillis(null)",
    "duration.between(date(dates), datetime(zoned))",
    "duration.between(datetime(zoned), datetime(offset))",
    "duration.inDays(localdatetime(moments), datetime(zoned))",
    "date.truncate('year', datetime(perhaps))",
    "date.truncate('hour', datetime(zoned))",
    "date.truncate('fortnight', date(dates))",
    "datetime.truncate('hour', date(dates))",
    "datetime.truncate('hour', datetime(zoned), {minute: 5})",
]
UNITS = [
    *("millennium", "century", "decade", "year", "weekYear", "quarter", "month", "week", "day"),
    *("hour", "minute", "second", "millisecond", "microsecond"),
]
CUT = [
    *(f"date.truncate('{unit}', datetime(exact))" for unit in UNITS[3:9]),
    *(f"datetime.truncate('{unit}', datetime(offset))" for unit in UNITS[3:]),
    *(f"localdatetime.truncate('{unit}', datetime({{epochMillis: millis}}))" for unit in UNITS),
    "datetime.truncate('month', date(dates))",
    "date.truncate('decade', date({year: year + 9}))",
]
SIDES = [
    "datetime({epochSeconds: seconds}), datetime(exact)",
    "localdatetime(moments), localdatetime(thousandths)",
    "date(dates), date({year: year, month: month, day: day})",
    "datetime(zoned), datetime('2001-01-31T12:00:00Z')",
    "date('2000-02-29'), date(dates)",
    "localdatetime(perhaps), localdatetime(moments)",
]
BETWEEN = [
    f"duration.{name}({sides})"
    for name in ("between", "inMonths", "inDays", "inSeconds")
    for sides in SIDES
]


@pytest.mark.parametrize("text", [*MADE, *CUT, *BETWEEN])
def test_columns_equal_values_one_by_one(text: str) -> None:
    assert isinstance(made_column(text).dictionary, MomentRows | DurationRows)
    assert found(text) == one_by_one(text)
    zones = [getattr(value, "tzinfo", None) for value in found(text)]
    assert list(map(str, zones)) == [str(getattr(v, "tzinfo", None)) for v in one_by_one(text)]


@pytest.mark.parametrize("text", LEFT)
def test_unsupported_columns_equal_values_one_by_one(text: str) -> None:
    assert found(text) == one_by_one(text)


DATES = "year quarter month week weekYear day ordinalDay dayOfWeek weekDay dayOfQuarter quarterDay"
TIMES = "hour minute second millisecond microsecond nanosecond"
INSTANTS = "epochSeconds epochMillis offsetSeconds offsetMinutes timezone offset"
DURATIONS = (
    "years quarters months weeks days hours minutes seconds milliseconds microseconds"
    " quartersOfYear monthsOfYear monthsOfQuarter daysOfWeek minutesOfHour secondsOfMinute"
    " millisecondsOfSecond microsecondsOfSecond nanosecondsOfSecond"
)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        ("date(dates)", DATES),
        ("localdatetime(perhaps)", f"{DATES} {TIMES}"),
        ("datetime(offset)", f"{DATES} {TIMES} {INSTANTS}"),
        ("datetime({epochMillis: millis})", f"{DATES} {TIMES} {INSTANTS}"),
        ("date(dates)", "hour nonsense"),
        ("duration.between(datetime({epochMillis: millis}), datetime(exact))", DURATIONS),
        ("duration.inSeconds(localdatetime(perhaps), localdatetime(moments))", DURATIONS),
    ],
)
def test_components(value: str, names: str) -> None:
    for name in names.split():
        text = f"({value}).{name}"
        assert found(text) == one_by_one(text), name


COMPARED = [
    ("datetime({epochSeconds: few})", "datetime({epochSeconds: month})"),
    ("datetime({epochSeconds: few})", "datetime({epochSeconds: 3})"),
    ("datetime({epochMillis: few * 400})", "datetime({epochMillis: month * 400})"),
    ("date({year: few})", "date({year: month})"),
    ("date({year: few})", "date('0003-01-01')"),
    ("localdatetime(perhaps)", "localdatetime(moments)"),
    ("datetime(offset)", "datetime(zoned)"),
    ("date({year: few})", "localdatetime(moments)"),
    ("date({year: few})", "few"),
    ("date({year: few})", "null"),
]


@pytest.mark.parametrize("operator", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("sides", COMPARED)
def test_comparisons(sides: tuple[str, str], operator: str) -> None:
    for text in (f"{sides[0]} {operator} {sides[1]}", f"{sides[1]} {operator} {sides[0]}"):
        assert found(text) == one_by_one(text)


MANY = [
    "date({year: few})",
    "datetime({epochMillis: millis % 3000})",
    "datetime(perhaps)",
    "datetime({year: few, month: 1, day: few, hour: 0, minute: 0, second: 0, nanosecond: nanos})",
]


@pytest.mark.parametrize("text", MANY)
def test_groups_and_order(text: str) -> None:
    rows = made_column(text)
    plain = column_of(to_values(rows))
    for each in (rows, stacked_twice(rows)):
        count = len(each)
        again = plain if count == ROWS else column_of([*to_values(plain), *to_values(plain)])
        assert group_rows([each], count).group_of.tolist() == (
            group_rows([again], count).group_of.tolist()
        )
        for last in (False, True):
            order = sorted_rows([each], [last], count)
            assert order.tolist() == sorted_rows([again], [last], count).tolist()


def stacked_twice(rows: Column) -> Column:
    twice = stacked([RowTable(ROWS, (rows,)), RowTable(ROWS, (rows.take(np.arange(ROWS)),))])
    (found,) = twice.columns
    return as_column(found, 2 * ROWS)


def test_joined_columns_stay_numeric() -> None:
    a, b = made_column("date(dates)"), made_column("date({year: few})")
    (joined,) = stacked([RowTable(ROWS, (a,)), RowTable(ROWS, (b,))]).columns
    assert isinstance(joined, Column)
    assert isinstance(joined.dictionary, MomentRows)
    assert to_values(joined) == to_values(a) + to_values(b)
    other = made_column("datetime(zoned)")
    (joined,) = stacked([RowTable(ROWS, (a,)), RowTable(ROWS, (other,))]).columns
    assert to_values(as_column(joined, 2 * ROWS)) == to_values(a) + to_values(other)


def test_stored_values_are_read_once_and_only_for_many_rows() -> None:
    stored = column_of(to_values(made_column("datetime(offset)")))
    few = stored.take(np.arange(3))
    assert moment_columns.moments_of(few) is None
    rows = moment_columns.moments_of(stored)
    assert rows is not None
    assert moment_columns.moments_of(few) is rows
    assert rows.values(stored.values) == to_values(stored)
    assert moment_columns.moments_of(column_of([*to_values(stored), 1])) is None
    assert moment_columns.moments_of(Column(ColumnKind.INTEGER, np.arange(100))) is None
