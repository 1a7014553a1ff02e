"""Parses reading clauses and nested queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.query import ast
from gpugda.query.clause_checks import check_label_spellings, check_order
from gpugda.query.keywords import COMMANDS
from gpugda.query.parse_cypher_25 import Cypher25Parser
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ClauseParser"]

_PATTERN_STARTS: Final = frozenset(("(", "ANY", "ALL", "SHORTEST", "REPEATABLE", "DIFFERENT"))
_QUERY_ENDS: Final = frozenset(("end", ";", "}", "UNION", "WHEN", "ELSE", "NEXT"))
_SHORTEST: Final = frozenset(("SHORTESTPATH", "ALLSHORTESTPATHS"))

Union = tuple[tuple[ast.SingleQuery, ...], tuple[Span, ...], bool]


class ClauseParser(Cypher25Parser):
    """Parses whole queries, without prefixes and the end of the statement."""

    __slots__ = ()

    def union(self, *, may_lack_return: bool = False) -> Union:
        """Parses a query: its parts, the spans of UNION between them, and True for UNION ALL.

        With NEXT the result is one part of several clauses, in which each UNION is in braces.
        """
        start = self.start
        found = self._joined(may_lack_return=may_lack_return)
        if self.kind != "NEXT":
            return found
        clauses = self._as_clauses(start, found)
        while self.kind == "NEXT":
            clauses.append(self.next())
            begin = self.start
            following = self._joined(may_lack_return=may_lack_return)
            clauses += self._as_clauses(begin, following)
        return (ast.SingleQuery(self.span_since(start), tuple(clauses)),), (), False

    def _as_clauses(self, start: int, found: Union) -> list[ast.Clause]:
        if len(found[0]) == 1:
            return list(found[0][0].clauses)
        span = self.span_since(start)
        return [ast.Braces(span, ast.QueryBody(span, *found))]

    def _joined(self, *, may_lack_return: bool) -> Union:
        parts, unions = [self.single_query(may_lack_return=may_lack_return)], []
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
            parts.append(self.single_query(may_lack_return=may_lack_return))
        return tuple(parts), tuple(unions), True in kinds

    def single_query(self, *, may_lack_return: bool = False) -> ast.SingleQuery:
        """Parses clauses and checks their order."""
        start = self.start
        clauses = self.clauses()
        if self.kind not in _QUERY_ENDS:
            self._refuse_stray_token()
        query = ast.SingleQuery(self.span_since(start), clauses)
        check_order(query, self.text, may_lack_return=may_lack_return)
        return query

    def clauses(self) -> tuple[ast.Clause, ...]:
        """Parses clauses up to the first token that begins none."""
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
            self.fail("WHERE belongs to a MATCH or WITH, and occurs there once: join with AND")
        self.unexpected("a clause or the end of the query")

    def subquery(self, construct: str) -> ast.QueryBody:
        """Parses the braces of an EXISTS, COUNT or COLLECT subquery."""
        self.open("{")
        if construct != "COLLECT" and self._patterns_follow():
            match = self.match_body(self.start, optional=False)
            part = ast.SingleQuery(match.span, (match,))
            body = ast.QueryBody(match.span, (part,))
        else:
            # EXISTS and COUNT only need the number of rows, so RETURN is optional.
            body = self.body(may_lack_return=construct != "COLLECT")
            self._refuse_writes(construct, body.parts)
        self.close("}")
        return body

    def body(self, *, may_lack_return: bool = False) -> ast.QueryBody:
        """Parses a nested query."""
        start = self.start
        parts, unions, union_all = self.union(may_lack_return=may_lack_return)
        return ast.QueryBody(self.span_since(start), parts, unions, union_all)

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
        """Parses ``RETURN projection``."""
        start = self.start
        self.advance()
        projection = self.projection()
        if self.kind == "WHERE":
            self.fail("WHERE comes before RETURN: it belongs to a MATCH or WITH")
        return ast.Return(self.span_since(start), projection)

    def with_(self) -> ast.Clause:
        """Parses ``WITH projection [WHERE …]``."""
        start = self.start
        self.advance()
        projection = self.projection()
        for item in projection.items:
            if item.alias is None and not isinstance(item.expression, ast.Variable):
                self.fail("an expression in WITH needs a name: add AS and a name", item.span)
        where = self.expression() if self.accept("WHERE") else None
        return ast.With(self.span_since(start), projection, where)

    def order_skip_limit(self) -> ast.Clause:
        """Parses ORDER BY, SKIP and LIMIT as a clause of its own."""
        start = self.start
        order_by, skip, limit = self.order_by(), self.skip(), self.limit()
        return ast.OrderSkipLimit(self.span_since(start), order_by, skip, limit)

    def finish(self) -> ast.Clause:
        """Parses FINISH."""
        start = self.start
        self.advance()
        return ast.Finish(self.span_since(start))

    # -------------------------------------------------------------- rows from other sources
    def unwind(self) -> ast.Clause:
        """Parses ``UNWIND list AS x``."""
        start = self.start
        self.advance()
        elements = self.expression()
        self.expect("AS", " and a name")
        variable = self.variable()
        return ast.Unwind(self.span_since(start), elements, variable)

    def load_csv(self) -> ast.Clause:
        """Parses ``LOAD CSV [WITH HEADERS] FROM url AS row [FIELDTERMINATOR ';']``."""
        start = self.start
        self.advance()
        self.expect("CSV", " after LOAD")
        headers = self.accept("WITH")
        if headers:
            self.expect("HEADERS")
        self.expect("FROM")
        url = self.expression()
        self.expect("AS", " and a name")
        variable = self.variable()
        terminator = self._terminator() if self.accept("FIELDTERMINATOR") else None
        return ast.LoadCsv(self.span_since(start), url, variable, headers, terminator)

    def _terminator(self) -> ast.Literal:
        terminator = self.atom() if self.kind == "string" else None
        if not isinstance(terminator, ast.Literal):
            self.unexpected("a string after FIELDTERMINATOR")
        return terminator

    def use(self) -> ast.Clause:
        """Parses ``USE graph``."""
        start = self.start
        self.advance()
        if self.kind == "GRAPH" and self.is_word_ahead(1):
            self.advance()
        graph = self.operand()
        return ast.Use(self.span_since(start), graph)

    def optional(self) -> ast.Clause:
        """Parses ``OPTIONAL MATCH …`` or ``OPTIONAL CALL …``."""
        start = self.start
        self.advance()
        if self.kind == "CALL":
            return self.call(start)
        if not self.accept("MATCH"):
            self.unexpected("MATCH or CALL after OPTIONAL")
        return self.match_body(start, optional=True)

    def periodic_commit(self) -> ast.Clause:
        """Rejects the former ``USING PERIODIC COMMIT``."""
        self.fail("USING PERIODIC COMMIT was removed: write CALL (row) { … } IN TRANSACTIONS")


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
    "WHEN": ClauseParser.when,
    "{": ClauseParser.braces,
    "USING": ClauseParser.periodic_commit,
    **dict.fromkeys(COMMANDS, ClauseParser.command),
}
