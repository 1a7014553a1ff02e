"""The syntax tree of a Cypher query: frozen nodes, each with its text span.

The tree covers Cypher's whole reading language, so that unsupported constructs can be named. It
represents the syntax only: names are not resolved and types are not checked here.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.types import Span

__all__ = [
    "AllReduce",
    "Binary",
    "BinaryOperator",
    "Braces",
    "CallProcedure",
    "CallSubquery",
    "Case",
    "CaseAlternative",
    "CaseOperand",
    "Clause",
    "CollectSubquery",
    "Comparison",
    "ComparisonOperator",
    "CountStar",
    "CountSubquery",
    "CypherType",
    "Direction",
    "ExistsSubquery",
    "Expression",
    "Filter",
    "Finish",
    "FunctionCall",
    "GroupBy",
    "GroupPattern",
    "Hint",
    "LabelAnd",
    "LabelDynamic",
    "LabelExpression",
    "LabelName",
    "LabelNot",
    "LabelOr",
    "LabelPredicate",
    "LabelWildcard",
    "Length",
    "Let",
    "LetItem",
    "ListComprehension",
    "ListLiteral",
    "ListPredicate",
    "ListQuantifier",
    "ListType",
    "Literal",
    "LoadCsv",
    "MapAllProperties",
    "MapEntry",
    "MapLiteral",
    "MapProjection",
    "MapProperty",
    "MapSelector",
    "MapVariable",
    "Match",
    "Next",
    "Node",
    "NodePattern",
    "NormalForm",
    "NormalizedPredicate",
    "OrderSkipLimit",
    "OtherClause",
    "Parameter",
    "Pattern",
    "PatternComprehension",
    "PatternElement",
    "PatternExpression",
    "Projection",
    "Property",
    "Quantifier",
    "Query",
    "QueryBody",
    "Reduce",
    "RelationshipPattern",
    "Return",
    "ReturnItem",
    "Selector",
    "SelectorKind",
    "ShortestPathExpression",
    "SimpleType",
    "SingleQuery",
    "Slice",
    "SortItem",
    "Subquery",
    "Subscript",
    "Transactions",
    "Trim",
    "TrimSide",
    "TypePredicate",
    "Unary",
    "UnaryOperator",
    "UnionType",
    "Unwind",
    "Use",
    "Variable",
    "VectorType",
    "When",
    "WhenBranch",
    "With",
    "YieldItem",
]


@value(frozen=True, slots=True)
class Node:
    """Base of all syntax nodes. ``span`` is not part of equality: equal texts give equal trees."""

    span: Span = field(compare=False)


class Expression(Node):
    """A syntax node with a value."""

    __slots__ = ()


class LabelExpression(Node):
    """A label expression: labels of a node, or types of a relationship."""

    __slots__ = ()


class Clause(Node):
    """One clause of a query."""

    __slots__ = ()


@value(frozen=True, slots=True)
class SingleQuery(Node):
    """Clauses in written order."""

    clauses: tuple[Clause, ...]


@value(frozen=True, slots=True)
class QueryBody(Node):
    """A nested query: ``parts`` joined by UNION, see `ast.Query`."""

    parts: tuple[SingleQuery, ...]
    unions: tuple[Span, ...] = field(default=(), compare=False)
    union_all: bool = False


@value(frozen=True, slots=True)
class Literal(Expression):
    """A boolean, integer (64 bit), float, string or null; ``-1`` is a literal, too."""

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
class ListLiteral(Expression):
    """``[a, b]``."""

    items: tuple[Expression, ...]


@value(frozen=True, slots=True)
class MapLiteral(Expression):
    """``{key: value}``, in written order."""

    entries: tuple[tuple[str, Expression], ...]


class CypherType(Node):
    """A value type."""

    __slots__ = ()


@value(frozen=True, slots=True)
class SimpleType(CypherType):
    """A type without parameters.

    ``name`` is Neo4j's preferred spelling (``INTEGER`` for ``INT``, ``SIGNED INTEGER`` and
    ``INT64``; ``ZONED DATETIME`` for ``TIMESTAMP WITH TIME ZONE``): one of ``ANY``,
    ``BOOLEAN``, ``DATE``, ``DURATION``, ``FLOAT``, ``FLOAT32``, ``INTEGER``, ``INTEGER8``,
    ``INTEGER16``, ``INTEGER32``, ``LOCAL DATETIME``, ``LOCAL TIME``, ``MAP``, ``NODE``,
    ``NOTHING``, ``NULL``, ``PATH``, ``POINT``, ``PROPERTY VALUE``, ``RELATIONSHIP``, ``STRING``,
    ``ZONED DATETIME``, ``ZONED TIME``. ``not_null`` is set by ``NOT NULL`` and ``!``.
    """

    name: str
    not_null: bool = False


@value(frozen=True, slots=True)
class ListType(CypherType):
    """``LIST<element>``, ``ARRAY<element>`` or ``element LIST``."""

    element: CypherType
    not_null: bool = False


@value(frozen=True, slots=True)
class VectorType(CypherType):
    """``VECTOR<coordinate>(dimension)`` of Cypher 25; missing parameters are None."""

    coordinate: CypherType | None
    dimension: int | None
    not_null: bool = False


@value(frozen=True, slots=True)
class UnionType(CypherType):
    """``INTEGER | STRING``, also ``ANY<INTEGER | STRING>``."""

    alternatives: tuple[CypherType, ...]


# ------------------------------------------------------------------ label expressions
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
    """``a&b``; also ``:a:b``, with ``colon`` set (Cypher does not allow to mix the two)."""

    operands: tuple[LabelExpression, ...]
    colon: bool = False


@value(frozen=True, slots=True)
class LabelOr(LabelExpression):
    """``a|b``."""

    operands: tuple[LabelExpression, ...]


@value(frozen=True, slots=True)
class LabelDynamic(LabelExpression):
    """``$(expression)`` and ``$all(…)``; ``$any(…)`` with ``any`` set.

    The value is a name or a list of names, all (or any) of which must be present.
    """

    expression: Expression
    any: bool = False


# ------------------------------------------------------------------ elements
class Direction(StrEnum):
    """The direction of a relationship pattern, read from left to right."""

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
    """``*``, ``*2``, ``*1..3``: bounds as written, None for an open one."""

    minimum: int | None
    maximum: int | None

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The effective bounds; the default minimum is 1."""
        return (1 if self.minimum is None else self.minimum), self.maximum


@value(frozen=True, slots=True)
class Quantifier(Node):
    """``{1,3}``, ``{2}``, ``{,3}``, ``+`` (1 or more), ``*`` (0 or more).

    ``maximum`` is None if unbounded.
    """

    minimum: int
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
    quantifier: Quantifier | None = None


@value(frozen=True, slots=True)
class GroupPattern(Node):
    """A parenthesised path: ``((a)-->(b) WHERE where){2}``; ``quantifier`` is None if missing."""

    pattern: Pattern
    where: Expression | None
    quantifier: Quantifier | None

    @property
    def quantified(self) -> bool:
        """True if its variables are lists outside the group."""
        return self.quantifier is not None


PatternElement = NodePattern | RelationshipPattern | GroupPattern


# ------------------------------------------------------------------ paths
class SelectorKind(StrEnum):
    """The selection of matching paths, for each pair of ends."""

    SHORTEST_PATH = "shortestPath"
    ALL_SHORTEST_PATHS = "allShortestPaths"
    ALL = "ALL"
    ANY = "ANY"
    SHORTEST = "SHORTEST"
    SHORTEST_GROUPS = "SHORTEST GROUPS"
    ALL_SHORTEST = "ALL SHORTEST"


@value(frozen=True, slots=True)
class Selector(Node):
    """``shortestPath``, ``SHORTEST 3 PATHS``, ``ANY``, … before a path.

    ``count`` is the number of paths or groups of ANY, SHORTEST and SHORTEST GROUPS, by default 1;
    ``ANY SHORTEST`` is ``SHORTEST 1``. For other kinds it is None. Cypher 25 allows a parameter.
    """

    kind: SelectorKind
    count: int | Parameter | None = None


@value(frozen=True, slots=True)
class Pattern(Node):
    """One path: alternating nodes and relationships, with a node (or a group) at both ends.

    Quantified groups, and unquantified ones with a WHERE, a selector or a name of their own, are
    elements in addition to nodes and relationships.
    """

    variable: Variable | None
    elements: tuple[PatternElement, ...]
    selector: Selector | None = None


# ------------------------------------------------------------------ parts of values
@value(frozen=True, slots=True)
class Property(Expression):
    """``subject.key``."""

    subject: Expression
    key: str


@value(frozen=True, slots=True)
class Subscript(Expression):
    """``subject[index]``: an element of a list, or the value of a key of a map or entity."""

    subject: Expression
    index: Expression


@value(frozen=True, slots=True)
class Slice(Expression):
    """``subject[start..end]``; a missing bound is None, but never both."""

    subject: Expression
    start: Expression | None
    end: Expression | None


# ------------------------------------------------------------------ operators
class UnaryOperator(StrEnum):
    """Operators with one operand."""

    NOT = "NOT"
    MINUS = "-"
    PLUS = "+"
    IS_NULL = "IS NULL"
    IS_NOT_NULL = "IS NOT NULL"


@value(frozen=True, slots=True)
class Unary(Expression):
    """An operator before its operand (or after it: IS NULL)."""

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
    """Two operands with the operator between them."""

    operator: BinaryOperator
    left: Expression
    right: Expression


class ComparisonOperator(StrEnum):
    """Comparison operators, which can be chained: ``1 < a <= 3``."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


@value(frozen=True, slots=True)
class Comparison(Expression):
    """``operands[0] operators[0] operands[1] …``: each adjacent pair must be true."""

    operands: tuple[Expression, ...]
    operators: tuple[ComparisonOperator, ...]


@value(frozen=True, slots=True)
class LabelPredicate(Expression):
    """``subject:Label&Other``, also ``subject IS Label``."""

    subject: Expression
    labels: LabelExpression


@value(frozen=True, slots=True)
class TypePredicate(Expression):
    """``operand IS [NOT] :: type``, also with ``TYPED`` or ``::`` alone."""

    operand: Expression
    type: CypherType
    negated: bool = False


class NormalForm(StrEnum):
    """Unicode normal forms."""

    NFC = "NFC"
    NFD = "NFD"
    NFKC = "NFKC"
    NFKD = "NFKD"


@value(frozen=True, slots=True)
class NormalizedPredicate(Expression):
    """``operand IS [NOT] [form] NORMALIZED``; the default form is NFC."""

    operand: Expression
    form: NormalForm = NormalForm.NFC
    negated: bool = False


# ------------------------------------------------------------------ calls
@value(frozen=True, slots=True)
class FunctionCall(Expression):
    """``name(arguments)``; the name as written, with dots for namespaces.

    A keyword argument, as in ``normalize(text, NFD)`` or at the end of ``vector(values, 3,
    FLOAT32)``, is represented as a string literal.
    """

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False


@value(frozen=True, slots=True)
class CountStar(Expression):
    """``count(*)``."""


class TrimSide(StrEnum):
    """The side from which ``trim()`` removes characters."""

    BOTH = "BOTH"
    LEADING = "LEADING"
    TRAILING = "TRAILING"


@value(frozen=True, slots=True)
class Trim(Expression):
    """``trim(side characters FROM subject)``; without characters it removes spaces.

    ``trim(subject)`` without FROM is a FunctionCall.
    """

    side: TrimSide
    characters: Expression | None
    subject: Expression


# ------------------------------------------------------------------ CASE
@value(frozen=True, slots=True)
class CaseOperand(Expression):
    """The value of ``operand`` in a condition of the nearest enclosing CASE with an operand."""


@value(frozen=True, slots=True)
class CaseAlternative(Node):
    """``WHEN condition, condition THEN result``: the result if one of the conditions is true."""

    conditions: tuple[Expression, ...]
    result: Expression


@value(frozen=True, slots=True)
class Case(Expression):
    """``CASE [operand] WHEN … THEN … [ELSE otherwise] END``.

    All conditions are truth values. With an operand, ``WHEN 1`` is the condition ``CaseOperand =
    1``, and ``WHEN > 1`` (Cypher's extended form) is ``CaseOperand > 1``.
    """

    operand: Expression | None
    alternatives: tuple[CaseAlternative, ...]
    otherwise: Expression | None


# ------------------------------------------------------------------ lists
@value(frozen=True, slots=True)
class ListComprehension(Expression):
    """``[variable IN elements WHERE where | projection]``."""

    variable: Variable
    elements: Expression
    where: Expression | None
    projection: Expression | None


@value(frozen=True, slots=True)
class PatternComprehension(Expression):
    """``[path = (a)-->(b) WHERE where | projection]``; the path's name is the pattern's variable.

    Pattern variables that are not bound outside are visible in ``where`` and ``projection`` only.
    """

    pattern: Pattern
    where: Expression | None
    projection: Expression


class ListQuantifier(StrEnum):
    """The number of elements for which a list predicate must be true."""

    ALL = "all"
    ANY = "any"
    NONE = "none"
    SINGLE = "single"


@value(frozen=True, slots=True)
class ListPredicate(Expression):
    """``all(variable IN elements WHERE where)``, also ``any``, ``none``, ``single``."""

    quantifier: ListQuantifier
    variable: Variable
    elements: Expression
    where: Expression


@value(frozen=True, slots=True)
class Reduce(Expression):
    """``reduce(accumulator = initial, variable IN elements | step)``."""

    accumulator: Variable
    initial: Expression
    variable: Variable
    elements: Expression
    step: Expression


@value(frozen=True, slots=True)
class AllReduce(Expression):
    """``allReduce(accumulator = initial, variable IN elements | step, predicate)`` (Cypher 25).

    True if ``predicate`` is true for the accumulator after every step.
    """

    accumulator: Variable
    initial: Expression
    variable: Variable
    elements: Expression
    step: Expression
    predicate: Expression


# ------------------------------------------------------------------ map projections
class MapSelector(Node):
    """An item between the braces of a map projection."""

    __slots__ = ()


@value(frozen=True, slots=True)
class MapProperty(MapSelector):
    """``.key``: one property of the subject."""

    key: str


@value(frozen=True, slots=True)
class MapAllProperties(MapSelector):
    """``.*``: all properties of the subject."""


@value(frozen=True, slots=True)
class MapEntry(MapSelector):
    """``key: value``."""

    key: str
    value: Expression


@value(frozen=True, slots=True)
class MapVariable(MapSelector):
    """``name``: the value of a variable under its own name."""

    variable: Variable


@value(frozen=True, slots=True)
class MapProjection(Expression):
    """``subject {.key, .*, key: value, name}``."""

    subject: Variable
    selectors: tuple[MapSelector, ...]


# ------------------------------------------------------------------ patterns and queries as values
@value(frozen=True, slots=True)
class PatternExpression(Expression):
    """A pattern used as a value, as in ``WHERE (a)-->(b)``."""

    pattern: Pattern


@value(frozen=True, slots=True)
class ShortestPathExpression(Expression):
    """``shortestPath((a)-[*]->(b))`` or ``allShortestPaths(…)`` used as a value.

    The pattern's selector distinguishes them.
    """

    pattern: Pattern


@value(frozen=True, slots=True)
class Subquery(Expression):
    """Base of ``EXISTS { … }`` and the like; outer variables are visible without an import.

    ``EXISTS { (a)-->(b) WHERE … }`` has the same tree as ``EXISTS { MATCH (a)-->(b) WHERE … }``.
    """

    query: QueryBody


@value(frozen=True, slots=True)
class ExistsSubquery(Subquery):
    """``EXISTS { query }``: true if there is a row; RETURN is optional."""


@value(frozen=True, slots=True)
class CountSubquery(Subquery):
    """``COUNT { query }``: the number of rows; RETURN is optional."""


@value(frozen=True, slots=True)
class CollectSubquery(Subquery):
    """``COLLECT { query }``: the list of the values of its only column."""


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
