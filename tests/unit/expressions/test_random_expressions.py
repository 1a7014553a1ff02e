"""Random expressions on columns, against the reference, which evaluates row by row."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_value
from gpugda.expressions.operands import value_at
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse
from gpugda.reference.graph import PlainGraph
from gpugda.reference.values import make_evaluator
from gpugda.values import Entity, Path
from strategies import examples

ROWS = 9
VALUES = {
    "a": [0, 1, 2, -3, 7, None, 2**63 - 1, 1, 2],
    "b": [1, 1, 0, 2, -1, 5, 2, None, 3],
    "f": [0.5, -0.0, 1.0, None, math.inf, 2.5, -1.5, 1e300, 3.0],
    "s": ["", "a", "ab", "B", None, "abc", "é", "1", "2.5"],
    "t": [True, False, None, True, False, True, False, None, True],
    "l": [[], [1], [1, 2], [None], None, [2, 1, 2], [0], [3, None], [1, 1]],
    "m": [1, "a", None, [1, 2], 2.5, True, {"k": 1}, -1, "b"],
    "p": [{"k": 1}, {"k": "a"}, {}, None, {"k": None}, {"k": [1]}, {"j": 2}, {"k": 2.5}, {"k": 0}],
}
LEAVES = [*VALUES, "n", "null", "1", "2", "0", "-1.5", "'a'", "true", "[]", "[1, 2]"]
FORMS = [
    *(
        f"({{}} {operator} {{}})"
        for operator in ("+", "-", "*", "/", "%", "^", "=", "<>", "<", ">=")
    ),
    *(f"({{}} {operator} {{}})" for operator in ("AND", "OR", "XOR", "IN", "STARTS WITH", "||")),
    "(NOT {})",
    "(-{})",
    "({} IS NULL)",
    "(CASE WHEN {} THEN {} ELSE {} END)",
    "(CASE {} WHEN {} THEN {} WHEN {} THEN {} END)",
    "coalesce({}, {})",
    "size({})",
    "toUpper({})",
    "toString({})",
    "abs({})",
    "head({})",
    "keys({})",
    "[{}, {}]",
    "{{k: {}, j: {}}}",
    "({})[{}]",
    "({})[{}..]",
    "({}).k",
    "[x IN {} WHERE {} | {}]",
    "[x IN {} | {}]",
    "any(x IN {} WHERE {})",
    "all(x IN {} WHERE {})",
    "single(x IN {} WHERE {})",
    "none(x IN {} WHERE {})",
    "reduce(x = {}, y IN {} | {})",
    "({} IS :: INTEGER)",
    "n {{.k, more: {}}}",
    "labels(n)[{}]",
]


def written(pick: random.Random, depth: int, names: tuple[str, ...] = ()) -> str:
    """A random expression; ``names`` are the list variables in scope."""
    if depth == 0 or pick.random() < 0.15:
        return pick.choice([*LEAVES, *names, *names, *names])
    form = pick.choice(FORMS)
    inner = (*names, "x") if " IN {}" in form and "x" in form.split()[0] else names
    inner = (*names, "x", "y") if form.startswith("reduce") else inner
    parts = []
    for place in range(form.replace("{{", "").replace("}}", "").count("{}")):
        outside = place == 0 or (form.startswith("reduce") and place == 1)
        parts.append(written(pick, depth - 1, names if outside else inner))
    return form.format(*parts)


GRAPH = make_graph([("A", {"k": 1}), ("B", {"k": "b"}), ("A:B", {})], [(0, "R", 1, {"w": 1})], "p:")
NODES = [0, 1, 2, 0, 1, 2, 0, 1, 2]


def by_columns(expression, text):
    columns = {name: column_of(values) for name, values in VALUES.items()}
    columns["n"] = Column(ColumnKind.NODE, np.array(NODES, dtype=np.uint32))
    environment = Environment(ROWS, Parameters({}, text), text, GRAPH, columns)
    try:
        found = evaluate_value(expression, environment)
    except UnsupportedQueryError:
        return None
    return [shown_row(found, row) for row in range(ROWS)]


def shown_row(found, row):
    failing = [each for each in found.faults if np.broadcast_to(each.rows, ROWS)[row]]
    if failing:
        return {type(each.error(row)).__name__ for each in failing}
    return shown(value_at(found.operand, row))


def by_rows(expression, text):
    evaluator = make_evaluator(PlainGraph(GRAPH), {}, text)
    rows = []
    for row in range(ROWS):
        variables = {name: values[row] for name, values in VALUES.items()}
        variables["n"] = Entity(True, NODES[row])
        try:
            rows.append(shown(evaluator.value(expression, variables)))
        except UnsupportedQueryError:
            return None
        except QueryError as error:
            rows.append(type(error).__name__)
    return rows


def shown(value):
    if isinstance(value, list):
        return tuple(map(shown, value))
    if isinstance(value, dict):
        return ("map", *((key, shown(value[key])) for key in sorted(value)))
    if isinstance(value, Entity | Path):
        return repr(value)
    return (type(value).__name__, repr(value))


@settings(max_examples=examples(400), deadline=None)
@given(st.integers(0, 2**62), st.integers(1, 3))
def test_random_expressions_on_columns_equal_those_on_rows(seed, depth):
    text = f"RETURN {written(random.Random(seed), depth)}"
    if " IN {" in text:  # Neo4j rejects it at compile time
        return
    try:
        expression = parse(text).parts[0].clauses[0].projection.items[0].expression
    except QueryError:
        return
    found, wanted = by_columns(expression, text), by_rows(expression, text)
    if found is None or wanted is None:
        return
    for row, (one, other) in enumerate(zip(found, wanted, strict=True)):
        same = other in one if isinstance(one, set) else one == other
        assert same, f"{text}, row {row}: {one} instead of {other}"


@pytest.mark.parametrize("form", FORMS)
def test_random_expressions_cover_every_form(form):
    filled = form.format(*["a" if "x IN" not in form else "l"] * form.count("{}"))
    text = f"RETURN {filled}"
    expression = parse(text).parts[0].clauses[0].projection.items[0].expression
    assert by_columns(expression, text) is not None
