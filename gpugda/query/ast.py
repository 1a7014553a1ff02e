"""The syntax tree of a Cypher query: frozen nodes, each with the span of its text.

The tree covers Cypher's whole reading language, so that what is not supported can be named. It says
what was written, not what it means: names are not resolved and types are not checked here.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.types import Span


@value(frozen=True, slots=True)
class Node:
    """Base of all syntax nodes. ``span`` does not take part in equality: same text, same tree."""

    span: Span = field(compare=False)


# ------------------------------------------------------------------ expressions
class Expression(Node):
    """Anything that has a value."""

    __slots__ = ()


@value(frozen=True, slots=True)
class Literal(Expression):
    """A boolean, integer (64 bit), float, string or null; ``-1`` is one too."""

    value: Any


@value(frozen=True, slots=True)
class Parameter(Expression):
    """``$name``."""

    name: str


@value(frozen=True, slots=True)
class Variable(Expression):
    """A name, without its backticks."""

    name: str


@value(frozen=True, slots=True)
class Property(Expression):
    """``subject.key``."""

    subject: Expression
    key: str


@value(frozen=True, slots=True)
class ListLiteral(Expression):
    """``[a, b]``."""

    items: tuple[Expression, ...]


@value(frozen=True, slots=True)
class MapLiteral(Expression):
    """``{key: value}``, in the order written."""

    entries: tuple[tuple[str, Expression], ...]


class UnaryOperator(StrEnum):
    """Operators with one operand."""

    NOT = "NOT"
    MINUS = "-"
    PLUS = "+"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"


@value(frozen=True, slots=True)
class Unary(Expression):
    """An operator before (or, IS NULL, after) its operand."""

    operator: UnaryOperator
    operand: Expression


class BinaryOperator(StrEnum):
    """Operators with two operands, lowest precedence first."""

    OR = "OR"
    XOR = "XOR"
    AND = "AND"
    IN = "IN"
    STARTS_WITH = "STARTS WITH"
    ENDS_WITH = "ENDS WITH"
    CONTAINS = "CONTAINS"
    MATCHES = "=~"
    CONCATENATE = "||"
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    MODULO = "%"
    POWER = "^"


@value(frozen=True, slots=True)
class Binary(Expression):
    """Two operands and the operator between them."""

    operator: BinaryOperator
    left: Expression
    right: Expression


class ComparisonOperator(StrEnum):
    """Operators that chain: ``1 < a <= 3``."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


@value(frozen=True, slots=True)
class Comparison(Expression):
    """``operands[0] operators[0] operands[1] …``: each neighbouring pair must hold."""

    operands: tuple[Expression, ...]
    operators: tuple[ComparisonOperator, ...]


@value(frozen=True, slots=True)
class LabelPredicate(Expression):
    """``subject:Label&Other``, also ``subject IS Label``."""

    subject: Expression
    labels: LabelExpression


@value(frozen=True, slots=True)
class FunctionCall(Expression):
    """``name(arguments)``; the name as written, namespaces with dots."""

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False


@value(frozen=True, slots=True)
class CountStar(Expression):
    """``count(*)``."""


@value(frozen=True, slots=True)
class PatternExpression(Expression):
    """A pattern where a value stands, as in ``WHERE (a)-->(b)``."""

    pattern: Pattern


@value(frozen=True, slots=True)
class OtherExpression(Expression):
    """A readable expression that nothing here evaluates, by the name a user would call it.

    ``construct`` is one of: ``CASE``, ``list comprehension``, ``pattern comprehension``,
    ``map projection``, ``list subscript``, ``list slice``, ``reduce()``, ``all()``, ``any()``,
    ``none()``, ``single()``, ``EXISTS subquery``, ``COUNT subquery``, ``COLLECT subquery``,
    ``shortestPath()``, ``allShortestPaths()``, ``type predicate``, ``normalization predicate``.
    """

    construct: str
    children: tuple[Node, ...] = ()


# ------------------------------------------------------------------ label expressions
class LabelExpression(Node):
    """What follows a colon: labels of a node, or types of a relationship."""

    __slots__ = ()


@value(frozen=True, slots=True)
class LabelName(LabelExpression):
    """One label or type."""

    name: str


@value(frozen=True, slots=True)
class LabelWildcard(LabelExpression):
    """``%``: at least one label; any type."""


@value(frozen=True, slots=True)
class LabelNot(LabelExpression):
    """``!operand``."""

    operand: LabelExpression


@value(frozen=True, slots=True)
class LabelAnd(LabelExpression):
    """``a&b``; ``:a:b`` is one too, with ``colon`` set (Cypher does not let the two mix)."""

    operands: tuple[LabelExpression, ...]
    colon: bool = False


@value(frozen=True, slots=True)
class LabelOr(LabelExpression):
    """``a|b``."""

    operands: tuple[LabelExpression, ...]


@value(frozen=True, slots=True)
class LabelDynamic(LabelExpression):
    """``$(expression)``, ``$any(…)``, ``$all(…)``."""

    expression: Expression


# ------------------------------------------------------------------ patterns
class Direction(StrEnum):
    """Which way a relationship pattern points, read from left to right."""

    OUTGOING = "->"
    INCOMING = "<-"
    BOTH = "-"


@value(frozen=True, slots=True)
class NodePattern(Node):
    """``(variable:labels {properties} WHERE where)``."""

    variable: Variable | None
    labels: LabelExpression | None
    properties: MapLiteral | Parameter | None
    where: Expression | None


@value(frozen=True, slots=True)
class Length(Node):
    """``*``, ``*2``, ``*1..3``: bounds as written, None where left open."""

    minimum: int | None
    maximum: int | None


@value(frozen=True, slots=True)
class RelationshipPattern(Node):
    """``-[variable:types *length {properties} WHERE where]->``.

    ``quantifier`` is set for the short form of a quantified path, ``-[:R]->+``.
    """

    variable: Variable | None
    types: LabelExpression | None
    direction: Direction
    length: Length | None
    properties: MapLiteral | Parameter | None
    where: Expression | None
    quantifier: Span | None = None


@value(frozen=True, slots=True)
class GroupPattern(Node):
    """A parenthesised path, quantified or not: ``((a)-->(b)){2}``."""

    pattern: Pattern
    where: Expression | None
    quantified: bool


PatternElement = NodePattern | RelationshipPattern | GroupPattern


@value(frozen=True, slots=True)
class Pattern(Node):
    """One path: nodes and relationships in turn, beginning and ending with a node (or a group).

    ``selector`` is the text's ``shortestPath``, ``ALL SHORTEST``, ``SHORTEST 3`` … or None.
    """

    variable: Variable | None
    elements: tuple[PatternElement, ...]
    selector: str | None = None
    selector_span: Span | None = None


# ------------------------------------------------------------------ clauses
class Clause(Node):
    """One clause of a query."""

    __slots__ = ()


@value(frozen=True, slots=True)
class Match(Clause):
    """``[OPTIONAL] MATCH [mode] patterns [hints] [WHERE where]``.

    ``mode`` is the text of a match mode (``REPEATABLE ELEMENTS``, ``DIFFERENT RELATIONSHIPS``).
    Hints say how to run a query, never what it means.
    """

    optional: bool
    patterns: tuple[Pattern, ...]
    where: Expression | None
    mode: str | None = None
    mode_span: Span | None = None
    hints: tuple[Span, ...] = ()


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
class Projection(Node):
    """The body that RETURN and WITH share. ``star`` is ``*``, which stands before the items."""

    distinct: bool
    star: bool
    items: tuple[ReturnItem, ...]
    order_by: tuple[SortItem, ...]
    skip: Expression | None
    limit: Expression | None


@value(frozen=True, slots=True)
class Return(Clause):
    """``RETURN projection``."""

    projection: Projection


@value(frozen=True, slots=True)
class OtherClause(Clause):
    """A clause that is read and named, but not answered here.

    ``construct`` is its keyword as a user would write it: ``WITH``, ``UNWIND``, ``CALL subquery``,
    ``CALL procedure``, ``CREATE``, ``MERGE``, ``SET``, ``DELETE``, ``DETACH DELETE``, ``REMOVE``,
    ``FOREACH``, ``LOAD CSV``, ``USE``, ``FINISH``, ``FILTER``, ``LET``, ``FOR``, ``INSERT``,
    ``ORDER BY``, ``LIMIT``, ``SKIP``, ``OFFSET``, ``WHEN``, ``NEXT``, ``query in braces``, a schema
    or administration command by its first two words (``CREATE INDEX``, ``SHOW USERS``).
    """

    construct: str
    children: tuple[Node, ...] = ()
    writes: bool = False


# ------------------------------------------------------------------ the query
@value(frozen=True, slots=True)
class SingleQuery(Node):
    """Clauses in the order written."""

    clauses: tuple[Clause, ...]


@value(frozen=True, slots=True)
class Query(Node):
    """The whole text.

    ``parts`` are joined by UNION (``unions[i]`` is the span of the keyword between parts i and
    i+1). ``version`` is 5 or 25 where the text has a ``CYPHER`` prefix with one, else None;
    ``options`` are the prefix's other options as written; ``mode`` is ``EXPLAIN``, ``PROFILE``
    or None.
    """

    text: str
    parts: tuple[SingleQuery, ...]
    unions: tuple[Span, ...] = ()
    version: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    mode: str | None = None
