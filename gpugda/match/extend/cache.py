"""Candidates and steps of queries that may come again, kept on the device between runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.plan.counting.degree_messages import find_degrees
from gpugda.plan.join_cost import JoinCost
from gpugda.plan.join_order import node_order
from gpugda.plan.join_rates import Rates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.earlier_candidates import KnownCandidates
    from gpugda.match.extend.encode import StepWords
    from gpugda.match.extend.reduced_graph import ReducedGraph
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.need import Rows
    from gpugda.plan.counting.count_plan import CountPlan
    from gpugda.plan.made_rows import MadeRows
    from gpugda.plan.plan import BoundQuery
    from gpugda.thresholds import CountThresholds

    StepsKey = tuple[Rows, frozenset[int], bool, int]

__all__ = ["Decided", "KeptQueries", "KeptQuery"]


@dataclass(slots=True, eq=False)
class KeptQuery:
    """What was found out about a query with these masks.

    Its arrays are freed when nobody holds them: a run goes on with what others drop.

    Args:
        bound: The query.
        masks: What predicates left.
        candidates: None where a query node has none.
        took: Seconds that joining everything took, where no plan was looked for.
        made: Rows that runs made, and whether they ask for another plan.
        thresholds: Of the device.
        plans: Count plans, by what is counted and what may be done for it.
        forms: Compiled steps of queries of its shape, by all else that they hang on.
        steps: By what is wanted, the leaves that are not joined, whether rows are only counted, and
            which merged lists there were.
        reduced: What its joins use of a data graph that does not fit, where that may stay.
        streamed: How often its joins took the graph in segments.
        nbytes: Bytes on the device when they were last counted, see `count_bytes`.
        earlier: What was decided for it on an earlier state of the graph, see `EarlierPlans`.
        known_leaves: See `leaves`; None while they are not known.
        on_host: Its candidates, for a later state; None where nobody will ask for them.
    """

    bound: BoundQuery
    masks: Masks
    made: MadeRows[Found]
    thresholds: CountThresholds
    candidates: Candidates | None = None
    took: float | None = None
    plans: dict[object, CountPlan] = field(default_factory=dict)
    forms: dict[object, tuple[ExtendStep, ...]] | None = None
    steps: dict[StepsKey, tuple[tuple[ExtendStep, ...], StepWords]] = field(default_factory=dict)
    reduced: ReducedGraph | None = None
    streamed: int = 0
    nbytes: int = 0
    earlier: Decided | None = None
    known_leaves: frozenset[int] | None = None
    on_host: KnownCandidates | None = None
    _orders: dict[frozenset[int], list[int]] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[object, ...]:
        """The key of its steps: queries that only have other names, or values, have the same."""
        bound, masks = self.bound, self.masks
        return (
            tuple([each.labels for each in bound.nodes]),
            tuple(
                [
                    (each.source, each.target, each.directed, each.types)
                    for each in bound.relationships
                ]
            ),
            bound.tests,
            tuple(masks.nodes),
            tuple(masks.relationships),
            masks.comparisons,
            tuple(map(len, masks.keys)),
        )

    def order(self, left_out: frozenset[int]) -> list[int]:
        """Of joining all query nodes but these; it must have candidates."""
        if left_out not in self._orders:
            comparisons = self.masks.comparisons
            self._orders[left_out] = node_order(self.bound, self._rates, left_out, comparisons)
        return self._orders[left_out]

    @property
    def _rates(self) -> Rates:
        assert self.candidates is not None
        corrections, thresholds = self.made.corrections, self.thresholds
        return Rates(self.bound, self.candidates, corrections, thresholds=thresholds)

    def note(
        self,
        goal: object,
        plan: CountPlan,
        order: Sequence[int],
        rows: Sequence[int],
        work: int,
    ) -> None:
        """Goes on with another plan where a run made far more rows than it expected.

        Args:
            goal: What is counted, as in ``plans``.
            plan: How that was done.
            order: Of the query nodes that were joined.
            rows: After each of them.
            work: Rows of all that was done.
        """
        cost, comparisons = JoinCost(self.bound, order, self._rates), self.masks.comparisons
        ran = Found({**self.plans, goal: plan}, self._orders, self.steps)
        before, anew = self.made.judge(
            rows, cost.rows(comparisons), ran, work=work, seconds=self.took or 0.0
        )
        if anew:
            self.made.correct(cost.corrections(rows, comparisons))
            before = Found({}, {}, {})
        self._go_on_with(before)

    def go_back(self) -> None:
        """Gives up the plan that is tried."""
        self._go_on_with(self.made.give_up())

    def _go_on_with(self, found: Found | None) -> None:
        """Other runs may be at it: they go on with what they have."""
        if found is not None:
            self.plans, self._orders, self.steps = found

    def leaves(self, graph: DataGraph) -> frozenset[int]:
        """Its query nodes that degrees eliminate where rows are only counted."""
        if self.known_leaves is None:
            found = find_degrees(self.bound, graph, self.masks)
            self.known_leaves = frozenset() if found is None else found.plan.leaves
        return self.known_leaves

    def arrays(self) -> Iterator[DeviceArray]:
        """What it holds on the device."""
        if self.candidates is not None:
            yield from self.candidates.device_arrays()
        # A copy: others may add steps while somebody counts.
        for _, words in tuple(self.steps.values()):
            yield from words.uploaded()
        if self.reduced is not None:
            yield from self.reduced.arrays

    def count_bytes(self) -> None:
        """Called when candidates were found, and at the end of each run: it may have added some."""
        self.nbytes = sum([array.nbytes for array in self.arrays()])

    def is_of(self, masks: Masks) -> bool:
        """Do the query's predicates leave the same?"""
        return (
            _are_same(self.masks.nodes, masks.nodes)
            and _are_same(self.masks.relationships, masks.relationships)
            and self.masks.comparisons == masks.comparisons
            and all(map(_is_same_array, self.masks.keys, masks.keys))
        )


class Found(NamedTuple):
    """What was found for a query: see `KeptQuery`."""

    plans: dict[object, CountPlan]
    orders: dict[frozenset[int], list[int]]
    steps: dict[StepsKey, tuple[tuple[ExtendStep, ...], StepWords]]


@dataclass(frozen=True, slots=True, eq=False)
class Decided:
    """What an earlier state of the graph leaves of a query; it holds nothing of that state.

    Args:
        plans: As of `KeptQuery`.
        took: Likewise.
        leaves: Likewise.
        made: Judged, or without anything to judge.
        candidates: Of that state, on the host; None where they are not there.
        counts: Candidates by query node when the plans were found.
    """

    plans: Mapping[object, CountPlan]
    took: float | None
    leaves: frozenset[int] | None
    made: MadeRows[Found]
    candidates: KnownCandidates | None
    counts: tuple[int, ...]


class KeptQueries:
    """The queries that came last, from whichever thread; so many at most."""

    def __init__(self, most_queries: int) -> None:
        self._most_queries = most_queries
        self._queries: dict[int, KeptQuery] = {}
        """By identity, the next to be dropped first."""
        self._by_bound: dict[int, list[KeptQuery]] = {}
        """By the identity of what they ask: with other parameters it has other masks."""
        self._lock = threading.Lock()
        self.nbytes = 0
        """Bytes on the device."""

    def find(self, bound: BoundQuery, masks: Masks) -> KeptQuery | None:
        """What is known of a query; it then is the last to be dropped."""
        with self._lock:
            for each in self._by_bound.get(id(bound), ()):
                if each.is_of(masks):
                    self._queries[id(each)] = self._queries.pop(id(each))
                    return each
        return None

    def all(self) -> list[KeptQuery]:
        """All of them, the last one last."""
        with self._lock:
            return list(self._queries.values())

    def add(self, query: KeptQuery, most_bytes: int) -> None:
        """Keeps a query, and drops old ones until all together take at most so much."""
        with self._lock:
            self._queries[id(query)] = query
            self._by_bound.setdefault(id(query.bound), []).append(query)
            self.nbytes += query.nbytes
            while self._queries and (
                self.nbytes > most_bytes or len(self._queries) > self._most_queries
            ):
                self._drop(next(iter(self._queries.values())))

    def recount(self, query: KeptQuery) -> None:
        """At the end of a run, which may have added arrays to a query; it need not be kept."""
        with self._lock:
            before = query.nbytes
            query.count_bytes()
            if id(query) in self._queries:
                self.nbytes += query.nbytes - before

    def drop(self, but: KeptQuery | None = None) -> int:
        """Drops all, perhaps but one; the bytes that this gives."""
        with self._lock:
            before = self.nbytes
            for each in list(self._queries.values()):
                if each is not but:
                    self._drop(each)
            return before - self.nbytes

    def _drop(self, query: KeptQuery) -> None:
        del self._queries[id(query)]
        same = self._by_bound[id(query.bound)]
        same[:] = [each for each in same if each is not query]
        if not same:
            del self._by_bound[id(query.bound)]
        self.nbytes -= query.nbytes


def _is_same_array(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> bool:
    return left is right or np.array_equal(left, right)


def _are_same(
    left: Mapping[int, NDArray[np.uint32]], right: Mapping[int, NDArray[np.uint32]]
) -> bool:
    # The order counts: slots of masks are given by it.
    return list(left) == list(right) and all(
        np.array_equal(mask, right[position]) for position, mask in left.items()
    )
