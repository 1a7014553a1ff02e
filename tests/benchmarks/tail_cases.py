"""Cases of queries that process rows, with the equivalent calls of Polars."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import encode_objects, encode_strings
from gpugda.execute.aggregation.aggregates import aggregate
from gpugda.execute.aggregation.grouping import group_rows
from gpugda.execute.sorting import sorted_rows
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_operand, evaluate_truth
from gpugda.expressions.operands import Constant
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse

Call = Callable[[], Any]
Pair = tuple[Call, Call]


@dataclass(frozen=True)
class Table:
    """The same columns for both sides."""

    columns: dict[str, Column]
    frame: pl.DataFrame
    row_count: int


def make_table(row_count: int) -> Table:
    """Columns of few and of many distinct numbers, of texts, and some with nulls."""
    random = np.random.default_rng(1)
    integers = {
        "few": random.integers(0, 100, row_count),
        "many": random.integers(0, max(row_count // 5, 1), row_count),
        "wide": random.integers(-(2**62), 2**62, row_count),
        "small": random.integers(-1000, 1000, row_count),
    }
    floats = {"x": random.normal(size=row_count), "y": random.random(row_count)}
    words = np.array([f"word {i:05}" for i in range(20_000)])
    texts = pa.array(words[random.integers(0, 20_000, row_count)], type=pa.large_string())
    codes, dictionary = encode_strings(texts)
    columns = {name: Column(ColumnKind.INTEGER, values) for name, values in integers.items()}
    columns |= {name: Column(ColumnKind.FLOAT, values) for name, values in floats.items()}
    columns["text"] = Column(ColumnKind.STRING, codes, None, dictionary)
    frame = pl.DataFrame({**integers, **floats, "text": pl.from_arrow(texts)})
    frame = frame.with_columns(pl.col("text").cast(pl.Categorical))
    known = random.random(row_count) < 0.9
    columns["z"] = Column(ColumnKind.FLOAT, floats["x"], known)
    mask = pl.Series(known)
    frame = frame.with_columns(z=pl.when(mask).then(pl.col("x")))
    # Integers, decimals and null; Polars has only decimals.
    entries = [number if number % 2 else number / 2 for number in range(1000)]
    places = random.integers(0, 1000, row_count)
    values, objects = encode_objects(entries)
    columns["mixed"] = Column(ColumnKind.OBJECT, values[places], known, objects)
    mixed = pl.Series(np.array(entries, dtype=np.float64)[places])
    return Table(columns, frame.with_columns(mixed=pl.when(mask).then(mixed)), row_count)


def cases(table: Table) -> dict[str, Pair]:
    """By name: the function of gpugda and that of Polars."""
    return _groups(table) | _rows(table) | _numbers(table) | _conditions(table) | _lists(table)


# ------------------------------------------------------------------ groups
def _groups(table: Table) -> dict[str, Pair]:
    def of(name: str, value: str, key: str | None, theirs: Any, *further: Any, once: bool = False):
        def run() -> Any:
            keys = [] if key is None else [table.columns[key]]
            groups = group_rows(keys, table.row_count)
            more = [Constant(each) for each in further]
            operand = table.columns[value]
            return aggregate(name, operand, more, groups, table.row_count, distinct=once)

        frame = table.frame
        if key is None:
            return run, lambda: frame.select(theirs)
        return run, lambda: frame.group_by(key).agg(theirs)

    col = pl.col
    middle = col("x").quantile(0.5, interpolation="linear")
    lower = col("x").quantile(0.5, interpolation="lower")
    return {
        "count by 100 numbers": of("count", "x", "few", pl.len()),
        "count by 20,000 texts": of("count", "x", "text", pl.len()),
        "count by a million numbers": of("count", "x", "many", pl.len()),
        "count of what may be null by 100": of("count", "z", "few", col("z").count()),
        "sum of all": of("sum", "small", None, col("small").sum()),
        "sum of all decimals": of("sum", "x", None, col("x").sum()),
        "sum by 100 numbers": of("sum", "small", "few", col("small").sum()),
        "sum of decimals by 100 numbers": of("sum", "x", "few", col("x").sum()),
        "sum of decimals or null by 100": of("sum", "z", "few", col("z").sum()),
        "sum by a million numbers": of("sum", "small", "many", col("small").sum()),
        "avg of all": of("avg", "x", None, col("x").mean()),
        "avg by 100 numbers": of("avg", "x", "few", col("x").mean()),
        "avg of integers by 100 numbers": of("avg", "small", "few", col("small").mean()),
        "avg by 20,000 texts": of("avg", "x", "text", col("x").mean()),
        "avg by a million numbers": of("avg", "x", "many", col("x").mean()),
        "max of all": of("max", "x", None, col("x").max()),
        "min by 100 numbers": of("min", "small", "few", col("small").min()),
        "max by 100 numbers": of("max", "x", "few", col("x").max()),
        "max by a million numbers": of("max", "x", "many", col("x").max()),
        "min of texts by 100 numbers": of("min", "text", "few", col("text").min()),
        "stDev of all": of("stdev", "x", None, col("x").std()),
        "stDev by 100 numbers": of("stdev", "x", "few", col("x").std()),
        "stDev by a million numbers": of("stdev", "x", "many", col("x").std()),
        "percentileCont of all": of("percentilecont", "x", None, middle, 0.5),
        "percentileCont by 100 numbers": of("percentilecont", "x", "few", middle, 0.5),
        "percentileDisc by a million": of("percentiledisc", "x", "many", lower, 0.5),
        "collect by 100 numbers": of("collect", "small", "few", col("small")),
        "collect by a million numbers": of("collect", "small", "many", col("small")),
        "collect of texts by 100 numbers": of("collect", "text", "few", col("text")),
        "collect(DISTINCT) by 100": of("collect", "small", "few", col("small").unique(), once=True),
        "collect(DISTINCT) by a million": of(
            "collect", "small", "many", col("small").unique(), once=True
        ),
        "count(DISTINCT) by 100": of("count", "many", "few", col("many").n_unique(), once=True),
        "count(DISTINCT) by a million": of(
            "count", "few", "many", col("few").n_unique(), once=True
        ),
    }


# ------------------------------------------------------------------ distinct rows and order
def _rows(table: Table) -> dict[str, Pair]:
    columns, frame, count = table.columns, table.frame, table.row_count

    def once(*keys: str) -> Pair:
        def run() -> Any:
            return group_rows([columns[key] for key in keys], count)

        return run, lambda: frame.select(keys).unique()

    def order(*keys: str, last: bool = False) -> Pair:
        def run() -> Any:
            return sorted_rows([columns[k] for k in keys], [last] * len(keys), count)

        # Null is the largest value.
        return run, lambda: frame.select(
            pl.arg_sort_by(*keys, descending=last, nulls_last=not last)
        )

    def top(*keys: str, last: bool = False) -> Pair:
        def run() -> Any:
            return sorted_rows([columns[k] for k in keys], [last] * len(keys), count, 10)

        kept = frame.select(keys).lazy()
        sort = kept.sort(*keys, descending=last, nulls_last=not last).head(10)
        return run, sort.collect

    return {
        "distinct numbers, 100": once("few"),
        "distinct numbers, a million": once("many"),
        "distinct numbers, all different": once("wide"),
        "distinct decimals": once("x"),
        "distinct pairs": once("few", "text"),
        "distinct triples": once("few", "small", "text"),
        "distinct pairs with null": once("few", "mixed"),
        "order by small numbers": order("small"),
        "order by small numbers DESC": order("small", last=True),
        "order by wide numbers": order("wide"),
        "order by decimals": order("x"),
        "order by decimals or null": order("z"),
        "order by decimals or null DESC": order("z", last=True),
        "order by two": order("few", "x"),
        "order by texts": order("text"),
        "order by texts and numbers": order("text", "small"),
        "order by three": order("few", "text", "x"),
        "order by mixed numbers or null": order("mixed"),
        "order by mixed, texts": order("mixed", "text"),
        "top 10 of decimals": top("x"),
        "top 10 of decimals or null DESC": top("z", last=True),
        "top 10 of small numbers, decimals": top("small", "x"),
        "top 10 of texts, decimals": top("text", "x"),
    }


# ------------------------------------------------------------------ expressions
def _expression(text: str) -> Any:
    parts: Any = parse(f"RETURN {text}").parts[0]
    return parts.clauses[0].projection.items[0].expression


def _value(table: Table, text: str, theirs: pl.Expr) -> Pair:
    expression = _expression(text)

    def run() -> Any:
        parameters = Parameters({}, text)
        variables = dict(table.columns)
        environment = Environment(table.row_count, parameters, text, variables=variables)
        return evaluate_operand(expression, environment)

    return run, lambda: table.frame.select(theirs)


def _where(table: Table, text: str, theirs: pl.Expr) -> Pair:
    expression = _expression(text)

    def run() -> Any:
        parameters = Parameters({}, text)
        variables = dict(table.columns)
        environment = Environment(table.row_count, parameters, text, variables=variables)
        return evaluate_truth([expression], environment).holds

    return run, lambda: table.frame.select(theirs)


def _numbers(table: Table) -> dict[str, Pair]:
    small, few, wide = pl.col("small"), pl.col("few"), pl.col("wide")
    x, y, z, text = pl.col("x"), pl.col("y"), pl.col("z"), pl.col("text")
    found: dict[str, pl.Expr] = {
        "small + few": small + few,
        "small + 1": small + 1,
        "wide + few": wide + few,
        "small * few": small * few,
        "small * few - 2 * small + 1": small * few - 2 * small + 1,
        "-small": -small,
        "small / 3": (small / 3).cast(pl.Int64),
        "small % 7": small % 7,
        "x + y": x + y,
        "x * y - 2 * x": x * y - 2 * x,
        "x / y": x / y,
        "x + few": x + few,
        "z + y": z + y,
        "abs(x)": x.abs(),
        "sqrt(y)": y.sqrt(),
        "floor(x)": x.floor(),
        "round(x)": x.round(),
        "toInteger(x)": x.cast(pl.Int64),
        "toFloat(small)": small.cast(pl.Float64),
        "coalesce(z, 0.0)": z.fill_null(0.0),
        "CASE WHEN x > 0 THEN x ELSE y END": pl.when(x > 0).then(x).otherwise(y),
        "CASE WHEN x > 1 THEN 1 WHEN x > 0 THEN 2 WHEN x > -1 THEN 3 ELSE 4 END": pl.when(x > 1)
        .then(1)
        .when(x > 0)
        .then(2)
        .when(x > -1)
        .then(3)
        .otherwise(4),
        "CASE WHEN z > 0 THEN 'high' WHEN z <= 0 THEN 'low' END": pl.when(z > 0)
        .then(pl.lit("high"))
        .when(z <= 0)
        .then(pl.lit("low")),
        "CASE few WHEN 1 THEN x WHEN 2 THEN y ELSE z END": pl.when(few == 1)
        .then(x)
        .when(few == 2)
        .then(y)
        .otherwise(z),
        "size(text)": text.cast(pl.String).str.len_chars(),
        "toLower(text)": text.cast(pl.String).str.to_lowercase(),
        "substring(text, 5)": text.cast(pl.String).str.slice(5),
        "text + '!'": text.cast(pl.String) + "!",
        "toString(small)": small.cast(pl.String),
    }
    return {name: _value(table, name, theirs) for name, theirs in found.items()}


def _conditions(table: Table) -> dict[str, Pair]:
    small, few = pl.col("small"), pl.col("few")
    x, y, z, text = pl.col("x"), pl.col("y"), pl.col("z"), pl.col("text")
    string = text.cast(pl.String)
    found: dict[str, pl.Expr] = {
        "x > 0": x > 0,
        "x >= 0.5": x >= 0.5,
        "small < few": small < few,
        "x < y": x < y,
        "x < few": x < few,
        "z > 0": z > 0,
        "few = 7": few == 7,
        "few <> 7": few != 7,
        "few IN [1, 2, 3, 5, 8]": few.is_in([1, 2, 3, 5, 8]),
        "z IS NULL": z.is_null(),
        "x > 0 AND small < few": (x > 0) & (small < few),
        "x > 1 OR NOT small > 0": (x > 1) | ~(small > 0),
        "0 < x < 1": (x > 0) & (x < 1),
        "text = 'word 00007'": text == "word 00007",
        "text < 'word 10000'": string < "word 10000",
        "text IN ['word 00007', 'word 00008']": text.is_in(["word 00007", "word 00008"]),
        "text STARTS WITH 'word 01'": string.str.starts_with("word 01"),
        "text ENDS WITH '77'": string.str.ends_with("77"),
        "text CONTAINS '77'": string.str.contains("77", literal=True),
        "toLower(text) CONTAINS 'd 1'": string.str.to_lowercase().str.contains("d 1", literal=True),
        "text =~ '.*77.*'": string.str.contains("77"),
    }
    return {f"WHERE {name}": _where(table, name, theirs) for name, theirs in found.items()}


# ------------------------------------------------------------------ lists
def _lists(table: Table) -> dict[str, Pair]:
    groups = group_rows([table.columns["many"]], table.row_count)
    lists = aggregate(
        "collect", table.columns["small"], (), groups, table.row_count, distinct=False
    )
    assert isinstance(lists, Column)
    frame = table.frame.group_by("many").agg(list=pl.col("small"))
    own = Table({"list": lists}, frame, len(lists))
    element, lists_ = pl.element(), pl.col("list")
    found: dict[str, pl.Expr] = {
        "size(list)": lists_.list.len(),
        "[v IN list | v + 1]": lists_.list.eval(element + 1),
        "[v IN list WHERE v > 0]": lists_.list.eval(element.filter(element > 0)),
        "size([v IN list WHERE v > 0])": lists_.list.eval(element.filter(element > 0)).list.len(),
        "list[0]": lists_.list.first(),
        "list[..3]": lists_.list.head(3),
        "any(v IN list WHERE v > 900)": lists_.list.eval((element > 900).any()).list.first(),
        "7 IN list": lists_.list.contains(7),
        "reduce(s = 0, v IN list | s + v)": lists_.list.sum(),
    }
    return {f"a million lists: {name}": _value(own, name, each) for name, each in found.items()}
