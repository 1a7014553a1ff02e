"""Syntax nodes of expressions.

Parentheses and the spelling of numbers and strings are not kept. The abbreviations of a simple
``CASE`` and of ``EXISTS { (a)-->(b) }`` are expanded, so that each meaning has one tree.

More than 300 lines: a class for each kind of expression, mostly docstrings.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from gpugda.query.ast_base import Expression, LabelExpression, Node
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.query.ast_base import QueryBody
    from gpugda.query.ast_patterns import Pattern
    from gpugda.query.ast_types import CypherType
    from gpugda.query.ast_values import Variable

__all__ = [
    "AllReduce",
    "Binary",
    "BinaryOperator",
    "Case",
    "CaseAlternative",
    "CaseOperand",
    "CollectSubquery",
    "Comparison",
    "ComparisonOperator",
    "CountStar",
    "CountSubquery",
    "ExistsSubquery",
    "FunctionCall",
    "LabelPredicate",
    "ListComprehension",
    "ListPredicate",
    "ListQuantifier",
    "MapAllProperties",
    "MapEntry",
    "MapProjection",
    "MapProperty",
    "MapSelector",
    "MapVariable",
    "NormalForm",
    "NormalizedPredicate",
    "PatternComprehension",
    "PatternExpression",
    "Property",
    "Reduce",
    "ShortestPathExpression",
    "Slice",
    "Subquery",
    "Subscript",
    "Trim",
    "TrimSide",
    "TypePredicate",
    "Unary",
    "UnaryOperator",
]


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
