"""Syntax nodes of expressions.

Parentheses and the spelling of numbers and strings are not kept. What a simple ``CASE`` and what
``EXISTS { (a)-->(b) }`` abbreviate is written out, so that each meaning has one tree.

More than 300 lines: a class for each kind of expression, mostly their descriptions.
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
    """``subject[index]``: an element of a list, or the value of a key of a map or an entity."""

    subject: Expression
    index: Expression


@value(frozen=True, slots=True)
class Slice(Expression):
    """``subject[start..end]``; a bound that is left out is None, never both."""

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
class TypePredicate(Expression):
    """``operand IS [NOT] :: type``, also with ``TYPED`` or ``::`` alone."""

    operand: Expression
    type: CypherType
    negated: bool = False


class NormalForm(StrEnum):
    """The forms to which Unicode text can be normalised."""

    NFC = "NFC"
    NFD = "NFD"
    NFKC = "NFKC"
    NFKD = "NFKD"


@value(frozen=True, slots=True)
class NormalizedPredicate(Expression):
    """``operand IS [NOT] [form] NORMALIZED``; the form is NFC where none is written."""

    operand: Expression
    form: NormalForm = NormalForm.NFC
    negated: bool = False


# ------------------------------------------------------------------ calls
@value(frozen=True, slots=True)
class FunctionCall(Expression):
    """``name(arguments)``; the name as written, namespaces with dots.

    The keyword of ``normalize(text, NFD)`` is a string literal here; so are the keywords that end
    ``vector(values, 3, FLOAT32)`` and its kin.
    """

    name: str
    arguments: tuple[Expression, ...]
    distinct: bool = False


@value(frozen=True, slots=True)
class CountStar(Expression):
    """``count(*)``."""


class TrimSide(StrEnum):
    """Where ``trim()`` takes characters away."""

    BOTH = "BOTH"
    LEADING = "LEADING"
    TRAILING = "TRAILING"


@value(frozen=True, slots=True)
class Trim(Expression):
    """``trim(side characters FROM subject)``; without characters blanks are taken away.

    Without FROM ``trim(subject)`` is a FunctionCall.
    """

    side: TrimSide
    characters: Expression | None
    subject: Expression


# ------------------------------------------------------------------ CASE
@value(frozen=True, slots=True)
class CaseOperand(Expression):
    """The value of ``operand`` in a condition of the nearest CASE around it that has one."""


@value(frozen=True, slots=True)
class CaseAlternative(Node):
    """``WHEN condition, condition THEN result``: the result where one of the conditions holds."""

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

    Variables of the pattern that are not bound outside are bound for ``where`` and
    ``projection`` alone.
    """

    pattern: Pattern
    where: Expression | None
    projection: Expression


class ListQuantifier(StrEnum):
    """Of how many elements a list predicate asks that they hold."""

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

    Whether ``predicate`` holds of the accumulator after every step.
    """

    accumulator: Variable
    initial: Expression
    variable: Variable
    elements: Expression
    step: Expression
    predicate: Expression


# ------------------------------------------------------------------ map projections
class MapSelector(Node):
    """What stands between the braces of a map projection."""

    __slots__ = ()


@value(frozen=True, slots=True)
class MapProperty(MapSelector):
    """``.key``: that property of the subject."""

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
    """``name``: the variable's value under its name."""

    variable: Variable


@value(frozen=True, slots=True)
class MapProjection(Expression):
    """``subject {.key, .*, key: value, name}``."""

    subject: Variable
    selectors: tuple[MapSelector, ...]


# ------------------------------------------------------------------ patterns and queries as values
@value(frozen=True, slots=True)
class PatternExpression(Expression):
    """A pattern where a value stands, as in ``WHERE (a)-->(b)``."""

    pattern: Pattern


@value(frozen=True, slots=True)
class ShortestPathExpression(Expression):
    """``shortestPath((a)-[*]->(b))`` or ``allShortestPaths(…)`` where a value stands.

    The pattern's selector tells which.
    """

    pattern: Pattern


@value(frozen=True, slots=True)
class Subquery(Expression):
    """Base of ``EXISTS { … }`` and its kin; sees the variables outside without an import.

    ``EXISTS { (a)-->(b) WHERE … }`` is the same tree as ``EXISTS { MATCH (a)-->(b) WHERE … }``.
    """

    query: QueryBody


@value(frozen=True, slots=True)
class ExistsSubquery(Subquery):
    """``EXISTS { query }``: whether there is a row; its query may lack RETURN."""


@value(frozen=True, slots=True)
class CountSubquery(Subquery):
    """``COUNT { query }``: how many rows there are; its query may lack RETURN."""


@value(frozen=True, slots=True)
class CollectSubquery(Subquery):
    """``COLLECT { query }``: the list of the values of its only column."""
