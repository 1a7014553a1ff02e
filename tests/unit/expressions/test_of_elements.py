"""Results computed once per distinct list equal those computed row by row, to the last digit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_value
from gpugda.expressions.evaluation import comprehension, reduce_sums
from gpugda.expressions.evaluation.exploded import Lists, lists_of
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import distinct_values
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse

ELEMENTS = {
    "integers": [1, 2, 3, 7, -4, 2**40],
    "large": [2**62, -(2**62), 2**61],
    "decimals": [0.0, -0.0, 1.5, 0.1, 1e300, -7.25e-12, float("inf")],
    "nan": [1.0, float("nan")],
    "texts": ["", "a", "b"],
    "mixed": [1, 0.5, "x", [1], {"a": 1}, {"a": 2.5}],
}
EXPRESSIONS = [
    "reduce(s = 0, v IN l | s + v)",
    "reduce(s = 0.0, v IN l | s + v)",
    "reduce(s = k, v IN l | s + v)",
    "reduce(s = 0.5, v IN l | s + v * 2)",
    "reduce(s = 0, v IN l | s + v * k)",
    "reduce(s = 0, v IN l | s + v * v)",
    "reduce(s = 0, v IN l | s + 1)",
    "reduce(s = 0, v IN l | v + s)",
    "reduce(s = 0, v IN l | s + s)",
    "reduce(s = null, v IN l | s + v)",
    "reduce(s = '', v IN l | s + v)",
    "reduce(s = 0, v IN l | s + $p)",
    "reduce(s = 0, v IN l | s + v.a)",
    "reduce(s = true, v IN l | s + v)",
    "[v IN l | v + 1]",
    "[v IN l | v]",
    "[v IN l | -v]",
    "[v IN l | v > 2]",
    "[v IN l | 7]",
    "[v IN l | null]",
    "[v IN l | k]",
    "[v IN l | v / 0]",
    "[v IN l | v.a]",
    *(f"{name}(v IN l WHERE v > 2)" for name in ("all", "any", "none", "single")),
    *(f"{name}(v IN l WHERE v / 0 = 1)" for name in ("all", "any", "none", "single")),
    *(f"{name}(v IN l WHERE v.a = 1)" for name in ("all", "any", "none", "single")),
    "any(v IN l WHERE v = k)",
]


def shown(text, variables, count):
    """Values in a form in which 1, 1.0 and the two zeros differ, and the failing rows."""
    body = parse(f"RETURN {text} AS r").parts[0].clauses[0].projection.items[0].expression
    environment = Environment(count, Parameters({"p": 3}, text), text, variables=variables)
    found = evaluate_value(body, environment)
    failing = np.zeros(count, dtype=np.bool_)
    for fault in found.faults:
        failing |= fault.rows
    places, values = distinct_values(found.operand, count)
    rows = enumerate(places.tolist())
    return ["fails" if failing[row] else repr(values[place]) for row, place in rows]


def lists_of_rows(rng, kind, rows, lengths):
    lists = [rng.choices(ELEMENTS[kind], k=length) for length in lengths]
    offsets = np.cumsum([0, *map(len, lists)]).astype(np.int64)
    elements = column_of([item for each in lists for item in each])
    codes = np.array([rng.randrange(len(lists)) for _ in range(rows)], dtype=np.int32)
    known = np.array([rng.random() < 0.8 for _ in range(rows)])
    return Column(ColumnKind.OBJECT, codes, known, ColumnLists(offsets, elements))


@pytest.mark.parametrize("text", EXPRESSIONS)
@pytest.mark.parametrize("kind", ELEMENTS)
@pytest.mark.parametrize("lengths", [(0, 1, 5, 2), (100, 65, 64, 3, 1), (2, 2), (0, 9, 0, 20, 0)])
def test_elements_of_all_rows_equal_those_row_by_row(monkeypatch, kind, lengths, text):
    rng = random.Random(f"{kind}{lengths}")
    variables = {
        "l": lists_of_rows(rng, kind, 30, lengths),
        "k": Column(ColumnKind.INTEGER, np.arange(30) - 10),
    }
    at_once = shown(text, variables, 30)
    monkeypatch.setattr(Lists, "is_mostly_used", lambda _: False)
    assert at_once == shown(text, variables, 30)


@pytest.mark.parametrize("text", ["reduce(s = 1, v IN l | s + v)", "[v IN l | v + 1]"])
@pytest.mark.parametrize("kind", ["integers", "decimals"])
@pytest.mark.parametrize(("first", "count"), [(0, 20), (0, 5), (7, 6)])
def test_lists_of_contiguous_rows_are_evaluated_at_once(monkeypatch, kind, text, first, count):
    """As for collected lists: the known facts of the lists are a slice for these rows."""
    lengths = [9, 0, 12, 1, 30] * 4
    made = lists_of_rows(random.Random(kind), kind, 1, lengths)
    codes = np.arange(first, first + count, dtype=np.int32)
    lists = Column(ColumnKind.OBJECT, codes, None, made.dictionary)
    at_once = shown(text, {"l": lists}, count)
    found = lists_of(lists, count, True)
    assert np.shares_memory(found.of_rows(found.firsts), found.firsts)
    assert found.counts.tolist() == lengths[first : first + count]
    monkeypatch.setattr(Lists, "is_mostly_used", lambda _: False)
    assert at_once == shown(text, {"l": lists}, count)


@pytest.mark.parametrize(
    ("text", "room", "name"),
    [
        ("reduce(s = 0, v IN l | s + v)", reduce_sums, "_sums_of_integers"),
        ("reduce(s = 0, v IN l | s + v * 0.5)", reduce_sums, "_sums_of_floats"),
        ("[v IN l | v + 1]", comprehension, "with_elements"),
        ("single(v IN l WHERE v > 2)", comprehension, "with_elements"),
    ],
)
def test_lists_are_evaluated_once(monkeypatch, text, room, name):
    variables = {"l": lists_of_rows(random.Random(1), "integers", 30, (3, 1))}
    met = []
    known = getattr(room, name)

    def noted(*given):
        met.append(name)
        return known(*given)

    monkeypatch.setattr(room, name, noted)
    shown(text, variables, 30)
    assert met == [name]
