"""Prefixes of queries (``CYPHER 25 runtime=parallel``) that the server may refuse or warn of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.check.expressions import is_aggregate
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.ports import ServerFacts
    from gpugda.query.statement import Statement

__all__ = ["refuse_options", "refuse_unknown_version"]

_NEWER: Final = 25
_FIRST_WITH_25: Final = (2025, 6)
"""The first release of Neo4j that has Cypher 25."""


_HARMLESS: Final = {
    "runtime": {"slotted"},
    "planner": {"cost", "idp", "dp"},
    "replan": {"default", "force", "skip"},
}
"""Options that every edition of Neo4j takes, without a notification."""


def refuse_options(query: Statement) -> None:
    """Checks that the server certainly takes the options of a query's prefix.

    Raises:
        UnsupportedQueryError: It may refuse one, warn of it, or refuse their combination.
    """
    known: dict[str, str] = {}
    for name, value in query.options:
        key, word = name.lower(), value.lower()
        if word not in _HARMLESS.get(key, ()) or known.setdefault(key, word) != word:
            construct = f"the option {name}={value}"
            message = f"{construct} is for Neo4j, which may refuse it or warn of it"
            raise UnsupportedQueryError(message, query.text, construct=construct)


def refuse_unknown_version(query: Statement, facts: ServerFacts) -> None:
    """Checks that the server has the Cypher version that the query names.

    Only releases of Neo4j are judged; of other products nothing is known.

    Raises:
        UnsupportedQueryError: The server has no Cypher 25, so its answer is an error. Or the query
            names no version and is read as Cypher 5, but means something else in this database.
    """
    if query.version is None and facts.default_cypher == _NEWER:
        _refuse_groups_of_subqueries(query)
    if query.version != _NEWER or facts.product != "Neo4j":
        return
    release = re.match(r"(\d+)\.(\d+)", facts.version)
    if release is None or (int(release[1]), int(release[2])) >= _FIRST_WITH_25:
        return
    message = f"Neo4j {facts.version} does not have Cypher 25"
    raise UnsupportedQueryError(message, query.text, construct="CYPHER 25")


def _refuse_groups_of_subqueries(statement: Statement) -> None:
    """Refuses an aggregate whose group of no rows exists in Cypher 25 only."""
    for node in walk(statement.tree):
        if not isinstance(node, ast.Subquery):
            continue
        for clause in walk(node):
            ordered = isinstance(clause, ast.Return) and clause.projection.order_by
            if not (ordered or isinstance(clause, ast.With)):
                continue
            if any(map(is_aggregate, walk(clause))):
                construct = "an aggregate in WITH within EXISTS, COUNT or COLLECT"
                message = f"{construct} differs between versions of Cypher: begin with CYPHER 25"
                raise UnsupportedQueryError(
                    message, statement.text, clause.span, construct=construct
                )
