"""Syntax nodes of clauses and queries.

More than 300 lines: a class for each clause, mostly docstrings.
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
    Hints affect how a query runs, never its result.
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
        """True if several pattern relationships may match the same relationship."""
        return self.mode is not None and self.mode.startswith("REPEATABLE")


# ------------------------------------------------------------------ projections
@value(frozen=True, slots=True)
class ReturnItem(Node):
    """``expression [AS alias]``; ``name`` is the column's name.

    The name is the alias, else the variable's name for a variable or a map projection of one, else
    the text of the expression as written.
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
    """The common body of RETURN and WITH. ``star`` is ``*``, which precedes the items."""

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
    """``FINISH``: the query returns no rows."""


@value(frozen=True, slots=True)
class OrderSkipLimit(Clause):
    """ORDER BY, SKIP (or OFFSET) and LIMIT as their own clause (Cypher 25); at least one is set."""

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
    """``IN n CONCURRENT TRANSACTIONS OF …``; only its presence is kept: the subquery writes."""


@value(frozen=True, slots=True)
class CallSubquery(Clause):
    """``[OPTIONAL] CALL (imports) { query }``.

    ``imports`` is None in the older form without parentheses, where a leading WITH of the query
    imports; empty for ``()``. ``imports_all`` is set for ``(*)``, where ``imports`` is empty.
    """

    query: QueryBody
    imports: tuple[Variable, ...] | None
    imports_all: bool = False
    optional: bool = False
    transactions: Transactions | None = None


@value(frozen=True, slots=True)
class YieldItem(Node):
    """``column [AS variable]``; without AS, the variable has the column's name."""

    column: str
    variable: Variable


@value(frozen=True, slots=True)
class CallProcedure(Clause):
    """``[OPTIONAL] CALL name(arguments) [YIELD items [WHERE where]]``.

    ``arguments`` is None without parentheses, ``items`` None without YIELD; ``yields_all`` is
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
    """``WHEN … THEN … [ELSE otherwise]``: runs the first branch whose condition is true."""

    branches: tuple[WhenBranch, ...]
    otherwise: QueryBody | None


@value(frozen=True, slots=True)
class Braces(Clause):
    """``{ query }``, alone or next to NEXT."""

    query: QueryBody


@value(frozen=True, slots=True)
class Next(Clause):
    """``NEXT``: the following clauses continue with the returned rows.

    NEXT binds less tightly than UNION: queries joined by UNION next to it are in `Braces`.
    """


@value(frozen=True, slots=True)
class OtherClause(Clause):
    """A clause or command that writes or administers; it is named, but not fully parsed.

    ``construct`` is its keyword as a user would write it: ``CREATE``, ``MERGE``, ``SET``,
    ``DELETE``, ``DETACH DELETE``, ``REMOVE``, ``FOREACH``, ``INSERT``, or the first two words of a
    schema or administration command (``CREATE INDEX``, ``SHOW USERS``).
    """

    construct: str
    children: tuple[Node, ...] = ()
    writes: bool = False


# ------------------------------------------------------------------ the query
@value(frozen=True, slots=True)
class Query(Node):
    """The whole text.

    ``parts`` are joined by UNION: ``unions[i]`` is the span of the keyword between parts i and
    i+1, and ``union_all`` is True if all of them are UNION ALL, which cannot be mixed with UNION.
    ``version`` is 5 or 25 if the text has a ``CYPHER`` prefix with a version, else None;
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
        """The query without its prefixes, as it would be written in braces."""
        return QueryBody(self.span, self.parts, self.unions, self.union_all)
