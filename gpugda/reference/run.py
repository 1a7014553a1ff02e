"""The reference executor: what a query means, in plain Python, clause by clause.

It walks the syntax tree, is slow on purpose, and shares nothing with the way to the device but the
tree, the data graph and the rules for single values, so that the two can be compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_deadline
from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.reference.graph import plain_graph
from gpugda.reference.match import ClauseMatcher
from gpugda.reference.projection import project
from gpugda.reference.values import Evaluator

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.reference.match import Row

__all__ = ["ReferenceRows", "run_reference"]


@dataclass(frozen=True, slots=True)
class ReferenceRows:
    """A query's answer.

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
    """Answer a query that has passed the checks of support and meaning.

    Names are not checked again here. A MATCH's WHERE is evaluated when the whole clause has
    matched, so that an error in it shows for full matches only.

    Args:
        tree: One part of MATCH clauses and a RETURN at the end.
        graph: Where to match.
        parameters: Values by name, without the dollar sign.
        deadline: In seconds of ``time.monotonic``; None for no limit.

    Raises:
        CypherTypeError: A value's type does not fit the operation.
        ParameterMissingError: The query names a parameter that is not given.
        QueryTimeoutError: The deadline passed.
        UnsupportedQueryError: The tree has something that the checks should have refused.
    """
    evaluator = Evaluator(plain_graph(graph), parameters, tree.text)
    evaluator.check_parameters(tree)
    names: frozenset[str] = frozenset()
    rows: Iterable[Row] = [{}]
    *matches, last = tree.parts[0].clauses
    if len(tree.parts) != 1 or not isinstance(last, ast.Return):
        raise UnsupportedQueryError("only MATCH … RETURN is answered here", tree.text, tree.span)
    for clause in matches:
        # DIFFERENT RELATIONSHIPS, a mode that may be written, is what matching does anyway.
        if (
            not isinstance(clause, ast.Match)
            or clause.optional
            or "REPEATABLE" in (clause.mode or "")
        ):
            raise UnsupportedQueryError("only plain MATCH is answered here", tree.text, clause.span)
        matcher = ClauseMatcher(clause, evaluator, names)
        rows = _matches(matcher, rows, deadline)
        names |= matcher.names
    return ReferenceRows(*project(last.projection, evaluator, names, rows))


def _matches(matcher: ClauseMatcher, rows: Iterable[Row], deadline: float | None) -> Iterator[Row]:
    for row in rows:
        yield from matcher.matches(row, partial(check_deadline, deadline))
