"""Counts of undirected patterns with symmetries, and of groups, in a graph that runs upwards.

The oriented graph has to be built and copied to the device first. It is, as soon as the queries
that it would have helped took as long as that is expected to take.

More than 300 lines: counts and groups of both forms stand beside the times that choose the form.
"""

from __future__ import annotations

import math
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from gpugda.data.oriented import oriented
from gpugda.deadline import check_deadline, seconds_left
from gpugda.errors import MemoryLimitError
from gpugda.execute.matching import select
from gpugda.match.need import Count, Groups
from gpugda.match.registry import plan_pattern
from gpugda.match.report import oriented_text
from gpugda.match.special.ranked_triangles import count_triangles
from gpugda.match.special.ring_squares import count_ring
from gpugda.match.special.upward_squares import (
    UpwardSquare,
    count_squares,
    counts_upwards,
    find_square,
)
from gpugda.match.tuple_counts import TupleCounts, multiplied
from gpugda.plan.bind import bind
from gpugda.plan.rules.orient import OrientedQuery, may_orient, orient

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Embeddings, StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = [
    "count_oriented",
    "groups_oriented",
    "note_unoriented",
    "noting_groups",
    "noting_unoriented",
]

T = TypeVar("T")

_SECONDS_PER_RELATIONSHIP = 1.5e-7
"""To build the oriented graph, on one core. Measured: 0.6e-7 to 1.1e-7."""


_KIND, _PLAN, _TIMES = "oriented count", "oriented plan", "oriented times"
"""Kept with a plan: the first two with the bound query, and the graph, that they are of."""

_COUNT = Count()
_ORIENTED_RUNS, _PLAIN_RUNS = 2, 3
"""So many of each are timed before they are compared: first ones compile, and copy the graph."""
_FAR_SLOWER = 4
_AGAIN = 32
"""The slower form is timed again when the faster one took so many times as long as it did."""


@dataclass(slots=True)
class _Times:
    """How long the counts of one plan took.

    Args:
        oriented: The best in the oriented graph.
        plain: The best in the graph as it is.
        oriented_runs: How many of the former there were.
        plain_runs: How many of the latter.
        in_a_row: Seconds of the last ones that were all of one form.
        was_oriented: Which form that was.
    """

    oriented: float = math.inf
    plain: float = math.inf
    oriented_runs: int = 0
    plain_runs: int = 0
    in_a_row: float = 0.0
    was_oriented: bool = False

    def note(self, seconds: float, *, is_oriented: bool) -> None:
        before = self.in_a_row if is_oriented is self.was_oriented else 0.0
        self.in_a_row, self.was_oriented = before + seconds, is_oriented
        if is_oriented:
            self.oriented, self.oriented_runs = min(self.oriented, seconds), self.oriented_runs + 1
        else:
            self.plain, self.plain_runs = min(self.plain, seconds), self.plain_runs + 1

    @property
    def prefer_plain(self) -> bool:
        """Is the graph as it is faster, or was it timed too seldom to tell?"""
        if self.oriented_runs < _ORIENTED_RUNS:
            return False
        if self.plain_runs < _PLAIN_RUNS:
            return self.plain < _FAR_SLOWER * self.oriented
        return (self.plain < self.oriented) is not self._tries_again

    @property
    def _tries_again(self) -> bool:
        """Was the faster form used so long that timing the slower one again costs little?

        Its times may be of a busy machine, or of runs that made what later ones find.
        """
        slower_is_oriented = self.plain < self.oriented
        again = self.oriented if slower_is_oriented else self.plain
        return self.was_oriented is not slower_is_oriented and self.in_a_row > _AGAIN * again


@dataclass(slots=True, eq=False)
class _Form:
    """The oriented form of one graph.

    Args:
        seconds: What queries took that would have used it.
        graph: The form, None until it is built.
    """

    seconds: float = 0.0
    graph: DataGraph | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_FORMS: WeakKeyDictionary[DataGraph, _Form] = WeakKeyDictionary()


def count_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    """The number of embeddings by way of the oriented graph; None where that is not the way.

    Args:
        plan: Of a pattern of which only the number of embeddings is asked for.
        graph: The data graph.
        strategy: Joins on the device.
        parameters: Values by name.
        report: Filled while running.
        deadline: A time of ``time.monotonic``.

    Raises:
        As the strategy's ``count``.
    """
    if not strategy.orients:
        return None
    for count_ranked in (count_ring, count_triangles):
        found = count_ranked(plan.bound, graph, strategy, report, deadline)
        if found is not None:
            return found
    kind = _kind(plan, graph)
    if kind is None or (isinstance(kind, UpwardSquare) and not counts_upwards(strategy.graph)):
        return None

    def count(upwards: DataGraph, beside: Matcher) -> int | None:
        if isinstance(kind, UpwardSquare):
            return _square_count(kind, beside, report, deadline)
        return _query_count(kind, plan, upwards, beside, parameters, report, deadline)

    return _found_upwards(count, plan, graph, strategy, report, deadline)


def groups_oriented(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    need: Groups,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Embeddings | None:
    """The groups, each once, by way of the oriented graph; None where that is not the way.

    Args: as of `count_oriented`, and

        need: What is asked for.
    """
    if need.streamed or not strategy.orients:
        return None
    kind = _kind(plan, graph, need.nodes)
    if not isinstance(kind, OrientedQuery):
        return None

    def group(upwards: DataGraph, beside: Matcher) -> Embeddings | None:
        return _query_groups(kind, plan, upwards, beside, need, parameters, report, deadline)

    return _found_upwards(group, plan, graph, strategy, report, deadline)


def _found_upwards(
    find: Callable[[DataGraph, Matcher], T | None],
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    report: StrategyReport,
    deadline: float | None,
) -> T | None:
    """What is found in the oriented graph, if that is there, or worth building, and has room."""
    form, times = _FORMS.setdefault(graph, _Form()), _times(plan)
    if times.prefer_plain or not _is_worth_building(form, graph, deadline):
        return None
    upwards = _built(form, graph, report)
    with strategy.on(upwards) as beside:
        if beside is None:
            return None
        started = time.perf_counter()
        try:
            found = find(upwards, beside)
        except MemoryLimitError:
            # The graph as it is leaves more room.
            plan.kept[_KIND] = (plan.bound, None)
            return None
        if found is not None:
            times.note(time.perf_counter() - started, is_oriented=True)
        return found


def _square_count(
    square: UpwardSquare, strategy: Matcher, report: StrategyReport, deadline: float | None
) -> int | None:
    with strategy.running(report, deadline) as run:
        found = count_squares(run, square)
    if found is not None:
        report.steps.append(
            f"cycle of 4 nodes counted from the one of most relationships: {found:,} rows"
        )
    return found


def _query_count(
    query: OrientedQuery,
    plan: Plan,
    upwards: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> int | None:
    made = _plan_on(upwards, plan, query, Count())
    if made.declined:
        return None
    selected = select(made, upwards, strategy, parameters, report, deadline)
    if selected is None:
        return 0
    report.steps.append(oriented_text(plan.bound, query))
    count = strategy.count(selected.plan, selected.masks, report, deadline)
    return count * query.multiplicity


def _query_groups(
    query: OrientedQuery,
    plan: Plan,
    upwards: DataGraph,
    strategy: Matcher,
    need: Groups,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Embeddings | None:
    made = _plan_on(upwards, plan, query, need)
    if made.declined:
        return None
    selected = select(made, upwards, strategy, parameters, report, deadline)
    check = partial(check_deadline, deadline)
    tuples = TupleCounts(need.nodes, counted=need.counted, check=check)
    if selected is None:
        return tuples.found()
    report.steps.append(oriented_text(plan.bound, query))
    for places in query.places:
        asked = replace(need, nodes=tuple(sorted(places)))
        chunks = strategy.groups(selected.plan, selected.masks, asked, report, deadline)
        with closing(chunks):
            for chunk in chunks:
                columns = zip(need.nodes, places, strict=True)
                nodes = {node: chunk.nodes[place] for node, place in columns}
                tuples.add(replace(chunk, nodes=nodes))
    found = tuples.found()
    return multiplied(found, query.multiplicity) if need.counted else found


@contextmanager
def noting_unoriented(plan: Plan, graph: DataGraph) -> Iterator[None]:
    """Remembers how long a count takes inside, also of one that is given up."""
    started = time.perf_counter()
    try:
        yield
        _times(plan).note(time.perf_counter() - started, is_oriented=False)
    finally:
        note_unoriented(plan, graph, time.perf_counter() - started)


def noting_groups(
    chunks: Generator[Embeddings], plan: Plan, graph: DataGraph, need: Groups
) -> Generator[Embeddings]:
    """Remembers how long groups take that are found without the oriented graph."""
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
        _times(plan).note(seconds, is_oriented=False)
    finally:
        note_unoriented(plan, graph, seconds, need)


def note_unoriented(
    plan: Plan, graph: DataGraph, seconds: float, need: Count | Groups = _COUNT
) -> None:
    """Remembers how long a count took that had to do without the oriented graph."""
    grouped = need.nodes if isinstance(need, Groups) else ()
    if _kind(plan, graph, grouped) is not None:
        _FORMS.setdefault(graph, _Form()).seconds += seconds


def _times(plan: Plan) -> _Times:
    times: _Times = plan.kept.setdefault(_TIMES, _Times())
    return times


def _kind(
    plan: Plan, graph: DataGraph, grouped: tuple[int, ...] = ()
) -> OrientedQuery | UpwardSquare | None:
    known = plan.kept.get(_KIND)
    if known is None or known[0] is not plan.bound:
        known = plan.kept[_KIND] = (plan.bound, _found_kind(plan.bound, graph, grouped))
    kind: OrientedQuery | UpwardSquare | None = known[1]
    return kind


def _found_kind(
    bound: BoundQuery, graph: DataGraph, grouped: tuple[int, ...]
) -> OrientedQuery | UpwardSquare | None:
    if not may_orient(bound):
        return None
    square = None if grouped else find_square(bound, graph)
    return square or orient(bound, graph.statistics.loop_counts, grouped)


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
            form.graph = oriented(graph)
            report.timings["orient"] = time.perf_counter() - started
    return form.graph


def _plan_on(upwards: DataGraph, plan: Plan, query: OrientedQuery, need: Count | Groups) -> Plan:
    known = plan.kept.get(_PLAN)
    if known is None or known[0] is not upwards:
        bound = bind(query.query, upwards)
        made = plan_pattern(bound, upwards.statistics, plan.strategy, need)
        known = plan.kept[_PLAN] = (upwards, made)
    made = known[1]
    return made
