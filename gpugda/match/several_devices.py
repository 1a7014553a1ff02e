"""Several devices of one machine, each with a copy of the data graph."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from dataclasses import field
from typing import TYPE_CHECKING, Final, Protocol

from gpugda.deadline import cancelled_by, check_deadline, working_until
from gpugda.device.devices import list_devices
from gpugda.errors import DeviceError, MemoryLimitError
from gpugda.match import exchange
from gpugda.match.embeddings import StrategyReport
from gpugda.match.exchange import TaskLog
from gpugda.match.session import DeviceSession
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.exchange import Answer, AnyTask, Division, ExchangeLimits

__all__ = ["DevicePlace", "DevicePlaces", "SeveralDevices"]

_LOGGER = logging.getLogger("gpugda.device")
_LOOK_SECONDS: Final = 0.05
"""Time between two looks at the deadline while no task ends."""


class Place(Protocol):
    """Runs tasks on its copy of the data graph."""

    @property
    def name(self) -> str:
        """Its name for users."""
        ...

    def run(self, task: AnyTask, graph: DataGraph, report: StrategyReport) -> Answer:
        """The answer of a task.

        Raises:
            DeviceError: The place failed.
            QueryTimeoutError: The deadline passed, or the task was cancelled.
        """
        ...


class DevicePlace:
    """A device as a place for tasks; opened by its first one.

    Args:
        session: The device.
        wanted: The selection passed to `choose_device`.
    """

    def __init__(self, session: DeviceSession, wanted: str | int) -> None:
        self.session = session
        self.name = f"device {wanted}"

    def run(self, task: AnyTask, graph: DataGraph, report: StrategyReport) -> Answer:
        """See `Place.run`."""
        with self.session.strategy(task.strategy, graph) as matcher:
            return task.answer(matcher, report)


@value(frozen=True, slots=True, eq=False)
class DevicePlaces:
    """The devices of one accelerator.

    Args:
        all: The places. The first one is ready: queries that are not divided run there.
        limits: When and how a pattern is divided.
        failed: Reasons by the name of each place that is not used any more.
        ready: Names of the others that have completed a task.
        starting: Names of those that run their first task, perhaps for an earlier query.
    """

    all: Sequence[Place]
    limits: ExchangeLimits = field(default_factory=lambda: exchange.LIMITS)
    failed: dict[str, str] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    starting: set[str] = field(default_factory=set)

    @property
    def usable(self) -> list[Place]:
        """The places that have not failed."""
        return [each for each in self.all if each.name not in self.failed]

    @property
    def count(self) -> int:
        """See `Places.count`."""
        return max(1, len(self.usable))

    @property
    def text(self) -> str:
        """See `Places.text`."""
        return " and ".join(each.name for each in self.usable)

    @property
    def are_useful(self) -> bool:
        """See `Places.are_useful`."""
        return len(self.usable) > 1

    def run(self, division: Division) -> _Running:
        """See `Places.run`."""
        return _Running(self, division)

    def warnings(self) -> tuple[str, ...]:
        """See `Places.warnings`."""
        return tuple(f"{name} is not used any more: {why}" for name, why in self.failed.items())


class SeveralDevices(DeviceSession):
    """The first device, which answers queries alone, and others that take part in long ones.

    Args:
        devices: At least one selection for `choose_device`; ``all`` stands for all devices of the
            kind of the best one.
        memory_limit: Bytes on each device, or None for the strategy's default.
        refinement: How often candidates are refined.
    """

    def __init__(
        self, devices: tuple[str | int, ...], memory_limit: int | None, refinement: str
    ) -> None:
        self._devices = devices
        self._others: list[DeviceSession] = []
        self._places: DevicePlaces | None = None
        self._places_lock = threading.Lock()
        first = None if devices == ("all",) else devices[0]
        super().__init__(first, memory_limit, refinement)

    @property
    def places(self) -> DevicePlaces:
        """All devices, the first one is this; opens the first one if all of its kind are wanted.

        Raises:
            DeviceError: There is no device, or it cannot be opened.
        """
        with self._places_lock:
            if self._places is None:
                self._places = self._found_places()
            return self._places

    def _found_places(self) -> DevicePlaces:
        devices = self._devices
        if devices == ("all",):
            best = self.info
            others = [each.index for each in list_devices() if each.type == best.type]
            devices = (best.index, *(each for each in others if each != best.index))
        how = self._memory_limit, self._refinement
        self._others = [DeviceSession(each, *how) for each in devices[1:]]
        return DevicePlaces([*map(DevicePlace, [self, *self._others], devices)])

    def close(self) -> None:
        """See `DeviceSession.close`."""
        for each in self._others:
            each.close()
        super().close()


class _Running:
    """Tasks that are handed to devices, each in a thread of its own.

    A place that has not completed a task yet may take long to open its device, to compile kernels
    and to copy the graph: it gets the copy of a task that another place will run if it is faster.
    A place that does so for another query takes part only if there is no other.

    Attributes:
        log: What was done.
    """

    def __init__(self, places: DevicePlaces, division: Division) -> None:
        self._places, usable = places, places.usable
        starting = [each for each in usable if each.name in places.starting]
        others = [each for each in usable if each not in starting]
        self._usable, self._spare = (others, starting) if others else (starting, [])
        self._threads: list[tuple[threading.Thread, bool]] = []
        self._tasks, self._graph = division.tasks, division.graph
        self._deadline = division.deadline
        self._pending = deque(range(len(self._tasks)))
        self._done: set[int] = set()
        self._answers: deque[Answer] = deque()
        self._changed = threading.Condition()
        self._is_stopped = False
        self._error: BaseException | None = None
        self.log = TaskLog(division)

    def answers(self) -> Generator[Answer]:
        """The answers in the order in which they are found. Ending it early stops all places.

        Raises:
            DeviceError: All places failed.
            QueryTimeoutError: The deadline passed.
        """
        for each in self._usable:
            self._start(each)
        try:
            for _ in range(len(self._tasks)):
                yield self._next()
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

    def _next(self) -> Answer:
        started = time.perf_counter()
        with self._changed:
            while not self._answers and self._error is None:
                self._changed.wait(_LOOK_SECONDS)
                check_deadline(self._deadline)
            if self._error is not None:
                raise self._error
            answer = self._answers.popleft()
            self._changed.notify_all()
        self.log.receive(time.perf_counter() - started)
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
                    answer = place.run(self._tasks[taken], self._graph, report)
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
            if number in self._pending:
                self._pending.remove(number)
            self._done.add(number)
            self._answers.append(answer)
            self.log.add(place.name, answer, report.steps, report.memory.bytes, seconds)
            self._changed.notify_all()

    def _leave_out(self, place: Place, number: int, error: DeviceError) -> None:
        """Leaves its tasks to the other places; a place without enough memory, once only."""
        _LOGGER.warning("%s is left out: %s", place.name, error)
        with self._changed:
            self.log.left_out[place.name] = f"{place.name} was left out: {error}"
            if not isinstance(error, MemoryLimitError):
                self._places.failed[place.name] = str(error)
            if number not in self._done and number not in self._pending:
                self._pending.append(number)
            if len(self.log.left_out) == len(self._usable):
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
