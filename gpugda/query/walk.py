"""Every node of a syntax tree, without recursion."""

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
    """A node and all below it, parents before children and otherwise in the order written.

    Args:
        root: Where to begin.
        without: Classes of nodes that are left out, with all below them.
    """
    stack: list[ast.Node] = [root]
    while stack:
        node = stack.pop()
        if len(stack) & _SOME == _SOME:
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
    """The nodes right below a node, in the order written."""
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
        if value.__class__ is tuple:  # also an entry of a map
            _collect(value, without, children)
        elif isinstance(value, ast.Node) and value.__class__ not in without:
            children.append(value)


_SOME: Final = 1023
"""Nodes, one less: between two looks at the time."""
_LEAVES: Final = frozenset(("str", "bool", "int", "int | None", "str | None", "Direction"))
_Below = Callable[[ast.Node], tuple[Any, ...]]
_BELOW: dict[type[ast.Node], _Below] = {}
"""What stands in those fields of a class of nodes that may hold nodes."""


def _learn(kind: type[ast.Node]) -> _Below:
    names = [
        field.name
        for field in fields(kind)
        if "Span" not in str(field.type) and field.type not in _LEAVES
    ]
    # With fewer than two names attrgetter gives no tuple; a span is nothing to walk into.
    below: _Below = attrgetter(*names, *["span"] * (2 - len(names))) if names else _nothing
    _BELOW[kind] = below
    return below


def _nothing(_: ast.Node) -> tuple[Any, ...]:
    return ()
