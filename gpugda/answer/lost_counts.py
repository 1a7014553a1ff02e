"""Counts of rows within OPTIONAL MATCH, which Neo4j loses if they are 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.errors import UnsupportedQueryError
from gpugda.query import ast
from gpugda.query.ast import ComparisonOperator as Is
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.query.statement import Statement

__all__ = ["refuse_lost_counts"]


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
