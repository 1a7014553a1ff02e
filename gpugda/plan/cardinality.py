"""Cardinality estimates for candidates and relationships, and selectivities of predicates.

All are expected values from the data graph's statistics. Conditions are assumed independent.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from gpugda.plan.plan import LabelOp
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.data.statistics.graph_statistics import (
        GraphStatistics,
    )
    from gpugda.plan.label_programs import Program
    from gpugda.plan.plan import BoundNode, BoundRelationship

__all__ = [
    "End",
    "cardinality_between",
    "closing_rate",
    "extension_rate",
    "label_share",
    "node_cardinality",
    "relationship_cardinality",
    "relationship_end",
    "selectivity",
]

_LABEL = LabelOp.LABEL  # a global, as the attribute access costs more than the work done with it
DEFAULT = 0.5
"""Selectivity of a predicate of an unknown form."""
EQUALITY = 0.1
"""Selectivity of an equality with a property whose distinct values were not counted."""
RANGE = 0.3
TEXT = 0.1
NULL = 0.1

_TEXT_TESTS = (
    ast.BinaryOperator.STARTS_WITH,
    ast.BinaryOperator.ENDS_WITH,
    ast.BinaryOperator.CONTAINS,
)


# ------------------------------------------------------------------ predicates
def selectivity(predicate: ast.Expression, distinct: Mapping[str, int | None], count: int) -> float:
    """Share of the nodes (or relationships) that satisfy a predicate over one of them, 0 to 1.

    Args:
        predicate: The predicate.
        distinct: Number of distinct values by property key; None if it was not counted. A missing
            key means that no element has the property.
        count: The number of nodes (or relationships).
    """
    if isinstance(predicate, ast.Unary):
        return _unary_share(predicate, distinct, count)
    if isinstance(predicate, ast.Binary):
        return _binary_share(predicate, distinct, count)
    if isinstance(predicate, ast.Comparison):
        pairs = zip(predicate.operands, predicate.operators, predicate.operands[1:], strict=False)
        return prod(_comparison_share(*pair, distinct, count) for pair in pairs)
    return DEFAULT


def _unary_share(predicate: ast.Unary, distinct: Mapping[str, int | None], count: int) -> float:
    if predicate.operator is ast.UnaryOperator.NOT:
        return 1.0 - selectivity(predicate.operand, distinct, count)
    key = _property_key(predicate.operand)
    is_null = 1.0 if key is not None and key not in distinct else NULL
    return is_null if predicate.operator is ast.UnaryOperator.IS_NULL else 1.0 - is_null


def _binary_share(predicate: ast.Binary, distinct: Mapping[str, int | None], count: int) -> float:
    operator = predicate.operator
    if operator in (ast.BinaryOperator.AND, ast.BinaryOperator.OR):
        left = selectivity(predicate.left, distinct, count)
        right = selectivity(predicate.right, distinct, count)
        return left * right if operator is ast.BinaryOperator.AND else left + right - left * right
    if operator is ast.BinaryOperator.IN:
        items = predicate.right
        length = len(items.items) if isinstance(items, ast.ListLiteral) else 5
        return min(1.0, length * _equality_share(predicate.left, distinct, count))
    if operator in _TEXT_TESTS:
        key = _property_key(predicate.left)
        return 0.0 if key is not None and key not in distinct else TEXT
    return DEFAULT


def _comparison_share(
    left: ast.Expression,
    operator: ast.ComparisonOperator,
    right: ast.Expression,
    distinct: Mapping[str, int | None],
    count: int,
) -> float:
    shares = [_equality_share(side, distinct, count) for side in (left, right)]
    if 0.0 in shares:
        return 0.0  # no element has the property, so the comparison gives null
    if operator is ast.ComparisonOperator.EQUAL:
        return min(shares)
    if operator is ast.ComparisonOperator.NOT_EQUAL:
        return 1.0 - min(shares)
    return RANGE


def _equality_share(side: ast.Expression, distinct: Mapping[str, int | None], count: int) -> float:
    """Selectivity of an equality with a given value; 1 if this side gives no information."""
    key = _property_key(side)
    if key is not None:
        if key not in distinct:
            return 0.0
        values = distinct[key]
        return 1.0 / values if values else EQUALITY
    if isinstance(side, ast.FunctionCall) and side.name.lower() in ("id", "elementid"):
        return 1.0 / max(count, 1)
    return 1.0


def _property_key(node: ast.Expression) -> str | None:
    if isinstance(node, ast.Property) and isinstance(node.subject, ast.Variable):
        return node.key
    return None


# ------------------------------------------------------------------ nodes
def label_share(program: Program, statistics: GraphStatistics) -> float:
    """Selectivity of a label program: share of the nodes that satisfy it, 0 to 1."""
    if not program or not statistics.node_count:
        return 1.0
    stack: list[float] = []
    for operation, label in program:
        if operation is _LABEL:
            stack.append(statistics.label_counts[label] / statistics.node_count)
        elif operation is LabelOp.ANY:
            stack.append(min(1.0, sum(statistics.label_counts) / statistics.node_count))
        elif operation is LabelOp.NONE:
            stack.append(0.0)
        elif operation is LabelOp.NOT:
            stack.append(1.0 - stack.pop())
        else:
            right, left = stack.pop(), stack.pop()
            is_and = operation is LabelOp.AND
            stack.append(left * right if is_and else left + right - left * right)
    return stack[0]


def node_cardinality(
    program: Program, predicates: Sequence[ast.Expression], statistics: GraphStatistics
) -> float:
    """Estimated number of nodes that satisfy a label program and predicates."""
    count = statistics.node_count
    share = label_share(program, statistics)
    kept = [selectivity(each, statistics.distinct_counts, count) for each in predicates]
    return count * share * prod(kept)


# ------------------------------------------------------------------ relationships
class End(NamedTuple):
    """A query node as the end of a relationship.

    Args:
        node: The query node.
        label: The rarest label that every candidate has; None if there is none.
        share: Share of the nodes with this label that are candidates, 0 to 1.
    """

    node: BoundNode
    label: int | None
    share: float


def relationship_end(node: BoundNode, statistics: GraphStatistics) -> End:
    """The facts about a query node for `cardinality_between`, computed once per node."""
    label = _best_label(node, statistics)
    return End(node, label, _candidate_share(node, label, statistics))


def relationship_cardinality(
    source: BoundNode,
    target: BoundNode,
    types: tuple[int, ...] | None,
    predicates: Sequence[ast.Expression],
    statistics: GraphStatistics,
    *,
    directed: bool,
) -> float:
    """Estimated number of candidate relationships between the candidates of two query nodes.

    An undirected query relationship counts a data relationship once per direction that fits.
    """
    ends = relationship_end(source, statistics), relationship_end(target, statistics)
    return cardinality_between(*ends, types, predicates, statistics, directed=directed)


def cardinality_between(
    source: End,
    target: End,
    types: tuple[int, ...] | None,
    predicates: Sequence[ast.Expression],
    statistics: GraphStatistics,
    *,
    directed: bool,
) -> float:
    """Like `relationship_cardinality`, from prepared ends."""
    if source.node.position == target.node.position:
        between = _loops(types, statistics) * _candidate_share(source.node, None, statistics)
    else:
        between = _between(source.label, types, target.label, statistics)
        if not directed:
            between += _between(target.label, types, source.label, statistics)
        between *= source.share * target.share
    if not predicates:
        return between
    total = statistics.relationship_count
    kept = (selectivity(p, statistics.relationship_distinct_counts, total) for p in predicates)
    return between * prod(kept)


def _between(
    start: int | None, types: tuple[int, ...] | None, end: int | None, statistics: GraphStatistics
) -> float:
    if types is None:
        return statistics.relationships_between(start, None, end)
    return sum([statistics.relationships_between(start, each, end) for each in types])


def _loops(types: tuple[int, ...] | None, statistics: GraphStatistics) -> float:
    if types is None:
        return statistics.loop_count
    return sum([statistics.loop_counts[each] for each in types])


def _best_label(node: BoundNode, statistics: GraphStatistics) -> int | None:
    """The rarest label that every candidate has; None if there is none."""
    if len(node.labels) == 1:
        operation, label = node.labels[0]
        return label if operation is _LABEL else None
    if any(operation in (LabelOp.OR, LabelOp.NOT) for operation, _ in node.labels):
        return None
    labels = [label for operation, label in node.labels if operation is LabelOp.LABEL]
    return min(labels, key=lambda label: statistics.label_counts[label], default=None)


def _candidate_share(node: BoundNode, label: int | None, statistics: GraphStatistics) -> float:
    """Share of the nodes with a label that are candidates, 0 to 1."""
    count = statistics.nodes_with(label)
    return min(1.0, node.cardinality / count) if count else 0.0


# ------------------------------------------------------------------ steps
def extension_rate(relationship: BoundRelationship, bound_end: BoundNode) -> float:
    """Rows out per row in if a query relationship is followed from a bound end."""
    return relationship.cardinality / max(bound_end.cardinality, 1.0)


def closing_rate(relationship: BoundRelationship, source: BoundNode, target: BoundNode) -> float:
    """Rows out per row in if both ends of a query relationship are bound."""
    if source.position == target.position:
        return relationship.cardinality / max(source.cardinality, 1.0)
    return relationship.cardinality / (max(source.cardinality, 1.0) * max(target.cardinality, 1.0))
