"""The way from a syntax node to what evaluates it, and what all of these need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_time
from gpugda.errors import CypherTypeError, UnsupportedQueryError
from gpugda.expressions import boolean_columns as logic
from gpugda.expressions.context import Context, statement_instant
from gpugda.expressions.evaluation.inner import inner_environment
from gpugda.expressions.graph_entities import GraphEntities
from gpugda.expressions.operands import Evaluated, Fault, Operand, take, validity, value_at
from gpugda.expressions.simplify import sole_operand
from gpugda.query import ast
from gpugda.query.constructs import expression_name
from gpugda.types import value
from gpugda.values import describe

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from gpugda.expressions.boolean_columns import Truth
    from gpugda.expressions.environment import Environment
    from gpugda.types import Span

__all__ = ["Evaluator", "Handlers"]


@value(frozen=True, slots=True)
class Handlers:
    """What evaluates each class of syntax nodes.

    Args:
        conditions: Those whose values are truth values.
        values: All others.
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
        environment: What the names stand for.
        handlers: Of the syntax nodes.
        case_operands: Of the CASE expressions around, the nearest last.
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
        """Any expression as a value."""
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
        """Any expression as a condition."""
        if self._is_condition(node):
            return self._handlers.conditions[type(node)](self, node)
        return logic.truth_of_operand(
            self.value(node), self.row_count, lambda message: self.type_error(message, node.span)
        )

    def _is_condition(self, node: Any) -> bool:
        if type(node) not in self._handlers.conditions:
            return False
        return getattr(node, "operator", None) not in _NOT_CONDITIONS

    # -------------------------------------------------------------- other rows
    def inner(self, rows: NDArray[Any], added: Mapping[str, Operand]) -> Evaluator:
        """The evaluator of some of the rows, in any order and number, with more variables."""
        environment = inner_environment(self.environment, rows, added)
        operands = tuple(take(operand, rows) for operand in self.case_operands)
        return Evaluator(environment, self._handlers, operands)

    def within_case(self, operand: Operand) -> Evaluator:
        """The evaluator of the conditions of a CASE with this operand."""
        return Evaluator(self.environment, self._handlers, (*self.case_operands, operand))

    # -------------------------------------------------------------- what functions need
    @property
    def context(self) -> Context:
        """The clock, chance and the entities of the graph."""
        graph = self.environment.graph
        key = ("context", id(graph))
        found: Context | None = self.cache.get(key)
        if found is None:
            entities = None if graph is None else GraphEntities(graph)
            found = self.cache[key] = Context(entities, statement_instant())
        return found

    # -------------------------------------------------------------- errors
    def type_error(self, message: str, span: Span) -> CypherTypeError:
        """An error at a place of the query."""
        return CypherTypeError(message, self.environment.text, span)

    def mismatch(self, operand: Operand, span: Span, expected: str) -> Fault:
        """All rows that are not null are errors."""

        def error(row: int) -> CypherTypeError:
            described = describe(value_at(operand, row))
            return self.type_error(f"Type mismatch: {expected} {described}", span)

        return Fault(validity(operand), error)

    def unsupported(self, node: ast.Expression, construct: str = "") -> UnsupportedQueryError:
        """The error of what is not evaluated here."""
        construct = (
            construct
            or getattr(node, "construct", "")
            or expression_name(node)
            or type(node).__name__
        )
        message = f"{construct} is not answered here"
        text = self.environment.text
        return UnsupportedQueryError(message, text, node.span, construct=construct)
