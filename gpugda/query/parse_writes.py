"""Parses writing clauses and commands, only as far as needed to name them."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from gpugda.query import ast
from gpugda.query.keywords import words
from gpugda.query.parse_match import MatchParser

__all__ = ["WriteParser"]

_CREATED_BY_COMMAND: Final = words(
    "ALIAS BTREE COMPOSITE CONSTRAINT DATABASE FULLTEXT INDEX LOOKUP OR POINT RANGE ROLE TEXT USER"
    " VECTOR"
)


class WriteParser(MatchParser):
    """Parses CREATE, MERGE, SET, REMOVE, DELETE, FOREACH, INSERT and commands."""

    __slots__ = ()

    @abstractmethod
    def clauses(self) -> tuple[ast.Clause, ...]:
        """Parses clauses up to the first token that begins none."""

    def create(self) -> ast.Clause:
        """Parses ``CREATE patterns``, or CREATE as the first word of a command."""
        start = self.start
        if self.ahead() in _CREATED_BY_COMMAND and self.ahead(2) != "=":
            return self.command()
        self.advance()
        return self._write(start, "CREATE", *self.patterns())

    def insert(self) -> ast.Clause:
        """Parses ``INSERT patterns``."""
        start = self.start
        self.advance()
        return self._write(start, "INSERT", *self.patterns())

    def merge(self) -> ast.Clause:
        """Parses ``MERGE pattern [ON CREATE SET …] [ON MATCH SET …]``."""
        start = self.start
        self.advance()
        pattern = self.pattern()
        self.refuse_parameter_maps((pattern,))
        children: list[ast.Node] = [pattern]
        while self.accept("ON"):
            if self.kind not in ("CREATE", "MATCH"):
                self.unexpected("CREATE or MATCH after ON")
            self.advance()
            if self.kind != "SET":
                self.unexpected("SET")
            children.append(self.set())
        return self._write(start, "MERGE", *children)

    def set(self) -> ast.Clause:
        """Parses ``SET a.x = 1, a += {…}, a:Label``."""
        start = self.start
        self.advance()
        children = self._set_item()
        while self.accept(","):
            children.extend(self._set_item())
        return self._write(start, "SET", *children)

    def remove(self) -> ast.Clause:
        """Parses ``REMOVE a.x, a:Label``."""
        start = self.start
        self.advance()
        children: list[ast.Node] = [self._target()]
        while self.accept(","):
            children.append(self._target())
        return self._write(start, "REMOVE", *children)

    def delete(self) -> ast.Clause:
        """Parses ``[DETACH|NODETACH] DELETE values``."""
        start, first = self.start, self.index
        if not self.accept("DETACH"):
            self.accept("NODETACH")
        self.expect("DELETE")
        construct = self.words_since(first)
        children: list[ast.Node] = [self.expression()]
        while self.accept(","):
            children.append(self.expression())
        return self._write(start, construct, *children)

    def foreach(self) -> ast.Clause:
        """Parses ``FOREACH (x IN list | clauses)``."""
        start = self.start
        self.advance()
        self.open("(")
        variable = self.variable()
        self.expect("IN")
        elements = self.expression()
        self.expect("|")
        clauses = self.clauses()
        self.close(")")
        return self._write(start, "FOREACH", variable, elements, *clauses)

    def command(self) -> ast.Clause:
        """Skips a schema or administration command up to the end of the statement."""
        start, first = self.start, self.index
        self.advance()
        if not self.is_word():
            self.unexpected("a pattern or the rest of the command")
        self.advance()
        construct = self.words_since(first)
        while self.kind not in ("end", ";"):
            self.advance()
        writes = not construct.startswith(("SHOW", "TERMINATE"))
        return ast.OtherClause(self.span_since(start), construct, (), writes)

    def _set_item(self) -> list[ast.Node]:
        target = self._target()
        if self.kind in ("=", "+="):
            self.advance()
            return [target, self.expression()]
        if not isinstance(target, ast.LabelPredicate):
            self.unexpected("'=', '+=' or a label")
        return [target]

    def _target(self) -> ast.Expression:
        # Binds tighter than '=', so that 'a.x = 1' is not parsed as a comparison.
        return self.operand()

    def _write(self, start: int, construct: str, *children: ast.Node) -> ast.OtherClause:
        return ast.OtherClause(self.span_since(start), construct, children, writes=True)
