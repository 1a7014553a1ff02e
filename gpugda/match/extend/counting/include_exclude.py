"""Counting with relationships that may be the same, less the embeddings where they are.

Branches depend on their roots alone only where none of their relationships could be one of the
others', and parts that nothing connects multiply only then. Where some could, the query is counted
without those tests; then, for each of these pairs in turn, the query in which the pair is one
relationship is subtracted, with the tests of the pairs that come after it. Queries with a pair that
is one have fewer nodes, so trees and cycles whose rows nobody could make become sums of small
counts. (Counts of subgraphs as sums over homomorphisms: R. Curticapean, H. Dell, D. Marx,
Homomorphisms are a good basis for counting small subgraphs, 2017; here only the tests are left out
that are in the way.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.match.extend.counting.identify import identifications, identify, without_tests_of
from gpugda.match.extend.counting.leaves import keeps_apart
from gpugda.match.extend.counting.parts import Product, Term

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.counting.leaves import LeafProduct
    from gpugda.match.row_tests import Meetings
    from gpugda.plan.plan import BoundQuery

    Pair = tuple[int, int]

__all__ = ["clashing_pairs", "find_terms", "pairs_in_the_way"]

_MOST_PAIRS = 32


def clashing_pairs(bound: BoundQuery, meetings: Meetings) -> list[Pair]:
    """Pairs of relationships that must differ, and would not do so anyway."""
    links = bound.relationships
    pairs = {
        (min(test.left, test.right), max(test.left, test.right))
        for test in bound.tests
        if keeps_apart(test)
    }
    return [each for each in sorted(pairs) if meetings.can_meet(links[each[0]], links[each[1]])]


def pairs_in_the_way(
    bound: BoundQuery, loose: LeafProduct | Product, clashes: Sequence[Pair]
) -> Iterator[list[Pair]]:
    """The pairs whose test the query needs, and would lack if it was counted like a looser one.

    Then those, too, which only a formula for leaves makes up for: it may not fit this query.

    Args:
        bound: The query.
        loose: How it is best counted without the tests of any of the pairs.
        clashes: All `clashing_pairs`.
    """
    parts = list(_parts(bound, loose))
    for formulas_fit in (True, False):
        found = [
            each for each in clashes if not any(part.tests(each, formulas_fit) for part in parts)
        ]
        if 0 < len(found) <= _MOST_PAIRS:
            yield found
        if not any(part.leaves for part in parts):
            return


def find_terms(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    counts: Sequence[int],
    grouped: Sequence[int],
    meetings: Meetings,
    loosened: Sequence[Pair],
) -> Iterator[Term]:
    """What is added up where some pairs are not tested.

    Args:
        bound: The query.
        graph: What it is asked of.
        masks: What predicates leave; no comparisons.
        counts: Candidates of each query node.
        grouped: Query nodes that are grouped by.
        meetings: Of the query.
        loosened: The pairs, of `clashing_pairs`.
    """
    loose, pairs = without_tests_of(bound, loosened), tuple(loosened)
    yield Term(loose, masks, tuple(counts), tuple(grouped), pairs=pairs, is_loose=True)
    links = bound.relationships
    for place, (one, other) in enumerate(loosened, 1):
        turns = meetings.turns(links[one], links[other])
        for groups, sign in identifications(links[one], links[other], turns):
            merged = identify(bound, masks, graph, (one, other), groups, loosened[:place])
            if merged is not None:
                own = tuple(
                    min(counts[node] for node, now in enumerate(merged.nodes) if now == each)
                    for each in range(len(merged.bound.nodes))
                )
                pairs = ((one, other),)
                same = tuple(merged.nodes[node] for node in grouped)
                yield Term(merged.bound, merged.masks, own, same, sign=-sign, pairs=pairs)


class _Part(NamedTuple):
    """Query relationships that are joined together, and those of what is multiplied with them.

    Attributes:
        all: Their positions.
        leaves: Those of leaves.
        weighed: Those of each group of weighed nodes.
    """

    all: frozenset[int]
    leaves: frozenset[int]
    weighed: tuple[frozenset[int], ...]

    def tests(self, pair: Pair, formulas_fit: bool) -> bool:
        """Can its rows, or formulas, tell whether these are the same?"""
        if not self.all.issuperset(pair):
            return False
        groups = {
            next((at for at, group in enumerate(self.weighed) if each in group), None)
            for each in pair
        }
        if len(groups - {None}) == 2:
            return False
        return formulas_fit or self.leaves.isdisjoint(pair)


def _parts(bound: BoundQuery, way: LeafProduct | Product) -> Iterator[_Part]:
    if isinstance(way, Product):
        for factor in way.factors:
            yield _Part(frozenset(factor.relationships), frozenset(), ())
        return

    def at(nodes: Collection[int]) -> frozenset[int]:
        return frozenset(
            each.position
            for each in bound.relationships
            if each.source in nodes or each.target in nodes
        )

    inside = set(range(len(bound.nodes))) - way.outside
    weighed = tuple(at(group) for group in way.weighed)
    yield _Part(at(inside) - at(way.outside), at(way.leaves), weighed)
    for branch in way.branches:
        yield from _parts(bound, branch.product)
