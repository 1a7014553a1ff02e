"""The parser: Cypher text to syntax tree."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from gpugda.query import ast
from gpugda.query.cursor import too_deep
from gpugda.query.parse_clauses import ClauseParser
from gpugda.types import Span

__all__ = ["parse", "tree_of"]

_VERSIONS: Final = {"5": 5, "25": 25}


def parse(text: str) -> ast.Query:
    """Parses one Cypher query.

    Covers the whole reading language of Cypher 5 and 25, and enough of the rest to name it.

    Args:
        text: One statement, with or without a final semicolon.

    Raises:
        CypherSyntaxError: The text is not Cypher; the error has the place.
        UnsupportedQueryError: It is nested too deeply to be parsed.
    """
    parser = _Parser(text)
    try:
        return parser.query()
    except RecursionError:
        # The nesting limit is meant for brackets and usual callers. Subqueries use more stack per
        # level, and some callers have already used most of it.
        raise too_deep(parser) from None


@lru_cache(maxsize=8)
def tree_of(text: str) -> ast.Query:
    """Like `parse`, but cached for several analyses of a text after the query was answered.

    Answering a query rarely needs its tree again, and the garbage collector would scan cached
    trees while later queries are parsed.
    """
    return parse(text)


class _Parser(ClauseParser):
    """Parses a statement with its prefixes."""

    __slots__ = ("_options", "_run_mode", "_version")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._version: int | None = None
        self._options: list[tuple[str, str]] = []
        self._run_mode: str | None = None

    def query(self) -> ast.Query:
        """Parses the whole text."""
        self._prefixes()
        if self.kind == "end":
            self.fail("there is no query here: expected a clause such as MATCH or RETURN")
        parts, unions, union_all = self.union()
        self._end()
        return ast.Query(
            Span(0, len(self.text)),
            self.text,
            parts,
            unions,
            self._version,
            tuple(self._options),
            self._run_mode,
            union_all,
        )

    def _prefixes(self) -> None:
        while self.kind in ("CYPHER", "EXPLAIN", "PROFILE"):
            if self.kind == "CYPHER":
                self.advance()
                self._cypher()
                continue
            if self._run_mode not in (None, self.kind):
                self.fail("EXPLAIN and PROFILE cannot be combined")
            self._run_mode = self.advance()[0]

    def _cypher(self) -> None:
        if self.kind == "number":
            version = _VERSIONS.get(self.piece())
            if version is None:
                self.fail(f"Cypher {self.piece()} is not known: CYPHER 5 and CYPHER 25 are")
            if self._version not in (None, version):
                self.fail("two Cypher versions cannot be combined")
            self._version = version
            self.advance()
        while self.is_word() and self.ahead() == "=":
            name = self.advance()[1]
            self.advance()
            if not self.is_word() and self.kind not in ("number", "string"):
                self.unexpected("the option's value")
            self._options.append((name, self.advance()[1]))

    def _end(self) -> None:
        if self.accept(";") and self.kind != "end":
            self.fail("only one statement can be run at a time: nothing may follow the semicolon")
        if self.kind != "end":
            self.unexpected("a clause or the end of the query")
