"""Lists with many elements in total are processed in parts."""

from __future__ import annotations

import numpy as np
import pytest

from gpugda.errors import CypherArithmeticError
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate, evaluate_truth
from gpugda.expressions.evaluation import row_parts
from gpugda.expressions.operands import value_at
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse

LISTS = [[1, 2], [], [3, 0, 5], None, [7], [1, 1]]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(row_parts, "_MAX_ELEMENTS", 2)


def expression_of(text):
    return parse(f"RETURN {text}").parts[0].clauses[0].projection.items[0].expression


def environment():
    return Environment(len(LISTS), Parameters({}, ""), "", variables={"l": column_of(LISTS)})


def test_rows_are_divided_into_parts_of_similar_size():
    parts = row_parts.parts_of(np.array([1, 1, 5, 0, 2]))
    assert [part.tolist() for part in parts] == [[0, 1], [2], [3, 4]]


def test_comprehensions_and_predicates():
    column = evaluate(expression_of("[x IN l WHERE x > 0 | x * 2]"), environment())
    found = [value_at(column, row) for row in range(len(LISTS))]
    assert found == [[2, 4], [], [6, 10], None, [14], [2, 2]]
    truth = evaluate_truth([expression_of("all(x IN l WHERE x > 0)")], environment())
    assert truth.holds.tolist() == [True, True, False, False, True, True]
    assert truth.fails.tolist() == [False, False, True, False, False, False]


def test_errors_of_a_part_name_the_right_row():
    with pytest.raises(CypherArithmeticError, match="by zero"):
        evaluate(expression_of("[x IN l | 1 / x]"), environment())
    truth = evaluate_truth([expression_of("none(x IN l WHERE 1 / x > 5)")], environment())
    (failing,) = [fault.rows.tolist() for fault in truth.faults]
    assert failing == [False, False, True, False, False, False]
    assert "zero" in str(truth.faults[0].error(2))
