"""Functions of many different texts by Arrow, against the functions of single values."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpugda.data.values.columns import Column, to_values
from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.expressions.computed_columns import column_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_operand
from gpugda.expressions.evaluation import text_calls, vectorised_calls
from gpugda.expressions.parameters import Parameters
from gpugda.query.parser import parse
from strategies import examples

CALLS = (
    "toUpper(t)",
    "upper(t)",
    "toLower(t)",
    "lower(t)",
    "reverse(t)",
    "trim(t)",
    "btrim(t, 'aß ')",
    "ltrim(t)",
    "rtrim(t, '😀')",
    "trim(t, '')",
    "left(t, 0)",
    "left(t, 2)",
    "right(t, 0)",
    "right(t, 2)",
    "right(t, 9)",
    "substring(t, 0)",
    "substring(t, 2)",
    "substring(t, 1, 0)",
    "substring(t, 1, 2)",
    "substring(t, 9, 2147483647)",
    "substring(t, null)",
    "replace(t, 'aa', 'b')",
    "replace(t, 'ß', '')",
    "replace(t, '', 'x')",
    "replace(t, 'a', 'ßß')",
    "replace(t, null, '')",
)
# Includes sharp s, final sigma, dotted capital I, combining marks, no-break space, separators.
_CASED = "aAbß\u0391\u03a3\u03c3\u03c2\u0130\u0131\u01c6"
LETTERS = _CASED + "é\u0301\u0308\u00a0 \t\u2007\u2028\u001c\x85ﬁ😀𐐀\U0001f1e6\x00"
TEXTS = st.text(st.one_of(st.sampled_from(LETTERS), st.characters(exclude_categories=["Cs"])))


def _values(text: str, column: Column) -> list[Any]:
    parts: Any = parse(f"RETURN {text}").parts[0]
    expression = parts.clauses[0].projection.items[0].expression
    environment = Environment(len(column), Parameters({}, text), text, variables={"t": column})
    found = evaluate_operand(expression, environment)
    return to_values(found) if isinstance(found, Column) else [found.value] * len(column)


def _values_or_refusal(text: str, column: Column) -> list[Any] | str:
    try:
        return _values(text, column)
    except UnsupportedQueryError as error:
        return str(error)


@pytest.mark.slow
@settings(max_examples=examples(320))
@given(texts=st.lists(st.none() | TEXTS | st.text("aAb \t"), min_size=1, max_size=12))
def test_calls_on_columns_equal_those_on_texts(texts: list[str | None]) -> None:
    column = column_of(texts)
    found = [_values_or_refusal(call, column) for call in CALLS]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectorised_calls, "text_call", lambda *_: None)
        for call, values in zip(CALLS, found, strict=True):
            assert values == _values_or_refusal(call, column), call


@pytest.mark.parametrize("call", ["toUpper(t, 'a')", "left(t)", "replace(t, 'a')"])
def test_a_wrong_number_of_arguments_is_refused(call: str) -> None:
    with pytest.raises(CypherSyntaxError):
        _values(call, column_of(["a", "b"]))


@pytest.mark.parametrize("call", ["toUpper(t)", "right(t, 2)", "replace(t, 'a', '')"])
def test_many_texts_are_computed_by_arrow(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def told(*arguments: Any) -> Column | None:
        made.append(text_calls.text_call(*arguments))
        return made[-1]

    monkeypatch.setattr(vectorised_calls, "text_call", told)
    _values(call, column_of(["a", "b", "ß"]))
    assert isinstance(made[0], Column)


@pytest.mark.parametrize(
    ("call", "text", "expected"),
    [
        ("toUpper(t)", "straße", "STRASSE"),
        ("toLower(t)", "ΟΔΟΣ", "οδος"),
        ("toLower(t)", "İ", "i\u0307"),
        ("left(t, 1)", "😀a", "😀"),
        ("reverse(t)", "a😀", "😀a"),
        ("trim(t)", "\u2028a\u00a0", "a\u00a0"),
    ],
)
def test_special_letters_change_case_as_in_java(call: str, text: str, expected: str) -> None:
    assert _values(call, column_of([text, "plain"]))[0] == expected


@pytest.mark.parametrize("call", ["toLower(t)", "replace(t, '', 'x')"])
@pytest.mark.parametrize("text", ["ΠΑΣ-ΓΙΑΝΝΕΝΑ 😀", "Δ1Σ 😀"])
def test_texts_whose_case_depends_on_context_are_refused(call: str, text: str) -> None:
    with pytest.raises(UnsupportedQueryError):
        _values(call, column_of([text, "plain"]))


@pytest.mark.parametrize(("call", "text"), [("toUpper(t)", "a\u2c5f"), ("lower(t)", "\U00010570")])
def test_letters_unknown_to_some_java_versions_are_refused(call: str, text: str) -> None:
    with pytest.raises(UnsupportedQueryError):
        _values(call, column_of([text, "plain"]))


def test_unused_dictionary_entries_are_not_refused() -> None:
    column = column_of(["ΔΣ-Δ", "AB", "CD"])
    some = Column(column.kind, column.values[1:], None, column.dictionary)
    assert _values("toLower(t)", some) == ["ab", "cd"]
