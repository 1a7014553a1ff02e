"""Functions and operators give what a real Neo4j 5.26 gave for the same expression."""

from __future__ import annotations

import pytest
from function_cases import FOLDER, cases, rendered
from function_evaluator import evaluate

from gpugda.data.temporal import as_driver_gives
from gpugda.errors import QueryError, UnsupportedQueryError
from gpugda.expressions.context import Context

FILES = sorted(FOLDER.glob("*.txt"))
REFUSED = {"regular_expressions": 0.3, "apoc": 0.25, "text": 0.1}
"""How much of a file may be refused: many of these are there to show what is."""

SYNTAX_ERROR = "Neo.ClientError.Statement.SyntaxError"


def answer_of(expression: str, version: int = 5) -> str:
    """As the case files write it: a value, ``!`` and a code, or ``?`` for what is refused."""
    try:
        return rendered(as_driver_gives(evaluate(expression, Context(), version)))
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_as_neo4j(path):
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


def test_there_are_cases():
    assert len(FILES) >= 12
