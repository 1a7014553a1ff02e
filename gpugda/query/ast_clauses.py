"""Syntax nodes of clauses and queries.

More than 300 lines: a class for each clause, mostly their descriptions.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from gpugda.query.ast_base import Clause, Node, QueryBody
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.query.ast_base import Expression, SingleQuery
    from gpugda.query.ast_patterns import Pattern
    from gpugda.query.ast_values import Literal, Variable
    from gpugda.types import Span

__all__ = [
    "Braces",
    "CallProcedure",
    "CallSubquery",
    "Filter",
    "Finish",
    "GroupBy",
    "Hint",
    "Let",
    "LetItem",
    "LoadCsv",
    "Match",
    "Next",
    "OrderSkipLimit",
    "OtherClause",
    "Projection",
    "Query",
    "Return",
    "ReturnItem",
    "SortItem",
    "Transactions",
    "Unwind",
    "Use",
    "When",
    "WhenBranch",
    "With",
    "YieldItem",
]


# ------------------------------------------------------------------ MATCH
@value(frozen=True, slots=True)
class Hint(Node):
    """``USING INDEX a:Label(key)``, ``USING SCAN a:Label`` or ``USING JOIN ON a, b``.

    ``kind`` is the text from USING up to the names: ``RANGE INDEX SEEK``, ``SCAN``, ``JOIN ON``.
    Hints say how to run a query, never what it means.
    """

    kind: str
    variables: tuple[Variable, ...]
    label: str | None = None
    keys: tuple[str, ...] = ()


@value(frozen=True, slots=True)
class Match(Clause):
    """``[OPTIONAL] MATCH [mode] patterns [hints] [WHERE where]``.

    ``mode`` is the text of a match mode (``REPEATABLE ELEMENTS``, ``DIFFERENT RELATIONSHIPS``).
    """

    optional: bool
    patterns: tuple[Pattern, ...]
    where: Expression | None
    mode: str | None = None
    mode_span: Span | None = field(default=None, compare=False)
    hints: tuple[Hint, ...] = ()

    @property
    def repeats_relationships(self) -> bool:
        """Whether one relationship may stand for several of the patterns."""
        return self.mode is not None and self.mode.startswith("REPEATABLE")


# ------------------------------------------------------------------ projections
@value(frozen=True, slots=True)
class ReturnItem(Node):
    """``expression [AS alias]``; ``name`` is the column's name.

    That is the alias, else of a variable (or a map projection of one) the variable's name, else the
    text of the expression as written.
    """

    expression: Expression
    alias: str | None
    name: str


@value(frozen=True, slots=True)
class SortItem(Node):
    """``expression [DESC]``."""

    expression: Expression
    descending: bool


@value(frozen=True, slots=True)
class GroupBy(Node):
    """``GROUP BY keys``, ``GROUP BY ALL``, ``GROUP BY ()`` without keys (Cypher 25)."""

    keys: tuple[Expression, ...]
    all: bool = False


@value(frozen=True, slots=True)
class Projection(Node):
    """The body that RETURN and WITH share. ``star`` is ``*``, which stands before the items."""

    distinct: bool
    star: bool
    items: tuple[ReturnItem, ...]
    order_by: tuple[SortItem, ...]
    skip: Expression | None
    limit: Expression | None
    group_by: GroupBy | None = None


@value(frozen=True, slots=True)
class Return(Clause):
    """``RETURN projection``."""

    projection: Projection


@value(frozen=True, slots=True)
class With(Clause):
    """``WITH projection [WHERE where]``."""

    projection: Projection
    where: Expression | None = None


@value(frozen=True, slots=True)
class Finish(Clause):
    """``FINISH``: the query gives no rows."""


@value(frozen=True, slots=True)
class OrderSkipLimit(Clause):
    """ORDER BY, SKIP (or OFFSET) and LIMIT as a clause of their own (Cypher 25); one is there."""

    order_by: tuple[SortItem, ...]
    skip: Expression | None
    limit: Expression | None


# ------------------------------------------------------------------ rows and values
@value(frozen=True, slots=True)
class Unwind(Clause):
    """``UNWIND elements AS variable``; with ``is_for`` written ``FOR variable IN elements``."""

    elements: Expression
    variable: Variable
    is_for: bool = False


@value(frozen=True, slots=True)
class LetItem(Node):
    """``variable = expression``."""

    variable: Variable
    expression: Expression


@value(frozen=True, slots=True)
class Let(Clause):
    """``LET x = 1, y = x`` (Cypher 25)."""

    items: tuple[LetItem, ...]


@value(frozen=True, slots=True)
class Filter(Clause):
    """``FILTER [WHERE] predicate`` (Cypher 25)."""

    predicate: Expression


@value(frozen=True, slots=True)
class Use(Clause):
    """``USE graph``: a name (a Variable, or a Property of one) or a call of ``graph.byName``."""

    graph: Expression


@value(frozen=True, slots=True)
class LoadCsv(Clause):
    """``LOAD CSV [WITH HEADERS] FROM url AS variable [FIELDTERMINATOR terminator]``."""

    url: Expression
    variable: Variable
    headers: bool = False
    terminator: Literal | None = None


# ------------------------------------------------------------------ CALL
@value(frozen=True, slots=True)
class Transactions(Node):
    """``IN n CONCURRENT TRANSACTIONS OF …``; a subquery with this writes, so no more is kept."""


@value(frozen=True, slots=True)
class CallSubquery(Clause):
    """``[OPTIONAL] CALL (imports) { query }``.

    ``imports`` is None in the old form without round brackets, where a WITH that begins the query
    imports; empty for ``()``. ``imports_all`` is set for ``(*)``, where ``imports`` is empty.
    """

    query: QueryBody
    imports: tuple[Variable, ...] | None
    imports_all: bool = False
    optional: bool = False
    transactions: Transactions | None = None


@value(frozen=True, slots=True)
class YieldItem(Node):
    """``column [AS variable]``; without AS the variable has the column's name."""

    column: str
    variable: Variable


@value(frozen=True, slots=True)
class CallProcedure(Clause):
    """``[OPTIONAL] CALL name(arguments) [YIELD items [WHERE where]]``.

    ``arguments`` is None without brackets, ``items`` None without YIELD; ``yields_all`` is
    ``YIELD *``.
    """

    name: str
    arguments: tuple[Expression, ...] | None
    items: tuple[YieldItem, ...] | None = None
    yields_all: bool = False
    where: Expression | None = None
    optional: bool = False


# ------------------------------------------------------------------ queries as clauses (Cypher 25)
@value(frozen=True, slots=True)
class WhenBranch(Node):
    """``WHEN condition THEN query``."""

    condition: Expression
    query: QueryBody


@value(frozen=True, slots=True)
class When(Clause):
    """``WHEN … THEN … [ELSE otherwise]``: the first branch whose condition holds is run."""

    branches: tuple[WhenBranch, ...]
    otherwise: QueryBody | None


@value(frozen=True, slots=True)
class Braces(Clause):
    """``{ query }``, alone or beside NEXT."""

    query: QueryBody


@value(frozen=True, slots=True)
class Next(Clause):
    """``NEXT``: what follows goes on with the rows that were returned before it.

    NEXT binds less tightly than UNION: queries joined by UNION beside it stand in `Braces`.
    """


@value(frozen=True, slots=True)
class OtherClause(Clause):
    """A clause or command that writes or administers: named, but no part of the reading language.

    ``construct`` is its keyword as a user would write it: ``CREATE``, ``MERGE``, ``SET``,
    ``DELETE``, ``DETACH DELETE``, ``REMOVE``, ``FOREACH``, ``INSERT``, a schema or administration
    command by its first two words (``CREATE INDEX``, ``SHOW USERS``).
    """

    construct: str
    children: tuple[Node, ...] = ()
    writes: bool = False


# ------------------------------------------------------------------ the query
@value(frozen=True, slots=True)
class Query(Node):
    """The whole text.

    ``parts`` are joined by UNION (``unions[i]`` is the span of the keyword between parts i and
    i+1; ``union_all`` tells whether all of them are UNION ALL, which does not mix with UNION).
    ``version`` is 5 or 25 where the text has a ``CYPHER`` prefix with one, else None;
    ``options`` are the prefix's other options as written; ``mode`` is ``EXPLAIN``, ``PROFILE``
    or None.
    """

    text: str
    parts: tuple[SingleQuery, ...]
    unions: tuple[Span, ...] = field(default=(), compare=False)
    version: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    mode: str | None = None
    union_all: bool = False

    @property
    def body(self) -> QueryBody:
        """The query without its prefixes, as it would stand in braces."""
        return QueryBody(self.span, self.parts, self.unions, self.union_all)
