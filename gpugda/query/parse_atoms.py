"""Parses values without operators: literals, parameters, names, maps, brackets."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.keywords import CLAUSE_STARTS, FOLLOWS_OPERAND
from gpugda.query.literals import number_value, string_value
from gpugda.query.parse_functions import FunctionParser
from gpugda.query.parse_lists import LIST_PREDICATES, furthest

__all__ = ["AtomParser"]

_CONSTANTS: Final = {
    "TRUE": True,
    "FALSE": False,
    "NULL": None,
    "INF": float("inf"),
    "INFINITY": float("inf"),
    "NAN": float("nan"),
}
_SUBQUERIES: Final[dict[str, type[ast.Subquery]]] = {
    "EXISTS": ast.ExistsSubquery,
    "COUNT": ast.CountSubquery,
    "COLLECT": ast.CollectSubquery,
}
_SHORTEST: Final = frozenset(("SHORTESTPATH", "ALLSHORTESTPATHS"))
_STRAY: Final = frozenset(("number", "string", "$", "quoted"))


class AtomParser(FunctionParser):
    """Parses operands: the values between operators."""

    __slots__ = ("_bracketed",)

    def __init__(self, text: str) -> None:
        super().__init__(text)
        # Memo of parsed '(' and '[' by position, as they are context-free: trying two readings at
        # each of n nested brackets would otherwise take 2^n steps.
        self._bracketed: dict[int, tuple[ast.Expression, int] | CypherSyntaxError] = {}

    @abstractmethod
    def subquery(self, construct: str) -> ast.QueryBody:
        """Parses the braces of an EXISTS, COUNT or COLLECT subquery."""

    @abstractmethod
    def shortest_path(self) -> ast.Pattern:
        """Parses ``shortestPath(path)`` or ``allShortestPaths(path)``."""

    def atom(self) -> ast.Expression:
        """Parses a literal, name, call, bracket …: a value without operators."""
        kind = self.kind
        if kind == "number":
            span, piece = self.span(), self.advance()[1]
            return ast.Literal(span, number_value(piece, self.text, span))
        if kind == "string":
            span, piece = self.span(), self.advance()[1]
            return ast.Literal(span, string_value(piece, self.text, span.start))
        if kind == "(" or kind == "[":
            return self._bracket()
        if kind == "{":
            return self.map_literal()
        if kind == "$":
            return self.parameter()
        if self.is_word():
            return self._word()
        self.unexpected("a value")

    # -------------------------------------------------------------- brackets
    def _bracket(self) -> ast.Expression:
        start, nesting = self.state()
        known = self._bracketed.get(start)
        if known is None:
            try:
                value = self._parenthesis() if self.kind == "(" else self.list_atom()
                known = value, self.index
            except CypherSyntaxError as error:
                known = error
            self._bracketed[start] = known
        if isinstance(known, CypherSyntaxError):
            raise known
        self.restore((known[1], nesting))
        return known[0]

    def _parenthesis(self) -> ast.Expression:
        """Parses a path if possible, otherwise a value in parentheses.

        ``(a)--(b)`` is a path, but ``(1)--(2)`` is not. As in Neo4j, a path takes precedence if
        both readings are possible; if neither is, the reading that got further reports the error.
        """
        failure: CypherSyntaxError | None = None
        state = self.state()
        if self.path_follows():
            try:
                path = self.path()
                return ast.PatternExpression(path.span, path)
            except CypherSyntaxError as error:
                failure = error
                self.restore(state)
        try:
            self.open("(")
            value = self.expression()
            self.close(")")
        except CypherSyntaxError as error:
            raise furthest(failure, error) from None
        return value

    def map_literal(self) -> ast.MapLiteral:
        """Parses ``{key: value}``."""
        start = self.start
        entries: list[tuple[str, ast.Expression]] = []
        self.open("{")
        while self.kind != "}":
            key = self.expect_name("a property name" if entries else "a property name or '}'")
            self.expect(":", " after a property name")
            entries.append((key, self.expression()))
            if self.kind != "}":
                self.expect(",", " or '}'")
                if self.kind == "}":
                    self.unexpected("a property name")
        self.close("}")
        return ast.MapLiteral(self.span_since(start), tuple(entries))

    def parameter(self) -> ast.Parameter:
        """Parses ``$name``."""
        start = self.start
        self.expect("$")
        piece = self.piece()
        if not self.is_word() and not (self.kind == "number" and piece.replace("_", "").isalnum()):
            self.unexpected("a parameter's name after '$': $name, $0 or $`any name`")
        self.advance()
        return ast.Parameter(self.span_since(start), piece)

    # -------------------------------------------------------------- words
    def _word(self) -> ast.Expression:
        kind = self.kind
        if kind in _CONSTANTS:
            span = self.span()
            self.advance()
            return ast.Literal(span, _CONSTANTS[kind])
        after = self.ahead()
        if after == "(":
            return self._call_of(kind)
        if after == "{":
            return self._braced(kind)
        if kind == "CASE" and (after == "WHEN" or self.begins_value()):
            return self.case()
        if after == "." and (parts := self.function_name_length()):
            return self.function(parts)
        self._refuse_stray_keyword(kind, after)
        return self.variable()

    def _call_of(self, kind: str) -> ast.Expression:
        if kind == "CASE":
            return self.case()
        if kind in LIST_PREDICATES and self.ahead(3) == "IN":
            return self.list_predicate()
        if kind == "REDUCE" and self.ahead(3) == "=":
            return self.reduce()
        if kind == "ALLREDUCE" and self.ahead(3) == "=":
            return self.all_reduce()
        if kind in _SHORTEST and self.ahead(2) == "(":
            path = self.shortest_path()
            return ast.ShortestPathExpression(path.span, path)
        if kind == "COUNT" and self.ahead(2) == "*" and self.ahead(3) == ")":
            start = self.start
            self.move_to(self.index + 4)
            return ast.CountStar(self.span_since(start))
        if kind == "TRIM" and (trim := self.trim()) is not None:
            return trim
        return self.function(1)

    def _braced(self, kind: str) -> ast.Expression:
        if kind == "CASE":
            return self.case()
        has_key = self.ahead(3) == ":" and self.ahead(2) != "("
        if kind in _SUBQUERIES and self.ahead(2) not in ("}", ".") and not has_key:
            start = self.start
            self.advance()
            query = self.subquery(kind)
            return _SUBQUERIES[kind](self.span_since(start), query)
        return self._map_projection()

    def _refuse_stray_keyword(self, kind: str, after: str) -> None:
        """Rejects ``WHERE RETURN n``: RETURN is not a variable there, a value is missing."""
        if kind == "NOT" and self.begins_value():
            self.fail("NOT cannot stand here: put it and its operand in parentheses")
        if kind in CLAUSE_STARTS and (
            after in _STRAY
            or (after[0].isalpha() and after.isupper() and after not in _WORDS_AFTER)
        ):
            self.fail(f"a value is missing before {kind}")

    def _map_projection(self) -> ast.Expression:
        start = self.start
        subject = self.variable()
        selectors: list[ast.MapSelector] = []
        self.open("{")
        if self.kind != "}":
            selectors.append(self._map_selector())
            while self.accept(","):
                selectors.append(self._map_selector())
        self.close("}")
        return ast.MapProjection(self.span_since(start), subject, tuple(selectors))

    def _map_selector(self) -> ast.MapSelector:
        start = self.start
        if self.accept("."):
            if self.accept("*"):
                return ast.MapAllProperties(self.span_since(start))
            key = self.expect_name("a property name or '*'")
            return ast.MapProperty(self.span_since(start), key)
        if self.is_word() and self.ahead() == ":":
            key = self.advance()[1]
            self.advance()
            value = self.expression()
            return ast.MapEntry(self.span_since(start), key, value)
        variable = self.variable("'.name', '.*', 'key: value' or a variable")
        return ast.MapVariable(variable.span, variable)


_WORDS_AFTER: Final = frozenset(kind for kind in FOLLOWS_OPERAND if kind.isalpha())
