"""Evaluator of expressions: names and rows; other modules define each kind of expression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_time
from gpugda.errors import CypherTypeError, QueryError, UnsupportedQueryError
from gpugda.expressions.context import Context
from gpugda.expressions.operators import access
from gpugda.query import ast
from gpugda.reference.graph import PlainEntities
from gpugda.reference.labels import has_labels
from gpugda.reference.parameters import Parameters
from gpugda.reference.trees import Scope, shape
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gpugda.reference.graph import PlainGraph
    from gpugda.reference.trees import Row

__all__ = ["Evaluator"]


class Evaluator:
    """Evaluates expressions over a graph with parameters.

    Args:
        graph: The graph with labels, types and properties.
        parameters: Values by name; tuples count as lists, Python's dates and times as Neo4j's.
        text: The query text, for error messages.
        methods: The evaluation function of each expression class.
        version: The Cypher version, 5 or 25, which determines the available functions.

    Attributes:
        rows_of: Returns the rows of a subquery in an expression; None if subqueries are excluded.
        context: The context that functions receive.
        memo: Cached facts about nodes of the syntax tree, by their ids.
    """

    def __init__(
        self,
        graph: PlainGraph,
        parameters: Mapping[str, Any],
        text: str,
        methods: Mapping[type, Callable[[Evaluator, Any, Any], Any]],
        version: int = 5,
    ) -> None:
        self.graph = graph
        self.text = text
        self.version = version
        self.context = Context(PlainEntities(graph))
        self.parameters = Parameters(parameters, text)
        self.rows_of: Callable[[ast.QueryBody, Row], Iterator[list[Any]]] | None = None
        self.memo: dict[Any, Any] = {}
        self._methods = methods
        self._shapes: dict[int, Any] = {}

    def value(self, node: ast.Expression, row: Mapping[Any, Any]) -> Any:
        """The value of an expression for a row."""
        check_time()
        if isinstance(node, ast.Variable) and node.name in row:
            return row[node.name]
        if isinstance(row, Scope) and (known := self.shape(node)) in row:
            return row[known]
        method = self._methods.get(type(node))
        if method is None:
            raise self.unsupported(type(node).__name__, node)
        try:
            return method(self, node, row)
        except QueryError as error:
            if error.span is not None:
                raise
            raise type(error)(error.message, self.text, node.span) from None

    def shape(self, node: ast.Expression) -> Any:
        """The shape of an expression, cached by id; the tree outlives the evaluator."""
        known = self._shapes.get(id(node))
        if known is None:
            try:
                known = shape(node)
            except RecursionError:  # assume that a sum of a thousand terms occurs only once
                known = "deep", id(node)
            self._shapes[id(node)] = known
        return known

    def holds(self, node: ast.Expression, row: Mapping[Any, Any]) -> bool:
        """True if a condition is true for the row, rather than false or null."""
        return self.truth(node, row) is True

    def truth(self, node: ast.Expression, row: Mapping[Any, Any]) -> bool | None:
        """The value as a truth value; a list is true if it is not empty."""
        value = self.value(node, row)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, list):
            return len(value) > 0
        message = f"a truth value was expected, not {value!r}"
        raise CypherTypeError(message, self.text, node.span)

    def labels_fit(
        self, entity: Entity, wanted: ast.LabelExpression | None, row: Mapping[Any, Any]
    ) -> bool:
        """True if a node or relationship satisfies a label expression."""
        graph, index = self.graph, entity.index
        present = graph.labels[index] if entity.is_node else (graph.types[index],)
        return has_labels(present, wanted, lambda node: self.value(node, row))

    def property(self, subject: Any, key: str) -> Any:
        """``subject.key``."""
        if isinstance(subject, Entity):
            return self.graph.property(subject, key)
        return access.property_of(subject, key, self.context)

    def unsupported(self, construct: str, node: ast.Node) -> UnsupportedQueryError:
        """The error for a construct that earlier checks should have rejected."""
        message = f"{construct} is not supported by this engine"
        return UnsupportedQueryError(message, self.text, node.span, construct=construct)
