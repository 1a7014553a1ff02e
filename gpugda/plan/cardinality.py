"""Estimates of how many: candidates, relationships, and the share that a predicate keeps.

All are expectations from the data graph's statistics, with conditions taken as independent.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from gpugda.plan.plan import LabelOp
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.data.statistics import GraphStatistics
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

_LABEL = LabelOp.LABEL  # looked up once: that takes longer than what is done with it
DEFAULT = 0.5
"""Share kept by a predicate of which nothing is known."""
EQUALITY = 0.1
"""By an equality with a property whose distinct values were not counted."""
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
    """Share of the nodes (or relationships) that satisfy a predicate over one of them.

    Args:
        predicate: The predicate.
        distinct: Distinct values per property key; None where not counted. A key that is absent is
            of no property.
        count: How many nodes (or relationships) there are.
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
        return 0.0  # a property that nothing has is null
    if operator is ast.ComparisonOperator.EQUAL:
        return min(shares)
    if operator is ast.ComparisonOperator.NOT_EQUAL:
        return 1.0 - min(shares)
    return RANGE


def _equality_share(side: ast.Expression, distinct: Mapping[str, int | None], count: int) -> float:
    """Share of what equals a given value on this side; 1 for what says nothing."""
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
    """Share of the nodes that satisfy a label program."""
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
    """Nodes that satisfy a label program and predicates."""
    count = statistics.node_count
    share = label_share(program, statistics)
    kept = [selectivity(each, statistics.distinct_counts, count) for each in predicates]
    return count * share * prod(kept)


# ------------------------------------------------------------------ relationships
class End(NamedTuple):
    """A query node as an end of its relationships.

    Args:
        node: The node.
        label: The rarest that each candidate certainly has, None where there is none.
        share: Of the nodes with this label, those that are candidates.
    """

    node: BoundNode
    label: int | None
    share: float


def relationship_end(node: BoundNode, statistics: GraphStatistics) -> End:
    """What `cardinality_between` has to know of a query node, found once for all it has."""
    label = _best_label(node, statistics)
    return End(node, label, _share_left(node, label, statistics))


def relationship_cardinality(
    source: BoundNode,
    target: BoundNode,
    types: tuple[int, ...] | None,
    predicates: Sequence[ast.Expression],
    statistics: GraphStatistics,
    *,
    directed: bool,
) -> float:
    """Candidate relationships between the candidates of two query nodes.

    Undirected ones count once for each direction that fits.
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
    """As `relationship_cardinality`."""
    if source.node.position == target.node.position:
        between = _loops(types, statistics) * _share_left(source.node, None, statistics)
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
    """The rarest label that each candidate certainly has, if there is one."""
    if len(node.labels) == 1:
        operation, label = node.labels[0]
        return label if operation is _LABEL else None
    if any(operation in (LabelOp.OR, LabelOp.NOT) for operation, _ in node.labels):
        return None
    labels = [label for operation, label in node.labels if operation is LabelOp.LABEL]
    return min(labels, key=lambda label: statistics.label_counts[label], default=None)


def _share_left(node: BoundNode, label: int | None, statistics: GraphStatistics) -> float:
    """Share of the nodes with a label that are candidates."""
    count = statistics.nodes_with(label)
    return min(1.0, node.cardinality / count) if count else 0.0


# ------------------------------------------------------------------ steps
def extension_rate(relationship: BoundRelationship, bound_end: BoundNode) -> float:
    """Rows out per row in when a query relationship is followed from a bound end."""
    return relationship.cardinality / max(bound_end.cardinality, 1.0)


def closing_rate(relationship: BoundRelationship, source: BoundNode, target: BoundNode) -> float:
    """Rows out per row in when both ends are bound."""
    if source.position == target.position:
        return relationship.cardinality / max(source.cardinality, 1.0)
    return relationship.cardinality / (max(source.cardinality, 1.0) * max(target.cardinality, 1.0))
