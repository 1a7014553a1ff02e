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
from gpugda.plan.counting.identify import (
    identifications,
    identify,
    identify_nodes,
    without_tests_of,
)
from gpugda.plan.met_rates import met_anew

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
    "nodes_apart",
    "pairs_to_loosen",
]


def pairs_to_loosen(
    bound: BoundQuery, loose: Eliminate | Product, clashes: Sequence[Pair], most: int
) -> Iterator[list[Pair]]:
    """The pairs whose test the query needs, and would lack if it was counted like a looser one.

    Then those, too, which only a formula for leaves makes up for: it may not fit this query.

    Args:
        bound: The query.
        loose: How it is best counted without the tests of any of the pairs.
        clashes: All pairs that clash.
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


def find_terms(problem: CountProblem, clashes: Clashes, loosened: Sequence[Pair]) -> Iterator[Term]:
    """What is added up where some pairs are not tested.

    Args:
        problem: What is counted.
        clashes: Of its relationships.
        loosened: The pairs, of those that clash.
    """
    yield loosened_term(problem, loosened)
    bound, links = problem.bound, problem.bound.relationships
    for place, (one, other) in enumerate(loosened, 1):
        turns = clashes.meetings.turns(links[one], links[other])
        for groups, sign in identifications(links[one], links[other], turns):
            merged = identify(bound, problem.graph, (one, other), groups, loosened[:place])
            if merged is not None:
                yield merged_term(problem, merged, -sign, (one, other))


def nodes_apart(bound: BoundQuery) -> list[Pair]:
    """Pairs of query nodes that a test says differ."""
    tests = [each for each in bound.tests if each.on_nodes and not each.equal]
    pairs = {(min(each.left, each.right), max(each.left, each.right)) for each in tests}
    return sorted(each for each in pairs if each[0] != each[1])


def find_node_terms(problem: CountProblem, pairs: Sequence[Pair]) -> Iterator[Term]:
    """What is added up where query nodes are not compared; ``pairs``: all `nodes_apart`."""
    loose = loosened_term(_without(problem, pairs), ())
    yield replace(loose, nodes_apart=tuple(pairs))
    for place, pair in enumerate(pairs, 1):
        bound = _without(problem, pairs[:place]).bound
        merged = identify_nodes(bound, problem.graph, pair)
        if merged is not None:
            term = merged_term(problem, merged, -1, pair)
            yield replace(term, pairs=(), nodes_apart=(pair,))


def _without(problem: CountProblem, pairs: Sequence[Pair]) -> CountProblem:
    """The query where these pairs of nodes need not differ."""

    def is_left_out(test: RowTest) -> bool:
        pair = min(test.left, test.right), max(test.left, test.right)
        return test.on_nodes and not test.equal and pair in pairs

    tests = tuple(each for each in problem.bound.tests if not is_left_out(each))
    return replace(problem, bound=replace(problem.bound, tests=tests))


def loosened_term(problem: CountProblem, pairs: Sequence[Pair]) -> Term:
    """The pattern where these pairs may be the same."""
    nodes = tuple((node,) for node in range(len(problem.bound.nodes)))
    links = tuple((each.position,) for each in problem.bound.relationships)
    loose = without_tests_of(problem.bound, pairs)
    return Term(
        loose, nodes, links, problem.counts, problem.grouped, pairs=tuple(pairs), is_loose=True
    )


def merged_term(problem: CountProblem, merged: Merged, sign: int, pair: Pair) -> Term:
    """The pattern where two relationships are one, in a sum."""
    nodes = _sources(merged.nodes, len(merged.bound.nodes))
    return Term(
        met_anew(merged.bound, problem.graph),
        nodes,
        _sources(merged.relationships, len(merged.bound.relationships)),
        tuple(min(map(problem.candidates.count, each)) for each in nodes),
        tuple(merged.nodes[node] for node in problem.grouped),
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
