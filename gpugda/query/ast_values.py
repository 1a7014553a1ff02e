"""Syntax nodes of the simplest values."""

from __future__ import annotations

from typing import Any

from gpugda.query.ast_base import Expression
from gpugda.types import value

__all__ = ["ListLiteral", "Literal", "MapLiteral", "Parameter", "Variable"]


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
