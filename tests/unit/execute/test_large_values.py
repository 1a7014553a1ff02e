"""Queries that are too long, or with too long values: an error instead of exhausted memory."""

from __future__ import annotations

import pytest

import gpugda
from gpugda.errors import MemoryLimitError, UnsupportedQueryError
from gpugda.expressions import checks

ENGINES = ("gpu", "reference")


@pytest.fixture(scope="module")
def accelerator():
    with gpugda.connect(gpugda.graph(nodes={"id": ["a", "b"], "k": [1, 2]})) as made:
        yield made


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("RETURN size(range(1, 2000000000)) AS n", "a list of 2000000000 elements"),
        (
            "WITH range(1, 1000) AS a, $many AS b "
            "RETURN size(reduce(s = a, i IN range(1, 40) | s + s)) AS n",
            "a list of",
        ),
        ("RETURN size(reduce(s = $text, i IN range(1, 40) | s + s)) AS n", "a text of"),
        ("RETURN size(reduce(s = $text, i IN range(1, 40) | s || s)) AS n", "a text of"),
        ("RETURN size(replace($text, 'a', $text)) AS n", "a text of 16000000 characters"),
    ],
)
def test_a_value_that_is_too_long_is_refused(
    accelerator, monkeypatch, engine: str, query: str, message: str
) -> None:
    monkeypatch.setattr(checks, "_MAX_ITEMS", 1 << 12)  # independent of the machine
    monkeypatch.setattr(checks, "_MAX_CHARACTERS", 1 << 16)
    parameters = {"text": "a" * 4_000, "many": [1] * 10}
    given = {name: value for name, value in parameters.items() if f"${name}" in query}
    with pytest.raises(MemoryLimitError, match=message):
        accelerator.run(query, given, engine=engine)


def test_too_many_clauses_are_refused(accelerator) -> None:
    query = f"MATCH (a) {'WITH a ' * 3000}RETURN count(*) AS c"
    with pytest.raises(UnsupportedQueryError, match="this many clauses"):
        accelerator.run(query, engine="gpu")


@pytest.mark.parametrize("engine", ["gpu", "auto"])
def test_an_error_shows_the_text_around_its_place(accelerator, engine: str) -> None:
    query = f"MATCH (a) WHERE a.name = '{'x' * 100_000}' RETURN a, {'y' * 100_000}"
    with pytest.raises(gpugda.GpugdaError) as raised:
        accelerator.run(query, engine=engine)
    assert raised.value.column == query.index("yyy") + 1
    shown = str(raised.value).splitlines()
    assert len(shown[0]) > 100_000 or len(shown) == 3
    line, carets = shown[-2:]
    assert len(line) < 300
    assert line.startswith("  …x")
    assert line.endswith("y…")
    assert line[carets.index("^")] == "y"
    assert line[carets.index("^") - 1] == " "
