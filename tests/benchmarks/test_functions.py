"""Time per row of each registered function, where all rows have different arguments.

    pytest tests/benchmarks/test_functions.py -m perf -s

Functions that take less than half a microsecond are computed for all rows at once, the others
value by value. ROWS in the environment is the number of rows (20,000). Arguments are drawn by the
kinds of a function's signature; functions that reject them are listed at the end.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
import pytest

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import GpugdaError
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate
from gpugda.expressions.functions import listed
from gpugda.expressions.functions.registry import Function
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse

ROWS = int(os.environ.get("ROWS", "20000"))
AT_ONCE = 0.5
LONG = 0.05
"""Seconds after which the measurement is not repeated."""


def columns() -> dict[str, Column]:
    """Columns by name, each with one kind of value."""
    random = np.random.default_rng(1)
    integers = random.permutation(ROWS)
    words = [f"Word {number}, é" for number in integers.tolist()]
    elements = Column(ColumnKind.INTEGER, random.integers(0, 10**6, 4 * ROWS))
    lists = ColumnLists(4 * np.arange(ROWS + 1), elements)
    codes = np.arange(ROWS, dtype=np.int32)
    return {
        "integer": Column(ColumnKind.INTEGER, integers),
        "float": Column(ColumnKind.FLOAT, random.random(ROWS)),
        "boolean": Column(ColumnKind.BOOLEAN, random.random(ROWS) < 0.5),
        "string": column_of(words),
        "list": Column(ColumnKind.OBJECT, codes, None, lists),
        "map": column_of([{"a": number} for number in integers.tolist()]),
        "seconds": Column(ColumnKind.INTEGER, integers * 86_461),
        "digits": column_of([str(number) for number in integers.tolist()]),
        "iso": column_of([str(np.datetime64(number, "h")) for number in integers.tolist()]),
    }


SPECIAL = {
    "date": "date(left(iso, 10))",
    "datetime": "datetime(iso + ':00')",
    "localdatetime": "localdatetime(iso + ':00')",
    "time": "time(substring(iso, 11) + ':00')",
    "localtime": "localtime(substring(iso, 11) + ':00')",
    "duration": "duration({days: integer})",
    "tointeger": "toInteger(digits)",
    "tofloat": "toFloat(digits)",
    "substring": "substring(string, 2, 3)",
    "replace": "replace(string, 'o', 'a')",
    "split": "split(string, ' ')",
    "range": "range(1, integer % 5)",
    "left": "left(string, 3)",
    "right": "right(string, 3)",
}
FURTHER = (
    "datetime({epochSeconds: seconds})",
    "date({year: 2000 + integer % 20, month: 1 + integer % 12, day: 1 + integer % 28})",
    "(datetime({epochSeconds: seconds})).year",
    "date.truncate('month', datetime({epochSeconds: seconds}))",
    "datetime({epochSeconds: seconds}) > datetime('1980-01-01T00:00:00Z')",
    "datetime({epochSeconds: seconds}) + duration('P1D')",
    "duration.between(datetime({epochSeconds: seconds}), datetime('1980-01-01T00:00:00Z'))",
    "toString(datetime({epochSeconds: seconds}))",
    "string + '!'",
    "string CONTAINS '77'",
    "string =~ '.*77.*'",
    "list[0]",
    "list[..2]",
    "[v IN list | v + 1]",
    "[v IN list WHERE v > 500000]",
    "any(v IN list WHERE v > 900000)",
    "reduce(s = 0, v IN list | s + v)",
    "list + [1]",
    "[integer, float]",
    "{a: integer}",
    "map.a",
    "CASE WHEN float > 0.5 THEN integer ELSE 0 END",
    "point({x: float, y: float})",
)


def _text(function: Function) -> str:
    name = function.name
    if name.lower() in SPECIAL:
        return SPECIAL[name.lower()]
    least = max(function.signature.minimum, min(1, len(function.signature.arguments)))
    arguments = [_argument(kinds) for kinds in function.signature.arguments[:least]]
    return f"{name}({', '.join(arguments)})"


def _argument(kinds: Any) -> str:
    order = ("float", "integer", "string", "list", "map", "boolean")
    return next((kind for kind in order if kind in kinds), "string")


def microseconds(text: str, known: dict[str, Column]) -> float:
    """Microseconds per row, minimum of three runs; a long run is not repeated."""
    parts: Any = parse(f"RETURN {text}").parts[0]
    expression = parts.clauses[0].projection.items[0].expression
    seconds = []
    for _ in range(3):
        environment = Environment(ROWS, Parameters({}, text), text, variables=dict(known))
        begun = time.process_time()
        evaluate(expression, environment)
        seconds.append(time.process_time() - begun)
        if seconds[-1] > LONG:
            break
    return min(seconds) / ROWS * 1e6


def registered() -> list[Function]:
    """The functions with arguments."""
    return [each for each in listed() if isinstance(each, Function) and each.signature.arguments]


@pytest.mark.perf
def test_time_per_row_of_each_function() -> None:
    """Prints times, without judging them."""
    known, refused = columns(), []
    for text in (*map(_text, registered()), *FURTHER):
        try:
            taken = microseconds(text, known)
        except GpugdaError as error:
            refused.append(f"{text}: {error}".splitlines()[0])
            continue
        print(
            f"{taken:8.3f} µs  {'at once' if taken < AT_ONCE else 'by value'}  {text}", flush=True
        )
    print("refused:", *refused, sep="\n  ")
    assert len(refused) < 60
