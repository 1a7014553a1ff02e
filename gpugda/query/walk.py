"""Every node of a syntax tree, without recursion."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["walk"]


def walk(root: ast.Node, *, into_queries: bool = True) -> Iterator[ast.Node]:
    """A node and all below it, parents before children and otherwise in the order written.

    Args:
        root: Where to begin.
        into_queries: Whether to go into the queries of subqueries as well.
    """
    stack: list[ast.Node] = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(
            child
            for child in reversed(_children(node))
            if into_queries or not isinstance(child, ast.SingleQuery)
        )


def _children(node: ast.Node) -> list[ast.Node]:
    children: list[ast.Node] = []
    for name in _field_names(node):
        value = getattr(node, name)
        if isinstance(value, ast.Node):
            children.append(value)
        elif isinstance(value, tuple):
            _collect(value, children)
    return children


def _collect(values: tuple[object, ...], children: list[ast.Node]) -> None:
    for value in values:
        if isinstance(value, ast.Node):
            children.append(value)
        elif isinstance(value, tuple):  # an entry of a map
            _collect(value, children)


_FIELD_NAMES: dict[str, tuple[str, ...]] = {}


def _field_names(node: ast.Node) -> tuple[str, ...]:
    kind = type(node).__name__
    if kind not in _FIELD_NAMES:
        _FIELD_NAMES[kind] = tuple(field.name for field in fields(node) if field.name != "span")
    return _FIELD_NAMES[kind]
