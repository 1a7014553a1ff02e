"""Counting with relationships that may be the same, less the embeddings where they are.

Branches depend on their roots alone only where none of their relationships could be one of the
others'. Where some could, the query is counted without those tests; then, for each of these pairs
in turn, the query in which the pair is one relationship is subtracted, with the tests of the pairs
that come after it. Queries with a pair that is one have fewer nodes, so cycles and trees whose rows
nobody could make become sums of small counts. (Homomorphisms as a basis for counts of subgraphs: R.
Curticapean, H. Dell, D. Marx, Homomorphisms are a good basis for counting small subgraphs, 2017;
here only the tests are left out that are in the way.)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from gpugda.execute.extend_identified import identifications, identify, without_tests_of
from gpugda.execute.extend_products import LeafProduct, keeps_apart
from gpugda.execute.extend_tests import Meetings

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.embeddings import Masks
    from gpugda.plan.plan import BoundQuery

    Pair = tuple[int, int]
    Way = LeafProduct | tuple["Term", ...] | None
    Best = Callable[[BoundQuery, Masks, Sequence[int]], tuple[Way, float]]

__all__ = ["Term", "find_terms", "worth_terms"]

_WORTH_TERMS = 1 << 21
"""Of joins of fewer pairs no terms are looked for, on a CPU."""
_COST_OF_TERM = 1 << 17
"""In pairs: a query of its own."""
_FASTER_GPU = 64
"""So many times as many pairs in that time."""
_LEAST_GAIN = 0.5
"""Of the cost of what there is without: estimates of neither are exact."""
_MOST_PAIRS = 32


@dataclass(frozen=True, slots=True, eq=False)
class Term:
    """A query whose number of embeddings is added, or subtracted.

    Args:
        bound: The query.
        masks: Of its predicates.
        sign: 1 or -1.
        pairs: Relationships of the query it is made of.
        is_loose: May both of each pair be the same? Else they are.
        way: How it is best counted: what is multiplied, or terms of its own; None where all of it
            is joined. It was found before its candidates were.
    """

    bound: BoundQuery
    masks: Masks
    sign: int
    pairs: tuple[Pair, ...]
    is_loose: bool
    way: Way = None


def worth_terms(cost: float, *, is_cpu: bool) -> bool:
    """Does a join of so many pairs take longer than looking for terms?"""
    return cost >= _WORTH_TERMS * (1 if is_cpu else _FASTER_GPU)


def find_terms(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    counts: Sequence[int],
    best: Best,
    cost: float,
    *,
    is_cpu: bool,
) -> tuple[tuple[Term, ...], float]:
    """The terms, if they cost much less than the query as it is, and what they cost.

    Args:
        bound: The query.
        graph: What it is asked of.
        masks: What predicates leave.
        counts: Candidates of each query node.
        best: What is multiplied of another query, and what it then costs in pairs.
        cost: Of the query as it is.
        is_cpu: Is the device one?
    """
    cost_of_term = _COST_OF_TERM * (1 if is_cpu else _FASTER_GPU)
    most = _LEAST_GAIN * cost
    if masks.comparisons:
        return (), cost
    meetings = Meetings(bound, graph)
    clashes = _clashes(bound, meetings)
    if not clashes:
        return (), cost
    product, least = best(without_tests_of(bound, clashes), masks, counts)
    if not isinstance(product, LeafProduct) or least > most:
        return (), cost
    for loosened in _in_the_way(bound, product, clashes):
        total, terms = 0.0, []
        for term, its_counts in _terms(bound, graph, masks, meetings, loosened, counts):
            way, its_cost = best(term.bound, term.masks, its_counts)
            total += cost_of_term + its_cost
            if total > most:
                break
            terms.append(replace(term, way=way))
        else:
            return tuple(terms), total
    return (), cost


def _clashes(bound: BoundQuery, meetings: Meetings) -> list[Pair]:
    """Pairs of relationships that must differ, and would not do so anyway."""
    links = bound.relationships
    pairs = {
        (min(test.left, test.right), max(test.left, test.right))
        for test in bound.tests
        if keeps_apart(test)
    }
    return [each for each in sorted(pairs) if meetings.can_meet(links[each[0]], links[each[1]])]


def _in_the_way(
    bound: BoundQuery, product: LeafProduct, clashes: Sequence[Pair]
) -> Iterator[list[Pair]]:
    """The pairs whose test this product lacks; then those, too, which only a formula makes up for.

    Formulas for leaves often fit the query as it is.
    """
    parts = list(_parts(bound, product))
    for formulas_fit in (True, False):
        found = [
            each for each in clashes if not any(part.tests(each, formulas_fit) for part in parts)
        ]
        if 0 < len(found) <= _MOST_PAIRS:
            yield found
        if not any(part.leaves for part in parts):
            return


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


def _parts(bound: BoundQuery, product: LeafProduct) -> Iterator[_Part]:
    def at(nodes: Collection[int]) -> frozenset[int]:
        return frozenset(
            each.position
            for each in bound.relationships
            if each.source in nodes or each.target in nodes
        )

    inside = set(range(len(bound.nodes))) - product.outside
    weighed = tuple(at(group) for group in product.weighed)
    yield _Part(at(inside) - at(product.outside), at(product.leaves), weighed)
    for branch in product.branches:
        yield from _parts(bound, branch.product)


def _terms(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    meetings: Meetings,
    loosened: Sequence[Pair],
    counts: Sequence[int],
) -> Iterator[tuple[Term, list[int]]]:
    """With the candidates that query nodes have at most."""
    loose = without_tests_of(bound, loosened)
    yield Term(loose, masks, 1, tuple(loosened), is_loose=True), list(counts)
    links = bound.relationships
    for place, (one, other) in enumerate(loosened, 1):
        rest = without_tests_of(bound, loosened[:place])
        turns = meetings.turns(links[one], links[other])
        for groups, sign in identifications(links[one], links[other], turns):
            merged = identify(rest, masks, graph, (one, other), groups)
            if merged is not None:
                its_counts = [
                    min(counts[node] for node, now in enumerate(merged.nodes) if now == each)
                    for each in range(len(merged.bound.nodes))
                ]
                pairs = ((one, other),)
                yield Term(merged.bound, merged.masks, -sign, pairs, is_loose=False), its_counts
