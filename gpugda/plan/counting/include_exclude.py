"""Counting with relationships that may be the same, less the embeddings where they are.

What is beyond a separator depends on that alone only where none of its relationships could be one
of the others', and parts that nothing connects multiply only then. Else the query is counted
without those tests; then, for each of these pairs in turn, the query in which the pair is one
relationship is subtracted, with the tests of the pairs that come after it. Queries with a pair that
is one have fewer nodes, so trees and cycles whose rows nobody could make become sums of small
counts. (Counts of subgraphs as sums over homomorphisms: R. Curticapean, H. Dell, D. Marx,
Homomorphisms are a good basis for counting small subgraphs, 2017; here only the tests are left out
that hinder.)

Query nodes that must differ are counted likewise: as if they need not, less where they are one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gpugda.plan.counting.count_plan import Product, Term
from gpugda.plan.counting.degree_messages import keeps_apart
from gpugda.plan.counting.identify import (
    identifications,
    identify,
    identify_nodes,
    without_tests_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.counting.count_plan import Eliminate
    from gpugda.plan.counting.identify import Merged
    from gpugda.plan.plan import BoundQuery, RowTest
    from gpugda.plan.row_tests import Meetings

    Pair = tuple[int, int]

__all__ = [
    "clashing_pairs",
    "find_node_terms",
    "find_terms",
    "loosened_term",
    "merged_term",
    "nodes_apart",
    "pairs_to_loosen",
]


def clashing_pairs(bound: BoundQuery, meetings: Meetings) -> list[Pair]:
    """Pairs of relationships that must differ, and would not do so anyway."""
    links = bound.relationships
    pairs = {
        (min(test.left, test.right), max(test.left, test.right))
        for test in bound.tests
        if keeps_apart(test)
    }
    return [each for each in sorted(pairs) if meetings.can_meet(links[each[0]], links[each[1]])]


def pairs_to_loosen(
    bound: BoundQuery, loose: Eliminate | Product, clashes: Sequence[Pair], most: int
) -> Iterator[list[Pair]]:
    """The pairs whose test the query needs, and would lack if it was counted like a looser one.

    Then those, too, which only a formula for leaves makes up for: it may not fit this query.

    Args:
        bound: The query.
        loose: How it is best counted without the tests of any of the pairs.
        clashes: All `clashing_pairs`.
        most: Pairs; where there are more, none.
    """
    parts = list(_parts(bound, loose))
    for formulas_fit in (True, False):
        found = [
            each for each in clashes if not any(part.tests(each, formulas_fit) for part in parts)
        ]
        if 0 < len(found) <= most:
            yield found
        if not any(part.leaves for part in parts):
            return


def find_terms(
    bound: BoundQuery,
    graph: DataGraph,
    counts: Sequence[int],
    grouped: Sequence[int],
    meetings: Meetings,
    loosened: Sequence[Pair],
) -> Iterator[Term]:
    """What is added up where some pairs are not tested.

    Args:
        bound: The query.
        graph: What it is asked of.
        counts: Candidates of each query node.
        grouped: Query nodes that are grouped by.
        meetings: Of the query.
        loosened: The pairs, of `clashing_pairs`.
    """
    yield loosened_term(bound, counts, grouped, loosened)
    links = bound.relationships
    for place, (one, other) in enumerate(loosened, 1):
        turns = meetings.turns(links[one], links[other])
        for groups, sign in identifications(links[one], links[other], turns):
            merged = identify(bound, graph, (one, other), groups, loosened[:place])
            if merged is not None:
                yield merged_term(merged, counts, grouped, -sign, (one, other))


def nodes_apart(bound: BoundQuery) -> list[Pair]:
    """Pairs of query nodes that a test says differ."""
    tests = [each for each in bound.tests if each.on_nodes and not each.equal]
    pairs = {(min(each.left, each.right), max(each.left, each.right)) for each in tests}
    return sorted(each for each in pairs if each[0] != each[1])


def find_node_terms(
    bound: BoundQuery,
    graph: DataGraph,
    counts: Sequence[int],
    grouped: Sequence[int],
    pairs: Sequence[Pair],
) -> Iterator[Term]:
    """What is added up where query nodes are not compared.

    Args: as of `find_terms`; ``pairs``: all `nodes_apart`.
    """
    yield replace(
        loosened_term(_without(bound, pairs), counts, grouped, ()), nodes_apart=tuple(pairs)
    )
    for place, pair in enumerate(pairs, 1):
        merged = identify_nodes(_without(bound, pairs[:place]), graph, pair)
        if merged is not None:
            term = merged_term(merged, counts, grouped, -1, pair)
            yield replace(term, pairs=(), nodes_apart=(pair,))


def _without(bound: BoundQuery, pairs: Sequence[Pair]) -> BoundQuery:
    """The query where these pairs of nodes need not differ."""

    def is_left_out(test: RowTest) -> bool:
        pair = min(test.left, test.right), max(test.left, test.right)
        return test.on_nodes and not test.equal and pair in pairs

    return replace(bound, tests=tuple(each for each in bound.tests if not is_left_out(each)))


def loosened_term(
    bound: BoundQuery, counts: Sequence[int], grouped: Sequence[int], pairs: Sequence[Pair]
) -> Term:
    """The pattern where these pairs may be the same. Args: as of `find_terms`."""
    nodes = tuple((node,) for node in range(len(bound.nodes)))
    links = tuple((each.position,) for each in bound.relationships)
    loose = without_tests_of(bound, pairs)
    return Term(
        loose, nodes, links, tuple(counts), tuple(grouped), pairs=tuple(pairs), is_loose=True
    )


def merged_term(
    merged: Merged, counts: Sequence[int], grouped: Sequence[int], sign: int, pair: Pair
) -> Term:
    """The pattern where two relationships are one, in a sum. Args: as of `find_terms`."""
    nodes = _sources(merged.nodes, len(merged.bound.nodes))
    return Term(
        merged.bound,
        nodes,
        _sources(merged.relationships, len(merged.bound.relationships)),
        tuple(min(counts[node] for node in each) for each in nodes),
        tuple(merged.nodes[node] for node in grouped),
        sign=sign,
        pairs=(pair,),
    )


def _sources(places: Sequence[int], count: int) -> tuple[tuple[int, ...], ...]:
    """Of each place, what is there."""
    found: list[list[int]] = [[] for _ in range(count)]
    for number, place in enumerate(places):
        found[place].append(number)
    return tuple(map(tuple, found))


class _Part(NamedTuple):
    """Query relationships that are joined together, and those of what is multiplied with them.

    Attributes:
        all: Their positions.
        leaves: Those of leaves.
        rows: Those of each group of nodes that are counted per row.
    """

    all: frozenset[int]
    leaves: frozenset[int]
    rows: tuple[frozenset[int], ...]

    def tests(self, pair: Pair, formulas_fit: bool) -> bool:
        """Can its rows, or formulas, tell whether these are the same?"""
        if not self.all.issuperset(pair):
            return False
        groups = {
            next((at for at, group in enumerate(self.rows) if each in group), None) for each in pair
        }
        if len(groups - {None}) == 2:
            return False
        return formulas_fit or self.leaves.isdisjoint(pair)


def _parts(bound: BoundQuery, plan: Eliminate | Product) -> Iterator[_Part]:
    if isinstance(plan, Product):
        for factor in plan.factors:
            yield _Part(frozenset(each for (each,) in factor.relationships), frozenset(), ())
        return

    def at(nodes: Collection[int]) -> frozenset[int]:
        return frozenset(
            each.position
            for each in bound.relationships
            if each.source in nodes or each.target in nodes
        )

    inside = set(range(len(bound.nodes))) - plan.outside
    rows = tuple(at(group) for group in plan.rows)
    yield _Part(at(inside) - at(plan.outside), at(plan.leaves), rows)
    for message in plan.tables:
        yield from _parts(bound, message.plan)
