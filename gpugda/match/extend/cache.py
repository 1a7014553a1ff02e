"""Candidates and steps of recent queries, kept on the device between runs."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.plan.counting.count_plan import Eliminate, Join
from gpugda.plan.counting.degree_messages import find_degree_messages
from gpugda.plan.join.join_cost import JoinCost
from gpugda.plan.join.join_order import best_order
from gpugda.plan.join.join_rates import Rates
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.kept_entries import EntryTest
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.memory.uploads import Uploads
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.earlier_candidates import KnownCandidates
    from gpugda.match.extend.encode import StepWords
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.need import Rows
    from gpugda.plan.counting.count_plan import CountPlan
    from gpugda.plan.join.join_rates import Corrections
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.plan_feedback import PlanFeedback
    from gpugda.thresholds import CountThresholds

    StepsKey = tuple[Rows, frozenset[int], bool, int]

__all__ = [
    "Decisions",
    "DirectionTest",
    "EarlierPlans",
    "Found",
    "KeptQueries",
    "KeptQuery",
    "Orders",
    "ReducedGraph",
]


class Orders(NamedTuple):
    """Join orders by the query nodes left out, and the cost of joining all query nodes.

    The cost is only meaningful if the order that leaves out none is known.
    """

    nodes: Mapping[frozenset[int], list[int]]
    cost: float


class Found(NamedTuple):
    """Plans, orders and steps of a query, see `KeptQuery`."""

    plans: dict[object, CountPlan]
    orders: dict[frozenset[int], list[int]]
    steps: dict[StepsKey, tuple[tuple[ExtendStep, ...], StepWords]]


@value(frozen=True, slots=True, eq=False)
class Decisions:
    """Decisions about a query that outlive a snapshot; they hold no arrays of it.

    Args:
        plans: As in `KeptQuery`.
        orders: As in `KeptQuery`.
        join_seconds: As in `KeptQuery`.
        leaves: As in `KeptQuery`.
        feedback: Its judgement is complete, or there is nothing to judge.
        candidates: Those of that snapshot, on the host; None if not kept.
        counts: Number of candidates per query node when the plans were chosen.
    """

    plans: Mapping[object, CountPlan]
    orders: Orders
    join_seconds: float | None
    leaves: frozenset[int] | None
    feedback: PlanFeedback[Found]
    candidates: KnownCandidates | None
    counts: tuple[int, ...]


class DirectionTest(NamedTuple):
    """The test that a link applies to the entries of one direction."""

    outgoing: bool
    test: EntryTest


@value(frozen=True, slots=True, eq=False)
class ReducedGraph:
    """The entries of a data graph that at least one link can follow.

    Args:
        arguments: Arguments for ``GRAPH_PARAMETERS``.
        arrays: The arrays that this run owns.
        tests: The tests that selected the entries.
        numbered: True if the relationship index of each entry is known.
        kept: Number of entries kept.
        looked_at: Number of entries tested.
        uploads: The uploads that sent them; None if an earlier run of the query did.
    """

    arguments: list[Any]
    arrays: Sequence[DeviceArray]
    tests: frozenset[DirectionTest]
    numbered: bool
    kept: int
    looked_at: int
    uploads: Uploads | None

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(each.nbytes for each in self.arrays)

    def seen(self, candidates: Candidates) -> Candidates:
        """The same candidates, with these entries as their graph."""
        return replace(candidates, arrays=replace(candidates.arrays, graph=self.arguments))


@dataclass(slots=True, eq=False)
class KeptQuery:
    """What is known about a query with these masks.

    Its arrays are freed when their last holder releases them: a run can continue with what others
    drop.

    Args:
        bound: The query.
        masks: The nodes and relationships that pass the predicates.
        candidates: None if a query node has none.
        join_seconds: Seconds that joining everything took, if no plan was searched.
        feedback: Row counts of runs, and whether they suggest another plan.
        thresholds: Thresholds of the device.
        plans: Count plans, by what is counted and which methods are allowed.
        forms: Compiled steps of queries with this shape, by everything else they depend on.
        steps: Uploaded steps, by the columns needed, the leaves not joined, whether rows are only
            counted, and the version of the merged lists.
        reduced: The entries that its joins use of a graph beyond the memory limit, if they are
            kept.
        streamed: Number of its joins that read the graph in segments.
        nbytes: Bytes on the device when they were last counted, see `count_bytes`.
        earlier: Decisions for it on an earlier snapshot, see `EarlierPlans`.
        known_leaves: See `leaves`; None while unknown.
        on_host: Its candidates, for a later snapshot; None if no later snapshot will use them.
    """

    bound: BoundQuery
    masks: Masks
    feedback: PlanFeedback[Found]
    thresholds: CountThresholds
    candidates: Candidates | None = None
    join_seconds: float | None = None
    plans: dict[object, CountPlan] = field(default_factory=dict)
    forms: dict[object, tuple[ExtendStep, ...]] | None = None
    steps: dict[StepsKey, tuple[tuple[ExtendStep, ...], StepWords]] = field(default_factory=dict)
    reduced: ReducedGraph | None = None
    streamed: int = 0
    nbytes: int = 0
    earlier: Decisions | None = None
    known_leaves: frozenset[int] | None = None
    on_host: KnownCandidates | None = None
    _orders: dict[frozenset[int], list[int]] = field(default_factory=dict)
    _cost: float = 0.0
    _known_rates: tuple[Corrections, Rates] | None = None  # with the corrections in them

    @property
    def shape(self) -> tuple[object, ...]:
        """The key of its steps: queries that differ only in names or values have the same key."""
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
        """The order for joining all query nodes except ``left_out``; it must have candidates."""
        if left_out not in self._orders:
            cost, nodes = best_order(self.bound, self.rates, left_out, self.masks.comparisons)
            self._orders[left_out] = list(nodes)
            self._cost = self._cost if left_out else cost
        return self._orders[left_out]

    def known_orders(self) -> Orders:
        """The orders found so far, for the same query on the next snapshot."""
        return Orders(dict(self._orders), self._cost)

    def take_orders(self, orders: Orders) -> None:
        """Takes over orders that were found for similar numbers of candidates."""
        self._orders.update(orders.nodes)
        self._cost = orders.cost

    @property
    def join_cost(self) -> float:
        """Estimated pairs and rows of joining all query nodes; it must have candidates."""
        self.order(frozenset())
        return self._cost

    @property
    def rates(self) -> Rates:
        """The rates of its joins; it must have candidates."""
        corrections = self.feedback.corrections
        if self._known_rates is None or self._known_rates[0] != corrections:
            assert self.candidates is not None
            found = Rates(self.bound, self.candidates, corrections, thresholds=self.thresholds)
            self._known_rates = dict(corrections), found
        return self._known_rates[1]

    def note(
        self,
        goal: object,
        plan: CountPlan,
        order: Sequence[int],
        rows: Sequence[int],
        work: int,
    ) -> None:
        """Switches to another plan if a run made far more rows than estimated.

        Args:
            goal: What is counted, as in ``plans``.
            plan: The plan that ran.
            order: The query nodes in the order in which they were joined.
            rows: Number of rows after each of them.
            work: Number of rows of the whole run.
        """
        cost, comparisons = JoinCost(self.bound, order, self.rates), self.masks.comparisons
        ran = Found({**self.plans, goal: plan}, self._orders, self.steps)
        before, anew = self.feedback.judge(
            rows, cost.rows(comparisons), ran, work=work, seconds=self.join_seconds or 0.0
        )
        if anew:
            self.feedback.correct(cost.corrections(rows, comparisons))
            before = Found({}, {}, {})
        self._replace_plan(before)

    def revert_plan(self) -> None:
        """Abandons the plan on trial."""
        self._replace_plan(self.feedback.give_up())

    def _replace_plan(self, found: Found | None) -> None:
        """Replaces the plan. Concurrent runs continue with the objects they have."""
        if found is not None:
            self.plans, self._orders, self.steps = found

    def replace_candidates(self, found: Candidates) -> None:
        """Sets fewer candidates for the next runs; its plans and orders stay as they are.

        Concurrent runs continue with the objects they have.
        """
        self.candidates, self.steps, self._known_rates = found, {}, None

    def leaves(self, graph: DataGraph) -> frozenset[int]:
        """Its query nodes that degree messages eliminate if rows are only counted."""
        if self.known_leaves is None:
            found = find_degree_messages(self.bound, graph, self.masks)
            self.known_leaves = frozenset() if found is None else found.plan.leaves
        return self.known_leaves

    def arrays(self) -> Iterator[DeviceArray]:
        """The device arrays that it holds."""
        if self.candidates is not None:
            yield from self.candidates.device_arrays()
        # A copy, because another thread may add steps meanwhile.
        for _, words in tuple(self.steps.values()):
            yield from words.uploaded()
        if self.reduced is not None:
            yield from self.reduced.arrays

    def count_bytes(self) -> None:
        """Counts its bytes; called when candidates were found and at the end of each run."""
        self.nbytes = sum([array.nbytes for array in self.arrays()])

    def is_of(self, masks: Masks) -> bool:
        """True if the query's masks are equal to these."""
        return (
            _are_same(self.masks.nodes, masks.nodes)
            and _are_same(self.masks.relationships, masks.relationships)
            and self.masks.comparisons == masks.comparisons
            and all(map(_is_same_array, self.masks.keys, masks.keys))
        )


class KeptQueries:
    """The most recent queries of all threads, at most ``max_queries``."""

    def __init__(self, max_queries: int) -> None:
        self._max_queries = max_queries
        self._queries: dict[int, KeptQuery] = {}
        """By identity, the next one to be evicted first."""
        self._by_bound: dict[int, list[KeptQuery]] = {}
        """By the identity of the bound query: other parameters give other masks."""
        self._lock = threading.Lock()
        self.nbytes = 0
        """Bytes on the device."""

    def find(self, bound: BoundQuery, masks: Masks) -> KeptQuery | None:
        """The kept query, or None; marks it as most recently used."""
        with self._lock:
            for each in self._by_bound.get(id(bound), ()):
                if each.is_of(masks):
                    self._queries[id(each)] = self._queries.pop(id(each))
                    return each
        return None

    def all(self) -> list[KeptQuery]:
        """All queries, the most recent last."""
        with self._lock:
            return list(self._queries.values())

    def add(self, query: KeptQuery, max_bytes: int) -> None:
        """Keeps a query, and evicts old ones until all together take at most ``max_bytes``."""
        with self._lock:
            self._queries[id(query)] = query
            self._by_bound.setdefault(id(query.bound), []).append(query)
            self.nbytes += query.nbytes
            while self._queries and (
                self.nbytes > max_bytes or len(self._queries) > self._max_queries
            ):
                self._drop(next(iter(self._queries.values())))

    def recount(self, query: KeptQuery) -> None:
        """Counts a query's bytes at the end of a run; it need not be kept any more."""
        with self._lock:
            before = query.nbytes
            query.count_bytes()
            if id(query) in self._queries:
                self.nbytes += query.nbytes - before

    def drop(self, but: KeptQuery | None = None) -> int:
        """Evicts all queries, except ``but``. Returns the number of bytes freed."""
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
    # The order matters: it determines the slots of the masks.
    return list(left) == list(right) and all(
        np.array_equal(mask, right[position]) for position, mask in left.items()
    )


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
