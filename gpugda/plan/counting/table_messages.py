"""Which parts of a pattern are eliminated by tables: counted per node, or pair, they hang at.

A part beyond a separator is counted by the separator's data nodes once, not once per row, and rows
of the rest are multiplied with these sums. This is the sum over a tree of parts that makes joins of
trees linear (M. Yannakakis, Algorithms for acyclic database schemes, 1981), where parts may have
cycles. Relationships between two nodes of a separator are joined in the part and in the rest: at
most one may fit.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import combinations
from typing import TYPE_CHECKING

from gpugda.plan.counting.count_plan import Eliminate, TableMessage
from gpugda.plan.counting.separators import Separators, bits_of, each_bit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Set

    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.counting.degree_messages import Eliminable
    from gpugda.plan.counting.separators import Offer
    from gpugda.plan.plan import BoundRelationship
    from gpugda.thresholds import CountThresholds

    Nodes = int
    """A bit per query node."""

__all__ = ["split_off", "table_cost"]


def split_off(
    found: Eliminable,
    comparisons: Iterable[Comparison],
    grouped: Iterable[int],
    cost: Callable[[Set[int]], float],
    count: Callable[[int], int],
    is_single: Callable[[BoundRelationship], bool],
    thresholds: CountThresholds,
) -> Eliminate:
    """The plan with the tables that make it cheapest.

    Args:
        found: What could be eliminated of the pattern.
        comparisons: Of the pattern.
        grouped: Query nodes that must be in the rest.
        cost: Pairs and rows of joining some nodes of the core, which are connected.
        count: Candidates of a query node.
        is_single: Does at most one data relationship fit between two given nodes?
        thresholds: When that pays.
    """
    whole = (1 << len(found.plan.core.nodes)) - 1 & ~bits_of(found.plan.leaves)
    known = cache(lambda nodes: cost(frozenset(each_bit(nodes))))
    splits = _Splits(found, comparisons, known, count, is_single, thresholds)
    return splits.split(whole, 0, bits_of(grouped))


def table_cost(
    separator: Iterable[int], count: Callable[[int], int], thresholds: CountThresholds
) -> float:
    """In pairs, of a table beside its join. ``count``: candidates of a query node."""
    counts = list(map(count, separator))
    cells = thresholds.cell_cost * math.prod(counts) if len(counts) > 1 else 0
    return thresholds.table_cost + cells


class _Splits:
    def __init__(
        self,
        found: Eliminable,
        comparisons: Iterable[Comparison],
        cost: Callable[[Nodes], float],
        count: Callable[[int], int],
        is_single: Callable[[BoundRelationship], bool],
        thresholds: CountThresholds,
    ) -> None:
        self._separators = Separators(found, comparisons)
        self._cost = cost
        self._count = count
        self._is_single = is_single
        self._thresholds = thresholds
        plan = self._whole = found.plan
        self._degrees = [(each, bits_of(plan.read_by(each))) for each in plan.degrees]
        self._tests = [(each, self._separators.tested(each)) for each in plan.core.tests]

    def split(self, nodes: Nodes, separator: Nodes, kept: Nodes) -> Eliminate:
        """A part of the pattern, its separator among its nodes."""
        tables: list[TableMessage] = []
        lowest = self._cost(nodes)
        while lowest >= self._thresholds.table_pairs:
            best = self._best(nodes, kept, self._thresholds.table_gain * lowest)
            if best is None:
                break
            inner = self.split(best.beyond | best.separator, best.separator, best.separator)
            tables.append(TableMessage(tuple(each_bit(best.separator)), inner))
            nodes &= ~best.beyond
            kept |= best.separator
            lowest = self._cost(nodes)
        return self._plan(nodes, separator, tables)

    def _best(self, nodes: Nodes, kept: Nodes, most: float) -> Offer | None:
        """What leaves the least cost, if this is not above ``most``."""
        best = None
        for each in self._offers(nodes, kept):
            cost = table_cost(each_bit(each.separator), self._count, self._thresholds)
            for part in (nodes & ~each.beyond, each.beyond | each.separator):
                if cost > most:
                    break
                cost += self._cost(part)
            if cost < most or (cost == most and best is None):
                most, best = cost, each
        return best

    def _offers(self, nodes: Nodes, kept: Nodes) -> Iterator[Offer]:
        thresholds = self._thresholds
        if 1 in thresholds.separators:
            yield from self._separators.hanging(nodes, kept)
        if 2 not in thresholds.separators or self._cost(nodes) < thresholds.pair_pairs:
            return
        if nodes.bit_count() > thresholds.most_paired:
            return
        for a, b in combinations(each_bit(nodes), 2):
            if self._count(a) * self._count(b) <= thresholds.most_cells:
                yield from self._separators.between(a, b, nodes, kept, self._is_single)

    def _plan(self, nodes: Nodes, separator: Nodes, tables: list[TableMessage]) -> Eliminate:
        """What is joined of a part, and the messages to it."""
        core = self._whole.core
        # What depends on the separator alone belongs to the rest.
        degrees = tuple(
            [each for each, read in self._degrees if not read & ~nodes and read & ~separator]
        )
        tests = tuple(test for test, tested in self._tests if not tested & ~nodes)
        plan = Eliminate(replace(core, tests=tests), degrees, (), tuple(tables))
        others = frozenset(range(len(core.nodes))).difference(each_bit(nodes), plan.leaves)
        return replace(plan, outside=others)
