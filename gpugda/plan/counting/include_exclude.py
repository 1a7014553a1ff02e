"""Inclusion-exclusion: count without some tests, then subtract the embeddings that violate them.

A part behind a separator depends on the separator alone only if none of its relationships could be
the same as one of the rest, and the counts of disconnected parts multiply only then. Otherwise the
query is counted without those tests; then, for each of these pairs in turn, the query in which the
pair is one relationship is subtracted, with the tests of the later pairs. Queries with merged pairs
have fewer nodes, so trees and cycles with too many rows to create become sums of small counts.
(Counts of subgraphs as sums over homomorphisms: R. Curticapean, H. Dell, D. Marx, Homomorphisms are
a good basis for counting small subgraphs, 2017; here only the obstructing tests are dropped.)

Query nodes that must differ are handled in the same way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from gpugda.plan.cardinality import with_degree_skews
from gpugda.plan.counting.count_plan import Product, Term
from gpugda.plan.counting.identify import (
    identifications,
    identify,
    identify_nodes,
    without_tests_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from gpugda.plan.counting.clashes import Clashes
    from gpugda.plan.counting.count_plan import Eliminate
    from gpugda.plan.counting.identify import Merged
    from gpugda.plan.counting.problem import CountProblem
    from gpugda.plan.plan import BoundQuery, RowTest

    Pair = tuple[int, int]

__all__ = [
    "find_node_terms",
    "find_terms",
    "loosened_term",
    "merged_term",
    "pairs_to_loosen",
    "unequal_nodes",
]


def pairs_to_loosen(
    bound: BoundQuery, loose: Eliminate | Product, clashes: Sequence[Pair], most: int
) -> Iterator[list[Pair]]:
    """Yields sets of pairs whose tests the plan of the loosened query would not apply.

    First the pairs that no rows or leaf formulas test; then also those that only a leaf formula
    tests, as it may not hold for this query.

    Args:
        bound: The query.
        loose: The best plan without the tests of any pair.
        clashes: All clashing pairs.
        most: Largest number of pairs; larger sets are not returned.
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


def find_terms(problem: CountProblem, clashes: Clashes, loosened: Sequence[Pair]) -> Iterator[Term]:
    """The signed terms of the sum if some pairs are not tested.

    Args:
        problem: The count problem.
        clashes: The clashes of its relationships.
        loosened: The clashing pairs that are not tested.
    """
    yield loosened_term(problem, loosened)
    bound, links = problem.bound, problem.bound.relationships
    for place, (one, other) in enumerate(loosened, 1):
        alignments = clashes.overlaps.alignments(links[one], links[other])
        for groups, sign in identifications(links[one], links[other], alignments):
            merged = identify(bound, problem.graph, (one, other), groups, loosened[:place])
            if merged is not None:
                yield merged_term(problem, merged, -sign, (one, other))


def unequal_nodes(bound: BoundQuery) -> list[Pair]:
    """Pairs of query nodes that a test requires to differ, sorted."""
    tests = [each for each in bound.tests if each.on_nodes and not each.equal]
    pairs = {(min(each.left, each.right), max(each.left, each.right)) for each in tests}
    return sorted(each for each in pairs if each[0] != each[1])


def find_node_terms(problem: CountProblem, pairs: Sequence[Pair]) -> Iterator[Term]:
    """The signed terms if query nodes are not compared; ``pairs``: all `unequal_nodes`."""
    loose = loosened_term(_without(problem, pairs), ())
    yield replace(loose, unequal_nodes=tuple(pairs))
    for place, pair in enumerate(pairs, 1):
        bound = _without(problem, pairs[:place]).bound
        merged = identify_nodes(bound, problem.graph, pair)
        if merged is not None:
            term = merged_term(problem, merged, -1, pair)
            yield replace(term, pairs=(), unequal_nodes=(pair,))


def _without(problem: CountProblem, pairs: Sequence[Pair]) -> CountProblem:
    """The problem in which these pairs of nodes need not differ."""

    def is_left_out(test: RowTest) -> bool:
        pair = min(test.left, test.right), max(test.left, test.right)
        return test.on_nodes and not test.equal and pair in pairs

    tests = tuple(each for each in problem.bound.tests if not is_left_out(each))
    return replace(problem, bound=replace(problem.bound, tests=tests))


def loosened_term(problem: CountProblem, pairs: Sequence[Pair]) -> Term:
    """The term in which these pairs may be the same."""
    nodes = tuple((node,) for node in range(len(problem.bound.nodes)))
    links = tuple((each.position,) for each in problem.bound.relationships)
    loose = without_tests_of(problem.bound, pairs)
    return Term(
        loose, nodes, links, problem.counts, problem.grouped, pairs=tuple(pairs), is_loose=True
    )


def merged_term(problem: CountProblem, merged: Merged, sign: int, pair: Pair) -> Term:
    """The term in which two relationships, or two nodes, are merged."""
    nodes = _sources(merged.nodes, len(merged.bound.nodes))
    return Term(
        with_degree_skews(merged.bound, problem.graph),
        nodes,
        _sources(merged.relationships, len(merged.bound.relationships)),
        tuple(min(map(problem.candidates.count, each)) for each in nodes),
        tuple(merged.nodes[node] for node in problem.grouped),
        sign=sign,
        pairs=(pair,),
    )


def _sources(places: Sequence[int], count: int) -> tuple[tuple[int, ...], ...]:
    """Per new position, the original positions."""
    found: list[list[int]] = [[] for _ in range(count)]
    for number, place in enumerate(places):
        found[place].append(number)
    return tuple(map(tuple, found))


class _Part(NamedTuple):
    """Query relationships that are joined together, and the eliminated ones among them.

    Attributes:
        all: Positions of all of them.
        leaves: Positions of the relationships of leaves.
        rows: Positions of the relationships of each group that is counted per row.
    """

    all: frozenset[int]
    leaves: frozenset[int]
    rows: tuple[frozenset[int], ...]

    def tests(self, pair: Pair, formulas_fit: bool) -> bool:
        """True if its rows, or leaf formulas, test that this pair differs."""
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
