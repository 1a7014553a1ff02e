"""A function's results for dictionary entries are computed once for all chunks."""

from __future__ import annotations

import pytest

from gpugda.errors import CypherTypeError
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate
from gpugda.expressions.operands import value_at
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse

WORDS = ["ab", "c", "", None]


def expression_of(text):
    return parse(f"RETURN {text}").parts[0].clauses[0].projection.items[0].expression


def evaluated(expression, column, cache):
    environment = Environment(
        len(column), Parameters({}, ""), "", variables={"s": column}, cache=cache
    )
    found = evaluate(expression, environment)
    return [value_at(found, row) for row in range(len(column))]


def test_chunks_of_one_column_share_a_result():
    whole = column_of(WORDS * 20)
    cache: dict = {}
    expression = expression_of("toUpper(s)")
    for start in (0, 20, 50):
        rows = list(range(start, start + 30))
        found = evaluated(expression, whole.take(rows), cache)
        words = [WORDS[row % 4] for row in rows]
        assert found == [None if word is None else word.upper() for word in words]
    assert len(cache["applied"]) == 1


def test_other_constants_and_nodes_do_not_share_a_result():
    whole, cache = column_of(WORDS * 20), {}
    for text, wanted in (("left(s, 1)", "a"), ("left(s, 2)", "ab"), ("s + 'x'", "abx")):
        assert evaluated(expression_of(text), whole, cache)[0] == wanted
    found = evaluated(expression_of("coalesce(s + 'y', 'none')"), whole, cache)
    assert found[:4] == ["aby", "cy", "y", "none"]


def test_errors_of_unused_dictionary_entries_are_ignored():
    whole, cache = column_of([1, "a", [2], None] * 20), {}
    expression = expression_of("toUpper(s)")
    texts = whole.take([row for row in range(80) if row % 4 in (1, 3)])
    assert evaluated(expression, texts, cache)[:2] == ["A", None]
    with pytest.raises(CypherTypeError, match="Long"):
        evaluated(expression, whole, cache)
