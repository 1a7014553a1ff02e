"""Parses CALL of subqueries and procedures."""

from __future__ import annotations

from abc import abstractmethod

from gpugda.query import ast
from gpugda.query.parse_writes import WriteParser

__all__ = ["CallParser"]

_Imports = tuple[tuple[ast.Variable, ...], bool]


class CallParser(WriteParser):
    """Parses ``CALL (x) { … }`` and ``CALL procedure() YIELD x``."""

    __slots__ = ()

    @abstractmethod
    def body(self, *, may_lack_return: bool = False) -> ast.QueryBody:
        """Parses a nested query."""

    def call(self, start: int | None = None) -> ast.Clause:
        """Parses a call of a procedure or of a subquery.

        Args:
            start: Start of the clause if it begins before CALL, with OPTIONAL.
        """
        optional = start is not None
        start = self.start if start is None else start
        self.advance()
        if self.kind not in ("{", "("):
            return self._procedure(start, optional=optional)
        imports, imports_all = self._imports() if self.kind == "(" else (None, False)
        self.open("{")
        body = self.body()
        self.close("}")
        transactions = self._transactions() if self.kind == "IN" else None
        return ast.CallSubquery(
            self.span_since(start), body, imports, imports_all, optional, transactions
        )

    def _imports(self) -> _Imports:
        names: list[ast.Variable] = []
        self.expect("(")
        star = self.accept("*")
        if not star and self.kind != ")":
            names.append(self.variable())
            while self.accept(","):
                names.append(self.variable())
        self.expect(")")
        return tuple(names), star

    # -------------------------------------------------------------- IN TRANSACTIONS
    def _transactions(self) -> ast.Transactions:
        start = self.start
        self.expect("IN")
        if not self._at_transactions():
            if self.kind != "CONCURRENT":
                self.expression()
            self.expect("CONCURRENT")
        if not self._at_transactions():
            self.unexpected("TRANSACTIONS")
        self.advance()
        while self.kind in ("OF", "ON", "REPORT"):
            self._transaction_option()
        return ast.Transactions(self.span_since(start))

    def _at_transactions(self) -> bool:
        return self.kind in ("TRANSACTIONS", "TRANSACTION")

    def _transaction_option(self) -> None:
        kind = self.advance()[0]
        if kind == "REPORT":
            self.expect("STATUS")
            self.expect("AS")
            self.variable()
        elif kind == "OF":
            self.expression()
            if not self.accept("ROW"):
                self.expect("ROWS")
        else:
            self._on_error()

    def _on_error(self) -> None:
        self.expect("ERROR", " after ON")
        if self.accept("RETRY"):
            if self.accept("FOR"):
                self.expression()
                if self.kind in ("SEC", "SECOND", "SECONDS"):
                    self.advance()
            if self.accept("THEN") and self.kind in ("CONTINUE", "BREAK", "FAIL"):
                self.advance()
            return
        if self.kind not in ("CONTINUE", "BREAK", "FAIL"):
            self.unexpected("CONTINUE, BREAK or FAIL")
        self.advance()

    # -------------------------------------------------------------- procedures
    def _procedure(self, start: int, *, optional: bool) -> ast.Clause:
        name = self.expect_name("a procedure's name, '{' or '('")
        while self.accept("."):
            name += "." + self.expect_name("a procedure's name")
        arguments: tuple[ast.Expression, ...] | None = None
        if self.kind == "(":
            self.open("(")
            arguments = self.expressions_until(")")
            self.close(")")
        items, star, where = self._yield() if self.accept("YIELD") else (None, False, None)
        return ast.CallProcedure(
            self.span_since(start), name, arguments, items, star, where, optional
        )

    def _yield(self) -> tuple[tuple[ast.YieldItem, ...], bool, ast.Expression | None]:
        if self.accept("*"):
            return (), True, None
        items = [self._yielded()]
        while self.accept(","):
            items.append(self._yielded())
        where = self.expression() if self.accept("WHERE") else None
        return tuple(items), False, where

    def _yielded(self) -> ast.YieldItem:
        start = self.start
        column = self.variable("a column's name")
        variable = self.variable() if self.accept("AS") else column
        return ast.YieldItem(self.span_since(start), column.name, variable)
