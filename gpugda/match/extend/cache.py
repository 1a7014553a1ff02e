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
    from gpugda.match.extend.encode import StepWords
    from gpugda.match.extend.reduced_graph import ReducedGraph
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.need import Rows
    from gpugda.plan.counting.count_plan import CountPlan
    from gpugda.plan.made_rows import MadeRows
    from gpugda.plan.plan import BoundQuery
    from gpugda.thresholds import CountThresholds

    StepsKey = tuple[Rows, frozenset[int], bool, int]

__all__ = ["KeptQueries", "KeptQuery"]


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
        nbytes: Bytes on the device when they were last counted, see `count_bytes`.
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
    nbytes: int = 0
    _orders: dict[frozenset[int], list[int]] = field(default_factory=dict)
    _leaves: frozenset[int] | None = None

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
        if before is not None:
            # Other runs may be at it: they go on with what they have.
            self.plans, self._orders, self.steps = before

    def go_back(self) -> None:
        """Gives up the plan that is tried."""
        before = self.made.give_up()
        if before is not None:
            self.plans, self._orders, self.steps = before

    def leaves(self, graph: DataGraph) -> frozenset[int]:
        """Its query nodes that degrees eliminate where rows are only counted."""
        if self._leaves is None:
            found = find_degrees(self.bound, graph, self.masks)
            self._leaves = frozenset() if found is None else found.plan.leaves
        return self._leaves

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


class KeptQueries:
    """The queries that came last, from whichever thread; so many at most."""

    def __init__(self, most_queries: int) -> None:
        self._most_queries = most_queries
        self._queries: list[KeptQuery] = []
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum([each.nbytes for each in self._queries])

    def find(self, bound: BoundQuery, masks: Masks) -> KeptQuery | None:
        """What is known of a query; it then is the last to be dropped."""
        with self._lock:
            for number, each in enumerate(self._queries):
                if each.bound is bound and each.is_of(masks):
                    self._queries.append(self._queries.pop(number))
                    return each
        return None

    def add(self, query: KeptQuery, most_bytes: int) -> None:
        """Keeps a query, and drops old ones until all together take at most so much."""
        with self._lock:
            self._queries.append(query)
            kept = self.nbytes
            while self._queries and (kept > most_bytes or len(self._queries) > self._most_queries):
                kept -= self._queries.pop(0).nbytes

    def drop(self, but: KeptQuery | None = None) -> int:
        """Drops all, perhaps but one; the bytes that this gives."""
        with self._lock:
            before = self.nbytes
            self._queries = [each for each in self._queries if each is but]
            return before - self.nbytes


def _is_same_array(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> bool:
    return left is right or np.array_equal(left, right)


def _are_same(
    left: Mapping[int, NDArray[np.uint32]], right: Mapping[int, NDArray[np.uint32]]
) -> bool:
    # The order counts: slots of masks are given by it.
    return list(left) == list(right) and all(
        np.array_equal(mask, right[position]) for position, mask in left.items()
    )
