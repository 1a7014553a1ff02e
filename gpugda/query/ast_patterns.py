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
    """``a&b``; ``:a:b`` is one too, with ``colon`` set (Cypher does not let the two mix)."""

    operands: tuple[LabelExpression, ...]
    colon: bool = False


@value(frozen=True, slots=True)
class LabelOr(LabelExpression):
    """``a|b``."""

    operands: tuple[LabelExpression, ...]


@value(frozen=True, slots=True)
class LabelDynamic(LabelExpression):
    """``$(expression)`` and ``$all(…)``; with ``any`` set ``$any(…)``.

    The expression is a name or a list of names; all of them must be there, or any.
    """

    expression: Expression
    any: bool = False


# ------------------------------------------------------------------ elements
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

    @property
    def bounds(self) -> tuple[int, int | None]:
        """The bounds as meant: at least one relationship where nothing is written."""
        return (1 if self.minimum is None else self.minimum), self.maximum


@value(frozen=True, slots=True)
class Quantifier(Node):
    """``{1,3}``, ``{2}``, ``{,3}``, ``+`` (1 and more), ``*`` (0 and more).

    ``maximum`` is None where there is none.
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
    """A parenthesised path: ``((a)-->(b) WHERE where){2}``; without quantifier, None."""

    pattern: Pattern
    where: Expression | None
    quantifier: Quantifier | None

    @property
    def quantified(self) -> bool:
        """Whether its variables are lists outside."""
        return self.quantifier is not None


PatternElement = NodePattern | RelationshipPattern | GroupPattern


# ------------------------------------------------------------------ paths
class SelectorKind(StrEnum):
    """Which of the paths that match are taken, for each pair of ends."""

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

    ``count`` is the number of paths or groups of ANY, SHORTEST and SHORTEST GROUPS: 1 where none
    is written; ``ANY SHORTEST`` is ``SHORTEST 1``. Else it is None. A parameter is Cypher 25's.
    """

    kind: SelectorKind
    count: int | Parameter | None = None


@value(frozen=True, slots=True)
class Pattern(Node):
    """One path: nodes and relationships in turn, beginning and ending with a node (or a group).

    A group without quantifier that has a WHERE, a selector or a name of its own, and every
    quantified one, is an element beside nodes and relationships.
    """

    variable: Variable | None
    elements: tuple[PatternElement, ...]
    selector: Selector | None = None
