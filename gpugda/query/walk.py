"""Iterates over the nodes of a syntax tree without recursion."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from gpugda.deadline import check_time
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["children", "walk"]


def walk(root: ast.Node, without: frozenset[type[ast.Node]] = frozenset()) -> Iterator[ast.Node]:
    """A node and all its descendants, parents before children, otherwise in written order.

    Args:
        root: The start node.
        without: Node classes to leave out, with all their descendants.
    """
    stack: list[ast.Node] = [root]
    while stack:
        node = stack.pop()
        if len(stack) & _CHECK_MASK == _CHECK_MASK:
            check_time()
        yield node
        below = _BELOW.get(type(node)) or _learn(type(node))
        if below is _nothing:
            continue
        children: list[ast.Node] = []
        _collect(below(node), without, children)
        if children:
            children.reverse()
            stack += children


def children(node: ast.Node) -> list[ast.Node]:
    """The direct children of a node, in written order."""
    found: list[ast.Node] = []
    below = _BELOW.get(type(node)) or _learn(type(node))
    _collect(below(node), frozenset(), found)
    return found


def _collect(
    values: tuple[Any, ...], without: frozenset[type[ast.Node]], children: list[ast.Node]
) -> None:
    for value in values:
        if value is None:
            continue
        if value.__class__ is tuple:  # includes map entries
            _collect(value, without, children)
        elif isinstance(value, ast.Node) and value.__class__ not in without:
            children.append(value)


_CHECK_MASK: Final = 1023
"""Mask: the deadline is checked every 1024 nodes."""
_LEAVES: Final = frozenset(("str", "bool", "int", "int | None", "str | None", "Direction"))
_Below = Callable[[ast.Node], tuple[Any, ...]]
_BELOW: dict[type[ast.Node], _Below] = {}
"""Getter of the fields of a node class that may hold nodes."""


def _learn(kind: type[ast.Node]) -> _Below:
    names = [
        field.name
        for field in fields(kind)
        if "Span" not in str(field.type) and field.type not in _LEAVES
    ]
    # attrgetter returns a tuple only for two names or more; a span is ignored by the walk.
    below: _Below = attrgetter(*names, *["span"] * (2 - len(names))) if names else _nothing
    _BELOW[kind] = below
    return below


def _nothing(_: ast.Node) -> tuple[Any, ...]:
    return ()
