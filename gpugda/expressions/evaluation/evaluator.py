"""Dispatches syntax nodes to their handlers, and provides what the handlers need."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_time
from gpugda.errors import CypherTypeError, UnsupportedQueryError
from gpugda.expressions import boolean_columns as logic
from gpugda.expressions.context import Context, GraphEntities, statement_instant
from gpugda.expressions.evaluation.inner_environment import inner_environment
from gpugda.expressions.operands import Evaluated, Fault, Operand, take, validity, value_at
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator, UnaryOperator
from gpugda.query.constructs import expression_name
from gpugda.types import value
from gpugda.values import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from gpugda.expressions.boolean_columns import Truth
    from gpugda.expressions.environment import Environment
    from gpugda.types import Span


__all__ = ["Evaluator", "Handlers", "sole_operand"]

_NEUTRAL = {BinaryOperator.AND: True, BinaryOperator.OR: False, BinaryOperator.XOR: False}


def sole_operand(node: ast.Expression) -> ast.Expression | None:
    """The operand to which the condition reduces; None if it does not."""
    if isinstance(node, ast.Unary) and node.operator is UnaryOperator.NOT:
        inner = node.operand
        negated = isinstance(inner, ast.Unary) and inner.operator is UnaryOperator.NOT
        return inner.operand if negated and isinstance(inner, ast.Unary) else None
    if not isinstance(node, ast.Binary) or node.operator not in _NEUTRAL:
        return None
    neutral = _NEUTRAL[node.operator]
    operands = [each for each in _operands(node, node.operator) if not _is_literal(each, neutral)]
    if not operands:
        return None
    if node.operator is BinaryOperator.XOR:
        return operands[0] if len(operands) == 1 else None
    shapes = {_shape(each) for each in operands}
    return operands[0] if len(shapes) == 1 else None


def _operands(node: ast.Expression, operator: BinaryOperator) -> Iterator[ast.Expression]:
    if isinstance(node, ast.Binary) and node.operator is operator:
        yield from _operands(node.left, operator)
        yield from _operands(node.right, operator)
    else:
        yield node


def _is_literal(node: ast.Expression, value: bool) -> bool:
    return isinstance(node, ast.Literal) and node.value is value


def _shape(node: Any) -> Any:
    # Equal for equal text; unlike tree equality it distinguishes 1, 1.0 and true.
    if isinstance(node, ast.Node):
        parts = [_shape(getattr(node, each.name)) for each in fields(node) if each.compare]
        return (type(node).__name__, *parts)
    if isinstance(node, tuple):
        return tuple(_shape(each) for each in node)
    return (type(node).__name__, repr(node))


@value(frozen=True, slots=True)
class Handlers:
    """Handlers by class of syntax node.

    Args:
        conditions: Handlers of nodes with truth values.
        values: Handlers of all other nodes.
    """

    conditions: Mapping[type, Callable[[Evaluator, Any], Truth]]
    values: Mapping[type, Callable[[Evaluator, Any], Evaluated]]


_NOT_CONDITIONS = frozenset(
    (
        ast.UnaryOperator.MINUS,
        ast.UnaryOperator.PLUS,
        ast.BinaryOperator.CONCATENATE,
        ast.BinaryOperator.ADD,
        ast.BinaryOperator.SUBTRACT,
        ast.BinaryOperator.MULTIPLY,
        ast.BinaryOperator.DIVIDE,
        ast.BinaryOperator.MODULO,
        ast.BinaryOperator.POWER,
    )
)


class Evaluator:
    """Evaluates expressions in one environment.

    Args:
        environment: The bindings of names.
        handlers: Handlers of syntax nodes.
        case_operands: Operands of the enclosing CASE expressions, the nearest last.
    """

    def __init__(
        self,
        environment: Environment,
        handlers: Handlers,
        case_operands: tuple[Operand, ...] = (),
    ) -> None:
        self.environment = environment
        self.row_count = environment.row_count
        self.cache = environment.cache
        self.case_operands = case_operands
        self._handlers = handlers

    def value(self, node: Any) -> Evaluated:
        """Evaluates any expression as a value."""
        check_time()
        only = sole_operand(node)
        if only is not None:
            return self.value(only)
        if self._is_condition(node):
            truth = self.truth(node)
            return Evaluated(logic.operand_of_truth(truth), truth.faults)
        if type(node) not in self._handlers.values:
            raise self.unsupported(node)
        return self._handlers.values[type(node)](self, node)

    def truth(self, node: Any) -> Truth:
        """Evaluates any expression as a condition."""
        if self._is_condition(node):
            return self._handlers.conditions[type(node)](self, node)
        return logic.truth_of_operand(
            self.value(node), self.row_count, lambda message: self.type_error(message, node.span)
        )

    def _is_condition(self, node: Any) -> bool:
        if type(node) not in self._handlers.conditions:
            return False
        return getattr(node, "operator", None) not in _NOT_CONDITIONS

    # -------------------------------------------------------------- derived evaluators
    def inner(self, rows: NDArray[Any], added: Mapping[str, Operand]) -> Evaluator:
        """An evaluator over some of the rows, in any order and number, with more variables."""
        environment = inner_environment(self.environment, rows, added)
        operands = tuple(take(operand, rows) for operand in self.case_operands)
        return Evaluator(environment, self._handlers, operands)

    def within_case(self, operand: Operand) -> Evaluator:
        """An evaluator for the conditions of a CASE with this operand."""
        return Evaluator(self.environment, self._handlers, (*self.case_operands, operand))

    # -------------------------------------------------------------- function context
    @property
    def context(self) -> Context:
        """Clock, random numbers and the graph's entities."""
        graph = self.environment.graph
        key = ("context", id(graph))
        found: Context | None = self.cache.get(key)
        if found is None:
            entities = None if graph is None else GraphEntities(graph)
            found = self.cache[key] = Context(entities, statement_instant())
        return found

    # -------------------------------------------------------------- errors
    def type_error(self, message: str, span: Span) -> CypherTypeError:
        """A type error with its position in the query."""
        return CypherTypeError(message, self.environment.text, span)

    def mismatch(self, operand: Operand, span: Span, expected: str) -> Fault:
        """A fault for all rows that are not null."""

        def error(row: int) -> CypherTypeError:
            described = describe(value_at(operand, row))
            return self.type_error(f"Type mismatch: {expected} {described}", span)

        return Fault(validity(operand), error)

    def unsupported(self, node: ast.Expression, construct: str = "") -> UnsupportedQueryError:
        """The error for a construct that is not supported."""
        construct = (
            construct
            or getattr(node, "construct", "")
            or expression_name(node)
            or type(node).__name__
        )
        message = f"{construct} is not supported by this engine"
        text = self.environment.text
        return UnsupportedQueryError(message, text, node.span, construct=construct)
