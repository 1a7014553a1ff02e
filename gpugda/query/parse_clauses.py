"""Clauses that read, and queries inside queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.query import ast
from gpugda.query.clause_checks import check_label_spellings, check_order
from gpugda.query.keywords import COMMANDS
from gpugda.query.parse_writes import WriteParser
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ClauseParser"]

_PATTERN_STARTS: Final = frozenset(("(", "ANY", "ALL", "SHORTEST", "REPEATABLE", "DIFFERENT"))
_QUERY_ENDS: Final = frozenset(("end", ";", "}", "UNION", "WHEN", "ELSE"))
_SHORTEST: Final = frozenset(("SHORTESTPATH", "ALLSHORTESTPATHS"))

Union = tuple[tuple[ast.SingleQuery, ...], tuple[Span, ...], bool]


class ClauseParser(WriteParser):
    """Reads whole queries, except for what stands before and after them."""

    __slots__ = ()

    def union(self, *, may_end_anyhow: bool = False) -> Union:
        """Reads queries joined by UNION, where each UNION stands, and whether it is UNION ALL."""
        parts, unions = [self.single_query(may_end_anyhow=may_end_anyhow)], []
        kinds = set()
        while self.kind == "UNION":
            start = self.start
            self.advance()
            kinds.add(self.kind == "ALL")
            if self.kind in ("ALL", "DISTINCT"):
                self.advance()
            unions.append(self.span_since(start))
            if len(kinds) > 1:
                self.fail("UNION and UNION ALL cannot be combined in one query", unions[-1])
            parts.append(self.single_query(may_end_anyhow=may_end_anyhow))
        return tuple(parts), tuple(unions), True in kinds

    def single_query(self, *, may_end_anyhow: bool = False) -> ast.SingleQuery:
        """Reads clauses and checks that they may stand in this order."""
        start = self.start
        clauses = self.clauses()
        if self.kind not in _QUERY_ENDS:
            self._refuse_stray_token()
        query = ast.SingleQuery(self.span_since(start), clauses)
        check_order(query, self.text, may_end_anyhow=may_end_anyhow)
        return query

    def clauses(self) -> tuple[ast.Clause, ...]:
        """Reads clauses up to what is none."""
        clauses: list[ast.Clause] = []
        while (read := _CLAUSES.get(self.kind)) is not None:
            if clauses and (self.kind in COMMANDS or self.kind == "WHEN"):
                break
            clauses.append(read(self))
            if self.colon_labels:
                check_label_spellings(clauses[-1], self.text, self.is_labels)
        if not clauses:
            self.unexpected("a clause such as MATCH, WITH or RETURN")
        return tuple(clauses)

    def _refuse_stray_token(self) -> NoReturn:
        if self.kind == "WHERE":
            self.fail("WHERE belongs to a MATCH or WITH, and stands there once: join with AND")
        self.unexpected("a clause or the end of the query")

    def subquery(self, construct: str) -> tuple[ast.Node, ...]:
        """Reads the braces of an EXISTS, COUNT or COLLECT subquery."""
        self.open("{")
        children: tuple[ast.Match, ...] | tuple[ast.SingleQuery, ...]
        if construct != "COLLECT" and self._patterns_follow():
            children = (self.match_body(self.start, optional=False),)
        else:
            # EXISTS and COUNT ask how many rows there are, so their queries need no RETURN.
            children, *_ = self.union(may_end_anyhow=construct != "COLLECT")
            self._refuse_writes(construct, children)
        self.close("}")
        return children

    def _refuse_writes(self, construct: str, parts: tuple[ast.SingleQuery, ...]) -> None:
        for clause in (clause for part in parts for clause in part.clauses):
            if isinstance(clause, ast.OtherClause) and clause.writes:
                message = f"{clause.construct} cannot stand in {construct} {{ … }}: it writes"
                self.fail(message, clause.span)

    def _patterns_follow(self) -> bool:
        if self.kind in _PATTERN_STARTS or (self.kind in _SHORTEST and self.ahead() == "("):
            return True
        return self.is_word() and self.ahead() == "="

    # -------------------------------------------------------------- projections
    def returning(self) -> ast.Clause:
        """Reads ``RETURN projection``."""
        start = self.start
        self.advance()
        projection = self.projection()
        if self.kind == "WHERE":
            self.fail("WHERE stands before RETURN: it belongs to a MATCH or WITH")
        return ast.Return(self.span_since(start), projection)

    def with_(self) -> ast.Clause:
        """Reads ``WITH projection [WHERE …]``."""
        start = self.start
        self.advance()
        children: list[ast.Node] = [self.projection()]
        for item in children[0].items if isinstance(children[0], ast.Projection) else ():
            if item.alias is None and not isinstance(item.expression, ast.Variable):
                self.fail("an expression in WITH needs a name: add AS and a name", item.span)
        if self.accept("WHERE"):
            children.append(self.expression())
        return self._other(start, "WITH", *children)

    def order_skip_limit(self) -> ast.Clause:
        """Reads ORDER BY, SKIP and LIMIT as a clause of their own."""
        start = self.start
        construct = "ORDER BY" if self.kind == "ORDER" else self.kind
        children: list[ast.Node | None] = [*self.order_by(), self.skip(), self.limit()]
        return self._other(start, construct, *[child for child in children if child is not None])

    def finish(self) -> ast.Clause:
        """Reads FINISH."""
        start = self.start
        self.advance()
        return self._other(start, "FINISH")

    # -------------------------------------------------------------- rows from elsewhere
    def unwind(self) -> ast.Clause:
        """Reads ``UNWIND list AS x``."""
        start = self.start
        self.advance()
        elements = self.expression()
        self.expect("AS", " and a name")
        return self._other(start, "UNWIND", elements, self.variable())

    def load_csv(self) -> ast.Clause:
        """Reads ``LOAD CSV [WITH HEADERS] FROM url AS row [FIELDTERMINATOR ';']``."""
        start = self.start
        self.advance()
        self.expect("CSV", " after LOAD")
        if self.accept("WITH"):
            self.expect("HEADERS")
        self.expect("FROM")
        url = self.expression()
        self.expect("AS", " and a name")
        children = [url, self.variable()]
        if self.accept("FIELDTERMINATOR"):
            children.append(self.atom() if self.kind == "string" else self._no_terminator())
        return self._other(start, "LOAD CSV", *children)

    def _no_terminator(self) -> ast.Expression:
        self.unexpected("a string after FIELDTERMINATOR")

    def let(self) -> ast.Clause:
        """Reads ``LET x = value, y = value``."""
        start = self.start
        children: list[ast.Node] = []
        while not children or self.kind == ",":
            self.advance()
            children.append(self.variable())
            self.expect("=")
            children.append(self.expression())
        return self._other(start, "LET", *children)

    def filter(self) -> ast.Clause:
        """Reads ``FILTER [WHERE] predicate``."""
        start = self.start
        self.advance()
        if self.kind == "WHERE" and self.begins_value():
            self.advance()
        return self._other(start, "FILTER", self.expression())

    def for_(self) -> ast.Clause:
        """Reads ``FOR x IN list``."""
        start = self.start
        self.advance()
        variable = self.variable()
        self.expect("IN")
        return self._other(start, "FOR", variable, self.expression())

    def use(self) -> ast.Clause:
        """Reads ``USE graph``."""
        start = self.start
        self.advance()
        if self.kind == "GRAPH" and self.is_word_ahead(1):
            self.advance()
        return self._other(start, "USE", self.operand())

    def optional(self) -> ast.Clause:
        """Reads ``OPTIONAL MATCH …`` or ``OPTIONAL CALL …``."""
        start = self.start
        self.advance()
        if self.kind == "CALL":
            return self.call(start)
        if not self.accept("MATCH"):
            self.unexpected("MATCH or CALL after OPTIONAL")
        return self.match_body(start, optional=True)

    # -------------------------------------------------------------- CALL
    def call(self, start: int | None = None) -> ast.Clause:
        """Reads a call of a procedure, or ``CALL (x) {subquery} IN TRANSACTIONS …``."""
        start = self.start if start is None else start
        self.advance()
        if self.kind not in ("{", "("):
            return self._procedure(start)
        children: list[ast.Node] = []
        if self.kind == "(":
            children.extend(self._scope())
        self.open("{")
        parts, *_ = self.union()
        self.close("}")
        if self.kind == "IN":
            children.extend(self._transactions())
        return self._other(start, "CALL subquery", *children, *parts)

    def _scope(self) -> list[ast.Node]:
        names: list[ast.Node] = []
        self.expect("(")
        if not self.accept("*") and self.kind != ")":
            names.append(self.variable())
            while self.accept(","):
                names.append(self.variable())
        self.expect(")")
        return names

    def _transactions(self) -> list[ast.Node]:
        children: list[ast.Node] = []
        self.expect("IN")
        if not self._at_transactions():
            if self.kind != "CONCURRENT":
                children.append(self.expression())
            self.expect("CONCURRENT")
        if not self._at_transactions():
            self.unexpected("TRANSACTIONS")
        self.advance()
        while self.kind in ("OF", "ON", "REPORT"):
            children.extend(self._transaction_option())
        return children

    def _at_transactions(self) -> bool:
        return self.kind in ("TRANSACTIONS", "TRANSACTION")

    def _transaction_option(self) -> list[ast.Node]:
        kind = self.advance()[0]
        if kind == "REPORT":
            self.expect("STATUS")
            self.expect("AS")
            return [self.variable()]
        if kind == "OF":
            rows = self.expression()
            if not self.accept("ROW"):
                self.expect("ROWS")
            return [rows]
        self.expect("ERROR", " after ON")
        if self.accept("RETRY"):
            return self._retry()
        if self.kind not in ("CONTINUE", "BREAK", "FAIL"):
            self.unexpected("CONTINUE, BREAK or FAIL")
        self.advance()
        return []

    def _retry(self) -> list[ast.Node]:
        children: list[ast.Node] = []
        if self.accept("FOR"):
            children.append(self.expression())
            if self.kind in ("SEC", "SECOND", "SECONDS"):
                self.advance()
        if self.accept("THEN") and self.kind in ("CONTINUE", "BREAK", "FAIL"):
            self.advance()
        return children

    def _procedure(self, start: int) -> ast.Clause:
        self.expect_name("a procedure's name, '{' or '('")
        while self.accept("."):
            self.expect_name("a procedure's name")
        arguments: tuple[ast.Expression, ...] = ()
        if self.kind == "(":
            self.open("(")
            arguments = self.expressions_until(")")
            self.close(")")
        children: list[ast.Node] = [*arguments]
        if self.accept("YIELD"):
            children.extend(self._yield())
        return self._other(start, "CALL procedure", *children)

    def _yield(self) -> list[ast.Node]:
        if self.accept("*"):
            return []
        children: list[ast.Node] = [self._yielded()]
        while self.accept(","):
            children.append(self._yielded())
        if self.accept("WHERE"):
            children.append(self.expression())
        return children

    def _yielded(self) -> ast.Variable:
        column = self.variable("a column's name")
        return self.variable() if self.accept("AS") else column

    # -------------------------------------------------------------- Cypher 25
    def next(self) -> ast.Clause:
        """Reads NEXT, after which another query goes on with the rows."""
        start = self.start
        self.advance()
        return self._other(start, "NEXT")

    def when(self) -> ast.Clause:
        """Reads ``WHEN condition THEN query … [ELSE query]``."""
        start = self.start
        children: list[ast.Node] = []
        while self.accept("WHEN"):
            children.append(self.expression())
            self.expect("THEN")
            children.extend(self._branch())
        if self.accept("ELSE"):
            children.extend(self._branch())
        return self._other(start, "WHEN", *children)

    def braces(self) -> ast.Clause:
        """Reads a query in braces."""
        start = self.start
        return self._other(start, "query in braces", *self._branch())

    def _branch(self) -> tuple[ast.SingleQuery, ...]:
        if self.kind != "{":
            return (self.single_query(),)
        self.open("{")
        parts, *_ = self.union()
        self.close("}")
        return parts

    def periodic_commit(self) -> ast.Clause:
        """Refuses the old ``USING PERIODIC COMMIT``."""
        self.fail("USING PERIODIC COMMIT is gone: write CALL (row) { … } IN TRANSACTIONS")

    def _other(self, start: int, construct: str, *children: ast.Node) -> ast.OtherClause:
        return ast.OtherClause(self.span_since(start), construct, children)


_CLAUSES: Final[dict[str, Callable[[ClauseParser], ast.Clause]]] = {
    "MATCH": ClauseParser.match,
    "OPTIONAL": ClauseParser.optional,
    "RETURN": ClauseParser.returning,
    "WITH": ClauseParser.with_,
    "UNWIND": ClauseParser.unwind,
    "CALL": ClauseParser.call,
    "ORDER": ClauseParser.order_skip_limit,
    "SKIP": ClauseParser.order_skip_limit,
    "OFFSET": ClauseParser.order_skip_limit,
    "LIMIT": ClauseParser.order_skip_limit,
    "FINISH": ClauseParser.finish,
    "LOAD": ClauseParser.load_csv,
    "USE": ClauseParser.use,
    "CREATE": ClauseParser.create,
    "INSERT": ClauseParser.insert,
    "MERGE": ClauseParser.merge,
    "SET": ClauseParser.set,
    "REMOVE": ClauseParser.remove,
    "DELETE": ClauseParser.delete,
    "DETACH": ClauseParser.delete,
    "NODETACH": ClauseParser.delete,
    "FOREACH": ClauseParser.foreach,
    "LET": ClauseParser.let,
    "FILTER": ClauseParser.filter,
    "FOR": ClauseParser.for_,
    "NEXT": ClauseParser.next,
    "WHEN": ClauseParser.when,
    "{": ClauseParser.braces,
    "USING": ClauseParser.periodic_commit,
    **dict.fromkeys(COMMANDS, ClauseParser.command),
}
