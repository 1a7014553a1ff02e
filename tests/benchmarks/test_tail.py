"""Groups, order, distinct rows, lists and expressions over 5 million rows, beside Polars.

    pytest tests/benchmarks/test_tail.py -m perf -s

Times are of a processor, the best of three in turn, as other programs share the machine; Polars has as many threads as
it takes, whose times are added. ROWS in the environment changes the number of rows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from gpugda.data.columns import Column, ColumnKind
from gpugda.data.dictionaries import encode_strings
from gpugda.execute.aggregates import aggregate
from gpugda.execute.grouping import group_rows
from gpugda.execute.sorting import sorted_rows
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.operands import Operand
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse

ROWS = int(os.environ.get("ROWS", "5000000"))


def _columns() -> tuple[dict[str, Column], pl.DataFrame]:
    random = np.random.default_rng(1)
    integers = {
        "few": random.integers(0, 100, ROWS),
        "many": random.integers(0, ROWS // 5, ROWS),
        "wide": random.integers(-(2**62), 2**62, ROWS),
        "small": random.integers(-1000, 1000, ROWS),
    }
    floats = {"x": random.normal(size=ROWS), "y": random.random(ROWS)}
    words = np.array([f"word {i:05}" for i in range(20_000)])[random.integers(0, 20_000, ROWS)]
    texts = pa.array(words, type=pa.large_string())
    codes, dictionary = encode_strings(texts)
    columns = {name: Column(ColumnKind.INTEGER, values) for name, values in integers.items()}
    columns |= {name: Column(ColumnKind.FLOAT, values) for name, values in floats.items()}
    columns["text"] = Column(ColumnKind.STRING, codes, None, dictionary)
    frame = pl.DataFrame({**integers, **floats, "text": pl.from_arrow(texts)})
    return columns, frame.with_columns(pl.col("text").cast(pl.Categorical))


def _evaluated(columns: dict[str, Column], text: str) -> Callable[[], Operand]:
    parts: Any = parse(f"RETURN {text}").parts[0]
    expression = parts.clauses[0].projection.items[0].expression

    def run() -> Operand:
        environment = Environment(ROWS, Parameters({}, text), text, variables=dict(columns))
        return evaluate_operand(expression, environment)

    return run


def _aggregated(columns: dict[str, Column], name: str, value: str, key: str) -> Callable[[], Any]:
    def run() -> Operand:
        groups = group_rows([columns[key]], ROWS)
        return aggregate(name, columns[value], (), groups, ROWS, distinct=False)

    return run


def _cases(columns: dict[str, Column], frame: pl.DataFrame) -> dict[str, tuple[Any, Any]]:
    def grouped(*keys: str) -> Callable[[], Any]:
        return lambda: group_rows([columns[key] for key in keys], ROWS)

    def ordered(*keys: str) -> Callable[[], Any]:
        return lambda: sorted_rows([columns[k] for k in keys], [False] * len(keys), ROWS)

    def polars_groups(expression: Any, *keys: str) -> Callable[[], Any]:
        return lambda: frame.group_by(keys).agg(expression)

    def polars_order(*keys: str) -> Callable[[], Any]:
        return lambda: frame.select(pl.arg_sort_by(*keys))

    def distinct(*keys: str) -> Callable[[], Any]:
        return lambda: frame.select(keys).unique()

    def selected(expression: Any) -> Callable[[], Any]:
        return lambda: frame.select(expression)

    when = pl.when(pl.col("x") > 0).then(pl.col("x")).otherwise(pl.col("y"))
    return {
        "count by 100 numbers": (
            _aggregated(columns, "count", "x", "few"),
            polars_groups(pl.len(), "few"),
        ),
        "sum by 100 numbers": (
            _aggregated(columns, "sum", "small", "few"),
            polars_groups(pl.col("small").sum(), "few"),
        ),
        "avg by 100 numbers": (
            _aggregated(columns, "avg", "x", "few"),
            polars_groups(pl.col("x").mean(), "few"),
        ),
        "sum by a million numbers": (
            _aggregated(columns, "sum", "small", "many"),
            polars_groups(pl.col("small").sum(), "many"),
        ),
        "max by a million numbers": (
            _aggregated(columns, "max", "x", "many"),
            polars_groups(pl.col("x").max(), "many"),
        ),
        "count by 20,000 texts": (
            _aggregated(columns, "count", "x", "text"),
            polars_groups(pl.len(), "text"),
        ),
        "collect by 100 numbers": (
            _aggregated(columns, "collect", "small", "few"),
            polars_groups(pl.col("small"), "few"),
        ),
        "collect by a million numbers": (
            _aggregated(columns, "collect", "small", "many"),
            polars_groups(pl.col("small"), "many"),
        ),
        "distinct numbers, a million": (grouped("many"), distinct("many")),
        "distinct numbers, all different": (grouped("wide"), distinct("wide")),
        "distinct pairs": (grouped("few", "text"), distinct("few", "text")),
        "order by small numbers": (ordered("small"), polars_order("small")),
        "order by wide numbers": (ordered("wide"), polars_order("wide")),
        "order by decimals": (ordered("x"), polars_order("x")),
        "order by two": (ordered("few", "x"), polars_order("few", "x")),
        "order by texts": (ordered("text"), polars_order("text")),
        "small + few": (
            _evaluated(columns, "small + few"),
            selected(pl.col("small") + pl.col("few")),
        ),
        "x + y": (_evaluated(columns, "x + y"), selected(pl.col("x") + pl.col("y"))),
        "x > 0": (_evaluated(columns, "x > 0"), selected(pl.col("x") > 0)),
        "CASE": (_evaluated(columns, "CASE WHEN x > 0 THEN x ELSE y END"), selected(when)),
        "size(text)": (
            _evaluated(columns, "size(text)"),
            selected(pl.col("text").cast(pl.String).str.len_chars()),
        ),
    }


def _timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock and of all processors."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - processor


@pytest.mark.perf
def test_beside_polars() -> None:
    """Times alone are told: a machine that others share has none that could be judged."""
    columns, frame = _columns()
    for name, (ours, theirs) in _cases(columns, frame).items():
        own, other = [], []
        for _ in range(3):
            own.append(_timed(ours))
            other.append(_timed(theirs))
        wall = min(each[0] for each in own) / min(each[0] for each in other)
        seconds = [min(each[1] for each in side) for side in (own, other)]
        print(
            f"{name:<32} {seconds[0] * 1e3:8.1f} ms, Polars {seconds[1] * 1e3:8.1f} ms:"
            f" {seconds[0] / seconds[1]:5.2f} (wall {wall:5.2f})"
        )
