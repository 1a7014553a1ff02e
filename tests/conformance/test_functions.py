"""Functions and operators give what a real Neo4j 5.26 gave for the same expression."""

from __future__ import annotations

from typing import Any

import pytest
from function_cases import FOLDER, cases, rendered
from function_evaluator import evaluate

from gpugda.data.temporal import is_stored_object, rezoned
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.expressions.context import Context

FILES = sorted(FOLDER.glob("*.txt"))
SYNTAX_ERROR = "Neo.ClientError.Statement.SyntaxError"
CASES = [
    pytest.param(expression, answer, id=f"{path.stem}-{expression}")
    for path in FILES
    for expression, answer in cases(path)
]


def shown(value: Any) -> Any:
    """A value as a user gets it, with time zones of the library that the driver takes them from."""
    if isinstance(value, list):
        return [shown(item) for item in value]
    return rezoned(value) if is_stored_object(value) else value


def answer_of(expression: str) -> str:
    """As the case files write it: a value, ``!`` and a code, or ``?`` for what is refused."""
    try:
        return rendered(shown(evaluate(expression, Context())))
    except UnsupportedQueryError as error:
        return f"? {error}"
    except QueryError as error:
        return f"! {error.code}"


def agrees(answer: str, wanted: str) -> bool:
    """The same value or error; refusing is right where no driver could show a value.

    What Neo4j refuses when it compiles may be refused when it runs.
    """
    if answer.startswith("?"):
        return True
    if wanted == f"! {SYNTAX_ERROR}":
        return answer.startswith("!")
    return answer == wanted


@pytest.mark.parametrize(("expression", "wanted"), CASES)
def test_as_neo4j(expression, wanted):
    answer = answer_of(expression)
    assert agrees(answer, wanted), f"{answer} instead of {wanted}"


def test_little_is_refused():
    answers = [answer_of(expression) for case in CASES for expression in case.values[:1]]
    assert len(answers) > 1000
    refused = sum(answer.startswith("?") for answer in answers)
    assert refused / len(answers) < 0.02
