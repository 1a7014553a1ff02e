"""Counts the rows that a negated pattern keeps as all rows minus the rows that it excludes.

``NOT (a)-[:R]-(c)`` keeps almost all rows, each of which would have to be created. The join counts
the rows without the condition, and the rows with its opposite, without creating them. If two nodes
have at most one such relationship, the rows with one are the rows of the pattern with one added
relationship.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpugda.plan.pattern.split_predicates import compared_variables
from gpugda.query import ast
from gpugda.query.query_graph import QueryRelationship, anonymous_relationship_name
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.logical import Match
    from gpugda.query.query_graph import QueryGraph

__all__ = ["ComplementCount", "complement_count"]

_FIRST_NUMBER: Final = 1 << 25
"""First number for names of added elements, far above the query's own numbers."""


@value(frozen=True, slots=True)
class ComplementCount:
    """The two patterns whose counts are subtracted.

    Args:
        whole: The pattern without the condition.
        part: The pattern with the excluded relationship added.
        joined: The added relationship. The difference is right only if no two nodes have two of
            them.
    """

    whole: Match
    part: Match
    joined: QueryRelationship


def complement_count(match: Match, predicates: Sequence[ast.Expression]) -> ComplementCount | None:
    """The patterns to count if only the number of rows is needed; None if the rule does not apply.

    Args:
        match: A pattern that stands alone.
        predicates: The predicates that filter its rows.
    """
    graph = match.graph
    pattern = _negated(predicates[0]) if len(predicates) == 1 else None
    ends = None if pattern is None else _ends(pattern, graph)
    if pattern is None or ends is None or graph.no_rows is not None:
        return None
    return _with_joined(match, pattern, ends)


def _with_joined(match: Match, pattern: ast.Pattern, ends: tuple[int, int]) -> ComplementCount:
    graph, arrow = match.graph, pattern.elements[1]
    assert isinstance(arrow, ast.RelationshipPattern)
    if arrow.direction is ast.Direction.INCOMING:
        ends = ends[1], ends[0]
    joined = QueryRelationship(
        position=len(graph.relationships),
        name=anonymous_relationship_name(_FIRST_NUMBER),
        source=ends[0],
        target=ends[1],
        directed=arrow.direction is not ast.Direction.BOTH,
        types=arrow.types,
        # A clause of its own: it may be the same as one of the pattern's relationships.
        clause=1 + max((each.clause for each in graph.relationships), default=0),
    )
    kept = tuple(each for each in graph.predicates if not _follows(each, joined, graph))
    whole = replace(graph, predicates=kept)
    part = replace(whole, relationships=(*graph.relationships, joined))
    return ComplementCount(replace(match, graph=whole), replace(match, graph=part), joined)


def _negated(predicate: ast.Expression) -> ast.Pattern | None:
    """The pattern of ``NOT (a)-[:R]->(b)``: one type, no conditions; None for other forms."""
    if not isinstance(predicate, ast.Unary) or predicate.operator is not ast.UnaryOperator.NOT:
        return None
    if not isinstance(predicate.operand, ast.PatternExpression):
        return None
    pattern = predicate.operand.pattern
    if len(pattern.elements) != 3 or pattern.variable or pattern.selector:
        return None
    return pattern if _is_plain(pattern.elements[1]) else None


def _is_plain(arrow: ast.PatternElement) -> bool:
    if not isinstance(arrow, ast.RelationshipPattern) or not isinstance(arrow.types, ast.LabelName):
        return False
    conditions = arrow.length, arrow.quantifier, arrow.properties, arrow.where
    return arrow.variable is None and all(each is None for each in conditions)


def _ends(pattern: ast.Pattern, graph: QueryGraph) -> tuple[int, int] | None:
    """Positions of both ends, if they are two query nodes without further conditions."""
    places = {node.name: node.position for node in graph.nodes}
    found: list[int] = []
    for node in (pattern.elements[0], pattern.elements[2]):
        if not isinstance(node, ast.NodePattern) or node.variable is None:
            return None
        if node.labels or node.properties or node.where or node.variable.name not in places:
            return None
        found.append(places[node.variable.name])
    return (found[0], found[1]) if found[0] != found[1] else None


def _follows(predicate: ast.Expression, joined: QueryRelationship, graph: QueryGraph) -> bool:
    """True if the negation implies a predicate such as ``s <> t``.

    The pattern has ``(c)-[:R]->(t)`` and there must be no ``(c)-[:R]->(s)``, so ``s`` and ``t``
    differ.
    """
    compared = compared_variables(predicate)
    if compared is None or compared[2] or not joined.directed:
        return False
    places = {node.name: node.position for node in graph.nodes}
    pair = {places.get(name) for name in compared[:2]}
    for each in graph.relationships:
        if not each.directed or not _same_types(each, joined):
            continue
        if each.source == joined.source and pair == {each.target, joined.target}:
            return True
        if each.target == joined.target and pair == {each.source, joined.source}:
            return True
    return False


def _same_types(one: QueryRelationship, other: QueryRelationship) -> bool:
    types = one.types, other.types
    named = [each.name for each in types if isinstance(each, ast.LabelName)]
    return len(named) == 2 and named[0] == named[1]
