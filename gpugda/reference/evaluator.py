"""What evaluates expressions: names and rows; what each expression means stands elsewhere."""

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
        graph: Where labels, types and properties are looked up.
        parameters: Values by name; tuples count as lists, Python's dates and times as Neo4j's.
        text: The query, for error messages.
        methods: How each class of expressions is evaluated.
        version: Of Cypher, 5 or 25: which functions there are.

    Attributes:
        rows_of: Gives the rows of a query inside an expression; None where there cannot be any.
        context: What functions may need.
        kept: What others made of nodes of the tree, by their ids.
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
        self.kept: dict[Any, Any] = {}
        self._methods = methods
        self._shapes: dict[int, Any] = {}

    def value(self, node: ast.Expression, row: Mapping[Any, Any]) -> Any:
        """The value, given the row's variables."""
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
        """The expression's shape; the tree outlives this."""
        known = self._shapes.get(id(node))
        if known is None:
            try:
                known = shape(node)
            except RecursionError:  # a sum of a thousand terms is not written twice
                known = "deep", id(node)
            self._shapes[id(node)] = known
        return known

    def holds(self, node: ast.Expression, row: Mapping[Any, Any]) -> bool:
        """Does a condition let the row pass? Only true does, neither false nor null."""
        return self.truth(node, row) is True

    def truth(self, node: ast.Expression, row: Mapping[Any, Any]) -> bool | None:
        """The value as a truth value: a list is true when it holds something."""
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
        """Does a node or relationship have these labels or this type?"""
        graph, index = self.graph, entity.index
        present = graph.labels[index] if entity.is_node else (graph.types[index],)
        return has_labels(present, wanted, lambda node: self.value(node, row))

    def property(self, subject: Any, key: str) -> Any:
        """``subject.key``."""
        if isinstance(subject, Entity):
            return self.graph.property(subject, key)
        return access.property_of(subject, key, self.context)

    def unsupported(self, construct: str, node: ast.Node) -> UnsupportedQueryError:
        """The error for what the checks should have refused."""
        message = f"{construct} is not answered here"
        return UnsupportedQueryError(message, self.text, node.span, construct=construct)
