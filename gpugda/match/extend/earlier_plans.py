"""Decisions for queries of an earlier snapshot, reused for the same queries of the next one.

A count plan depends on the pattern, on the facts of the graph (`assumptions_hold`), and on which
query nodes have equal masks, because these may be interchangeable. Everything else it was chosen by
is a number, which may have changed a little.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.match.extend.decisions import Decisions
from gpugda.plan.counting.count_plan import Eliminate, Join

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.cache import KeptQuery

__all__ = ["EarlierPlans"]

_MAX_QUERIES = 256
_MAX_CANDIDATES = 16
"""Candidates are kept for this many of the most recent queries: they are bitmaps of all nodes."""
_MAX_CHANGE = 1.5
"""Factor by which a query node's candidates may grow or shrink before a new plan is searched."""


class EarlierPlans:
    """Decisions by query. Queries that no longer occur are evicted, oldest first."""

    def __init__(self) -> None:
        self._decided: dict[object, Decisions] = {}

    def for_next_snapshot(self, queries: Iterable[KeptQuery]) -> EarlierPlans:
        """The decisions for the next snapshot.

        Args:
            queries: The queries of this snapshot, the most recent last.
        """
        found = EarlierPlans()
        found._decided = dict(self._decided)
        for query in queries:
            decided, key = _decided(query), _key(query)
            found._decided.pop(key, None)
            if decided is not None:
                found._decided[key] = decided
        while len(found._decided) > _MAX_QUERIES:
            del found._decided[next(iter(found._decided))]
        for key in list(found._decided)[:-_MAX_CANDIDATES]:
            found._decided[key] = replace(found._decided[key], candidates=None)
        return found

    def look_up(self, query: KeptQuery) -> None:
        """Attaches earlier decisions to a query before its candidates are found."""
        if self._decided:
            query.earlier = self._decided.get(_key(query))
            if query.earlier is not None:
                query.known_leaves = query.earlier.leaves

    def apply(self, query: KeptQuery) -> None:
        """Applies the decisions to a query if its numbers of candidates are similar."""
        before = query.earlier
        if before is None:
            return
        if query.candidates is None or not _are_near(_counts(query), before.counts):
            query.earlier = None
            return
        query.plans.update(before.plans)
        query.take_orders(before.orders)
        query.join_seconds = before.join_seconds
        feedback = before.feedback.for_next_snapshot()
        query.feedback = query.feedback if feedback is None else feedback


def _decided(query: KeptQuery) -> Decisions | None:
    feedback = query.feedback.for_next_snapshot()
    if query.candidates is None or feedback is None:
        return None
    # In the parts of sums and products, masks may be equal by chance only.
    plans = {
        goal: plan
        for goal, plan in tuple(query.plans.items())
        if isinstance(plan, (Join, Eliminate))
    }
    before = query.earlier
    counts = _counts(query) if before is None else before.counts
    return Decisions(
        plans,
        query.known_orders(),
        query.join_seconds,
        query.known_leaves,
        feedback,
        query.on_host,
        counts,
    )


def _counts(query: KeptQuery) -> tuple[int, ...]:
    assert query.candidates is not None
    return tuple(map(query.candidates.count, range(len(query.bound.nodes))))


def _are_near(counts: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return all(
        one <= _MAX_CHANGE * max(other, 1) and other <= _MAX_CHANGE * max(one, 1)
        for one, other in zip(counts, others, strict=True)
    )


def _key(query: KeptQuery) -> object:
    bound = query.bound
    nodes = tuple([each.name for each in bound.nodes])
    relationships = tuple([each.name for each in bound.relationships])
    # A query with another text may have the same shape, but a core would print this query's text.
    return query.shape, bound.query.text, nodes, relationships, _alike(query.masks)


def _alike(masks: Masks) -> tuple[int, ...]:
    """For each mask of a query node, the index of the first equal mask."""
    found = list(masks.nodes.values())
    return tuple(
        next(at for at, other in enumerate(found) if other is each or np.array_equal(other, each))
        for each in found
    )
