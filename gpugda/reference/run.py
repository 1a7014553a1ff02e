"""The reference executor: defines what a query means, in plain Python, clause by clause.

It walks the syntax tree and is slow by design. It shares only the tree, the data graph, the rules
for single values and the scalar functions with the device engine, so that the two can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpugda.deadline import working_until
from gpugda.errors import UnsupportedQueryError
from gpugda.reference.clauses import Table, run_body
from gpugda.reference.graph import plain_graph
from gpugda.reference.trees import variables_of
from gpugda.reference.values import make_evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.query import ast
    from gpugda.reference.evaluator import Evaluator
    from gpugda.reference.trees import Row

__all__ = ["ReferenceRows", "run_reference"]

_CYPHER_25 = 25


@dataclass(frozen=True, slots=True)
class ReferenceRows:
    """The result of a query.

    Args:
        names: Column names.
        rows: One value per column; nodes and relationships are ``values.Entity``.
    """

    names: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def run_reference(
    tree: ast.Query,
    graph: DataGraph,
    parameters: Mapping[str, Any],
    *,
    deadline: float | None = None,
) -> ReferenceRows:
    """Answers a query that has passed the semantic checks.

    Names are not checked again. The WHERE of a MATCH is evaluated after the whole clause has
    matched, so an error in it is raised for full matches only.

    Args:
        tree: A reading query.
        graph: The data graph.
        parameters: Values by name, without the dollar sign.
        deadline: In seconds of ``time.monotonic``; None for no limit.

    Raises:
        QueryError: A value has the wrong type for an operation, or a function rejects it.
        ParameterMissingError: The query names a parameter that has no value.
        QueryTimeoutError: The deadline passed.
        UnsupportedQueryError: The tree has a construct that earlier checks should have rejected,
            or is nested too deeply for Python.
    """
    evaluator = make_evaluator(
        plain_graph(graph), parameters, tree.text, tree.version or _CYPHER_25
    )
    evaluator.rows_of = lambda body, row: _rows_inside(evaluator, body, row, tree.version)
    with working_until(deadline):
        try:
            evaluator.parameters.check(tree)
            table = run_body(tree.body, evaluator, Table((), [{}]))
            names = table.names if table.returned else ()
            found = [tuple(row[name] for name in names) for row in table.rows]
        except RecursionError:
            message = "the query is nested too deeply for engine='reference'"
            raise UnsupportedQueryError(message, construct="deep nesting") from None
    return ReferenceRows(names, found if table.returned else [])


def _rows_inside(
    evaluator: Evaluator, body: ast.QueryBody, row: Row, version: int | None
) -> Iterator[list[Any]]:
    by_outer = version != _CYPHER_25 and not variables_of(body).isdisjoint(row)
    table = run_body(body, evaluator, Table((), [row]), row, groups_by_outer=by_outer)
    for found in table.rows:
        yield [found[name] for name in table.names] if table.returned else []
