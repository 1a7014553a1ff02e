"""Exchange: divides the seeds of a pattern into tasks, runs them on several places, and folds.

The seeds are the candidates of one query node. A task is the pattern with a part of them, as one
more bitmap, so that a strategy runs it like any other pattern. A count by vectors is divided by its
pinned nodes. A place is whatever runs a task on its copy of the data graph: a device, a worker.
"""

from __future__ import annotations

import math
import time
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field, replace
from heapq import heapify, heapreplace
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpugda.data.integer_sets import nodes_of
from gpugda.errors import MemoryLimitError
from gpugda.match.candidates.label_words import passing_bits
from gpugda.match.candidates.selections import bitmap_of_nodes
from gpugda.match.embeddings import Embeddings, Masks, StrategyReport
from gpugda.match.engine import Engine
from gpugda.match.need import Count, Groups, Rows
from gpugda.match.report import node_text
from gpugda.match.share import WHOLE, Share
from gpugda.plan.plan import StepKind
from gpugda.stages import timed
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.matcher import Matcher
    from gpugda.match.need import Need
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = [
    "LIMITS",
    "AnyTask",
    "Division",
    "Exchange",
    "ExchangeLimits",
    "Places",
    "Running",
    "ShareTask",
    "Task",
    "TaskLog",
    "expect",
]

_TIMES: Final = "exchange times"
"""Key of an entry kept with a plan."""
_SURE_SECONDS: Final = 1.0
"""Seconds on several places from which one place is certainly slower."""
_TRIALS: Final = 2
"""Runs of each form before forms are compared: the first one may compile, and copy the graph."""
_LIGHT: Final = 256
"""Seeds of less than one in so many shares of a part's work are dealt out without a look at it."""
_SPREAD: Final = np.uint32(2654435761)
"""Multiplies numbers, so that close ones end far apart (Knuth, TAOCP 3, section 6.4)."""
_UNLIKELY: Final = 2.0
"""A division that takes so many times as long as one place is not tried with other tasks."""
_NO_LIMIT: Final = 1e9
"""Seconds that a task without a deadline gets: work without one cannot be cancelled."""

Nodes: TypeAlias = NDArray[np.int64]
Answer: TypeAlias = int | list[Embeddings]
AnyTask: TypeAlias = "Task | ShareTask"


def by_work(seeds: Nodes, work: NDArray[np.int64], parts: int) -> list[Nodes]:
    """Divides seeds into at most ``parts`` parts of about equal work.

    What a seed really takes depends on its neighbours, which are often like those of seeds with
    close numbers. So seeds are dealt out: heavy ones to the part that has least, the others evenly.
    """
    is_heavy = work * (parts * _LIGHT) > work.sum()
    heavy = np.flatnonzero(is_heavy)
    spread = np.arange(len(seeds), dtype=np.uint32) * _SPREAD >> np.uint32(16)
    owners = (spread % np.uint32(parts)).astype(np.uint16)
    loads = np.bincount(owners, np.where(is_heavy, 0, work), parts)
    least = [(load, part) for part, load in enumerate(loads.tolist())]
    heapify(least)
    for place in heavy[np.argsort(-work[heavy], kind="stable")].tolist():
        load, owner = least[0]
        owners[place] = owner
        heapreplace(least, (load + int(work[place]), owner))
    dealt = seeds[np.argsort(owners, kind="stable")]
    ends = np.bincount(owners, minlength=parts).cumsum()[:-1]
    return [each for each in np.split(dealt, ends) if len(each)]


@value(frozen=True, slots=True)
class ExchangeLimits:
    """When and how a pattern is divided.

    Args:
        min_seconds: Seconds on one place from which several are used; 0 divides every pattern.
        task_seconds: Seconds of a task at the first try.
        parts: Most tasks per place.
        first: Tasks per place at the first try; None for a number by the seconds of a task.
        divide: Divides seeds, given their expected work, into about so many parts.
    """

    min_seconds: float = 0.1
    task_seconds: float = 0.05
    parts: int = 8
    first: int | None = None
    divide: Callable[[Nodes, NDArray[np.int64], int], Sequence[Nodes]] = by_work

    def divides(self, times: Times) -> bool:
        """True if a pattern with these times is divided next time."""
        return self.min_seconds == 0 or times.pays(self)

    def parts_for(self, times: Times, first: int | None = None) -> int:
        """Tasks per place of the next run: a power of two.

        Fewer tasks repeat less, more are shared out more evenly: half as many and twice as many are
        tried until the best number is between two worse ones.

        Args:
            times: Those of earlier runs.
            first: The number at the first try; None for one by the seconds of a task.
        """
        if not times.divided:
            most = self.first or first or times.seconds / (2 * self.task_seconds)
            return 1 << max(0, int(min(most, self.parts)).bit_length() - 1)
        for parts, runs in times.divided.items():
            if runs.count < _TRIALS:
                return parts
        best = min(times.divided, key=lambda parts: times.divided[parts].seconds)
        near = (each for each in (best // 2, best * 2) if 1 <= each <= self.parts)
        return next((each for each in near if each not in times.divided), best)


LIMITS = ExchangeLimits()
"""Those of accelerators that are opened from now on."""


@dataclass(slots=True)
class Runs:
    """Runs of a pattern in one form: how many, and the least seconds."""

    count: int = 0
    seconds: float = math.inf

    def note(self, seconds: float) -> None:
        """Records a run."""
        self.count, self.seconds = self.count + 1, min(self.seconds, seconds)


@dataclass(slots=True)
class Times:
    """Seconds of a pattern.

    Args:
        expected: Expected seconds on one place.
        alone: Runs on one place.
        divided: Runs on several, by the tasks per place.
        places: The most places that took part in one of these.
    """

    expected: float
    alone: Runs = field(default_factory=Runs)
    divided: dict[int, Runs] = field(default_factory=dict)
    places: int = 0

    def note(self, seconds: float, parts: int) -> None:
        """Records a run with so many tasks per place; 0 for one on one place."""
        (self.divided.setdefault(parts, Runs()) if parts else self.alone).note(seconds)

    def took_part(self, places: int) -> None:
        """Records how many places ran tasks; more than before make what is known obsolete."""
        if places > self.places:
            self.places = places
            self.divided.clear()

    @property
    def least_divided(self) -> float:
        """The least seconds on several places."""
        return min((each.seconds for each in self.divided.values()), default=math.inf)

    @property
    def seconds(self) -> float:
        """Known or expected seconds on one place."""
        if self.alone.count:
            return self.alone.seconds
        return max(2 * self.least_divided, self.expected) if self.divided else self.expected

    def pays(self, limits: ExchangeLimits) -> bool:
        """True if the pattern is divided next time.

        Args:
            limits: Say from how many seconds, and with how many tasks.
        """
        if not self.divided:
            return self.seconds >= limits.min_seconds and self.alone.count != 1
        parts, best = limits.parts_for(self), self.least_divided
        if max(each.count for each in self.divided.values()) < _TRIALS:
            return True
        if self.alone.count < _TRIALS:
            return best >= _SURE_SECONDS
        is_tried = self.divided.get(parts, Runs()).count >= _TRIALS
        return best < self.alone.seconds * (1 if is_tried else _UNLIKELY)


@value(frozen=True, slots=True, eq=False)
class Task:
    """A pattern with a part of its seeds: all that a place has to know, beside the data graph.

    Args:
        strategy: Name of the strategy.
        plan: The plan of the pattern.
        masks: The nodes and relationships that pass the predicates and belong to the task.
        need: What is computed.
        deadline: Time of ``time.monotonic``.
    """

    strategy: str
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


@value(frozen=True, slots=True, eq=False)
class ShareTask:
    """A share of a count by vectors or in ranked lists.

    Args:
        strategy: Name of the strategy.
        counted: How the pattern is counted.
        share: The part of it that is counted.
        deadline: Time of ``time.monotonic``.
    """

    strategy: str
    counted: SharedCount
    share: Share
    deadline: float | None

    def answer(self, matcher: Matcher, report: StrategyReport) -> Answer:
        """The count.

        Raises:
            MemoryLimitError: There is no room for it.
        """
        assert isinstance(matcher, Engine)
        found = self.counted.count_share(matcher, report, self.deadline, self.share)
        if found is None:
            raise MemoryLimitError("there is no room for what a count needs")
        return found


class SharedCount(Protocol):
    """How a pattern is counted of which each share can be counted by itself."""

    @property
    def wraps(self) -> int | None:
        """The number modulo which counts of shares add up; None if they just add up."""

    def count_share(
        self, engine: Engine, report: StrategyReport, deadline: float | None, share: Share = WHOLE
    ) -> int | None:
        """The count of a share; None if there is no room."""


class Division(NamedTuple):
    """The tasks of one pattern.

    Args:
        tasks: The tasks.
        graph: The state of the data graph.
        said: What is divided.
        report: Receives what the first task reports, and the progress.
        deadline: Time of ``time.monotonic``.
    """

    tasks: Sequence[AnyTask]
    graph: DataGraph
    said: str
    report: StrategyReport
    deadline: float


class TaskLog:
    """What places did with the tasks of one pattern.

    Args:
        division: The tasks.

    Attributes:
        left_out: A sentence for each place that is left out, by its name or address.
    """

    def __init__(self, division: Division) -> None:
        self.left_out: dict[str, str] = {}
        self._report, self._count = division.report, len(division.tasks)
        self._runs: Counter[str] = Counter()
        self._busy: defaultdict[str, float] = defaultdict(float)
        self._bytes = 0
        self._received = 0

    def add(
        self, place: str, answer: Answer, steps: Iterable[str], memory: int, seconds: float
    ) -> None:
        """Adds a task that a place has completed; the steps of the first one are reported."""
        if not self._runs:
            for line in steps:
                self._report.steps.append(line)
        self._runs[place] += 1
        self._busy[place] += seconds
        self._bytes += _nbytes_of(answer)
        self._report.memory.note(memory)

    def receive(self, seconds: float) -> None:
        """Adds an answer for which the caller waited so long."""
        timings, progress = self._report.timings, self._report.progress
        timings["join"] = timings.get("join", 0.0) + seconds
        if progress is not None:
            progress.enter(0, self._received, self._received + 1, self._count)
            progress.leave(0)
        self._received += 1

    @property
    def places(self) -> int:
        """The number of places that have completed tasks."""
        return len(self._runs)

    def described(self) -> str:
        """What each place did."""
        parts = [f"{name}: {each} in {self._busy[name]:.3g} s" for name, each in self._runs.items()]
        parts += self.left_out.values()
        return f"{', '.join(parts)}; {self._bytes:,} bytes of answers"


class Running(Protocol):
    """Tasks that are handed to places.

    Attributes:
        log: What was done.
    """

    log: TaskLog

    def answers(self) -> Generator[Answer]:
        """The answers in the order in which they are found. Ending it early stops all places.

        Raises:
            DeviceError: All places failed.
            QueryTimeoutError: The deadline passed.
        """
        ...


class Places(Protocol):
    """What runs tasks: the devices of a machine, or the workers of a cluster."""

    @property
    def limits(self) -> ExchangeLimits:
        """When and how a pattern is divided."""
        ...

    @property
    def count(self) -> int:
        """Number of places that can be used, at least 1."""
        ...

    @property
    def text(self) -> str:
        """Which they are, for users."""
        ...

    @property
    def are_useful(self) -> bool:
        """True if they may be faster than the matcher that an `Exchange` has beside them."""
        ...

    def run(self, division: Division) -> Running:
        """Hands tasks to places."""
        ...

    def warnings(self) -> tuple[str, ...]:
        """A sentence for each place that failed."""
        ...


def expect(plan: Plan, seconds: float) -> Times:
    """The times of the latest run of a pattern, or the expected time."""
    return _known_times(plan, seconds).latest


def _known_times(plan: Plan, expected: float) -> _KnownTimes:
    known: _KnownTimes = plan.kept.setdefault(_TIMES, _KnownTimes(Times(expected)))
    return known


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


def pins_text(plan: Plan) -> str:
    """The nodes of a shared count, for people."""
    return f"pinned nodes of a pattern of {len(plan.bound.nodes)} nodes"


class Exchange:
    """Computes what a `Matcher` computes, on several places where that pays.

    Args:
        places: The places.
        matcher: The strategy that computes what is not divided.
    """

    def __init__(self, places: Places, matcher: Matcher) -> None:
        self._places = places
        self._matcher = matcher

    def count(
        self, plan: Plan, masks: Masks, report: StrategyReport, deadline: float | None = None
    ) -> int:
        """See `Matcher.count`."""
        whole, times = self._task(plan, masks, Count(), deadline), self._times(plan, masks)
        parts, started = self._tasks_per_place(plan, times), time.perf_counter()
        if parts:
            found = _sum(self._divided(whole, report, times, parts))
        else:
            found = self._matcher.count(plan, masks, report, deadline)
        times.note(time.perf_counter() - started, parts)
        return found

    def count_shares(
        self, plan: Plan, counted: SharedCount, report: StrategyReport, deadline: float | None
    ) -> int | None:
        """The count of a pattern; None without room."""
        assert isinstance(self._matcher, Engine)
        times = self._times(plan, Masks({}, {}))
        # Shares are equal, and each weighs all nodes first, so that few tasks are best.
        parts, started = self._tasks_per_place(plan, times, 1), time.perf_counter()
        found = self._shared(plan, counted, report, deadline, times, parts)
        if found is not None:
            times.note(time.perf_counter() - started, parts)
        return found

    def _shared(
        self,
        plan: Plan,
        counted: SharedCount,
        report: StrategyReport,
        deadline: float | None,
        times: Times,
        parts: int,
    ) -> int | None:
        assert isinstance(self._matcher, Engine)
        if not parts:
            return counted.count_share(self._matcher, report, deadline)
        until, count = _until(deadline), parts * self._places.count
        shares = [Share(number, count) for number in range(count)]
        tasks = [ShareTask(self._matcher.name, counted, each, until) for each in shares]
        try:
            found = _sum(self._answers(tasks, pins_text(plan), report, until, times))
        except MemoryLimitError:
            return None
        return found if counted.wraps is None else found % counted.wraps

    def groups(
        self,
        plan: Plan,
        masks: Masks,
        need: Groups | Rows,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """See `Matcher.groups`: the caller merges equal groups of different tasks."""
        whole, times = self._task(plan, masks, need, deadline), self._times(plan, masks)
        parts, started = self._tasks_per_place(plan, times), time.perf_counter()
        found = self._chunks(whole, report, times, parts)
        if isinstance(need, Groups):
            yield from found
            times.note(time.perf_counter() - started, parts)
        else:  # rows are read when their reader likes
            seconds: list[float] = []
            yield from timed(found, seconds.append)
            times.note(sum(seconds), parts)

    def _chunks(
        self, whole: Task, report: StrategyReport, times: Times, parts: int
    ) -> Generator[Embeddings]:
        if not parts:
            yield from whole.chunks(self._matcher, report)
            return
        seed = seed_of(whole.plan)
        with closing(self._divided(whole, report, times, parts)) as answers:
            for chunks in answers:
                assert not isinstance(chunks, int)
                for chunk in chunks:
                    # Rows of two tasks differ in their seeds, which are perhaps not read.
                    yield replace(chunk, distinct=chunk.distinct and seed in chunk.nodes)

    embeddings = groups
    """See `Matcher.embeddings`."""

    def _task(self, plan: Plan, masks: Masks, need: Need, deadline: float | None) -> Task:
        return Task(self._matcher.name, plan, masks, need, deadline)

    def _times(self, plan: Plan, masks: Masks) -> Times:
        return _known_times(plan, 0.0).of(masks)

    def _tasks_per_place(self, plan: Plan, times: Times, first: int | None = None) -> int:
        """How many tasks each place gets; 0 if the pattern is not divided."""
        pays = (
            self._places.are_useful
            and bool(plan.bound.nodes)
            and self._places.limits.divides(times)
            and self._matcher.placement().is_whole
        )
        return self._places.limits.parts_for(times, first) if pays else 0

    def _divided(
        self, whole: Task, report: StrategyReport, times: Times, parts: int
    ) -> Generator[Answer]:
        seed, until = seed_of(whole.plan), _until(whole.deadline)
        tasks = [
            replace(whole, masks=_with(whole.masks, seed, each), deadline=until)
            for each in self._parts(whole.plan.bound, whole.masks, seed, parts * self._places.count)
        ]
        return self._answers(tasks, seeds_text(whole.plan), report, until, times)

    def _answers(
        self,
        tasks: Sequence[AnyTask],
        said: str,
        report: StrategyReport,
        until: float,
        times: Times,
    ) -> Generator[Answer]:
        running = self._places.run(Division(tasks, self._graph, said, report, until))
        with closing(running.answers()) as answers:
            yield from answers
        times.took_part(running.log.places)
        report.steps.append(f"exchange: {said} in {len(tasks)} tasks; {running.log.described()}")

    def _parts(
        self, bound: BoundQuery, masks: Masks, seed: int, count: int
    ) -> list[NDArray[np.uint32]]:
        """Bitmaps of the parts of the seeds."""
        seeds = nodes_of(passing_bits(bound, masks, seed, self._matcher.graph))
        if not len(seeds):
            return []
        work = self._graph.degrees_of((None, None))[seeds].astype(np.int64) + 1
        parts = self._places.limits.divide(seeds, work, count)
        nodes = self._graph.node_count
        return [bitmap_of_nodes(each.astype(np.uint32), nodes) for each in parts]

    @property
    def _graph(self) -> DataGraph:
        return self._matcher.graph.graph


def _nbytes_of(answer: Answer) -> int:
    """Bytes of the arrays of an answer; 8 for a count."""
    if isinstance(answer, int):
        return 8
    return sum(
        each.nbytes
        for chunk in answer
        for each in (*chunk.nodes.values(), *chunk.relationships.values(), chunk.weights)
        if each is not None
    )


def _until(deadline: float | None) -> float:
    return time.monotonic() + _NO_LIMIT if deadline is None else deadline


def _sum(answers: Generator[Answer]) -> int:
    with closing(answers):
        return sum(each for each in answers if isinstance(each, int))


def _with(masks: Masks, node: int, bits: NDArray[np.uint32]) -> Masks:
    # Strategies expect the masks in the order of their query nodes.
    return replace(masks, nodes=dict(sorted({**masks.nodes, node: bits}.items())))
