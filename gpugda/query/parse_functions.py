"""Parses function calls and CASE."""

from __future__ import annotations

from typing import Final

from gpugda.query import ast
from gpugda.query.keywords import words
from gpugda.query.parse_lists import ListParser

__all__ = ["FunctionParser"]

_SIDES: Final = {side.value: side for side in ast.TrimSide}
_VECTOR_METRICS: Final = words("COSINE DOT EUCLIDEAN EUCLIDEAN_SQUARED HAMMING MANHATTAN")
# Position of a keyword among the arguments; None for the coordinate type of a vector.
_KEYWORD_ARGUMENTS: Final[dict[str, tuple[frozenset[str] | None, int]]] = {
    "NORMALIZE": (words("NFC NFD NFKC NFKD"), 1),
    "VECTOR": (None, 2),
    "VECTOR_DISTANCE": (_VECTOR_METRICS, 2),
    "VECTOR_NORM": (_VECTOR_METRICS, 1),
}


class FunctionParser(ListParser):
    """Parses ``name(arguments)``, ``trim(… FROM …)`` and ``CASE … END``."""

    __slots__ = ()

    # -------------------------------------------------------------- functions
    def function_name_length(self) -> int:
        """Number of tokens of a name ``a.b.c`` before '('; 0 if there is none."""
        length = 1
        while self.ahead(length) == "." and self.is_word_ahead(length + 1):
            length += 2
        return length if self.ahead(length) == "(" else 0

    def function(self, length: int) -> ast.FunctionCall:
        """Parses a call of a function whose name has this number of tokens."""
        start = self.start
        name = "".join([self.advance()[1] for _ in range(length)])
        self.open("(")
        distinct = self._quantifies("DISTINCT")
        if distinct or self._quantifies("ALL"):
            self.advance()
        arguments = self._arguments(name.upper())
        self.close(")")
        return ast.FunctionCall(self.span_since(start), name, arguments, distinct)

    def _arguments(self, name: str) -> tuple[ast.Expression, ...]:
        """Parses the arguments; a final keyword argument becomes a string literal."""
        if name not in _KEYWORD_ARGUMENTS:
            return self.expressions_until(")")
        keywords, place = _KEYWORD_ARGUMENTS[name]
        arguments: list[ast.Expression] = []
        while self.kind != ")":
            if len(arguments) == place and self._keyword_argument(keywords, arguments):
                break
            arguments.append(self.expression())
            if not self.accept(","):
                break
        if self.kind != ")":
            self.unexpected("',' or ')'")
        return tuple(arguments)

    def _keyword_argument(
        self, keywords: frozenset[str] | None, arguments: list[ast.Expression]
    ) -> bool:
        start = self.start
        if keywords is not None:
            if self.kind not in keywords or self.ahead() != ")":
                return False
            word = self.advance()[0]
        elif self.kind in ("string", "$") or (self.is_word() and self.ahead() == "."):
            return False
        else:
            wanted = self.coordinate_type()
            word = wanted.name + (" NOT NULL" if wanted.not_null else "")
        arguments.append(ast.Literal(self.span_since(start), word))
        return True

    def _quantifies(self, kind: str) -> bool:
        """True if DISTINCT or ALL is a keyword here, rather than a variable or all(…)."""
        if self.kind != kind or (kind == "ALL" and self.ahead() == "("):
            return False
        return self.ahead() == ")" or self.begins_value()

    def trim(self) -> ast.Trim | None:
        """Parses ``trim([BOTH|LEADING|TRAILING] [characters] FROM text)``; None without FROM."""
        state, start = self.state(), self.start
        self.advance()
        self.open("(")
        side = ast.TrimSide.BOTH
        if self.kind in _SIDES and self.begins_value():
            side = _SIDES[self.advance()[0]]
        bare = self.kind == ")" or (self.kind == "FROM" and self.begins_value())
        characters = None if bare else self.expression()
        if not self.accept("FROM"):
            self.restore(state)
            return None
        subject = self.expression()
        self.close(")")
        return ast.Trim(self.span_since(start), side, characters, subject)

    # -------------------------------------------------------------- CASE
    def case(self) -> ast.Case:
        """Parses ``CASE … END``."""
        start = self.start
        self.expect("CASE")
        self.deeper()
        operand = self.expression() if self.kind != "WHEN" else None
        if self.kind != "WHEN":
            self.unexpected("WHEN")
        alternatives = []
        while self.kind == "WHEN":
            alternatives.append(self._alternative(simple=operand is not None))
        otherwise = self.expression() if self.accept("ELSE") else None
        self.expect("END", " of CASE")
        self.shallower()
        return ast.Case(self.span_since(start), operand, tuple(alternatives), otherwise)

    def _alternative(self, *, simple: bool) -> ast.CaseAlternative:
        start = self.start
        self.advance()
        conditions = [self.when_operand() if simple else self.expression()]
        while simple and self.accept(","):
            conditions.append(self.when_operand())
        self.expect("THEN")
        result = self.expression()
        return ast.CaseAlternative(self.span_since(start), tuple(conditions), result)
