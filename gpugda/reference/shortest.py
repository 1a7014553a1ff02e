"""shortestPath and allShortestPaths: breadth-first search for the shortest trails that pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda import values
from gpugda.deadline import check_time
from gpugda.errors import CypherExecutionError
from gpugda.query import ast
from gpugda.reference.backtracking import PartialMatch
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.reference.evaluator import Evaluator
    from gpugda.reference.trees import Row

__all__ = ["shortest_paths"]

_SAME_ENDS = (
    "The shortest path algorithm does not work when the start and end nodes are the same: test"
    " before that they differ"
)


def shortest_paths(
    evaluator: Evaluator,
    pattern: ast.Pattern,
    row: Row,
    ends: tuple[Entity, Entity],
    passes: Callable[[Row], bool] | None = None,
    *,
    one_name: bool = False,
) -> Iterator[tuple[Path, Row]]:
    """All shortest trails that match and pass, each with the extended row.

    Args:
        evaluator: Evaluates expressions.
        pattern: Two nodes with one relationship pattern between them.
        row: The bound variables.
        ends: The two end nodes.
        passes: True for an extended row whose path is accepted; None accepts all.
        one_name: True if a MATCH uses one variable for both ends, which Neo4j rejects even if the
            minimum length is 0.

    Raises:
        CypherExecutionError: Both ends are the same node, and length 0 is not allowed.
    """
    relationship = pattern.elements[1]
    assert isinstance(relationship, ast.RelationshipPattern)
    minimum, maximum = (1, 1) if relationship.length is None else relationship.length.bounds
    start, end = ends
    if start == end and (minimum > 0 or one_name):
        raise CypherExecutionError(_SAME_ENDS, evaluator.text, pattern.span)
    level = [PartialMatch(row, nodes=(start.index,))]
    seen: set[int] = set()
    length = 0
    while level and (maximum is None or length <= maximum):
        if length >= minimum:
            hits = list(_hits(pattern, relationship, level, end, passes))
            if hits:
                yield from hits
                return
        if passes is None:  # a path through a node that was reached earlier is not the shortest
            level = [found for found in level if found.nodes[-1] not in seen]
            seen |= {found.nodes[-1] for found in level}
        level = [longer for found in level for longer in _longer(evaluator, relationship, found)]
        length += 1


def _hits(
    pattern: ast.Pattern,
    relationship: ast.RelationshipPattern,
    level: list[PartialMatch],
    end: Entity,
    passes: Callable[[Row], bool] | None,
) -> Iterator[tuple[Path, Row]]:
    for found in level:
        if found.nodes[-1] == end.index:
            path, row = found.path(), dict(found.row)
            if pattern.variable is not None:
                row[pattern.variable.name] = path
            if relationship.variable is not None:
                row[relationship.variable.name] = list(path.relationships)
            if passes is None or passes(row):
                yield path, row


def _longer(
    evaluator: Evaluator, element: ast.RelationshipPattern, found: PartialMatch
) -> Iterator[PartialMatch]:
    wanted = evaluator.value(element.properties, found.row) if element.properties else {}
    for number, end in evaluator.graph.steps(found.nodes[-1], element.direction):
        check_time()
        relationship = Entity(False, number)
        if (
            number not in found.used
            and evaluator.labels_fit(relationship, element.types, found.row)
            and all(
                values.equals(evaluator.graph.property(relationship, key), value) is True
                for key, value in wanted.items()
            )
        ):
            yield found.bound(
                used=found.used | {number},
                nodes=(*found.nodes, end),
                relationships=(*found.relationships, number),
            )
