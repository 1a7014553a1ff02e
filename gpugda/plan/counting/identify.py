"""Derived queries in which two relationships, or two nodes, are identified or need not differ.

If two relationships are identified, so are their ends.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations
from typing import TYPE_CHECKING, NamedTuple

from gpugda.plan.cardinality import relationship_cardinality
from gpugda.plan.join.join_order import connected_components
from gpugda.plan.pattern.degree_needs import degree_needs
from gpugda.plan.plan import LabelOp
from gpugda.plan.row_tests import is_single

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.statistics.graph_statistics import (
        GraphStatistics,
    )
    from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship, RowTest

    Pair = tuple[int, int]
    TypeIds = tuple[int, ...] | None

__all__ = [
    "Identified",
    "Merged",
    "identifications",
    "identify",
    "identify_nodes",
    "without_tests_of",
]


class Identified(NamedTuple):
    """A case of identified query nodes; overlapping cases need a negative one.

    Attributes:
        groups: Groups of at least two positions each, sorted.
        sign: 1, or -1 for the intersection of two other cases.
    """

    groups: tuple[tuple[int, ...], ...]
    sign: int


class Merged(NamedTuple):
    """A query after relationships or nodes were merged.

    Attributes:
        bound: The merged query.
        nodes: New position of each original query node.
        relationships: New position of each original query relationship.
    """

    bound: BoundQuery
    nodes: tuple[int, ...]
    relationships: tuple[int, ...]


def without_tests_of(bound: BoundQuery, pairs: Collection[Pair]) -> BoundQuery:
    """The query in which these pairs of relationships, each ascending, may be the same."""
    loose = set(pairs)
    tests = tuple(each for each in bound.tests if _pair(each) not in loose)
    return _with_needs(replace(bound, tests=tests))


def identifications(
    one: BoundRelationship, other: BoundRelationship, alignments: Sequence[tuple[Pair, Pair]]
) -> list[Identified]:
    """The cases of identified ends if two relationships are the same.

    Args:
        one: A query relationship.
        other: Another query relationship.
        alignments: The possible relative directions, from `PossibleOverlaps.alignments`.
    """
    found = [_groups(pairs) for pairs in alignments]
    if len(found) < 2:
        return [Identified(groups, 1) for groups in found]
    whole = _groups([(one.source, each) for each in (one.target, other.source, other.target)])
    # One direction may include the other: with a common end, all ends are one node.
    if whole in found:
        found.remove(whole)
        return [Identified(groups, 1) for groups in found] or [Identified(whole, 1)]
    # A loop is counted in both directions.
    return [*(Identified(groups, 1) for groups in found), Identified(whole, -1)]


def identify(
    bound: BoundQuery,
    graph: DataGraph,
    pair: Pair,
    groups: Sequence[Sequence[int]],
    untested: Collection[Pair] = (),
) -> Merged | None:
    """The query in which two relationships are one, as are the nodes of each group.

    Other relationships that then connect the same nodes are merged, too, if only one data
    relationship fits; otherwise the estimate would apply the same selectivity twice. None if there
    are no rows: a test fails, the types are disjoint, or there are no loops.

    Args:
        bound: The query; its tests compare nodes with nodes or relationships with relationships.
        graph: The data graph.
        pair: The relationships; the first one stays.
        groups: The groups of nodes.
        untested: Further pairs of relationships, each ascending, that may be the same.
    """
    one, other = (bound.relationships[each] for each in pair)
    types = _common_types(one.types, other.types)
    if types == ():
        return None
    return _merged(
        bound,
        graph,
        [
            _combined(one, other, types) if each is one else each
            for each in bound.relationships
            if each is not other
        ],
        _merged_places(len(bound.nodes), groups),
        _merged_places(len(bound.relationships), [pair]),
        {pair, *untested},
    )


def identify_nodes(bound: BoundQuery, graph: DataGraph, pair: Pair) -> Merged | None:
    """The query in which two query nodes are one; None if there are no rows, as in `identify`.

    Args:
        bound: The query; no test may require the two nodes to differ.
        graph: The data graph.
        pair: The query nodes.
    """
    nodes = _merged_places(len(bound.nodes), [pair])
    links = tuple(range(len(bound.relationships)))
    return _merged(bound, graph, bound.relationships, nodes, links, ())


def _merged(
    bound: BoundQuery,
    graph: DataGraph,
    relationships: Iterable[BoundRelationship],
    nodes: tuple[int, ...],
    links: tuple[int, ...],
    untested: Collection[Pair],
) -> Merged | None:
    """Builds the merged query; ``nodes``, ``links``: the new position of each original one."""
    tests = _tests(bound.tests, nodes, links, untested)
    if tests is None:
        return None
    merged_nodes = tuple(
        _node(place, [each for each, at in zip(bound.nodes, nodes, strict=True) if at == place])
        for place in range(1 + max(nodes))
    )
    merged_links = tuple(
        _repositioned(each, nodes, links, merged_nodes, graph.statistics) for each in relationships
    )
    loops = (each for each in merged_links if each.source == each.target)
    if not all(_has_loops(each, graph.statistics) for each in loops):
        return None
    made = replace(bound, nodes=merged_nodes, relationships=merged_links, tests=tests)
    return _with_forced_merges(made, graph, nodes, links)


def _merged_places(count: int, groups: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """New positions 0 … after each group was merged into its smallest member."""
    first = {each: min(group) for group in groups for each in group}
    left = [each for each in range(count) if first.get(each, each) == each]
    place_of = {each: place for place, each in enumerate(left)}
    return tuple(place_of[first.get(each, each)] for each in range(count))


def _combined(
    one: BoundRelationship, other: BoundRelationship, types: TypeIds
) -> BoundRelationship:
    """The conditions of two identified relationships, as one relationship."""
    # A directed relationship fixes the direction of an undirected one.
    kept = other if one.directed < other.directed else one
    return replace(
        kept,
        position=one.position,
        name=one.name,
        types=types,
        predicates=tuple(dict.fromkeys((*one.predicates, *other.predicates))),
        clause=one.clause,
    )


def _with_forced_merges(
    made: BoundQuery, graph: DataGraph, nodes: tuple[int, ...], links: tuple[int, ...]
) -> Merged | None:
    """Merges relationships that are the same in any case; None if a test requires a difference."""
    again = _forced_pair(made, graph)
    if again is None:
        return Merged(_with_needs(made), nodes, links)
    if any(_pair(each) == again for each in made.tests):
        return None
    merged = identify(made, graph, again, ())
    # The merged relationships have the same ends, so no further nodes are merged.
    return merged and Merged(
        merged.bound, nodes, tuple(merged.relationships[each] for each in links)
    )


def _forced_pair(bound: BoundQuery, graph: DataGraph) -> Pair | None:
    """Two relationships between the same nodes, if only one data relationship fits there."""
    for one, other in combinations(bound.relationships, 2):
        ends = other.source, other.target
        if ends == (one.source, one.target):
            directed = one.directed and other.directed
        elif ends == (one.target, one.source) and not (one.directed and other.directed):
            directed = False
        else:
            continue
        types = None if one.types is None or other.types is None else (*one.types, *other.types)
        kinds = types and tuple(dict.fromkeys(types))
        if is_single(replace(one, types=kinds, directed=directed), graph):
            return one.position, other.position
    return None


def _groups(pairs: Sequence[Pair]) -> tuple[tuple[int, ...], ...]:
    count = 1 + max(map(max, pairs))
    return tuple(tuple(each) for each in connected_components(count, pairs) if len(each) > 1)


def _pair(test: RowTest) -> Pair | None:
    """The relationships that a test requires to differ, ascending; None for other tests."""
    if test.on_nodes or test.equal:
        return None
    return min(test.left, test.right), max(test.left, test.right)


def _tests(
    tests: Iterable[RowTest],
    nodes: Sequence[int],
    links: Sequence[int],
    untested: Collection[Pair],
) -> tuple[RowTest, ...] | None:
    """The tests after merging; None if one always fails."""
    found: dict[RowTest, None] = {}
    for each in tests:
        if _pair(each) in untested:
            continue
        places = nodes if each.on_nodes else links
        left, right = sorted((places[each.left], places[each.right]))
        if left != right or each.left == each.right:
            found[each._replace(left=left, right=right)] = None
        elif not each.equal:
            return None
    return tuple(found)


def _common_types(one: TypeIds, other: TypeIds) -> TypeIds:
    if one is None or other is None:
        return other if one is None else one
    return tuple(each for each in one if each in other)


def _node(place: int, merged: Sequence[BoundNode]) -> BoundNode:
    if len(merged) == 1:
        return replace(merged[0], position=place)
    programs = list(dict.fromkeys(each.labels for each in merged if each.labels))
    both = [((LabelOp.AND, 0),)] * (len(programs) - 1)
    return replace(
        merged[0],
        position=place,
        labels=tuple(chain(*programs, *both)),
        predicates=tuple(dict.fromkeys(chain(*(each.predicates for each in merged)))),
        cardinality=min(each.cardinality for each in merged),
    )


def _repositioned(
    each: BoundRelationship,
    nodes: Sequence[int],
    links: Sequence[int],
    bound_nodes: Sequence[BoundNode],
    statistics: GraphStatistics,
) -> BoundRelationship:
    source, target = nodes[each.source], nodes[each.target]
    return replace(
        each,
        position=links[each.position],
        source=source,
        target=target,
        cardinality=relationship_cardinality(
            bound_nodes[source],
            bound_nodes[target],
            each.types,
            each.predicates,
            statistics,
            directed=each.directed,
        ),
    )


def _has_loops(each: BoundRelationship, statistics: GraphStatistics) -> bool:
    if each.types is None:
        return statistics.loop_count > 0
    return any(statistics.loop_counts[kind] for kind in each.types)


def _with_needs(bound: BoundQuery) -> BoundQuery:
    """The query with degree needs recomputed, as only some relationships must differ now."""
    apart = {_pair(each) for each in bound.tests}
    needs = degree_needs(
        len(bound.nodes),
        bound.relationships,
        [each.types for each in bound.relationships],
        lambda one, other: (one, other) in apart,
    )
    nodes = tuple(
        replace(node, degree_needs=own) for node, own in zip(bound.nodes, needs, strict=True)
    )
    return replace(bound, nodes=nodes)
