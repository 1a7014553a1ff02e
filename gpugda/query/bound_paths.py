"""Path variables of OPTIONAL MATCH whose elements are all bound before the clause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["bound_paths"]


def bound_paths(clause: ast.Match, known: Container[str], text: str) -> dict[str, str]:
    """Names of such paths, each with the single node that it consists of.

    Neo4j creates them from their elements even if the clause finds nothing.

    Args:
        clause: The OPTIONAL MATCH clause.
        known: The variables bound before it.
        text: The whole query text.

    Raises:
        UnsupportedQueryError: A path has relationships, which then need not match its nodes.
    """
    found = {}
    for pattern in clause.patterns:
        named = pattern.variable
        if (
            named is None
            or named.name in known
            or not all(_is_in(e, known) for e in pattern.elements)
        ):
            continue
        (node, *more) = pattern.elements
        if more or not isinstance(node, ast.NodePattern) or node.variable is None:
            construct = "a path of OPTIONAL MATCH all of whose parts are bound before"
            message = f"{construct} is not supported by this engine: name a new part in it"
            raise UnsupportedQueryError(message, text, pattern.span, construct=construct)
        found[named.name] = node.variable.name
    return found


def _is_in(element: ast.PatternElement, known: Container[str]) -> bool:
    variable = None if isinstance(element, ast.GroupPattern) else element.variable
    return variable is not None and variable.name in known
