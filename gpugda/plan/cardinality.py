"""Cardinality estimates of candidates and relationships, and selectivities of predicates."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

from gpugda.caching import LruCache
from gpugda.plan.plan import DegreeSkew, LabelOp
from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.statistics.degree_sample import Kind
    from gpugda.data.statistics.graph_statistics import GraphStatistics
    from gpugda.plan.label_programs import Program
    from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship
    from gpugda.query.query_graph import QueryRelationship


__all__ = [
    "End",
    "cardinality_between",
    "closing_rate",
    "degree_skews",
    "extension_rate",
    "label_share",
    "max_list_length",
    "node_cardinality",
    "relationship_cardinality",
    "relationship_end",
    "selectivity",
    "with_degree_skews",
]


def max_list_length(
    graph: DataGraph, types: tuple[int, ...] | None, *, outgoing: bool, incoming: bool
) -> int:
    """The largest degree of any node for these types (None for any) and directions."""
    return sum(
        _largest(graph, types, outgoing=is_outgoing)
        for is_outgoing, is_followed in ((True, outgoing), (False, incoming))
        if is_followed
    )


def _largest(graph: DataGraph, types: tuple[int, ...] | None, *, outgoing: bool) -> int:
    statistics = graph.statistics
    of_any = statistics.degrees(None, outgoing=outgoing).largest
    if types is None:
        return of_any
    return min(of_any, sum(statistics.degrees(each, outgoing=outgoing).largest for each in types))


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


_CACHE_SIZE: Final = 1024
_LOOP_SKEW: Final = DegreeSkew()
"""Placeholder for loops; it is never read."""
_cache: Final[WeakKeyDictionary[DataGraph, LruCache[object, dict[Kind, DegreeSkew]]]] = (
    WeakKeyDictionary()
)
"""Per graph, the rates by label and surrounding relationship kinds: new queries reuse them."""


def degree_skews(
    relationships: Sequence[QueryRelationship | BoundRelationship],
    types: Sequence[tuple[int, ...] | None],
    ends: Sequence[End],
    graph: DataGraph,
) -> list[tuple[DegreeSkew, DegreeSkew]]:
    """Rates of each relationship at its source and at its target.

    Args:
        relationships: The relationships of a pattern.
        types: Type ids of each relationship; None for any type.
        ends: The query nodes of the pattern, as `End`.
        graph: The data graph.
    """
    around: list[list[Kind]] = [[] for _ in ends]
    kinds: list[tuple[Kind, Kind]] = []
    for each, ids in zip(relationships, types, strict=True):
        outgoing: Kind = ids, True if each.directed else None
        incoming: Kind = ids, False if each.directed else None
        kinds.append((outgoing, incoming))
        if each.source != each.target:
            around[each.source].append(outgoing)
            around[each.target].append(incoming)
    cached = _cache.get(graph)
    if cached is None:
        cached = _cache.setdefault(graph, LruCache(_CACHE_SIZE))
    found = [_skews_at(there, end, graph, cached) for there, end in zip(around, ends, strict=True)]
    return [
        (found[each.source].get(out, _LOOP_SKEW), found[each.target].get(into, _LOOP_SKEW))
        for each, (out, into) in zip(relationships, kinds, strict=True)
    ]


def _skews_at(
    there: list[Kind], end: End, graph: DataGraph, cached: LruCache[object, dict[Kind, DegreeSkew]]
) -> dict[Kind, DegreeSkew]:
    """Rates by kind, at a query node with these kinds of relationships."""
    label, share = end.label, end.share
    found = cached.get(
        (tuple(there), label), lambda: {kind: _skew(kind, there, label, graph) for kind in {*there}}
    )
    if share == 1.0:
        return found
    return {
        kind: skew._replace(nonzero_count=share * skew.nonzero_count)
        for kind, skew in found.items()
    }


def with_degree_skews(bound: BoundQuery, graph: DataGraph) -> BoundQuery:
    """A pattern with recomputed rates, for query nodes that gained relationships by merging."""
    links = bound.relationships
    ends = [relationship_end(each, graph.statistics) for each in bound.nodes]
    found = degree_skews(links, [each.types for each in links], ends, graph)
    changed = [replace(each, skew=skew) for each, skew in zip(links, found, strict=True)]
    return replace(bound, relationships=tuple(changed))


def _skew(kind: Kind, around: list[Kind], label: int | None, graph: DataGraph) -> DegreeSkew:
    """The rates for the other kind (if there are several) that leads to the highest degrees."""
    mean, nonzero_count = _mean(kind, label, graph), graph.nodes_having(kind, label)
    if not mean:
        return DegreeSkew(nonzero_count=0.0)
    reached_degree = graph.reached_degree(kind, kind, label)
    nodes = graph.statistics.nodes_with(label)
    evenness = mean * nodes / max(nonzero_count * reached_degree, 1.0)
    if len(around) == 1:  # the node is reached along no other relationship
        return DegreeSkew(nonzero_count=nonzero_count, evenness=evenness)
    others = set(around)
    if around.count(kind) == 1:
        others.discard(kind)
    most = max([graph.reached_degree(other, kind, label) for other in others])
    return DegreeSkew(most / mean, nonzero_count, evenness)


def _mean(kind: Kind, label: int | None, graph: DataGraph) -> float:
    """Mean number of relationships of a kind per node with the label."""
    (types, outgoing), statistics = kind, graph.statistics
    count = 0.0
    for each in (None,) if types is None else types:
        if outgoing is not False:
            count += statistics.relationships_between(label, each, None)
        if outgoing is not True:
            count += statistics.relationships_between(None, each, label)
    nodes = statistics.nodes_with(label)
    return count / nodes if nodes else 0.0
