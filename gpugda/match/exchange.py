"""Exchange: divides the seeds of a pattern into tasks, runs them on several places, and folds.

The seeds are the candidates of one query node. A task is the pattern with a part of them, as one
more bitmap, so that a strategy runs it like any other pattern. A place is whatever runs a task on
its copy of the data graph. Each place has a thread, which takes a task whenever it has done one.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter, defaultdict, deque
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpugda.data.integer_sets import nodes_of
from gpugda.deadline import cancelled_by, check_deadline, working_until
from gpugda.errors import DeviceError, MemoryLimitError
from gpugda.match.candidates.label_words import program_bits
from gpugda.match.candidates.selections import bitmap_of
from gpugda.match.embeddings import Embeddings, StrategyReport
from gpugda.match.need import Count, Groups, Rows
from gpugda.match.report import node_text
from gpugda.plan.plan import StepKind
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Masks
    from gpugda.match.matcher import Matcher
    from gpugda.match.need import Need
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = ["LIMITS", "Exchange", "ExchangeLimits", "Place", "Places", "Task", "expect"]

_LOGGER = logging.getLogger("gpugda.device")
_DEGREES: Final = "relationships of each node"
_TIMES: Final = "exchange times"
"""Key of an entry kept with a plan."""
_SURE_SECONDS: Final = 1.0
"""Seconds on several places from which one place is certainly slower."""
_TRIALS: Final = 2
"""Runs of each form before both are compared."""
_NO_LIMIT: Final = 1e9
"""Seconds that a task without a deadline gets: work without one cannot be cancelled."""
_LOOK_SECONDS: Final = 0.05
"""Time between two looks at the deadline while no task ends."""

Nodes: TypeAlias = NDArray[np.int64]
Answer: TypeAlias = int | list[Embeddings]


def by_work(seeds: Nodes, work: NDArray[np.int64], parts: int) -> list[Nodes]:
    """Divides seeds into at most ``parts`` runs of consecutive nodes that have equal work."""
    ends = np.cumsum(work)
    cuts = np.searchsorted(ends, ends[-1] * np.arange(1, parts) / parts)
    return [each for each in np.split(seeds, cuts) if len(each)]


@value(frozen=True, slots=True)
class ExchangeLimits:
    """When and how a pattern is divided.

    Args:
        min_seconds: Seconds on one place from which several are used; 0 divides every pattern.
        task_seconds: Least seconds of a task; the fixed costs of a task are a tenth of it.
        parts: Most tasks per place.
        divide: Divides seeds, given their expected work, into about so many parts.
    """

    min_seconds: float = 0.1
    task_seconds: float = 0.05
    parts: int = 8
    divide: Callable[[Nodes, NDArray[np.int64], int], Sequence[Nodes]] = by_work

    def divides(self, times: Times) -> bool:
        """True if a pattern with these times is divided next time."""
        return self.min_seconds == 0 or times.pays(self.min_seconds)

    def parts_for(self, seconds: float) -> int:
        """Tasks per place of a pattern that takes so long on one place: 2, 4, 8 …, at most all."""
        parts = min(2, self.parts)
        while parts * 2 <= self.parts and seconds > 4 * parts * self.task_seconds:
            parts *= 2
        return parts


LIMITS = ExchangeLimits()
"""Those of accelerators that are opened from now on."""


@dataclass(slots=True)
class Times:
    """Seconds of a pattern: expected, and the least of its runs on one place and on several."""

    expected: float
    alone: float = math.inf
    divided: float = math.inf
    alone_runs: int = 0
    divided_runs: int = 0

    def note(self, seconds: float, *, divided: bool) -> None:
        """Records a run."""
        if divided:
            self.divided, self.divided_runs = min(self.divided, seconds), self.divided_runs + 1
        else:
            self.alone, self.alone_runs = min(self.alone, seconds), self.alone_runs + 1

    @property
    def seconds(self) -> float:
        """Known or expected seconds on one place."""
        if self.alone_runs:
            return self.alone
        return max(2 * self.divided, self.expected) if self.divided_runs else self.expected

    def pays(self, least: float) -> bool:
        """True if the pattern is divided next time.

        First runs compile, copy and look for plans, so a single run says little.

        Args:
            least: Seconds on one place from which several are used.
        """
        if not self.divided_runs:
            return self.seconds >= least and self.alone_runs != 1
        if self.divided_runs < _TRIALS:
            return True
        if self.alone_runs < _TRIALS:
            return self.divided >= _SURE_SECONDS
        return self.divided < self.alone


@value(frozen=True, slots=True, eq=False)
class Task:
    """A pattern with a part of its seeds: all that a place has to know.

    Args:
        strategy: Name of the strategy.
        graph: The state of the data graph.
        plan: The plan of the pattern.
        masks: The nodes and relationships that pass the predicates and belong to the task.
        need: What is computed.
        deadline: Time of ``time.monotonic``.
    """

    strategy: str
    graph: DataGraph
    plan: Plan
    masks: Masks
    need: Need
    deadline: float | None

    def answer(self, matcher: Matcher, report: StrategyReport) -> Answer:
        """The count, or all rows or groups."""
        if isinstance(self.need, Count):
            return matcher.count(self.plan, self.masks, report, self.deadline)
        return list(self.chunks(matcher, report))

    def chunks(self, matcher: Matcher, report: StrategyReport) -> Generator[Embeddings]:
        """The rows or groups."""
        assert not isinstance(self.need, Count)
        if isinstance(self.need, Groups):
            return matcher.groups(self.plan, self.masks, self.need, report, self.deadline)
        return matcher.embeddings(self.plan, self.masks, self.need, report, self.deadline)


class Place(Protocol):
    """Runs tasks on its copy of the data graph: a device."""

    @property
    def name(self) -> str:
        """Its name for users."""
        ...

    def run(self, task: Task, report: StrategyReport) -> Answer:
        """The answer of a task.

        Raises:
            DeviceError: The place failed.
            QueryTimeoutError: The deadline passed, or the task was cancelled.
        """
        ...


@value(frozen=True, slots=True, eq=False)
class Places:
    """The places of one accelerator.

    Args:
        all: The places. The first one is ready: queries that are not divided run there.
        limits: When and how a pattern is divided.
        failed: Reasons by the name of each place that is not used any more.
        ready: Names of the others that have completed a task.
        starting: Names of those that run their first task, perhaps for an earlier query.
    """

    all: Sequence[Place]
    limits: ExchangeLimits = field(default_factory=lambda: LIMITS)
    failed: dict[str, str] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    starting: set[str] = field(default_factory=set)

    @property
    def usable(self) -> list[Place]:
        """The places that have not failed."""
        return [each for each in self.all if each.name not in self.failed]

    def warnings(self) -> tuple[str, ...]:
        """A sentence for each place that failed."""
        return tuple(f"{name} is not used any more: {why}" for name, why in self.failed.items())


def expect(plan: Plan, seconds: float) -> Times:
    """The times of the latest run of a pattern, or the expected time."""
    known: _KnownTimes = plan.kept.setdefault(_TIMES, _KnownTimes(Times(seconds)))
    return known.latest


@dataclass(slots=True)
class _KnownTimes:
    """Times of a pattern, by the powers of two of how many nodes pass its predicates."""

    latest: Times
    by_sizes: dict[tuple[int, ...], Times] = field(default_factory=dict)

    def of(self, masks: Masks) -> Times:
        sizes = [int(np.bitwise_count(each).sum()).bit_length() for each in masks.nodes.values()]
        expected = Times(self.latest.expected)
        self.latest = self.by_sizes.setdefault(tuple(sizes), expected)
        return self.latest


def seed_of(plan: Plan) -> int:
    """The query node whose candidates are divided: the first one of the join."""
    first = plan.steps[0]
    if first.kind is StepKind.NODES:
        return first.position
    return plan.bound.relationships[first.position].source


def seeds_text(plan: Plan) -> str:
    """The seeds, for people."""
    return f"seeds of {node_text(plan.bound, seed_of(plan))}"


class Exchange:
    """Computes what a `Matcher` computes, on several places where that pays.

    Args:
        places: The places.
        matcher: The strategy at the first place.
    """

    def __init__(self, places: Places, matcher: Matcher) -> None:
        self._places = places
        self._matcher = matcher

    def count(
        self, plan: Plan, masks: Masks, report: StrategyReport, deadline: float | None = None
    ) -> int:
        """See `Matcher.count`."""
        whole, times = self._task(plan, masks, Count(), deadline), self._times(plan, masks)
        if self._pays(plan, times):
            return sum(
                each for each in self._answers(whole, report, times) if isinstance(each, int)
            )
        started = time.perf_counter()
        found = self._matcher.count(plan, masks, report, deadline)
        times.note(time.perf_counter() - started, divided=False)
        return found

    def groups(
        self,
        plan: Plan,
        masks: Masks,
        need: Groups,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """See `Matcher.groups`: the caller merges equal groups of different tasks."""
        return self._rows(self._task(plan, masks, need, deadline), report)

    def embeddings(
        self,
        plan: Plan,
        masks: Masks,
        need: Rows,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """See `Matcher.embeddings`."""
        return self._rows(self._task(plan, masks, need, deadline), report)

    def _rows(self, whole: Task, report: StrategyReport) -> Generator[Embeddings]:
        times = self._times(whole.plan, whole.masks)
        if not self._pays(whole.plan, times):
            yield from _timed(whole.chunks(self._matcher, report), times)
            return
        seed = seed_of(whole.plan)
        with closing(self._answers(whole, report, times)) as answers:
            for chunks in answers:
                assert not isinstance(chunks, int)
                for chunk in chunks:
                    # Rows of two tasks differ in their seeds, which are perhaps not read.
                    yield replace(chunk, distinct=chunk.distinct and seed in chunk.nodes)

    def _task(self, plan: Plan, masks: Masks, need: Need, deadline: float | None) -> Task:
        return Task(self._matcher.name, self._graph, plan, masks, need, deadline)

    def _times(self, plan: Plan, masks: Masks) -> Times:
        known: _KnownTimes = plan.kept.setdefault(_TIMES, _KnownTimes(Times(0.0)))
        return known.of(masks)

    def _pays(self, plan: Plan, times: Times) -> bool:
        return (
            len(self._places.usable) > 1
            and bool(plan.bound.nodes)
            and self._places.limits.divides(times)
            and self._matcher.placement().is_whole
        )

    def _answers(self, whole: Task, report: StrategyReport, times: Times) -> Generator[Answer]:
        usable, plan = self._places.usable, whole.plan
        seed, deadline = seed_of(plan), whole.deadline
        until = time.monotonic() + _NO_LIMIT if deadline is None else deadline
        count = self._places.limits.parts_for(times.seconds) * len(usable)
        tasks = [
            replace(whole, masks=_with(whole.masks, seed, each), deadline=until)
            for each in self._parts(plan.bound, whole.masks, seed, count)
        ]
        running = _Running(self._places, usable, tasks, report, until)
        with closing(running.answers()) as answers:
            yield from answers
        times.note(running.seconds, divided=True)
        said = f"exchange: {seeds_text(plan)} in {len(tasks)} tasks; {running.described()}"
        report.steps.append(said)

    def _parts(
        self, bound: BoundQuery, masks: Masks, seed: int, count: int
    ) -> list[NDArray[np.uint32]]:
        """Bitmaps of the parts of the seeds."""
        graph, labels, divide = self._graph, bound.nodes[seed].labels, self._places.limits.divide
        bits = masks.nodes.get(seed)
        if labels:
            labelled = program_bits(labels, self._matcher.graph)
            bits = labelled if bits is None else bits & labelled
        seeds = np.arange(graph.node_count) if bits is None else nodes_of(bits)
        seeds = seeds[seeds < graph.node_count]
        if not len(seeds):
            return []
        degrees = graph.cached_node_numbers(_DEGREES, self._degrees)
        parts: list[NDArray[np.uint32]] = []
        for part in divide(seeds, degrees[seeds].astype(np.int64) + 1, count):
            flags = np.zeros(graph.node_count, dtype=np.bool_)
            flags[part] = True
            parts.append(bitmap_of(flags))
        return parts

    def _degrees(self) -> NDArray[np.uint32]:
        both = self._graph.outgoing.degrees(), self._graph.incoming.degrees()
        return (both[0] + both[1]).astype(np.uint32)

    @property
    def _graph(self) -> DataGraph:
        return self._matcher.graph.graph


def _with(masks: Masks, node: int, bits: NDArray[np.uint32]) -> Masks:
    # Strategies expect the masks in the order of their query nodes.
    return replace(masks, nodes=dict(sorted({**masks.nodes, node: bits}.items())))


def _timed(chunks: Generator[Embeddings], times: Times) -> Generator[Embeddings]:
    seconds = 0.0
    with closing(chunks):
        while True:
            started = time.perf_counter()
            chunk = next(chunks, None)
            seconds += time.perf_counter() - started
            if chunk is None:
                break
            yield chunk
    times.note(seconds, divided=False)


class _Running:
    """Tasks that are handed to places.

    A place that has not completed a task yet may take long to open its device, to compile kernels
    and to copy the graph: it gets the copy of a task that another place will run if it is faster.
    A place that does so for another query takes part only if there is no other.

    Attributes:
        seconds: Seconds that the caller waited for answers.
    """

    def __init__(
        self,
        places: Places,
        usable: Sequence[Place],
        tasks: Sequence[Task],
        report: StrategyReport,
        deadline: float,
    ) -> None:
        self._places = places
        starting = [each for each in usable if each.name in places.starting]
        others = [each for each in usable if each not in starting]
        self._usable, self._spare = (others, starting) if others else (starting, [])
        self._threads: list[tuple[threading.Thread, bool]] = []
        self._tasks = tasks
        self._report = report
        self._deadline = deadline
        self._pending = deque(range(len(tasks)))
        self._done: set[int] = set()
        self._answers: deque[Answer] = deque()
        self._changed = threading.Condition()
        self._is_stopped = False
        self._error: BaseException | None = None
        self._left_out: dict[str, str] = {}
        self._runs: Counter[str] = Counter()
        self._busy: defaultdict[str, float] = defaultdict(float)
        self.seconds = 0.0

    def described(self) -> str:
        """What each place did."""
        parts = [f"{name}: {each} in {self._busy[name]:.3g} s" for name, each in self._runs.items()]
        parts += [f"{name} was left out: {why}" for name, why in self._left_out.items()]
        return ", ".join(parts)

    def answers(self) -> Generator[Answer]:
        """The answers in the order in which they are found. Ending it early stops all places.

        Raises:
            DeviceError: All places failed.
            QueryTimeoutError: The deadline passed.
        """
        for each in self._usable:
            self._start(each)
        try:
            for number in range(len(self._tasks)):
                yield self._next(number)
        finally:
            with self._changed:
                self._is_stopped = True
                self._changed.notify_all()
            for thread, is_ready in self._threads:
                if is_ready:  # the others may be compiling
                    thread.join()

    def _start(self, place: Place) -> None:
        thread = threading.Thread(target=self._work, args=(place,), name=f"gpugda {place.name}")
        is_ready = self._is_ready(place)
        self._threads.append((thread, is_ready))
        if not is_ready:
            self._places.starting.add(place.name)
        thread.start()

    def _next(self, number: int) -> Answer:
        started, progress = time.perf_counter(), self._report.progress
        with self._changed:
            while not self._answers and self._error is None:
                self._changed.wait(_LOOK_SECONDS)
                check_deadline(self._deadline)
            if self._error is not None:
                raise self._error
            answer = self._answers.popleft()
            self._changed.notify_all()
        seconds, timings = time.perf_counter() - started, self._report.timings
        timings["join"] = timings.get("join", 0.0) + seconds
        self.seconds += seconds
        if progress is not None:
            progress.enter(0, number, number + 1, len(self._tasks))
            progress.leave(0)
        return answer

    # ------------------------------------------------------------------ in the places' threads
    def _work(self, place: Place) -> None:
        try:
            self._run_tasks(place)
        finally:
            self._places.starting.discard(place.name)

    def _run_tasks(self, place: Place) -> None:
        current = -1

        def is_unwanted() -> bool:
            return self._is_stopped or current in self._done

        with cancelled_by(is_unwanted), working_until(self._deadline):
            while (taken := self._take(place)) is not None:
                current, report, started = taken, StrategyReport(), time.perf_counter()
                try:
                    answer = place.run(self._tasks[taken], report)
                except DeviceError as error:
                    self._leave_out(place, taken, error)
                    return
                except BaseException as error:  # raised again in the caller's thread
                    if not is_unwanted():
                        self._fail(error)
                else:
                    self._finish(place, taken, answer, report, time.perf_counter() - started)

    def _take(self, place: Place) -> int | None:
        with self._changed:
            while not self._is_stopped and len(self._done) < len(self._tasks):
                if self._pending and len(self._answers) < len(self._usable):
                    if self._is_ready(place):
                        return self._pending.popleft()
                    return self._pending[-1]
                self._changed.wait()
            return None

    def _is_ready(self, place: Place) -> bool:
        return place is self._places.all[0] or place.name in self._places.ready

    def _finish(
        self, place: Place, number: int, answer: Answer, report: StrategyReport, seconds: float
    ) -> None:
        with self._changed:
            self._places.ready.add(place.name)
            if number in self._done:
                return
            if not self._done:
                for line in report.steps:
                    self._report.steps.append(line)
            if number in self._pending:
                self._pending.remove(number)
            self._done.add(number)
            self._answers.append(answer)
            self._runs[place.name] += 1
            self._busy[place.name] += seconds
            self._report.memory.note(report.memory.bytes)
            self._changed.notify_all()

    def _leave_out(self, place: Place, number: int, error: DeviceError) -> None:
        """Leaves its tasks to the other places; a place without enough memory, once only."""
        _LOGGER.warning("%s is left out: %s", place.name, error)
        with self._changed:
            self._left_out[place.name] = str(error)
            if not isinstance(error, MemoryLimitError):
                self._places.failed[place.name] = str(error)
            if number not in self._done and number not in self._pending:
                self._pending.append(number)
            if len(self._left_out) == len(self._usable):
                spare, self._spare = self._spare, []
                self._usable += spare
                for each in spare:
                    self._start(each)
                if not spare:
                    self._error = error
            self._changed.notify_all()

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._error = self._error or error
            self._is_stopped = True
            self._changed.notify_all()
