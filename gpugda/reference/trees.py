"""Syntax trees and rows: tree traversal, and rows that hold values of whole expressions."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Row", "Scope", "conjuncts", "extended", "parts_of", "shape", "variables_of"]

Row = dict[Any, Any]
"""Values by variable; within a MATCH also by marks (tuples) of anonymous elements."""


class Scope(dict[Any, Any]):
    """A row that also holds values of whole expressions, by their ``shape``."""


def extended(row: Mapping[Any, Any], name: str, value: Any) -> Row:
    """The row with a local variable of an expression added."""
    if not isinstance(row, Scope):
        return {**row, name: value}
    # Drop known values of expressions that read the variable: its meaning has changed.
    mark = ("Variable", ("name", ("str", repr(name))))
    kept = {key: known for key, known in row.items() if not _mentions(key, mark)}
    return Scope({**kept, name: value})


def _mentions(key: Any, mark: tuple[Any, ...]) -> bool:
    return isinstance(key, tuple) and (key == mark or any(_mentions(part, mark) for part in key))


def shape(node: Any) -> Any:
    """A hashable form of an expression without spans; 1, 1.0 and true have different shapes."""
    if isinstance(node, ast.Node):
        named = [(f.name, getattr(node, f.name)) for f in fields(node) if f.name != "span"]
        if isinstance(node, ast.FunctionCall):
            named[0] = "name", node.name.lower()
        return (type(node).__name__, *((name, shape(value)) for name, value in named))
    if isinstance(node, tuple):
        return tuple(shape(item) for item in node)
    return (type(node).__name__, repr(node))


def parts_of(node: Any) -> Iterator[ast.Node]:
    """A syntax node and all its descendants."""
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Node):
            yield part
            pending += [getattr(part, field.name) for field in reversed(fields(part))]
        elif isinstance(part, tuple):
            pending += reversed(part)


def variables_of(node: ast.Node) -> frozenset[str]:
    """Names of the variables that an expression reads or declares."""
    return frozenset(part.name for part in parts_of(node) if isinstance(part, ast.Variable))


def conjuncts(condition: ast.Expression | None) -> list[ast.Expression]:
    """The conjuncts of a condition."""
    found: list[ast.Expression] = []
    pending = [] if condition is None else [condition]
    while pending:
        part = pending.pop()
        if isinstance(part, ast.Binary) and part.operator is ast.BinaryOperator.AND:
            pending += [part.right, part.left]
        else:
            found.append(part)
    return found
