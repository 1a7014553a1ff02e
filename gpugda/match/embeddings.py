"""Tables of embeddings on the host: one column of indexes per bound query node or relationship."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from gpugda.lines import Lines

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.comparisons import Comparison
    from gpugda.match.join_progress import JoinProgress
    from gpugda.plan.operator_tree import OperatorNode
    from gpugda.plan.plan import Plan

__all__ = ["Embeddings", "Masks", "Strategy", "StrategyReport", "Wanted", "WantedGroups"]


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


@dataclass(frozen=True, slots=True)
class Wanted:
    """Positions of the query nodes and relationships whose columns are needed after the join."""

    nodes: frozenset[int]
    relationships: frozenset[int]


@dataclass(frozen=True, slots=True)
class WantedGroups:
    """What is asked of the tuples of nodes that some query nodes take.

    Args:
        nodes: Query nodes, at least one, rising.
        counted: How often each tuple comes? Else only which there are.
        streamed: May the caller leave before it has all of them?
    """

    nodes: tuple[int, ...]
    counted: bool
    streamed: bool


@dataclass(frozen=True, slots=True, eq=False)
class Masks:
    """What predicates leave, over one variable and between two.

    Args:
        nodes: Bitmaps (bit i % 32 of word i // 32) by position of a query node. A position that is
            absent has no condition. Bits at and past the count are zero.
        relationships: Likewise.
        comparisons: Conditions that a strategy with ``compares`` tests on rows.
        keys: ``uint32`` per node (or relationship): what they compare.
    """

    nodes: Mapping[int, NDArray[np.uint32]]
    relationships: Mapping[int, NDArray[np.uint32]]
    comparisons: tuple[Comparison, ...] = ()
    keys: tuple[NDArray[np.uint32], ...] = ()


@dataclass(slots=True)
class StrategyReport:
    """What a strategy did, filled while it runs.

    Args:
        timings: Seconds per stage (``filter``, ``relationships``, ``join``, ``fetch``).
        steps: Lines for people, one a step: what was done and how many rows came of it.
        candidates: Candidates left per query node position.
        candidate_relationships: Candidate relationships left per query relationship position.
        progress: Told how much of the join is done, None where nobody watches.
        operators: The tree of operators with what was measured, where there were several.
    """

    timings: dict[str, float] = field(default_factory=dict)
    steps: Lines = field(default_factory=Lines)
    candidates: dict[int, int] = field(default_factory=dict)
    candidate_relationships: dict[int, int] = field(default_factory=dict)
    progress: JoinProgress | None = None
    operators: OperatorNode | None = None


class Strategy(Protocol):
    """A way to find all embeddings of a plan's query graph on one data graph.

    ``compares``: does it test comparisons of the masks? Another one is given none.
    """

    name: str
    compares: bool

    def embeddings(
        self,
        plan: Plan,
        masks: Masks,
        wanted: Wanted,
        report: StrategyReport,
        deadline: float | None = None,
        enough: int | None = None,
    ) -> Generator[Embeddings]:
        """All embeddings, in chunks. Leaving the iteration early frees everything.

        ``deadline`` is a time of ``time.monotonic``; after about ``enough`` embeddings the caller
        leaves, None if it does not: chunks are small at first.

        Raises:
            MemoryLimitError: Not possible within the memory limit.
            DeviceError: The device failed.
            QueryTimeoutError: The deadline passed.
        """

    def groups(
        self,
        plan: Plan,
        masks: Masks,
        wanted: WantedGroups,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """As `embeddings` for who groups them: with weights, and rows may stand for several.

        Unless they are ``counted``, there is at least one row for each tuple of nodes.
        """

    def count(
        self, plan: Plan, masks: Masks, report: StrategyReport, deadline: float | None = None
    ) -> int:
        """The number of embeddings, without making the last step's rows."""

    def on(self, graph: DataGraph) -> AbstractContextManager[Strategy | None]:
        """The same strategy for a graph derived from this one, on the device beside it.

        None where there is no room for both.
        """
