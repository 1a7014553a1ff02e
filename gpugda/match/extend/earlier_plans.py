"""What was decided for queries of an earlier state of the graph, for the same ones of the next.

A count plan belongs to a pattern, to what is certain of the graph (`keeps_facts`), and to which
query nodes have the same mask, for these may be like nodes. All else that it was found by are
numbers, which may have changed a little.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.match.extend.cache import Decided
from gpugda.plan.counting.count_plan import Eliminate, Join

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.cache import KeptQuery

__all__ = ["EarlierPlans"]

_MOST_QUERIES = 256
_MOST_CANDIDATES = 16
"""Of so many queries, those that came last, candidates are kept: bitmaps of all nodes."""
_MOST_CHANGE = 1.5
"""A plan is found anew where a query node has so many times as many candidates, or as few."""


class EarlierPlans:
    """By query. Those that come no more are forgotten in their turn."""

    def __init__(self) -> None:
        self._decided: dict[object, Decided] = {}

    def followed(self, queries: Iterable[KeptQuery]) -> EarlierPlans:
        """Those of the next state.

        Args:
            queries: Of this one, the last ones last.
        """
        found = EarlierPlans()
        found._decided = dict(self._decided)
        for query in queries:
            decided, key = _decided(query), _key(query)
            found._decided.pop(key, None)
            if decided is not None:
                found._decided[key] = decided
        while len(found._decided) > _MOST_QUERIES:
            del found._decided[next(iter(found._decided))]
        for key in list(found._decided)[:-_MOST_CANDIDATES]:
            found._decided[key] = replace(found._decided[key], candidates=None)
        return found

    def look_up(self, query: KeptQuery) -> None:
        """Notes what was decided for a query before its candidates are found."""
        if self._decided:
            query.earlier = self._decided.get(_key(query))
            if query.earlier is not None:
                query.known_leaves = query.earlier.leaves

    def use(self, query: KeptQuery) -> None:
        """Lets a query go on with what was decided, if it has about as many candidates."""
        before = query.earlier
        if before is None:
            return
        if query.candidates is None or not _are_near(_counts(query), before.counts):
            query.earlier = None
            return
        query.plans.update(before.plans)
        query.took = before.took
        made = before.made.of_next_state()
        query.made = query.made if made is None else made


def _decided(query: KeptQuery) -> Decided | None:
    made = query.made.of_next_state()
    if query.candidates is None or made is None:
        return None
    # Of the parts of sums and products, masks may be alike by chance only.
    plans = {
        goal: plan
        for goal, plan in tuple(query.plans.items())
        if isinstance(plan, (Join, Eliminate))
    }
    before = query.earlier
    counts = _counts(query) if before is None else before.counts
    return Decided(plans, query.took, query.known_leaves, made, query.on_host, counts)


def _counts(query: KeptQuery) -> tuple[int, ...]:
    assert query.candidates is not None
    return tuple(map(query.candidates.count, range(len(query.bound.nodes))))


def _are_near(counts: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return all(
        one <= _MOST_CHANGE * max(other, 1) and other <= _MOST_CHANGE * max(one, 1)
        for one, other in zip(counts, others, strict=True)
    )


def _key(query: KeptQuery) -> object:
    bound = query.bound
    nodes = tuple([each.name for each in bound.nodes])
    relationships = tuple([each.name for each in bound.relationships])
    # Of another text the shape may be the same, and a core would say what that one asks.
    return query.shape, bound.query.text, nodes, relationships, _alike(query.masks)


def _alike(masks: Masks) -> tuple[int, ...]:
    """Of each mask of a query node the first one that is the same."""
    found = list(masks.nodes.values())
    return tuple(
        next(at for at, other in enumerate(found) if other is each or np.array_equal(other, each))
        for each in found
    )
