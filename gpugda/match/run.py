"""The context of one query's run: kernels, graph, workspace, report and deadline."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeVar

from gpugda.deadline import check_deadline, seconds_left, working_until
from gpugda.device.launch.candidate_filter import CandidateFilter
from gpugda.device.launch.join import Join
from gpugda.device.launch.path_levels import PathKernels
from gpugda.device.launch.primitives import PrefixSum
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.match.share import WHOLE, Share
from gpugda.stages import Stage
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.device.context import DeviceContext
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.placement import Placement
    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.embeddings import StrategyReport

__all__ = ["Kernels", "Run"]

T = TypeVar("T")


@value(frozen=True, slots=True, eq=False)
class Kernels:
    """The kernel launchers, made once per device."""

    prefix_sum: PrefixSum
    candidate_filter: CandidateFilter
    join: Join
    paths: PathKernels

    @classmethod
    def of(cls, context: DeviceContext) -> Kernels:
        """Returns the launchers of a device; builds those that are not built yet."""
        return cls(
            PrefixSum(context),
            CandidateFilter(context),
            Join(context),
            PathKernels(context),
        )


@value(frozen=True, slots=True, eq=False)
class Run:
    """The context of one query's run on the device.

    Args:
        kernels: The launchers.
        graph: The data graph.
        workspace: Owns all arrays of this run.
        report: Filled while running.
        deadline: ``time.monotonic()`` at which to give up, or None.
        placement: Where the data graph's relationships are.
        share: The part of the work of a kernel that this run does.
        at_end: Callbacks to run when the query ends, whether it succeeds or fails.
    """

    kernels: Kernels
    graph: DeviceGraph
    workspace: Workspace
    report: StrategyReport
    deadline: float | None
    placement: Placement
    share: Share = WHOLE
    at_end: ExitStack = field(default_factory=ExitStack)

    def check_deadline(self) -> None:
        """Raises if the run has to stop; called between launches.

        Raises:
            DeviceError: The device was closed meanwhile.
            QueryTimeoutError: The deadline passed.
        """
        check_deadline(self.deadline)
        self.graph.context.check()

    def working(self) -> working_until:
        """A context manager that applies the run's deadline to host work, see `check_time`."""
        return working_until(self.deadline)

    def until(self, deadline: float) -> Run:
        """The same run with a deadline that is no later than the given one (monotonic clock)."""
        ends = deadline if self.deadline is None else min(deadline, self.deadline)
        return replace(self, deadline=ends)

    def attempt(self, seconds: float, work: Callable[[Run], T]) -> T | None:
        """The result of ``work``, or None if it exceeds the given time or the free memory.

        Raises:
            DeviceError: The device was closed meanwhile.
            QueryTimeoutError: The deadline of the whole run passed.
        """
        within = self.until(time.monotonic() + seconds)
        try:
            with self.workspace.reclaiming(QueryTimeoutError, MemoryLimitError):
                return work(within)
        except (QueryTimeoutError, MemoryLimitError):
            self.check_deadline()
            return None

    def locked(self) -> _Locked:
        """A context manager that holds the device's lock, to launch kernels and to read results.

        Raises:
            QueryTimeoutError: The deadline passed while others held the device.
        """
        return _Locked(self.graph.context, self.deadline)

    def stage(self, name: str) -> Stage:
        """A context manager that adds its wall-clock time to a stage."""
        return Stage(self.report.timings, name)


class _Locked:
    """Holds the device's lock for the length of a block.

    The deadline applies to the device's compilations and to work on the host, see `check_time`.
    """

    __slots__ = ("_before", "_context", "_deadline", "_working")

    def __init__(self, context: DeviceContext, deadline: float | None) -> None:
        self._context = context
        self._deadline = deadline
        self._working = working_until(deadline)

    def __enter__(self) -> None:
        context, left = self._context, seconds_left(self._deadline)
        if not context.lock.acquire(timeout=-1.0 if left is None else left):
            raise QueryTimeoutError(
                "the query waited for others on the device until its time limit: give it more time"
            )
        self._before = context.deadline
        context.deadline = self._deadline
        self._working.__enter__()

    def __exit__(self, *error: object) -> None:
        self._working.__exit__()
        self._context.deadline = self._before
        self._context.lock.release()
