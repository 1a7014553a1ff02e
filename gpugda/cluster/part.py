"""What a worker does: one task of an `Exchange`, within the client's time limit."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from distributed import get_worker

from gpugda.deadline import cancelled_by, working_until
from gpugda.errors import DeviceError, MemoryLimitError, QueryTimeoutError, SourceError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.exchange import ShareTask, Task

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.cluster.shared_graph import OpenGraph, SharedGraph
    from gpugda.match.embeddings import Masks
    from gpugda.match.exchange import Answer, AnyTask
    from gpugda.match.need import Need
    from gpugda.plan.plan import BoundQuery

__all__ = ["Answered", "Failed", "Part", "Stopped", "part_of", "run_part"]


class Bits(NamedTuple):
    """A bitmap without the words that are zero before its first and after its last node.

    Args:
        length: Number of words of the whole.
        first: The first word that is kept.
        words: The words.
    """

    length: int
    first: int
    words: NDArray[np.uint32]

    @classmethod
    def of(cls, bits: NDArray[np.uint32]) -> Bits:
        """The words of a bitmap that are not zero, and those between them."""
        there = np.flatnonzero(bits)
        first, last = (int(there[0]), int(there[-1]) + 1) if len(there) else (0, 0)
        return cls(len(bits), first, bits[first:last].copy())

    def whole(self) -> NDArray[np.uint32]:
        """The bitmap."""
        found = np.zeros(self.length, dtype=np.uint32)
        found[self.first : self.first + len(self.words)] = self.words
        return found


class Part(NamedTuple):
    """A task as it is sent to a worker: without plan and graph, which the worker has.

    Args:
        version: The client's version of gpugda.
        seconds: Until the deadline.
        what: A share of a count; or strategy, pattern, masks and need, and the masks of nodes.
    """

    version: str
    seconds: float
    what: ShareTask | tuple[str, BoundQuery, Masks, Need, dict[int, Bits]]

    def task(self, opened: OpenGraph) -> AnyTask:
        """The task on a worker's graph."""
        until = time.monotonic() + self.seconds
        if isinstance(self.what, ShareTask):
            return replace(self.what, deadline=until)
        strategy, bound, masks, need, bits = self.what
        nodes = {place: each.whole() for place, each in bits.items()}
        whole = type(masks)(nodes, masks.relationships, masks.comparisons, masks.keys)
        return Task(strategy, opened.plan(bound, strategy, need), whole, need, until)


def part_of(task: AnyTask, deadline: float) -> Part:
    """A task as it is sent."""
    seconds = deadline - time.monotonic()
    if isinstance(task, ShareTask):
        return Part(version("gpugda"), seconds, task)
    masks = task.masks
    bits = {place: Bits.of(each) for place, each in masks.nodes.items()}
    bare = type(masks)({}, masks.relationships, masks.comparisons, masks.keys)
    what = (task.strategy, task.plan.bound, bare, task.need, bits)
    return Part(version("gpugda"), seconds, what)


class Answered(NamedTuple):
    """The answer of a worker.

    Args:
        worker: Its name.
        answer: The count, rows or groups.
        steps: What it did, for people.
        memory: Peak bytes on its device.
        seconds: Time it took.
    """

    worker: str
    answer: Answer
    steps: tuple[str, ...]
    memory: int
    seconds: float


class Failed(NamedTuple):
    """A worker that cannot run a task.

    Args:
        worker: Its name.
        address: Its address.
        why: The reason.
        for_now: True if it may run tasks of other queries.
        has_no_graph: True if it could not read the graph.
    """

    worker: str
    address: str
    why: str
    for_now: bool = False
    has_no_graph: bool = False


class Stopped(NamedTuple):
    """The deadline passed, or the client does not want the answer any more.

    An error would keep the graph alive: Dask's frames refer to it, and it to them.
    """

    why: str


def run_part(shared: SharedGraph, part: Part) -> Answered | Failed | Stopped:
    """Runs a task in a worker of Dask."""
    worker = get_worker()
    name, ours = f"worker {worker.name}", version("gpugda")
    if part.version != ours:
        why = f"it has gpugda {ours}, and the client has {part.version}"
        return Failed(name, worker.address, why)
    started, report = time.perf_counter(), StrategyReport()
    try:
        with cancelled_by(_unwanted(worker)):
            opened = shared.opened(worker.local_directory)
            task = part.task(opened)
            with (
                working_until(task.deadline),
                opened.session.strategy(task.strategy, opened.graph) as matcher,
            ):
                answer = task.answer(matcher, report)
    except QueryTimeoutError as error:
        return Stopped(str(error))
    except SourceError as error:
        return Failed(name, worker.address, str(error), for_now=True, has_no_graph=True)
    except DeviceError as error:
        return Failed(name, worker.address, str(error), isinstance(error, MemoryLimitError))
    steps = tuple(map(str, report.steps))
    return Answered(name, answer, steps, report.memory.bytes, time.perf_counter() - started)


def _unwanted(worker: Any) -> Callable[[], bool]:
    """Tells if the scheduler has taken the task back: the client cancelled it, or is gone."""
    key, tasks = worker.get_current_task(), worker.state.tasks

    def is_unwanted() -> bool:
        task = tasks.get(key)
        return task is None or task.state == "cancelled"

    return is_unwanted
