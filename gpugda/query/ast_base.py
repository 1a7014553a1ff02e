"""Base classes of syntax nodes, and queries, which occur in clauses and in expressions."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.types import Span

__all__ = ["Clause", "Expression", "LabelExpression", "Node", "QueryBody", "SingleQuery"]


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
