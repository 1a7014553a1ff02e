"""The interface of a strategy, and what all strategies share: memory, stages, chunks of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from gpugda.device.graph.placement import WholePlacement
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.errors import ConfigurationError
from gpugda.match.embeddings import Embeddings
from gpugda.match.fetching import TableFetcher
from gpugda.match.need import Count
from gpugda.match.run import Kernels, Run
from gpugda.match.share import WHOLE
from gpugda.plan.join.matching_order import matching_order

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.placement import Placement
    from gpugda.device.launch.join import Table
    from gpugda.match.embeddings import Masks, StrategyReport
    from gpugda.match.fetching import HostTable
    from gpugda.match.need import Groups, Need, Rows
    from gpugda.match.share import Share
    from gpugda.plan.plan import BoundQuery, Plan, PlanStep
    from gpugda.plan.variables import Variable

__all__ = ["SHARE_OF_DEVICE", "Cursor", "Matcher", "fetch_embeddings", "total_count"]

_ROUNDS: dict[str, int | None] = {"off": 0, "once": 1, "fixpoint": None}
SHARE_OF_DEVICE = 0.8
"""Default limit for graph and query: share of the device's memory."""


class Cursor(Protocol):
    """A join that is ready to start. The caller pulls results, and may stop early."""

    @property
    def variables(self) -> Sequence[Variable]:
        """The variables that the columns of the tables hold, in order."""

    def tables(self, enough: int | None = None) -> Iterator[Table | HostTable | None]:
        """Yields tables of full embeddings. Each table is valid until the next one is requested.

        If about ``enough`` rows suffice, the first tables are small. The cursor yields None between
        tables when no table is ready, so that other queries can launch kernels.
        """

    def counts(self) -> Iterator[int]:
        """Yields partial counts of full embeddings, to be summed; others may launch in between."""
        for table in self.tables():
            yield 0 if table is None else table.row_count

    def describe(self, run: Run) -> None:
        """Adds a description of the executed steps to the report."""


class Matcher(ABC):
    """A strategy: finds all embeddings of a pattern on one data graph, on its device.

    A strategy has to implement `start`. Counts and groups default to folding its rows; a strategy
    overrides them where it has a faster way. `gpugda.match.registry` names all strategies.

    Args:
        device_graph: The data graph on its device.
        memory_limit: Bytes of device memory that graph and query may use; by default 80 % of the
            device's memory.
        refinement: How often candidates are refined: ``off``, ``once``, or to a ``fixpoint``.

    Attributes:
        name: The name that users pass to select the strategy.
        method: What the strategy does, as the end of a sentence that begins with its name.
        compares: True if it tests the masks' comparisons on rows; otherwise it is given none.
        graph: The data graph on its device.
        limit: Bytes of device memory that graph and query may use.

    Raises:
        ConfigurationError: An argument is invalid.
        DeviceError: The kernels do not build.
    """

    name: ClassVar[str]
    method: ClassVar[str]
    compares: ClassVar[bool] = False

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
    ) -> None:
        if refinement not in _ROUNDS:
            raise ConfigurationError(f"refinement is off, once or fixpoint, not {refinement!r}")
        if memory_limit is not None and memory_limit <= 0:
            raise ConfigurationError(f"memory_limit is a number of bytes, not {memory_limit}")
        self.graph = self._graph = device_graph
        self._context = device_graph.context
        self._rounds = _ROUNDS[refinement]
        whole = self._context.info.global_memory_bytes
        self.limit = int(whole * SHARE_OF_DEVICE) if memory_limit is None else memory_limit
        self._kernels = self._context.launcher(Kernels.of)

    @property
    def walked_pairs(self) -> int:
        """Pairs up to which the host finds a pattern itself, without a launch."""
        return 0

    def cached_bytes(self) -> int:
        """Bytes on the device, apart from the graph, that can be freed when memory is short."""
        return 0

    def drop_cached(self) -> int:
        """Frees these arrays. Returns the number of bytes freed."""
        return 0

    def placement(self) -> Placement:
        """Where the relationships are while a query runs; by default all are on the device."""
        return WholePlacement(self._graph)

    # ------------------------------------------------------------------ what a strategy declares
    @classmethod
    def can_match(cls, pattern: BoundQuery, need: Need) -> str | None:
        """None, or a sentence: why this strategy cannot answer this need for this pattern.

        Called on the class when a query is planned; no device is opened for it.
        """
        del pattern, need
        return None

    @classmethod
    def plan(cls, pattern: BoundQuery) -> tuple[PlanStep, ...]:
        """The steps of its join with estimated rows for each, before candidates are counted.

        The router decides by these estimates, and `explain` prints them. By default, the join adds
        one relationship at a time.
        """
        return matching_order(pattern)

    @classmethod
    def first_attempt_text(cls, pattern: BoundQuery, need: Need) -> str:
        """What is tried first if only counts or groups are needed, for `explain`.

        Called on the class, and based on the plan's estimates. Empty if there is nothing to say.
        """
        del pattern, need
        return ""

    @classmethod
    def sizes_text(cls, pattern: BoundQuery) -> str:
        """Which data passes through the device in parts, and how much of it, for `explain`.

        Based on the plan's estimates, as `first_attempt_text`. Empty if there is nothing to say.
        """
        del pattern
        return ""

    @abstractmethod
    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> Cursor | None:
        """Does everything that precedes the join. Returns None if there are no embeddings.

        Args:
            run: Holds the device, and owns the arrays that are allocated.
            pattern: Has at least one node. The graph has nodes, and it has relationships if the
                pattern does.
            masks: The nodes and relationships that pass the predicates.
            need: Columns to fetch. If it is `Count`, the cursor is not asked for tables.
        """

    # ------------------------------------------------------------------ what callers use
    def embeddings(
        self,
        plan: Plan,
        masks: Masks,
        need: Rows,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """Yields all embeddings, in chunks. Ending the iteration early frees everything.

        Args:
            plan: The pattern to find. Its steps are estimates: the actual order comes from counted
                candidates.
            masks: The nodes and relationships that pass the predicates.
            need: Columns to fetch.
            report: Filled while running.
            deadline: ``time.monotonic()`` at which to give up.

        Raises:
            MemoryLimitError: The query does not fit within the memory limit.
            DeviceError: The device failed.
            QueryTimeoutError: The deadline passed.
        """
        if not plan.bound.nodes and plan.bound.no_rows is None:
            yield Embeddings(1, {}, {})
        if not self._may_have_rows(plan.bound):
            return
        with self.running(report, deadline) as run:
            with run.locked():
                cursor = self.start(run, plan.bound, masks, need)
            if cursor is not None:
                yield from fetch_embeddings(run, cursor, need.enough)

    def groups(
        self,
        plan: Plan,
        masks: Masks,
        need: Groups,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """As `embeddings`, for a caller that groups the rows: a row's weight is its multiplicity.

        If the need is not ``counted``, there is at least one row for each tuple of nodes.
        """
        return self.embeddings(plan, masks, need.rows, report, deadline)

    def count(
        self, plan: Plan, masks: Masks, report: StrategyReport, deadline: float | None = None
    ) -> int:
        """The number of embeddings, without making the last step's rows. Raises as `embeddings`."""
        if not plan.bound.nodes and plan.bound.no_rows is None:
            return 1
        if not self._may_have_rows(plan.bound):
            return 0
        return self._count(plan.bound, masks, report, deadline)

    def _count(
        self, pattern: BoundQuery, masks: Masks, report: StrategyReport, deadline: float | None
    ) -> int:
        with self.running(report, deadline) as run:
            with run.locked():
                cursor = self.start(run, pattern, masks, Count())
            return 0 if cursor is None else total_count(run, cursor)

    def _may_have_rows(self, pattern: BoundQuery) -> bool:
        graph = self._graph.graph
        return (
            pattern.no_rows is None
            and bool(pattern.nodes)
            and graph.node_count > 0
            and (not pattern.relationships or graph.relationship_count > 0)
        )

    @contextmanager
    def running(
        self, report: StrategyReport, deadline: float | None, share: Share = WHOLE
    ) -> Iterator[Run]:
        """Yields the context in which one query runs; its arrays are freed at the end."""
        with self._graph.use(), self._workspace() as workspace:
            before, placement = workspace.taken - self._graph.nbytes, self.placement()
            run = Run(self._kernels, self._graph, workspace, report, deadline, placement, share)
            try:
                with run.at_end:
                    yield run
            finally:
                report.memory.note(workspace.max_taken - before - self._graph.nbytes)

    def _workspace(self) -> Workspace:
        budget = MemoryBudget(self.limit)
        budget.reserve(self._graph.nbytes, "the data graph")
        workspace = Workspace(self._context, budget, self._graph.pool)
        kept = self.cached_bytes()
        if kept > budget.remaining:
            kept -= self.drop_cached()
        workspace.count(min(kept, budget.remaining), "what is kept for later queries")
        workspace.free_cached = lambda: workspace.uncount(self.drop_cached())
        return workspace


def fetch_embeddings(run: Run, cursor: Cursor, enough: int | None = None) -> Generator[Embeddings]:
    """Yields full embeddings on the host in chunks; small ones first if ``enough`` is given."""
    tables = cursor.tables(enough)
    try:
        with TableFetcher(run, cursor.variables) as fetcher:
            while True:
                # The lock is released while the caller reads a chunk, so that others can launch.
                with run.locked():
                    with run.stage("join"):
                        try:
                            table = next(tables)
                        except StopIteration:
                            break
                    if table is None:
                        continue
                    with run.stage("fetch"):
                        chunks = fetcher.fetch(table)
                yield from chunks
            with run.stage("fetch"):
                chunks = fetcher.rest()
            yield from chunks
    finally:
        cursor.describe(run)


def total_count(run: Run, cursor: Cursor) -> int:
    """The number of full embeddings that a cursor finds."""
    total, counts = 0, cursor.counts()
    try:
        while True:
            with run.locked(), run.stage("join"):
                part = next(counts, None)
            if part is None:
                return total
            total += part
    finally:
        cursor.describe(run)
