"""Tables of embeddings on the host: one column of indexes per bound query node or relationship."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpugda.lazy_lines import LazyLines
from gpugda.plan.masks import Masks
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.plan.join.join_rates import Corrections
    from gpugda.plan.operator_tree import OperatorNode
    from gpugda.ports import Progress


__all__ = ["Embeddings", "JoinProgress", "Masks", "PeakBytes", "StrategyReport"]


@value(frozen=True, slots=True, eq=False)
class Embeddings:
    """A chunk of the embeddings of a query graph, one embedding per row.

    Args:
        row_count: Number of rows; valid even if no column was requested.
        nodes: ``uint32[row_count]`` node indexes per position of a requested query node.
        relationships: ``uint32[row_count]`` relationship indexes per position of a requested query
            relationship.
        weights: ``uint64[row_count]``, the number of embeddings that each row stands for, at least
            1. Saturates at 2**63. None if each row stands for one.
        distinct: True if no two rows of all chunks are known to be equal.
    """

    row_count: int
    nodes: Mapping[int, NDArray[np.uint32]]
    relationships: Mapping[int, NDArray[np.uint32]]
    weights: NDArray[np.uint64] | None = None
    distinct: bool = False


@dataclass(slots=True)
class PeakBytes:
    """The largest number of bytes that was noted."""

    bytes: int = 0

    def note(self, count: int) -> None:
        """Records a number of bytes if it is larger than any before."""
        self.bytes = max(self.bytes, count)


@dataclass(slots=True)
class StrategyReport:
    """What a strategy did, filled while it runs.

    Args:
        timings: Seconds per stage (``filter``, ``relationships``, ``join``, ``fetch``).
        steps: Lines for people, one per step: what it did and how many rows it produced.
        candidates: Number of remaining candidates per query node position.
        candidate_relationships: Number of remaining candidate relationships per query relationship
            position.
        progress: Receives the completed share of the join, or None.
        operators: Returns the operator tree with its measurements; None before the operators ran.
        memory: Peak bytes that one join used on the device, apart from the graph and what is kept
            from earlier queries.
        sent_bytes: Bytes of the data graph that were sent, if it is too large for the device.
        spilled_bytes: Bytes of rows that were spilled to disk, if they were too many for the host.
        explored: True if candidates without a matching neighbour were removed.
        corrections: Corrections of the rates by which the plan was chosen, see `Rates`.
    """

    timings: dict[str, float] = field(default_factory=dict)
    steps: LazyLines = field(default_factory=LazyLines)
    candidates: dict[int, int] = field(default_factory=dict)
    candidate_relationships: dict[int, int] = field(default_factory=dict)
    progress: JoinProgress | None = None
    operators: Callable[[], OperatorNode] | None = None
    memory: PeakBytes = field(default_factory=PeakBytes)
    sent_bytes: int = 0
    spilled_bytes: int = 0
    explored: bool = False
    corrections: Corrections | None = None

    def copy(self) -> StrategyReport:
        """A copy of the report. Lists the fields itself, because `replace` looks up each one."""
        return StrategyReport(
            self.timings,
            self.steps,
            self.candidates,
            self.candidate_relationships,
            self.progress,
            self.operators,
            self.memory,
            self.sent_bytes,
            self.spilled_bytes,
            self.explored,
            self.corrections,
        )


_PARTS = 1000
_QUIET_SECONDS = 1.0


class JoinProgress:
    """Nested windows: each step's window divides the output of the previous step's window.

    Args:
        progress: Receives the share in thousandths, but only if the join takes longer than a
            second.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._started = time.monotonic()
        self._windows: list[tuple[float, float]] = []
        self._reported: int | None = None

    def enter(self, step: int, first: int, last: int, total: int) -> None:
        """The step starts on part ``first … last-1`` of ``total`` rows."""
        del self._windows[step:]
        self._windows.append((first / max(total, 1), last / max(total, 1)))

    def leave(self, step: int) -> None:
        """The step's current part is complete, including all later steps."""
        del self._windows[step + 1 :]
        if self._reported is None and time.monotonic() - self._started < _QUIET_SECONDS:
            return
        if self._reported is None:
            self._progress.phase("joining", _PARTS)
            self._reported = 0
        done = int(self._share() * _PARTS)
        if done > self._reported:
            self._progress.advance(done - self._reported)
            self._reported = done

    def _share(self) -> float:
        begin, width = 0.0, 1.0
        for low, high in self._windows[:-1]:
            begin, width = begin + width * low, width * (high - low)
        return begin + width * (self._windows[-1][1] if self._windows else 0.0)
