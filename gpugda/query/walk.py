"""Every node of a syntax tree, without recursion."""

from __future__ import annotations

from dataclasses import fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
        children: list[ast.Node] = []
        _collect(_values(node), children)
        if not into_queries:
            children = [each for each in children if not isinstance(each, ast.SingleQuery)]
        children.reverse()
        stack += children


def _collect(values: tuple[Any, ...], children: list[ast.Node]) -> None:
    for value in values:
        kind = value.__class__
        # Most values are names and absent parts: looked up by class, as this runs for every node.
        if kind in _LEAVES:
            continue
        if kind is tuple:  # also an entry of a map
            _collect(value, children)
        elif isinstance(value, ast.Node):
            children.append(value)


_LEAVES: Final = frozenset((type(None), str, bool, int, float))

_FIELDS: dict[type[ast.Node], Callable[[ast.Node], tuple[Any, ...]]] = {}


def _values(node: ast.Node) -> tuple[Any, ...]:
    """What stands in the node's fields."""
    kind = type(node)
    if kind not in _FIELDS:
        names = [field.name for field in fields(node) if field.name != "span"]
        # With fewer than two names attrgetter gives no tuple; a span is nothing to walk into.
        _FIELDS[kind] = attrgetter(*names, *["span"] * (2 - len(names)))
    return _FIELDS[kind](node)
