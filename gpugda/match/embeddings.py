"""Tables of embeddings on the host: one column of indexes per bound query node or relationship."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpugda.lines import Lines
from gpugda.plan.masks import Masks

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.match.join_progress import JoinProgress
    from gpugda.plan.join_rates import Corrections
    from gpugda.plan.operator_tree import OperatorNode

__all__ = ["Embeddings", "Masks", "MostBytes", "StrategyReport"]


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Some of the embeddings of a query graph, one a row.

    Args:
        row_count: Number of rows; counts also where no column was wanted.
        nodes: ``uint32[row_count]`` node indexes per position of a wanted query node.
        relationships: ``uint32[row_count]`` relationship indexes per position of a wanted query
            relationship.
        weights: ``uint64[row_count]``, how many embeddings each row stands for: 1 at least, and
            2**63 for all that is more, too; None for one each.
        distinct: Is it known that no two rows of all chunks are the same?
    """

    row_count: int
    nodes: Mapping[int, NDArray[np.uint32]]
    relationships: Mapping[int, NDArray[np.uint32]]
    weights: NDArray[np.uint64] | None = None
    distinct: bool = False


@dataclass(slots=True)
class MostBytes:
    """The most that was ever noted."""

    bytes: int = 0

    def note(self, count: int) -> None:
        """Remembers it if it is more."""
        self.bytes = max(self.bytes, count)


@dataclass(slots=True)
class StrategyReport:
    """What a strategy did, filled while it runs.

    Args:
        timings: Seconds per stage (``filter``, ``relationships``, ``join``, ``fetch``).
        steps: Lines for people, one a step: what was done and how many rows came of it.
        candidates: Candidates left per query node position.
        candidate_relationships: Candidate relationships left per query relationship position.
        progress: Told how much of the join is done, None where nobody watches.
        operators: Gives the tree of operators with what was measured; None before they ran.
        memory: Bytes that one join took on the device at a time, beside the graph and what is kept
            of earlier queries.
        sent_bytes: Of the data graph, where it is too large for the device.
        spilled_bytes: Of rows that went to disk, where they were too many for the host.
        explored: Were candidates left out that lack a fitting neighbour?
        corrections: Of the rates by which its plan was found: see `Rates`.
    """

    timings: dict[str, float] = field(default_factory=dict)
    steps: Lines = field(default_factory=Lines)
    candidates: dict[int, int] = field(default_factory=dict)
    candidate_relationships: dict[int, int] = field(default_factory=dict)
    progress: JoinProgress | None = None
    operators: Callable[[], OperatorNode] | None = None
    memory: MostBytes = field(default_factory=MostBytes)
    sent_bytes: int = 0
    spilled_bytes: int = 0
    explored: bool = False
    corrections: Corrections | None = None

    def alike(self) -> StrategyReport:
        """Another one that says the same, without asking for each field, as `replace` does."""
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
