"""The labels, types and property keys that a query's result depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.parser import parse
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Reads", "reads_of"]

_IDENTITY_FUNCTIONS: Final = frozenset(("count", "id", "elementid", "type"))
"""Functions of an entity's identity only, which no change of the entity affects."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What a query reads; an upper bound if its text does not determine it.

    Args:
        labels: Labels of nodes.
        types: Types of relationships.
        keys: Property keys of nodes or relationships.
        any_node: True if it also reads nodes without one of these labels.
        any_relationship: True if it also reads relationships of other types.
        any_key: True if it also reads other properties, and all labels of returned nodes.
    """

    labels: frozenset[str]
    types: frozenset[str]
    keys: frozenset[str]
    any_node: bool
    any_relationship: bool
    any_key: bool


def reads_of(text: str) -> Reads:
    """Determines what a query reads.

    Raises:
        QueryError: The text cannot be parsed.
    """
    nodes = list(walk(parse(text)))
    node_patterns = [each for each in nodes if isinstance(each, ast.NodePattern)]
    relationships = [each for each in nodes if isinstance(each, ast.RelationshipPattern)]
    labels = [_names(each.labels) for each in node_patterns]
    types = [_names(each.types) for each in relationships]
    # Labels in conditions may apply to any node, whatever its pattern.
    elsewhere = {each.name for each in nodes if isinstance(each, ast.LabelName)}
    unnamed = any(isinstance(each, ast.LabelWildcard | ast.LabelDynamic) for each in nodes)
    return Reads(
        labels=frozenset(elsewhere),
        types=frozenset(elsewhere),
        keys=frozenset(_keys(nodes)),
        any_node=unnamed or None in labels,
        any_relationship=unnamed or None in types,
        any_key=_shows_whole(nodes),
    )


def _names(expression: ast.LabelExpression | None) -> frozenset[str] | None:
    """Names of which every match has one; None if others may match."""
    match expression:
        case ast.LabelName(name=name):
            return frozenset((name,))
        case ast.LabelAnd(operands=operands) | ast.LabelOr(operands=operands):
            found = [_names(each) for each in operands]
            if None in found:
                return None
            return frozenset(name for each in found for name in each or ())
        case _:
            return None


def _keys(nodes: Iterable[ast.Node]) -> Iterable[str]:
    for node in nodes:
        if isinstance(node, ast.Property):
            yield node.key
        elif isinstance(node, ast.NodePattern | ast.RelationshipPattern) and isinstance(
            node.properties, ast.MapLiteral
        ):
            yield from (key for key, _ in node.properties.entries)


def _shows_whole(nodes: list[ast.Node]) -> bool:
    """True if the query may show or test parts of an entity that its text does not name."""
    plain: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.NodePattern | ast.RelationshipPattern):
            plain.add(id(node.variable))
        elif isinstance(node, ast.Property):
            plain.add(id(node.subject))
        elif isinstance(node, ast.FunctionCall) and node.name.lower() in _IDENTITY_FUNCTIONS:
            plain.update(map(id, node.arguments))
        elif isinstance(node, ast.Projection) and node.star:
            return True
    return any(isinstance(node, ast.Variable) and id(node) not in plain for node in nodes)
