"""Decides when the oriented form of a graph is built and when queries run in it."""

from __future__ import annotations

import math
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from gpugda.deadline import seconds_left
from gpugda.match.count.limits import may_use_vectors
from gpugda.match.need import Count, Rows
from gpugda.match.registry import oriented_query, plan_pattern
from gpugda.plan.bind import bind
from gpugda.plan.counting.problem import may_be_cycle
from gpugda.plan.pattern.orient import OrientedQuery, may_orient

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Embeddings, StrategyReport
    from gpugda.match.need import Groups, Need
    from gpugda.match.special.upward_squares import UpwardSquare
    from gpugda.plan.plan import BoundQuery, Plan


__all__ = [
    "RankedTimes",
    "Times",
    "add_unoriented_seconds",
    "disable_orienting",
    "is_oriented",
    "may_be_oriented",
    "oriented_query_of",
    "plan_upwards",
    "times_of",
    "timing_batches",
    "timing_unoriented",
    "upwards_graph",
]

_SECONDS_PER_RELATIONSHIP = 1.5e-7
"""Expected time to build the oriented graph on one core. Measured: 0.6e-7 to 1.1e-7."""


_KIND, _PLAN, _TIMES = "oriented count", "oriented plan", "oriented times"
"""Keys of entries kept with a plan; the first two also store the bound query or graph."""

_COUNT = Count()
_ORIENTED_RUNS = _PLAIN_RUNS = 3
"""Runs of each form before they are compared: the first ones compile, copy and merge lists."""
_FAR_SLOWER = 4
_AGAIN = 32
"""The slower form is timed again once the faster one has run this many times as long as it."""


@dataclass(slots=True)
class Times:
    """Times of the runs of one plan.

    Args:
        oriented: Best time in the oriented graph, in seconds.
        plain: Best time in the original graph, in seconds.
        oriented_runs: Number of runs in the oriented graph.
        plain_runs: Number of runs in the original graph.
        consecutive_seconds: Total seconds of the latest runs of the same form.
        was_oriented: True if these runs used the oriented graph.
    """

    oriented: float = math.inf
    plain: float = math.inf
    oriented_runs: int = 0
    plain_runs: int = 0
    consecutive_seconds: float = 0.0
    was_oriented: bool = False

    def note(self, seconds: float, *, is_oriented: bool) -> None:
        """Records a run of one form."""
        before = self.consecutive_seconds if is_oriented is self.was_oriented else 0.0
        self.consecutive_seconds, self.was_oriented = before + seconds, is_oriented
        if is_oriented:
            self.oriented, self.oriented_runs = min(self.oriented, seconds), self.oriented_runs + 1
        else:
            self.plain, self.plain_runs = min(self.plain, seconds), self.plain_runs + 1

    @property
    def prefer_plain(self) -> bool:
        """True if the original graph is faster, or was timed too rarely to tell."""
        if self.oriented_runs < _ORIENTED_RUNS:
            return False
        if self.plain_runs < _PLAIN_RUNS:
            return self.plain < _FAR_SLOWER * self.oriented
        return (self.plain < self.oriented) is not self._tries_again

    @property
    def _tries_again(self) -> bool:
        """True if the faster form has run so long that timing the slower one again costs little.

        The slower time may stem from a busy machine, or from runs that filled caches for later.
        """
        slower_is_oriented = self.plain < self.oriented
        again = self.oriented if slower_is_oriented else self.plain
        return (
            self.was_oriented is not slower_is_oriented
            and self.consecutive_seconds > _AGAIN * again
        )


@dataclass(slots=True, eq=False)
class _Form:
    """The oriented form of one graph.

    Args:
        seconds: Time of the queries that would have used it.
        graph: The oriented graph; None until it is built.
    """

    seconds: float = 0.0
    graph: DataGraph | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_FORMS: WeakKeyDictionary[DataGraph, _Form] = WeakKeyDictionary()


@contextmanager
def timing_unoriented(plan: Plan, graph: DataGraph) -> Iterator[None]:
    """Records the time of a count inside the block, even if it is given up."""
    started = time.perf_counter()
    try:
        yield
        times_of(plan).note(time.perf_counter() - started, is_oriented=False)
    finally:
        add_unoriented_seconds(plan, graph, time.perf_counter() - started)


def timing_batches(
    chunks: Generator[Embeddings], plan: Plan, graph: DataGraph, need: Groups | Rows
) -> Generator[Embeddings]:
    """Records the time of groups or rows that are found in the original graph."""
    if isinstance(need, Rows) and need.enough is not None:
        yield from chunks
        return
    seconds = 0.0
    try:
        with closing(chunks):
            while True:
                started = time.perf_counter()
                chunk = next(chunks, None)
                seconds += time.perf_counter() - started
                if chunk is None:
                    break
                yield chunk
        times_of(plan).note(seconds, is_oriented=False)
    finally:
        add_unoriented_seconds(plan, graph, seconds, need)


def may_be_oriented(bound: BoundQuery) -> bool:
    """True if an oriented graph, rank lists or vectors may count it.

    It is undirected, a cycle of 3 or 4 nodes, or has more nodes and a cycle.
    """
    relationships = bound.relationships
    return (
        may_be_cycle(relationships)
        or not any([each.directed for each in relationships])
        or may_use_vectors(bound)
    )


def add_unoriented_seconds(
    plan: Plan, graph: DataGraph, seconds: float, need: Need = _COUNT
) -> None:
    """Records the time of a run that could have used the oriented graph but did not."""
    if oriented_query_of(plan, graph, need) is not None:
        _FORMS.setdefault(graph, _Form()).seconds += seconds


def times_of(plan: Plan) -> Times:
    """The times of the runs of a plan."""
    times: Times = plan.kept.setdefault(_TIMES, Times())
    return times


def oriented_query_of(
    plan: Plan, graph: DataGraph, need: Need = _COUNT
) -> OrientedQuery | UpwardSquare | None:
    """The oriented query that replaces the plan's pattern; None if there is none."""
    known = plan.kept.get(_KIND)
    if known is None or known[0] is not plan.bound:
        known = plan.kept[_KIND] = (plan.bound, _found_kind(plan.bound, graph, need))
    kind: OrientedQuery | UpwardSquare | None = known[1]
    return kind


def disable_orienting(plan: Plan) -> None:
    """Stops using the oriented graph for this plan: it leaves too little memory."""
    plan.kept[_KIND] = (plan.bound, None)


def _found_kind(
    bound: BoundQuery, graph: DataGraph, need: Need
) -> OrientedQuery | UpwardSquare | None:
    if not may_orient(bound):
        return None
    from gpugda.match.special.upward_squares import find_square

    square = find_square(bound, graph) if isinstance(need, Count) else None
    return square or oriented_query(bound, _folding_loops(graph), need)


def _folding_loops(graph: DataGraph) -> tuple[int, ...]:
    """Per type, the number of loops that could map two interchangeable query nodes to one node.

    A third query node is joined to both in the same way, so by two relationships to that one node.
    If no two nodes have two relationships between them, and no node has two loops, no such
    embedding exists.
    """
    counts = graph.statistics.loop_counts
    if len(counts) == 1 and counts[0] and graph.undirected_parallel_counts() == (1,):
        return (0,)
    return counts


def is_oriented(graph: DataGraph) -> bool:
    """True if the oriented form of the graph exists."""
    form = _FORMS.get(graph)
    return form is not None and form.graph is not None


def upwards_graph(
    plan: Plan, graph: DataGraph, report: StrategyReport, deadline: float | None
) -> DataGraph | None:
    """The oriented graph, if the plan is faster there and it exists or is worth building."""
    form = _FORMS.setdefault(graph, _Form())
    if times_of(plan).prefer_plain or not _is_worth_building(form, graph, deadline):
        return None
    return _built(form, graph, report)


def _is_worth_building(form: _Form, graph: DataGraph, deadline: float | None) -> bool:
    if form.graph is not None:
        return True
    expected = graph.relationship_count * _SECONDS_PER_RELATIONSHIP
    left = seconds_left(deadline)
    return form.seconds >= expected and (left is None or left > 4 * expected)


def _built(form: _Form, graph: DataGraph, report: StrategyReport) -> DataGraph:
    with form.lock:
        if form.graph is None:
            started = time.perf_counter()
            from gpugda.data.oriented import oriented  # at most once per graph

            form.graph = oriented(graph)
            report.timings["orient"] = time.perf_counter() - started
    return form.graph


def plan_upwards(upwards: DataGraph, plan: Plan, query: OrientedQuery, need: Need) -> Plan:
    """The plan of the replacement query in the oriented graph."""
    known = plan.kept.get(_PLAN)
    if known is None or known[0] is not upwards:
        bound = bind(query.query, upwards)
        made = plan_pattern(bound, upwards.statistics, plan.strategy, need)
        known = plan.kept[_PLAN] = (upwards, made)
    made = known[1]
    return made


_RUNS_BEFORE_RANKS, _PLAIN_RUNS_BEFORE_RANKS, _MAX_PLAIN_RUNS = 3, 3, 16
"""Runs of the other forms before rank lists are tried; the last if an oriented graph exists."""
_RANKED_RUNS = 2
"""Trial runs of rank lists: the first one builds the lists and compiles kernels."""


@dataclass(slots=True)
class RankedTimes:
    """Times of counts of one plan with rank lists.

    Args:
        best: Best time in seconds.
        runs: Number of runs.
    """

    best: float = math.inf
    runs: int = 0

    def note(self, seconds: float) -> None:
        """Records a run."""
        self.best, self.runs = min(self.best, seconds), self.runs + 1

    def is_preferred(self, others: Times, *, is_oriented: bool) -> bool:
        """True if rank lists are faster than the other forms, or should be tried now.

        Args:
            others: Times in the original and in the oriented graph.
            is_oriented: True if the oriented graph exists and supports the pattern.
        """
        enough = _MAX_PLAIN_RUNS if is_oriented else _PLAIN_RUNS_BEFORE_RANKS
        if others.oriented_runs < _RUNS_BEFORE_RANKS and others.plain_runs < enough:
            return False
        return self.runs < _RANKED_RUNS or self.best < min(others.oriented, others.plain)
