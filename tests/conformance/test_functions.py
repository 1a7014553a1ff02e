"""Functions and operators return what Neo4j 5.26 returned for the same expression."""

from __future__ import annotations

import pytest
from function_cases import FOLDER, NOT_SHOWN, cases, rendered
from function_evaluator import evaluate

from gpugda.data.values.driver_values import as_driver_gives
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.expressions.context import Context

FILES = sorted(FOLDER.glob("*.txt"))
REFUSED = {"regular_expressions": 0.3, "apoc": 0.25, "text": 0.1}
"""Largest share of refusals per file: many cases in these files document refusals."""

SYNTAX_ERROR = "Neo.ClientError.Statement.SyntaxError"


def answer_of(expression: str, version: int = 5) -> str:
    """The answer as in the case files: a value, ``!`` and a code, or ``?`` for a refusal."""
    try:
        return rendered(as_driver_gives(evaluate(expression, Context(), version)))
    except UnsupportedQueryError as error:
        return f"? {error}"
    except QueryError as error:
        return f"! {error.code}"


def agrees(answer: str, wanted: str) -> bool:
    """True for the same value or error; a refusal is right if no driver could show the value.

    Errors that Neo4j raises at compile time may be raised at run time.
    """
    if answer == NOT_SHOWN:
        return wanted.startswith("? the driver cannot hold it")
    if answer.startswith("?"):
        return True
    if wanted == f"! {SYNTAX_ERROR}":
        return answer.startswith("!")
    return answer == wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_functions_equal_neo4js(path):
    wrong, refused, count = [], 0, 0
    for expression, wanted in cases(path):
        answer = answer_of(expression, 25 if path.stem == "cypher_25" else 5)
        count += 1
        refused += answer.startswith("?")
        if not agrees(answer, wanted):
            wrong.append(f"{expression}: {answer} instead of {wanted}")
    assert not wrong, "\n".join(wrong)
    assert count > 20
    assert refused / count < REFUSED.get(path.stem, 0.05)


def test_function_cases_exist():
    assert len(FILES) >= 12
