"""A strategy: what one offers, and what all have in common (memory, stages, chunks of rows).

More than 300 lines: one class, with a sentence on each thing that is asked of it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from gpugda.device.graph.placement import WholePlacement
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.errors import ConfigurationError
from gpugda.match.beside import Beside
from gpugda.match.embeddings import Embeddings
from gpugda.match.fetching import TableFetcher
from gpugda.match.need import Count
from gpugda.match.ranked_graph import RankedGraph
from gpugda.match.run import Kernels, Run
from gpugda.match.upward_lists import UpwardGraph
from gpugda.plan.matching_order import matching_order

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.graph.placement import Placement
    from gpugda.device.launch.join import Table
    from gpugda.match.embeddings import Masks, StrategyReport
    from gpugda.match.host_table import HostTable
    from gpugda.match.need import Groups, Need, Rows
    from gpugda.plan.plan import BoundQuery, Plan, PlanStep
    from gpugda.plan.variables import Variable

__all__ = ["SHARE_OF_DEVICE", "Cursor", "Matcher", "add_up", "fetched"]

_ROUNDS: dict[str, int | None] = {"off": 0, "once": 1, "fixpoint": None}
SHARE_OF_DEVICE = 0.8
"""For graph and query, where nothing else is asked for."""


class Cursor(Protocol):
    """A join that is ready to begin; pulled, so that who has enough leaves early."""

    @property
    def variables(self) -> Sequence[Variable]:
        """What the columns of the tables hold."""

    def tables(self, enough: int | None = None) -> Iterator[Table | HostTable | None]:
        """Tables of full embeddings. Each is valid until the next one is asked for.

        Small ones at first where about ``enough`` rows suffice. None between them only says that
        others may launch now.
        """

    def counts(self) -> Iterator[int]:
        """Numbers of full embeddings, to be added up; between them others may launch."""
        for table in self.tables():
            yield 0 if table is None else table.row_count

    def describe(self, run: Run) -> None:
        """Adds to the report what was done."""


class Matcher(ABC):
    """A strategy: finds all embeddings of a pattern on one data graph, on its device.

    One has to say how a join is started; numbers and groups are made of its rows where it knows
    nothing better. `gpugda.match.registry` names all.

    Args:
        device_graph: The data graph on its device.
        memory_limit: Bytes that graph and query may take there; by default 80 % of its memory.
        refinement: How often candidates are refined: ``off``, ``once``, or to a ``fixpoint``.

    Attributes:
        name: What users call it.
        method: What it does, as the end of a sentence that begins with its name.
        compares: Whether it tests comparisons of the masks on rows; else it is given none.
        orients: Whether undirected patterns may be counted in the oriented graph instead.
        graph: On its device.
        ranked: Its lists by rank, as far as queries needed them.
        upward: The parts of them above nodes, on the host, likewise.
        limit: Bytes that graph and query may take there.

    Raises:
        ConfigurationError: An argument makes no sense.
        DeviceError: The kernels do not build.
    """

    name: ClassVar[str]
    method: ClassVar[str]
    compares: ClassVar[bool] = False
    orients: ClassVar[bool] = False

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
        self.ranked, self.upward = RankedGraph(), UpwardGraph()
        self._context = device_graph.context
        self._rounds = _ROUNDS[refinement]
        whole = self._context.info.global_memory_bytes
        self.limit = int(whole * SHARE_OF_DEVICE) if memory_limit is None else memory_limit
        self._kernels = Kernels.of(self._context)
        self._beside: Beside[Matcher] = Beside(self, partial(type(self), refinement=refinement))

    def on(self, graph: DataGraph) -> AbstractContextManager[Matcher | None]:
        """The same strategy for a graph derived from this one, on the device beside it.

        None where there is no room for both.
        """
        return self._beside.used(graph)

    def decided_for(self, graph: DataGraph) -> object:
        """What the strategy on the next state of its graph may begin with: nothing of this one."""
        del graph
        return None

    def begin_with(self, decided: object) -> None:
        """Goes on with what the strategy of an earlier state gave."""
        del decided

    def leave_beside(self) -> None:
        """Takes the derived graph from the device as soon as nobody uses it."""
        self._beside.leave()

    def kept_bytes(self) -> int:
        """Bytes on the device that may be given up when memory is short, beside the graph."""
        return self._beside.nbytes + self.ranked.nbytes

    def give_up_kept(self) -> int:
        """Frees them. Returns how many bytes that gave."""
        return self.ranked.drop() + self._beside.give_up()

    def placement(self) -> Placement:
        """Where the relationships are while a query runs; here, all of them on the device."""
        return WholePlacement(self._graph)

    # ------------------------------------------------------------------ what a strategy says
    @classmethod
    def can_match(cls, pattern: BoundQuery, need: Need) -> str | None:
        """None, or a sentence: why this strategy cannot give this of such a pattern.

        Asked when a query is planned, of the class: nothing is opened for it.
        """
        del pattern, need
        return None

    @classmethod
    def plan_steps(cls, pattern: BoundQuery) -> tuple[PlanStep, ...]:
        """The steps of its join and the rows expected of each, before candidates are counted.

        By these the router decides, and `explain` prints them. Here: relationship by relationship.
        """
        return matching_order(pattern)

    @classmethod
    def said_first(cls, pattern: BoundQuery, need: Need) -> str:
        """What is tried first where only numbers or groups are asked for, for `explain`.

        Of the class, too: by the estimates of the plan. Empty where there is nothing to say.
        """
        del pattern, need
        return ""

    @classmethod
    def said_of_sizes(cls, pattern: BoundQuery) -> str:
        """What goes through the device in parts, and how much of it, for `explain`.

        By the estimates of the plan, as `said_first`. Empty where there is nothing to say.
        """
        del pattern
        return ""

    @abstractmethod
    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> Cursor | None:
        """Everything before the join; None where there are no embeddings.

        Args:
            run: Holds the device, and owns what is allocated.
            pattern: With one node at least; the graph has nodes, and relationships if it has.
            masks: What predicates leave.
            need: Columns to fetch; nobody asks for tables where it is `Count`.
        """

    # ------------------------------------------------------------------ what is asked of it
    def embeddings(
        self,
        plan: Plan,
        masks: Masks,
        need: Rows,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """All embeddings, in chunks. Leaving the iteration early frees everything.

        Args:
            plan: What to find. Its steps are estimates: the order comes from counted candidates.
            masks: What predicates leave.
            need: Columns to fetch.
            report: Filled while running.
            deadline: ``time.monotonic()`` at which to give up.

        Raises:
            MemoryLimitError: Not possible within the memory limit.
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
                yield from fetched(run, cursor, need.enough)

    def groups(
        self,
        plan: Plan,
        masks: Masks,
        need: Groups,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """As `embeddings` for who groups them: with weights, and rows may stand for several.

        Unless they are ``counted``, there is at least one row for each tuple of nodes.
        """
        return self.embeddings(plan, masks, need.rows, report, deadline)

    def weighed_count(
        self,
        plan: Plan,
        masks: Masks,
        need: Groups,
        factors: Sequence[NDArray[np.uint32]],
        report: StrategyReport,
        deadline: float | None = None,
    ) -> int | None:
        """The sum over `groups` of one node of how often each comes, times its node's factors.

        None where that is no faster than the groups; then nothing was done.

        Args: as of `groups`, and

            factors: ``uint32`` per node of the data graph each.
        """
        del plan, masks, need, factors, report, deadline
        return None

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
            return 0 if cursor is None else add_up(run, cursor)

    def _may_have_rows(self, pattern: BoundQuery) -> bool:
        graph = self._graph.graph
        return (
            pattern.no_rows is None
            and bool(pattern.nodes)
            and graph.node_count > 0
            and (not pattern.relationships or graph.relationship_count > 0)
        )

    @contextmanager
    def running(self, report: StrategyReport, deadline: float | None) -> Iterator[Run]:
        """What one query works with; its arrays are freed at the end."""
        with self._graph.use(), self._workspace() as workspace:
            before, placement = workspace.taken - self._graph.nbytes, self.placement()
            run = Run(self._kernels, self._graph, workspace, report, deadline, placement)
            try:
                with run.at_end:
                    yield run
            finally:
                report.memory.note(workspace.most_taken - before - self._graph.nbytes)

    def _workspace(self) -> Workspace:
        budget = MemoryBudget(self.limit)
        budget.reserve(self._graph.nbytes, "the data graph")
        workspace = Workspace(self._context, budget, self._graph.pool)
        kept = self.kept_bytes()
        if kept > budget.remaining:
            kept -= self.give_up_kept()
        workspace.count(min(kept, budget.remaining), "what is kept for later queries")
        workspace.give_way = lambda: workspace.uncount(self.give_up_kept())
        return workspace


def fetched(run: Run, cursor: Cursor, enough: int | None = None) -> Generator[Embeddings]:
    """Full embeddings on the host, in chunks; where about ``enough`` suffice, small ones first."""
    tables = cursor.tables(enough)
    try:
        with TableFetcher(run, cursor.variables) as fetcher:
            while True:
                # Not held while the caller looks at a chunk: others may launch meanwhile.
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


def add_up(run: Run, cursor: Cursor) -> int:
    """The number of full embeddings."""
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
