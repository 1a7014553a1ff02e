"""What is multiplied instead of joined where only numbers of rows are asked for."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, TypeVar

from gpugda.deadline import deadline_after
from gpugda.match.candidates.candidates import ExpectedCandidates
from gpugda.match.extend.counting.branches import WORTH_PAIRING, branch_cost, split_off
from gpugda.match.extend.counting.components import find_factors
from gpugda.match.extend.counting.identify import without_tests_of
from gpugda.match.extend.counting.include_exclude import (
    clashing_pairs,
    find_terms,
    pairs_in_the_way,
)
from gpugda.match.extend.counting.leaves import LeafProduct, find_product
from gpugda.match.extend.counting.parts import Part, Product, Sum
from gpugda.match.extend.counting.weighed import (
    choose_weighed,
    in_that_time,
    join_pairs,
    worth_a_thought,
    worth_weighing,
)
from gpugda.match.extend.order import Growth, MostGrowth, node_order
from gpugda.match.row_tests import Meetings, is_single
from gpugda.match.special.cycles import find_cycle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.candidates.candidates import CandidateCounts, Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.counting.parts import Way
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["best_way"]

_LEAST_GROWTH = 32
"""Making the rows of a cyclic core takes as much as counting so many times as many."""
_PATIENCE = 12e-6
_MOST_PATIENCE = 0.012
"""Seconds, for each relationship to the third, and in all: so long everything is joined before a
better way is looked for. That takes about as long, estimates are easily a thousand times what there
is, and a query may never come again."""
_THOUGHT = 4
"""When it does come again, thinking may take so many times as long as joining took."""
_LEAST_GAIN = 0.25
"""Of tables by two nodes: estimates of both ways are not exact."""
_WORTH_PARTS = 1 << 21
"""Joins of fewer pairs are done before several counts that make up the same are found."""
_COST_OF_PART = 1 << 17
"""In pairs: a query of its own. Both on a CPU."""
_LEAST_GAIN_OF_PARTS = 0.5
_MOST_NESTED = 2
"""Terms of terms are thought of, to know what these cost. They may have terms themselves."""
_LONGEST_CYCLE = 4

_KEPT = 1 << 12
"""Orders, and costs, of so many sets of query nodes are kept: long paths have no end of sets."""


def best_way(
    bound: BoundQuery,
    graph: DataGraph,
    masks: Masks,
    candidates: Candidates,
    grouped: frozenset[int],
    *,
    in_parts: bool,
    pairs: bool,
    is_cpu: bool,
    is_done: Callable[[float | None], bool],
    took: float | None,
    order: Callable[[frozenset[int]], list[int]],
    check: Callable[[], None],
    known: Part | None = None,
) -> Way:
    """What is multiplied, or added up; None where joining everything is cheaper, or done.

    Args:
        bound: The query.
        graph: What it is asked of.
        masks: What predicates leave.
        candidates: Of the query nodes.
        grouped: Query nodes by which rows are counted.
        in_parts: May it be counted in parts?
        pairs: May sums be made by pairs of nodes?
        is_cpu: Is the device one?
        is_done: Tries to join everything in so many seconds, or, where that is None, at once.
        took: Seconds that joining everything took before, if that was tried.
        order: Of joining, by the query nodes that are not joined.
        check: Raises where the query shall end: to think of the sums of large queries takes long.
        known: The part that the query is, of another one.
    """
    if known is not None:
        return None if is_done(None) else known.way
    patience = _Patience(check, None if took is None else _THOUGHT * took)
    nested = 0 if in_parts else _MOST_NESTED
    counting = _Counting(
        bound, graph, masks, candidates, is_cpu=is_cpu, check=patience, nested=nested, order=order
    )
    # Nothing is estimated before what is small, as most queries are, was counted.
    if took is None and worth_weighing(bound, candidates):
        if is_done(None):
            return None
        if counting.is_worth_a_thought() and is_done(_first_patience(bound)):
            return None
    try:
        return counting.best_way(grouped, pairs=pairs)[0]
    except _TooLongThoughtError:
        return None


def _first_patience(bound: BoundQuery) -> float:
    return min(_PATIENCE * len(bound.relationships) ** 3, _MOST_PATIENCE)


class _TooLongThoughtError(Exception):
    """It would never pay."""


class _Patience:
    """Asks whether the query shall end, or the thought alone, some seconds from now."""

    def __init__(self, check: Callable[[], None], seconds: float | None) -> None:
        self._check = check
        self._ends = deadline_after(seconds)

    def __call__(self) -> None:
        self._check()
        if self._ends is not None and time.monotonic() > self._ends:
            raise _TooLongThoughtError


P = TypeVar("P", bound=Part)


class _Counting:
    def __init__(
        self,
        bound: BoundQuery,
        graph: DataGraph,
        masks: Masks,
        candidates: CandidateCounts,
        *,
        is_cpu: bool,
        check: Callable[[], None],
        nested: int = 0,
        order: Callable[[frozenset[int]], list[int]] | None = None,
    ) -> None:
        kept = lru_cache(_KEPT)
        self._order_without = kept(self._node_order) if order is None else order
        self._nested = nested
        self._check = check
        self._is_cpu = is_cpu
        self._bound = bound
        self._graph = graph
        self._masks = masks
        self._candidates = candidates
        self._all = frozenset(range(len(bound.nodes)))
        # Asked for again and again.
        self._growth = cache(Growth(bound, candidates))
        self._most_growth = cache(MostGrowth(bound, candidates, graph))
        self._pairs = kept(self._join_pairs)

    def is_worth_a_thought(self) -> bool:
        """May joining everything take longer than finding a better way?"""
        return worth_weighing(self._bound, self._candidates) and worth_a_thought(
            self._pairs(self._all), is_cpu=self._is_cpu
        )

    def best_way(self, grouped: frozenset[int], *, pairs: bool) -> tuple[Way, float]:
        """As `best_way`, and what it costs, in pairs."""
        product = self.best_product(grouped, pairs=pairs)
        if product is not None:
            cost = self._cost(product)
        else:
            cost = self._pairs(self._all) if grouped else self._cost_of_count()
        if self._may_have_parts(cost):
            return self._with_parts(product, cost, tuple(sorted(grouped)), pairs=pairs)
        return product, cost

    def _may_have_parts(self, cost: float) -> bool:
        is_dear = cost >= in_that_time(_WORTH_PARTS, is_cpu=self._is_cpu)
        is_dear = is_dear and self._nested < _MOST_NESTED
        return is_dear and not self._masks.comparisons

    def _with_parts(
        self, product: LeafProduct | None, cost: float, grouped: tuple[int, ...], *, pairs: bool
    ) -> tuple[Way, float]:
        """Factors, or terms, if they are cheaper."""
        if not grouped and self._is_cycle:
            return product, cost
        bound, graph, masks = self._bound, self._graph, self._masks
        counts = tuple(self._candidates.count(node) for node in range(len(bound.nodes)))
        meetings, most = Meetings(bound, graph), _LEAST_GAIN_OF_PARTS * cost
        if factors := find_factors(bound, masks, counts, grouped, meetings):
            planned, total = self._planned(factors, most, pairs=pairs)
            return (Product(planned), total) if planned else (product, cost)
        clashes = clashing_pairs(bound, meetings)
        if not clashes:
            return product, cost
        loose = Part(without_tests_of(bound, clashes), masks, counts, grouped)
        way, least = self._best_of(loose, pairs=pairs)
        if least > most or not isinstance(way, (LeafProduct, Product)):
            return product, cost
        for loosened in pairs_in_the_way(bound, way, clashes):
            terms = find_terms(bound, graph, masks, counts, grouped, meetings, loosened)
            planned_terms, total = self._planned(terms, most, pairs=pairs)
            if planned_terms:
                return Sum(planned_terms), total
        return product, cost

    def _planned(
        self, parts: Iterable[P], most: float, *, pairs: bool
    ) -> tuple[tuple[P, ...], float]:
        """The parts, with how each is best counted, and what they cost; none if that is more."""
        planned, total = [], 0.0
        for each in parts:
            way, cost = self._best_of(each, pairs=pairs)
            total += cost + in_that_time(_COST_OF_PART, is_cpu=self._is_cpu)
            if total > most:
                return (), total
            planned.append(replace(each, way=way))
        return tuple(planned), total

    def _best_of(self, part: Part, *, pairs: bool) -> tuple[Way, float]:
        other = _Counting(
            part.bound,
            self._graph,
            part.masks,
            ExpectedCandidates(part.counts),
            is_cpu=self._is_cpu,
            check=self._check,
            nested=self._nested + 1,
        )
        return other.best_way(frozenset(part.grouped), pairs=pairs)

    def _cost_of_count(self) -> float:
        """What joining everything costs where rows of the last node are not made."""
        order = self._order(self._all)
        # A cycle is counted by its paths to the last node but one.
        order = order[:-1] if self._is_cycle else order
        return self._join_cost(order, counts_last=True)

    @cached_property
    def _is_cycle(self) -> bool:
        """Is it one that a CPU counts without rows?"""
        if not self._is_cpu or len(self._all) > _LONGEST_CYCLE:
            return False
        rows = {node: node for node in self._all}
        return find_cycle(self._bound, self._graph, self._masks, rows, first=0) is not None

    def best_product(self, grouped: frozenset[int], *, pairs: bool) -> LeafProduct | None:
        """What is multiplied; None where joining everything is cheaper."""
        # Rows that are grouped are made in any case: fewer of them with leaves that have few ways.
        kept = grouped | self._few_ways() if grouped else grouped
        weighing = self.is_worth_a_thought()
        product = find_product(self._bound, self._graph, self._masks, kept, weighing=weighing)
        if product is None:
            return None
        if weighing:
            product = self._with_branches(product, grouped, pairs=pairs)
        if not product.is_worth_it(grouped=bool(grouped)):
            return None
        otherwise = grouped or product.weighed or product.branches
        return product if otherwise or self._leaves_pay(product) else None

    def _with_branches(
        self, whole: LeafProduct, grouped: frozenset[int], *, pairs: bool
    ) -> LeafProduct:
        """With branches and weighed nodes; branches of two roots only where without is dear."""
        known = whole, self._masks.comparisons, grouped, self._pairs, self._candidates.count
        split = split_off(*known)
        product = self._with_weighed(split, makes_rows=bool(grouped))
        if not pairs or (cost := self._cost(product)) < WORTH_PAIRING:
            return product
        split = split_off(*known, self._is_single)
        other = self._with_weighed(split, makes_rows=bool(grouped))
        return other if self._cost(other) < _LEAST_GAIN * cost else product

    def _cost(self, product: LeafProduct) -> float:
        """What joining a product and its branches costs."""
        weighed = frozenset(node for group in product.weighed for node in group)
        cost = join_pairs(
            self._bound,
            self._order(self._core(product)),
            self._candidates.count,
            self._most_growth,
            weighed,
        )
        for each in product.branches:
            cost += self._cost(each.product) + branch_cost(each.roots, self._candidates.count)
        return cost

    def _core(self, product: LeafProduct) -> frozenset[int]:
        return frozenset(range(len(self._bound.nodes))) - product.leaves - product.outside

    def _is_single(self, each: BoundRelationship) -> bool:
        return is_single(each, self._graph)

    def _join_pairs(self, nodes: frozenset[int]) -> float:
        """What joining some query nodes costs."""
        return self._join_cost(self._order(nodes))

    def _join_cost(self, order: Sequence[int], *, counts_last: bool = False) -> float:
        return join_pairs(
            self._bound,
            order,
            self._candidates.count,
            self._most_growth,
            counts_last=counts_last,
        )

    def _order(self, nodes: frozenset[int]) -> list[int]:
        self._check()  # of all that is thought, this is done most often
        return self._order_without(self._all - nodes)

    def _node_order(self, left_out: frozenset[int]) -> list[int]:
        comparisons = self._masks.comparisons
        return node_order(self._bound, self._candidates.count, self._growth, left_out, comparisons)

    def _with_weighed(self, product: LeafProduct, *, makes_rows: bool) -> LeafProduct:
        """With query nodes weighed, of branches too, where that pays."""
        branches = tuple(
            replace(each, product=self._with_weighed(each.product, makes_rows=True))
            for each in product.branches
        )
        product = replace(product, branches=branches)
        if not product.weighable:
            return product
        chosen = choose_weighed(
            self._bound,
            product.weighable,
            product.clash,
            self._order(self._core(product)),
            self._candidates.count,
            self._most_growth,
            counts_last=not (makes_rows or product.leaves or branches),
        )
        return product.weighing(chosen) if chosen else product

    def _leaves_pay(self, product: LeafProduct) -> bool:
        """Is multiplying the leaves cheaper than joining them?

        Joining may count the last node of a cycle by intersection, without making its rows.
        """
        return (
            not product.has_cycle
            or math.prod(
                self._growth(position, group.anchor)
                for group in product.groups()
                for position in group.relationships
            )
            >= _LEAST_GROWTH
        )

    def _few_ways(self) -> frozenset[int]:
        """Query nodes to which the nodes of some query relationship have less than one way."""
        return frozenset(
            leaf
            for each in self._bound.relationships
            for leaf, anchor in ((each.target, each.source), (each.source, each.target))
            if self._growth(each.position, anchor) < 1
        )
