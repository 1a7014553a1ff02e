"""Parses clauses of Cypher 25."""

from __future__ import annotations

from abc import abstractmethod

from gpugda.query import ast
from gpugda.query.parse_calls import CallParser

__all__ = ["Cypher25Parser"]


class Cypher25Parser(CallParser):
    """Parses LET, FILTER, FOR, NEXT, WHEN and braces."""

    __slots__ = ()

    @abstractmethod
    def single_query(self, *, may_lack_return: bool = False) -> ast.SingleQuery:
        """Parses clauses and checks their order."""

    def let(self) -> ast.Clause:
        """Parses ``LET x = value, y = value``."""
        start = self.start
        items: list[ast.LetItem] = []
        while not items or self.kind == ",":
            self.advance()
            begin = self.start
            variable = self.variable()
            self.expect("=")
            expression = self.expression()
            items.append(ast.LetItem(self.span_since(begin), variable, expression))
        return ast.Let(self.span_since(start), tuple(items))

    def filter(self) -> ast.Clause:
        """Parses ``FILTER [WHERE] predicate``."""
        start = self.start
        self.advance()
        if self.kind == "WHERE" and self.begins_value():
            self.advance()
        predicate = self.expression()
        return ast.Filter(self.span_since(start), predicate)

    def for_(self) -> ast.Clause:
        """Parses ``FOR x IN list``."""
        start = self.start
        self.advance()
        variable = self.variable()
        self.expect("IN")
        elements = self.expression()
        return ast.Unwind(self.span_since(start), elements, variable, is_for=True)

    def next(self) -> ast.Clause:
        """Parses NEXT, after which another query continues with the rows."""
        start = self.start
        self.advance()
        return ast.Next(self.span_since(start))

    def when(self) -> ast.Clause:
        """Parses ``WHEN condition THEN query … [ELSE query]``."""
        start = self.start
        branches = []
        while self.kind == "WHEN":
            begin = self.start
            self.advance()
            condition = self.expression()
            self.expect("THEN")
            query = self._branch()
            branches.append(ast.WhenBranch(self.span_since(begin), condition, query))
        otherwise = self._branch() if self.accept("ELSE") else None
        return ast.When(self.span_since(start), tuple(branches), otherwise)

    def braces(self) -> ast.Clause:
        """Parses a query in braces."""
        start = self.start
        body = self._in_braces()
        return ast.Braces(self.span_since(start), body)

    def _branch(self) -> ast.QueryBody:
        if self.kind == "{":
            return self._in_braces()
        part = self.single_query()
        return ast.QueryBody(part.span, (part,))

    def _in_braces(self) -> ast.QueryBody:
        self.open("{")
        body = self.body()
        self.close("}")
        return body
