"""Syntax nodes of patterns: labels, nodes, relationships, groups, paths and their selectors."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from gpugda.query.ast_base import LabelExpression, Node
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.query.ast_base import Expression
    from gpugda.query.ast_values import MapLiteral, Parameter, Variable

__all__ = [
    "Direction",
    "GroupPattern",
    "LabelAnd",
    "LabelDynamic",
    "LabelName",
    "LabelNot",
    "LabelOr",
    "LabelWildcard",
    "Length",
    "NodePattern",
    "Pattern",
    "PatternElement",
    "Quantifier",
    "RelationshipPattern",
    "Selector",
    "SelectorKind",
]


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
