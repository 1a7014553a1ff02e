"""A query of several clauses: its syntax tree and commonly needed facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.query_graph import ExpectedType, OutputColumn, TypedParameter
from gpugda.query.walk import children, walk
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["Statement", "statement_of", "typed_parameters"]

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


_MAX_LEVELS: Final = 200


@value(frozen=True, slots=True)
class Statement:
    """A checked query that is more than MATCH and RETURN.

    Args:
        text: The original text.
        tree: Its syntax tree.
        columns: The output columns; for a UNION, with the expressions of its first part.
        parameters: Names of all parameters in the text.
        typed_parameters: Parameters in positions that accept only some types.
        mode: ``EXPLAIN``, ``PROFILE`` or None.
        version: Cypher version in the text's prefix, or None.
        options: The prefix's other options, as written.
        limit: The final LIMIT, or None.
        uses: The USE clauses, which must name the database that answers.
    """

    text: str
    tree: ast.Query
    columns: tuple[OutputColumn, ...]
    parameters: frozenset[str] = frozenset()
    typed_parameters: tuple[TypedParameter, ...] = ()
    mode: str | None = None
    version: int | None = None
    options: tuple[tuple[str, str], ...] = ()
    limit: ast.Expression | None = None
    uses: tuple[ast.Use, ...] = ()


def statement_of(tree: ast.Query) -> Statement:
    """Converts a parsed query to a statement.

    Raises:
        UnsupportedQueryError: It writes, calls a procedure or reads a file.
    """
    for node in walk(tree):
        if isinstance(node, ast.OtherClause | ast.CallProcedure | ast.LoadCsv):
            construct = _construct(node)
            message = f"{construct} is not supported by this engine"
            raise UnsupportedQueryError(message, tree.text, node.span, construct=construct)
    _check_depth(tree)
    last = tree.parts[0].clauses[-1]
    projection = last.projection if isinstance(last, ast.Return) else None
    items = () if projection is None else projection.items
    return Statement(
        text=tree.text,
        tree=tree,
        columns=tuple(OutputColumn(item.name, item.expression) for item in items),
        parameters=frozenset(n.name for n in walk(tree) if isinstance(n, ast.Parameter)),
        typed_parameters=tuple(typed_parameters(walk(tree))),
        mode=tree.mode,
        version=tree.version,
        options=tree.options,
        limit=None if projection is None or len(tree.parts) > 1 else projection.limit,
        uses=tuple(node for node in walk(tree) if isinstance(node, ast.Use)),
    )


def _check_depth(tree: ast.Query) -> None:
    """Rejects queries that are too deeply nested for recursive traversals.

    Raises:
        UnsupportedQueryError: The nesting is too deep, such as in a sum of hundreds of terms.
    """
    level: list[ast.Node] = [tree]
    for _ in range(_MAX_LEVELS):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    message = f"an expression of more than {_MAX_LEVELS} levels is not supported by this engine"
    raise UnsupportedQueryError(message, tree.text, level[0].span, construct="a long expression")


def _construct(node: ast.Clause) -> str:
    if isinstance(node, ast.OtherClause):
        return node.construct
    if isinstance(node, ast.CallProcedure):
        return "CALL of a procedure"
    return "LOAD CSV"
