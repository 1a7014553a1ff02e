"""From embeddings to the answer: residual conditions, grouping, projection, order, SKIP, LIMIT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.execute.aggregating import LARGEST_INTEGER, Aggregation, too_large
from gpugda.execute.collecting import OutputRows, rows_of
from gpugda.execute.needs import needed_rows
from gpugda.execute.result_table import ResultTable
from gpugda.execute.row_number import row_number
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.operands import Constant, as_column, check_faults
from gpugda.expressions.parameters import Parameters
from gpugda.match.embeddings import Embeddings
from gpugda.query import ast
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.plan import BoundQuery
    from gpugda.query.query_graph import Query

__all__ = ["Tail"]


class Tail:
    """Makes the answer of a query from chunks of embeddings.

    Args:
        query: What to make of them.
        bound: Its residual conditions are tested here; the one that `mask_query` gave.
        graph: The data graph.
        parameters: Values by name; all that the query names must be there.

    Raises:
        CypherTypeError: SKIP or LIMIT is no integer from 0, or a parameter is no value of Cypher,
            or of a type that cannot stand where it does.
        ParameterMissingError: A parameter has no value.

    Attributes:
        enough_rows: So many embeddings suffice if all become rows; None where all are needed.
        reads_no_rows: The answer is empty whatever there is: LIMIT 0, and nothing before it reads.
    """

    def __init__(
        self, query: Query, bound: BoundQuery, graph: DataGraph, parameters: Mapping[str, Any]
    ) -> None:
        self._query = query
        self._bound = bound
        self._graph = graph
        self._parameters = Parameters(parameters, query.text)
        self._cache: dict[Any, Any] = {}
        for typed in query.typed_parameters:
            self._parameters.check_type(typed)
        for parameter in _parameters_of(query):
            self._parameters.get(parameter.name, parameter.span)
        for name in sorted(query.parameters):
            self._parameters.get(name)
        skip = row_number("SKIP", query.skip, self._parameters, query.text)
        limit = row_number("LIMIT", query.limit, self._parameters, query.text)
        self._rows = OutputRows(query, skip or 0, limit)
        # Sorting reads its rows all the same, and SKIP 1 LIMIT 0 reads one.
        self.reads_no_rows = limit == 0 and not skip and not query.order_by
        self._aggregation = Aggregation(query) if query.aggregating else None
        needs_all = limit is None or query.aggregating or query.distinct or query.order_by
        self.enough_rows = None if needs_all or limit is None else (skip or 0) + limit

    def push(self, embeddings: Embeddings) -> bool:
        """Adds embeddings; False when no more are needed.

        Weights only as `need_of` allows: no residual condition leaves some out.

        Raises:
            CypherTypeError: In some row a value has a type for which an operation is not defined.
        """
        environment = self._kept(self._environment(embeddings))
        if self._aggregation is not None:
            apart = embeddings.distinct and self._groups_by(embeddings.nodes)
            self._aggregation.push(environment, embeddings.weights, apart=apart)
            return True
        self._rows.push(environment)
        return not self._rows.full

    def finish(self) -> ResultTable:
        """The answer."""
        if self._aggregation is not None:
            groups = self._aggregation.finish()
            self._rows.push(self._grouped(groups.row_count, groups.keys, groups.aggregates))
        else:
            self._rows.push(self._environment(_nothing(self._bound)))
        return self._table()

    def finish_count(self, count: int) -> ResultTable:
        """The answer where `need_of` is a count, from the number of embeddings.

        Raises:
            UnsupportedQueryError: Cypher has no integer as large.
        """
        if count > LARGEST_INTEGER and self._query.aggregates:
            raise too_large(self._query, 0, f"the count is {count}")
        self._rows.push(self._grouped(1, (), (Constant(count),) * len(self._query.aggregates)))
        return self._table()

    def _table(self) -> ResultTable:
        table = self._rows.finish()
        names = tuple(column.name for column in self._query.columns)
        columns = tuple(as_column(column, table.row_count) for column in table.columns)
        return ResultTable(names, columns, table.row_count, self._graph)

    # -------------------------------------------------------------- rows
    def _environment(self, embeddings: Embeddings) -> Environment:
        nodes = {
            self._bound.nodes[position].name: Column(ColumnKind.NODE, indexes)
            for position, indexes in embeddings.nodes.items()
        }
        relationships = {
            self._bound.relationships[position].name: Column(ColumnKind.RELATIONSHIP, indexes)
            for position, indexes in embeddings.relationships.items()
        }
        return Environment(
            embeddings.row_count,
            self._parameters,
            self._query.text,
            self._graph,
            nodes | relationships,
            cache=self._cache,
        )

    def _grouped(self, row_count: int, keys: Any, aggregates: Any) -> Environment:
        return Environment(
            row_count,
            self._parameters,
            self._query.text,
            self._graph,
            keys=keys,
            aggregates=aggregates,
            cache=self._cache,
        )

    def _groups_by(self, positions: Iterable[int]) -> bool:
        """Are all of these query nodes, themselves, among the keys?"""
        keys = {each.name for each in self._query.grouping if isinstance(each, ast.Variable)}
        return keys.issuperset(self._bound.nodes[each].name for each in positions)

    def _kept(self, environment: Environment) -> Environment:
        if not self._bound.residuals:
            return environment
        truth = evaluate_truth(self._bound.residuals, environment)
        check_faults(truth.faults, environment.row_count)
        if truth.holds is True:
            return environment
        holds = np.broadcast_to(truth.holds, environment.row_count)
        return environment if holds.all() else rows_of(environment, np.flatnonzero(holds))


def _nothing(bound: BoundQuery) -> Embeddings:
    empty = np.zeros(0, dtype=np.uint32)
    wanted = needed_rows(bound.query, bound)
    nodes = dict.fromkeys(wanted.nodes, empty)
    return Embeddings(0, nodes, dict.fromkeys(wanted.relationships, empty))


def _parameters_of(query: Query) -> Iterator[ast.Parameter]:
    expressions = [*query.graph.predicates, *(each.expression for each in query.columns)]
    expressions += [*query.grouping, *query.aggregates]
    expressions += [key.expression for key in query.order_by]
    expressions += [each for each in (query.skip, query.limit) if each is not None]
    for expression in expressions:
        yield from (node for node in walk(expression) if isinstance(node, ast.Parameter))
