"""What all strategies on the device have in common: limits, stages, chunks."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal, Protocol

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.errors import ConfigurationError
from gpugda.match.embeddings import Embeddings, Wanted
from gpugda.match.fetching import TableFetcher
from gpugda.match.run import Kernels, Run

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.join import Table
    from gpugda.match.embeddings import Masks, StrategyReport, WantedGroups
    from gpugda.match.variables import Variable
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = ["DeviceStrategy", "PreparedJoin", "add_up"]

_ROUNDS: dict[str, int | None] = {"off": 0, "once": 1, "fixpoint": None}
_SHARE_OF_DEVICE = 0.8


class PreparedJoin(Protocol):
    """A query of which only the join is still to be done."""

    @property
    def variables(self) -> Sequence[Variable]:
        """What the columns of the last table hold."""

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """Tables of full embeddings. Each is valid until the next one is asked for.

        Small ones at first where about ``enough`` rows suffice. None between them only says that
        others may launch now.
        """

    def counts(self) -> Iterator[int]:
        """Numbers of full embeddings, to be added up; between them others may launch."""

    def describe(self, run: Run) -> None:
        """Adds to the report what was done."""


class DeviceStrategy(ABC):
    """A strategy that filters candidates and joins on the device.

    Args:
        device_graph: The data graph on its device.
        memory_limit: Bytes that graph and query may take there; by default 80 % of its memory.
        refinement: How often candidates are refined: ``off``, ``once``, or to a ``fixpoint``.

    Raises:
        ConfigurationError: An argument makes no sense.
        DeviceError: The kernels do not build.
    """

    name = ""
    compares = False

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
        self._limit = int(whole * _SHARE_OF_DEVICE) if memory_limit is None else memory_limit
        self._kernels = Kernels.of(self._context)
        self._refinement = refinement
        self._beside: DeviceStrategy | None = None
        self._has_room_beside = True
        self._beside_lock = threading.Lock()

    @contextmanager
    def on(self, graph: DataGraph) -> Iterator[DeviceStrategy | None]:
        """The same strategy for a graph derived from this one, which stays on the device as well.

        None where both together take more than half of what may be taken, and after memory was
        short once: then the derived graph has left the device.
        """
        with ExitStack() as used:
            with self._beside_lock:
                beside = self._made_beside(graph)
                if beside is not None:
                    used.enter_context(beside.graph.use())
            yield beside

    def _made_beside(self, graph: DataGraph) -> DeviceStrategy | None:
        if self._beside is not None and self._beside.graph.graph is not graph:
            self.leave_beside()
        if self._beside is None:
            if not self._has_room_beside or 4 * self._graph.nbytes > self._limit:
                return None
            device_graph = DeviceGraph(self._context, graph)
            self._beside = type(self)(device_graph, refinement=self._refinement)
        self._beside._limit = self._limit - self._graph.nbytes - self._kept_bytes()
        return self._beside

    def leave_beside(self) -> None:
        """Takes the derived graph from the device as soon as nobody uses it."""
        beside, self._beside = self._beside, None
        if beside is not None:
            beside.graph.close()

    def _kept_bytes(self) -> int:
        """Bytes on the device that may be given up when memory is short, beside the graph."""
        beside = self._beside
        return 0 if beside is None else beside.graph.nbytes + beside._kept_bytes()

    def _give_up_kept(self) -> int:
        """Frees them. Returns how many bytes that gave."""
        beside = self._beside
        if beside is None:
            return 0
        kept = beside._give_up_kept()
        freed = beside.graph.close_if_unused()
        if freed:
            self._beside, self._has_room_beside = None, False
        return kept + freed

    @abstractmethod
    def _prepare(
        self, run: Run, bound: BoundQuery, masks: Masks, wanted: Wanted, *, counting: bool
    ) -> PreparedJoin | None:
        """Everything before the join; None where there are no embeddings.

        With ``counting`` nobody asks for tables.
        """

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

        Args:
            plan: What to find. Its steps are estimates: the order comes from counted candidates.
            masks: What predicates leave.
            wanted: Columns to fetch.
            report: Filled while running.
            deadline: ``time.monotonic()`` at which to give up.
            enough: After about so many embeddings the caller leaves; None if it does not.

        Raises:
            MemoryLimitError: Not possible within the memory limit.
            DeviceError: The device failed.
            QueryTimeoutError: The deadline passed.
        """
        if not plan.bound.nodes and plan.bound.no_rows is None:
            yield Embeddings(1, {}, {})
        if not self._can_match(plan.bound):
            return
        with self._run(report, deadline) as run:
            with run.locked():
                prepared = self._prepare(run, plan.bound, masks, wanted, counting=False)
            if prepared is not None:
                yield from self._chunks(run, prepared, enough)

    def groups(
        self,
        plan: Plan,
        masks: Masks,
        wanted: WantedGroups,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """All embeddings, for who groups them by some nodes; with weights, rows are fewer.

        Raises as `embeddings`.
        """
        columns = Wanted(frozenset(wanted.nodes), frozenset())
        return self.embeddings(plan, masks, columns, report, deadline)

    def count(
        self, plan: Plan, masks: Masks, report: StrategyReport, deadline: float | None = None
    ) -> int:
        """The number of embeddings, without making the last step's rows. Raises as `embeddings`."""
        if not plan.bound.nodes and plan.bound.no_rows is None:
            return 1
        if not self._can_match(plan.bound):
            return 0
        return self._count(plan.bound, masks, report, deadline)

    def _count(
        self, bound: BoundQuery, masks: Masks, report: StrategyReport, deadline: float | None
    ) -> int:
        nothing = Wanted(frozenset(), frozenset())
        with self._run(report, deadline) as run:
            with run.locked():
                prepared = self._prepare(run, bound, masks, nothing, counting=True)
            return 0 if prepared is None else add_up(run, prepared)

    def _can_match(self, bound: BoundQuery) -> bool:
        graph = self._graph.graph
        return (
            bound.no_rows is None
            and bool(bound.nodes)
            and graph.node_count > 0
            and (not bound.relationships or graph.relationship_count > 0)
        )

    @contextmanager
    def _run(self, report: StrategyReport, deadline: float | None) -> Iterator[Run]:
        with self._graph.use(), self._workspace() as workspace:
            yield Run(self._kernels, self._graph, workspace, report, deadline)

    def _workspace(self) -> Workspace:
        budget = MemoryBudget(self._limit)
        budget.reserve(self._graph.nbytes, "the data graph")
        workspace = Workspace(self._context, budget, self._graph.pool)
        kept = self._kept_bytes()
        if kept > budget.remaining:
            kept -= self._give_up_kept()
        workspace.count(min(kept, budget.remaining), "what is kept for later queries")
        workspace.give_way = lambda: workspace.uncount(self._give_up_kept())
        return workspace

    def _chunks(
        self, run: Run, prepared: PreparedJoin, enough: int | None = None
    ) -> Generator[Embeddings]:
        tables = prepared.tables(enough)
        try:
            with TableFetcher(run, prepared.variables) as fetcher:
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
            prepared.describe(run)


def add_up(run: Run, prepared: PreparedJoin) -> int:
    """The number of full embeddings."""
    total, counts = 0, prepared.counts()
    try:
        while True:
            with run.locked(), run.stage("join"):
                part = next(counts, None)
            if part is None:
                return total
            total += part
    finally:
        prepared.describe(run)
