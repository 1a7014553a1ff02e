"""Conditions that Neo4j replaces by one of their operands at compile time.

This matters only if a condition is returned as a value: ``n.name AND true`` is then the name.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gpugda.query import ast
from gpugda.query.ast import BinaryOperator, UnaryOperator

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["sole_operand"]

_NEUTRAL = {BinaryOperator.AND: True, BinaryOperator.OR: False, BinaryOperator.XOR: False}


def sole_operand(node: ast.Expression) -> ast.Expression | None:
    """The operand to which the condition reduces; None if it does not."""
    if isinstance(node, ast.Unary) and node.operator is UnaryOperator.NOT:
        inner = node.operand
        negated = isinstance(inner, ast.Unary) and inner.operator is UnaryOperator.NOT
        return inner.operand if negated and isinstance(inner, ast.Unary) else None
    if not isinstance(node, ast.Binary) or node.operator not in _NEUTRAL:
        return None
    neutral = _NEUTRAL[node.operator]
    operands = [each for each in _operands(node, node.operator) if not _is_literal(each, neutral)]
    if not operands:
        return None
    if node.operator is BinaryOperator.XOR:
        return operands[0] if len(operands) == 1 else None
    shapes = {_shape(each) for each in operands}
    return operands[0] if len(shapes) == 1 else None


def _operands(node: ast.Expression, operator: BinaryOperator) -> Iterator[ast.Expression]:
    if isinstance(node, ast.Binary) and node.operator is operator:
        yield from _operands(node.left, operator)
        yield from _operands(node.right, operator)
    else:
        yield node


def _is_literal(node: ast.Expression, value: bool) -> bool:
    return isinstance(node, ast.Literal) and node.value is value


def _shape(node: Any) -> Any:
    # Equal for equal text; unlike tree equality it distinguishes 1, 1.0 and true.
    if isinstance(node, ast.Node):
        parts = [_shape(getattr(node, each.name)) for each in fields(node) if each.compare]
        return (type(node).__name__, *parts)
    if isinstance(node, tuple):
        return tuple(_shape(each) for each in node)
    return (type(node).__name__, repr(node))
