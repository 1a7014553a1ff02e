"""Cypher text to syntax tree: ``parse``."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.parse_clauses import ClauseParser
from gpugda.types import Span

__all__ = ["parse", "tree_of"]

_VERSIONS: Final = {"5": 5, "25": 25}


def parse(text: str) -> ast.Query:
    """The syntax tree of one Cypher query.

    Reads the whole reading language of Cypher 5 and 25, and enough of the rest to name it.

    Args:
        text: One statement, with or without a semicolon after it.

    Raises:
        CypherSyntaxError: The text is not Cypher; the error knows the place.
    """
    parser = _Parser(text)
    try:
        return parser.query()
    except RecursionError:
        # The nesting limit fits brackets and the usual caller. Subqueries take more of Python's
        # stack for each level, and some callers have used most of it already.
        message = "this is nested too deeply to be read"
        raise CypherSyntaxError(message, text, parser.span()) from None


@lru_cache(maxsize=8)
def tree_of(text: str) -> ast.Query:
    """As `parse`, of a text that several look into when a query was answered.

    Who answers it needs no tree of most texts any more: one that is kept is looked through for
    garbage while the next ones are read.
    """
    return parse(text)


class _Parser(ClauseParser):
    """Reads a statement with its prefixes."""

    __slots__ = ("_options", "_run_mode", "_version")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._version: int | None = None
        self._options: list[tuple[str, str]] = []
        self._run_mode: str | None = None

    def query(self) -> ast.Query:
        """Reads the whole text."""
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
