"""Queries that only the server answers: their prefixes or its plans change what they mean."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Two
from gpugda.query.ast import ComparisonOperator as Is
from gpugda.query.check.expressions import is_aggregate
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.ports import ServerFacts
    from gpugda.query.statement import Statement


__all__ = [
    "refuse_lost_counts",
    "refuse_options",
    "refuse_sums_as_conditions",
    "refuse_unknown_version",
]

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
        UnsupportedQueryError: It may refuse one, or warn of it.
    """
    for name, value in query.options:
        if value.lower() not in _HARMLESS.get(name.lower(), ()):
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


def refuse_lost_counts(query: Statement) -> None:
    """Refuses a count within OPTIONAL MATCH where Neo4j takes a count of 0 for no row.

    It does not where it reads the count as existence or as a degree.

    Raises:
        UnsupportedQueryError: The query has such a count.
    """
    for clause in walk(query.tree):
        if not isinstance(clause, ast.Match) or not clause.optional:
            continue
        parts = tuple(walk(clause))
        sound = {id(side) for part in parts for side in _compared_with_zero(part)}
        for part in parts:
            if _counts_rows(part) and id(part) not in sound:
                construct = "a count of rows within OPTIONAL MATCH"
                message = f"{construct} is lost by Neo4j if it is 0"
                raise UnsupportedQueryError(message, query.text, part.span, construct=construct)


def _compared_with_zero(part: ast.Node) -> tuple[ast.Expression, ...]:
    """The sides of ``x = 0``, ``x <> 0``, ``x > 0`` and ``0 < x``."""
    match part:
        case ast.Comparison(operands=(_, ast.Literal(value=0)), operators=(sign,)):
            return part.operands if sign in (Is.EQUAL, Is.NOT_EQUAL, Is.GREATER) else ()
        case ast.Comparison(operands=(ast.Literal(value=0), _), operators=(sign,)):
            return part.operands if sign in (Is.EQUAL, Is.NOT_EQUAL, Is.LESS) else ()
    return ()


def _counts_rows(part: ast.Node) -> bool:
    match part:
        case ast.CountSubquery():
            return not _is_degree(part)
        case ast.FunctionCall(arguments=(ast.PatternComprehension() | ast.CollectSubquery(),)):
            return part.name.lower() == "size"
    return False


def _is_degree(part: ast.CountSubquery) -> bool:
    """True if it counts the relationships of one node, as in ``COUNT { (a)-[:R]->() }``."""
    match part.query.parts:
        case (
            ast.SingleQuery(
                clauses=(ast.Match(where=None, patterns=(ast.Pattern(elements=(a, r, b)),)),)
            ),
        ):
            bare = isinstance(r, ast.RelationshipPattern) and not any(
                (r.variable, r.length, r.properties, r.where, r.quantifier)
            )
            ends = [each for each in (a, b) if isinstance(each, ast.NodePattern)]
            plain = [not any((each.labels, each.properties, each.where)) for each in ends]
            return bare and all(plain) and any(each.variable is None for each in ends)
    return False


_BOOLEAN: Final = (Two.AND, Two.OR, Two.XOR)


def refuse_sums_as_conditions(query: Statement) -> None:
    """Refuses a condition that is a sum: no row passes it in Neo4j, or it is an error.

    Raises:
        UnsupportedQueryError: The query has such a condition.
    """
    for part in walk(query.tree):
        condition = part.predicate if isinstance(part, ast.Filter) else getattr(part, "where", None)
        if isinstance(part, ast.Binary) and part.operator in _BOOLEAN:
            condition = _without_literal(part)
        if isinstance(condition, ast.Binary) and condition.operator is Two.ADD:
            construct = "a sum as a condition"
            message = f"{construct} depends on Neo4j's plan"
            raise UnsupportedQueryError(message, query.text, condition.span, construct=construct)


def _without_literal(condition: ast.Binary) -> ast.Expression:
    """The other operand of ``x AND true`` and the like."""
    if isinstance(condition.left, ast.Literal):
        return condition.right
    return condition.left if isinstance(condition.right, ast.Literal) else condition
