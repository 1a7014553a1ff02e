"""Functions on arrays of numbers equal those on single values, to the last bit."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.context import Context
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate
from gpugda.expressions.evaluation.vectorised_calls import vectorised_call
from gpugda.expressions.functions import find_function, rounding
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import Constant, Evaluated, value_at
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse

PICK = random.Random(5)
FLOATS = [
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, math.nan, math.inf, -math.inf, 1e308, 5e-324, 710.0),
    *(PICK.gauss(0, 1) * 10.0 ** PICK.randint(-6, 6) for _ in range(3000)),
    *(PICK.uniform(-1, 1) for _ in range(1000)),
]
INTEGERS = [0, 1, -1, 7, -7, 2**53 + 1, 2**63 - 1, -(2**63)]
NAMES = (
    *("abs", "sign", "isNaN", "toFloat", "toInteger", "sqrt", "ceil", "floor", "log", "exp"),
    *("log10", "sin", "cos", "tan", "asin", "acos", "atan"),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("values", [FLOATS, INTEGERS, [1.5, -2.5]], ids=["float", "int", "few"])
def test_calls_on_columns_equal_those_on_values(name, values):
    function, context = find_function(name), Context()
    kind = ColumnKind.FLOAT if isinstance(values[0], float) else ColumnKind.INTEGER
    found = vectorised_call(name.lower(), [Evaluated(Column(kind, np.array(values)))])
    if found is None:  # some do not fit: one by one
        assert name == "toInteger"
        assert values is FLOATS
        return
    assert function is not None
    for row, value in enumerate(values):
        one, other = value_at(found.operand, row), function(context, [value])
        assert (type(one), repr(one)) == (type(other), repr(other)), value


ROUNDED = [
    *FLOATS,
    *(0.05, -0.05, 1.35, 2.675, -2.675, 1.005, 0.1 + 0.2, 4.35, 1e15 + 0.5, 2.0**62, 1e19, -1e19),
    *(sign * number / 1000 for sign in (1, -1) for number in range(1000)),
]


@pytest.mark.parametrize("places", [None, 0, 1, 2, 6, 15, 22])
@pytest.mark.parametrize("values", [ROUNDED, INTEGERS], ids=["float", "int"])
def test_rounding_columns_equals_rounding_values(places, values):
    function, context = find_function("round"), Context()
    kind = ColumnKind.FLOAT if isinstance(values[0], float) else ColumnKind.INTEGER
    further = [] if places is None else [places]
    arguments = [Evaluated(Constant(each)) for each in further]
    assert function is not None
    for first in range(0, len(values), 1000):  # it does not handle more than a thousand ties
        some = values[first : first + 1000]
        found = vectorised_call("round", [Evaluated(Column(kind, np.array(some))), *arguments])
        assert found is not None
        for row, value in enumerate(some):
            one, other = value_at(found.operand, row), function(context, [value, *further])
            assert repr(one) == repr(other), value


@pytest.mark.parametrize("places", [-1, 23, 1.5, None])
def test_rounding_to_unusual_places_is_left_to_single_values(places):
    column = Column(ColumnKind.FLOAT, np.array([1.25, 2.5]))
    assert vectorised_call("round", [Evaluated(column), Evaluated(Constant(places))]) is None


def test_many_ties_are_rounded_one_by_one():
    column = Column(ColumnKind.FLOAT, np.full(5000, 0.25))
    assert vectorised_call("round", [Evaluated(column), Evaluated(Constant(1))]) is None


def test_a_case_with_a_column_of_nulls():
    text = "CASE WHEN a > 1 THEN b WHEN a = 1 THEN 5 ELSE a END"
    expression = parse(f"RETURN {text}").parts[0].clauses[0].projection.items[0].expression
    variables = {"a": column_of([0, 1, 2]), "b": column_of([None, None, None])}
    environment = Environment(3, Parameters({}, text), text, variables=variables)
    column = evaluate(expression, environment)
    assert [value_at(column, row) for row in range(3)] == [0, 5, None]


def test_sizes_of_collected_lists_are_read_from_offsets():
    lists = ColumnLists(np.array([0, 2, 2, 5]), column_of([1, 2, 3, 4, 5]))
    valid = np.array([True, True, False, True])
    column = Column(ColumnKind.OBJECT, np.array([2, 1, 0, 0], np.int32), valid, lists)
    found = vectorised_call("size", [Evaluated(column)])
    assert found is not None
    assert [value_at(found.operand, row) for row in range(4)] == [3, 0, None, 2]


@pytest.mark.parametrize("name", ["head", "last", "tail", "size"])
def test_head_and_last_of_columns_equal_those_of_values(name):
    elements = Column(ColumnKind.INTEGER, np.arange(6))
    lists = ColumnLists(np.array([0, 2, 2, 5, 6]), elements)
    valid = np.array([True, True, True, True, False])
    column = Column(ColumnKind.OBJECT, np.array([2, 1, 0, 3, 0], np.int32), valid, lists)
    found = vectorised_call(name, [Evaluated(column)])
    function = find_function(name)
    for row in range(5):
        expected = function(Context(), [value_at(column, row)])
        assert value_at(found.operand, row) == expected


@pytest.mark.parametrize("name", ["size", "char_length", "character_length"])
def test_text_lengths_of_columns_equal_those_of_values(name):
    texts = ["", "a", "é", "e\u0301", "\U0001f600!", None, "日本", "a" * 300]
    column = column_of(texts)
    found = vectorised_call(name, [Evaluated(column)])
    function = find_function(name)
    assert [value_at(found.operand, row) for row in range(len(texts))] == [
        function(Context(), [text]) for text in texts
    ]
    few = column_of([str(number) for number in range(100)]).take(np.arange(3))
    assert vectorised_call(name, [Evaluated(few)]) is None


def test_many_numbers_are_rounded_in_blocks(monkeypatch):
    monkeypatch.setattr(rounding, "_BLOCK", 3)
    values = [0.5, -0.5, 0.49999999999999994, -2.5, 1e300, math.inf, math.nan, -math.inf, 2.0**63]
    values += [-(2.0**63), 4503599627370497.5, -0.0, 5e-324, -5e-324, 1.5, 2.5]
    function = find_function("round")
    found = vectorised_call("round", [Evaluated(Column(ColumnKind.FLOAT, np.array(values)))])
    wanted = [function(Context(), [each]) for each in values]
    assert repr(found.operand.values.tolist()) == repr(wanted)
