"""Parameters whose position in the query requires a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.query import ast
from gpugda.query.query_graph import ExpectedType, TypedParameter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["typed_parameters"]

_CONNECTIVES = (ast.BinaryOperator.AND, ast.BinaryOperator.OR, ast.BinaryOperator.XOR)
_FUNCTIONS = {
    "id": ExpectedType.ENTITY,
    "elementid": ExpectedType.ENTITY,
    "labels": ExpectedType.NODE,
    "type": ExpectedType.RELATIONSHIP,
}


def typed_parameters(nodes: Iterable[ast.Node]) -> Iterator[TypedParameter]:
    """Parameters whose type Neo4j checks before it runs a query.

    Args:
        nodes: Nodes of the query in written order.
    """
    for node in nodes:
        for operand, expected in _operands(node):
            if isinstance(operand, ast.Parameter):
                yield TypedParameter(operand, expected)


def _operands(node: ast.Node) -> Iterator[tuple[ast.Expression | None, ExpectedType]]:
    if isinstance(node, ast.Match | ast.NodePattern | ast.RelationshipPattern):
        yield node.where, ExpectedType.TRUTH
    elif isinstance(node, ast.Unary) and node.operator is ast.UnaryOperator.NOT:
        yield node.operand, ExpectedType.TRUTH
    elif isinstance(node, ast.Binary) and node.operator in _CONNECTIVES:
        yield node.left, ExpectedType.TRUTH
        yield node.right, ExpectedType.TRUTH
    elif isinstance(node, ast.Binary) and node.operator is ast.BinaryOperator.IN:
        yield node.right, ExpectedType.LIST
    elif isinstance(node, ast.FunctionCall) and node.name.lower() in _FUNCTIONS:
        for argument in node.arguments:
            yield argument, _FUNCTIONS[node.name.lower()]
