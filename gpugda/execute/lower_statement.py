"""Lowers a query of several clauses to operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.errors import UnsupportedQueryError
from gpugda.execute.lower import lower
from gpugda.expressions.functions import find_aggregate, find_function
from gpugda.plan.build import build_query
from gpugda.plan.facts import Facts
from gpugda.plan.optimizer import optimise
from gpugda.query import ast
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.execute.operator import Operator
    from gpugda.query.statement import Statement

__all__ = ["lower_statement"]


def lower_statement(statement: Statement) -> tuple[Operator, tuple[str, ...]]:
    """The root operator and the columns of its rows.

    Raises:
        UnsupportedQueryError: The query has a construct that is not supported.
    """
    _check_functions(statement)
    try:
        made = build_query(statement.tree)
        tree = optimise(made.tree, Facts())
        return lower(tree, made.columns, statement.text), made.columns
    except RecursionError:
        message = "a query with this many clauses is not supported by this engine"
        raise UnsupportedQueryError(message, construct="too many clauses") from None


def _check_functions(statement: Statement) -> None:
    for node in walk(statement.tree):
        if not isinstance(node, ast.FunctionCall):
            continue
        known = find_function(node.name, 25) or find_aggregate(node.name)
        if known is None and node.name.lower() != "exists":
            construct = f"function {node.name}()"
            message = f"{construct} is not supported by this engine"
            raise UnsupportedQueryError(message, statement.text, node.span, construct=construct)
