"""AND, OR, XOR and NOT in three-valued logic, also with operands that raise errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.errors import QueryError
from gpugda.query import ast
from gpugda.reference.trees import shape

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.reference.evaluator import Evaluator

__all__ = ["CONNECTIVES", "connected", "negation"]

CONNECTIVES = (ast.BinaryOperator.AND, ast.BinaryOperator.OR, ast.BinaryOperator.XOR)

_CONNECT = {
    ast.BinaryOperator.AND: values.and_,
    ast.BinaryOperator.OR: values.or_,
    ast.BinaryOperator.XOR: values.xor_,
}
_NEUTRAL = {
    ast.BinaryOperator.AND: True,
    ast.BinaryOperator.OR: False,
    ast.BinaryOperator.XOR: False,
}


def negation(evaluator: Evaluator, node: ast.Unary, row: Mapping[Any, Any]) -> Any:
    """``NOT x``; ``NOT NOT x`` is x, of any type."""
    operand, count = node.operand, 1
    while isinstance(operand, ast.Unary) and operand.operator is ast.UnaryOperator.NOT:
        operand, count = operand.operand, count + 1
    if count % 2 == 0:
        return evaluator.value(operand, row)
    return values.not_(evaluator.truth(operand, row))


def connected(evaluator: Evaluator, node: ast.Binary, row: Mapping[Any, Any]) -> Any:
    """Any number of operands joined by one connective."""
    operands = _operands(evaluator, node)
    rest = _equivalent_operand(evaluator, node, operands)
    if rest is not None:
        return evaluator.value(rest, row)
    connect = _CONNECT[node.operator]
    if node.operator is ast.BinaryOperator.XOR:
        result = evaluator.truth(operands[0], row)
        for operand in operands[1:]:
            result = values.xor_(result, evaluator.truth(operand, row))
        return result
    # A deciding operand (false for AND, true for OR) takes precedence over an error in another one.
    decides = node.operator is ast.BinaryOperator.OR
    result, error = not decides, None
    for operand in operands:
        try:
            result = connect(result, evaluator.truth(operand, row))
        except QueryError as raised:
            error = error or raised
        if result is decides:
            return decides
    if error is not None:
        raise error
    return result


def _operands(evaluator: Evaluator, node: ast.Binary) -> list[ast.Expression]:
    known = evaluator.memo.get(("operands", id(node)))
    if known is None:
        pending: list[ast.Expression] = [node]
        known = []
        while pending:
            part = pending.pop()
            if isinstance(part, ast.Binary) and part.operator is node.operator:
                pending += [part.right, part.left]
            else:
                known.append(part)
        evaluator.memo["operands", id(node)] = known
    found: list[ast.Expression] = known
    return found


def _equivalent_operand(
    evaluator: Evaluator, node: ast.Binary, operands: list[ast.Expression]
) -> ast.Expression | None:
    """``x`` of ``x AND true``, ``x OR false``, ``x XOR false``, ``x AND x``, ``x OR x``.

    Neo4j replaces such a condition by its operand, of any type, before it runs the query.
    """
    place = "equivalent operand", id(node)
    if place not in evaluator.memo:
        neutral = shape(ast.Literal(node.span, _NEUTRAL[node.operator]))
        counting = [part for part in operands if evaluator.shape(part) != neutral]
        repeats = 1 if node.operator is ast.BinaryOperator.XOR else len(counting)
        same = len({evaluator.shape(part) for part in counting}) == 1
        evaluator.memo[place] = counting[0] if same and len(counting) <= repeats else None
    found: ast.Expression | None = evaluator.memo[place]
    return found
