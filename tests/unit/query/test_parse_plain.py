"""The fast path for plain nodes and relationships agrees with the grammar."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from gpugda.errors import QueryError
from gpugda.query import parse_patterns
from gpugda.query.parser import parse

if TYPE_CHECKING:
    from collections.abc import Callable

_PIECES = [
    *("(", ")", "[", "]", "-", ">", "<", "--", "-->", "<--", ":", "|", "&", "!", "*", "+", "{"),
    *("}", ",", "=", "$", "%", "2", "1..3", "$p", "'x'", "`a b`", "\u2013", "\u27e8", "A", "n"),
    *("IS", "WHERE", "AND", "ANY", "ALL", "SHORTEST", "shortestPath", "(n)", "(m:B)", "n:A"),
    *("-[:T]->", "<-[r]-", "[(n)-->(b:A|b.x)]"),
]


def _outcome(text: str) -> str:
    """The tree with its spans, or the error with its position."""
    try:
        return repr(parse(text))
    except QueryError as error:
        return str(error)


def _compare(text: str, without: Callable[[], None], restore: Callable[[], None]) -> None:
    found = _outcome(text)
    without()
    expected = _outcome(text)
    restore()
    assert found == expected


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Parses a text with and without the fast path; asserts equal outcomes."""

    def without() -> None:
        monkeypatch.setattr(parse_patterns, "read_plain_node", lambda _: None)
        monkeypatch.setattr(parse_patterns, "read_plain_relationship", lambda _: None)

    return lambda text: _compare(text, without, monkeypatch.undo)


@pytest.mark.parametrize("seed", range(20))
def test_random_patterns_parse_as_by_the_full_parser(
    compare: Callable[[str], None], seed: int
) -> None:
    choice = random.Random(seed)
    for _ in range(100):
        start = choice.choice(("", "(n)", "(n:A)-[r]->", "(n)--(m),", "p = "))
        pieces = [choice.choice(_PIECES) for _ in range(choice.randint(1, 9))]
        joint = choice.choice(("", " "))
        compare(f"MATCH {start}{joint.join(pieces)}{choice.choice(('', ' RETURN n'))}")


@pytest.mark.parametrize("depth", range(97, 103))
@pytest.mark.parametrize("inner", ["(n)-[:T]->(m)", "(n)", "(n)-->(m)<-[r]-()"])
def test_nested_patterns_parse_as_by_the_full_parser(
    compare: Callable[[str], None], depth: int, inner: str
) -> None:
    compare(f"MATCH {'(' * depth}{inner}{')' * depth} RETURN 1")
    compare(f"RETURN {'(' * depth}EXISTS {{{inner}}}{')' * depth}")
