"""The strategy ``gpsm``: filter candidates, assemble candidate relationships, join them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gpugda.device.buffers import MemoryBudget, Workspace
from gpugda.errors import ConfigurationError
from gpugda.execute.embeddings import Embeddings, Wanted
from gpugda.execute.gpsm_filter import filter_candidates
from gpugda.execute.gpsm_join import JoinWindows
from gpugda.execute.gpsm_relationships import assemble_relationships
from gpugda.execute.gpsm_report import describe_candidates, describe_steps
from gpugda.execute.gpsm_run import Kernels, Run
from gpugda.execute.gpsm_steps import JoinStep, compile_steps

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from gpugda.device.device_graph import DeviceGraph
    from gpugda.device.join import Table
    from gpugda.execute.embeddings import Masks, StrategyReport
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = ["GpsmStrategy"]

_ROUNDS: dict[str, int | None] = {"off": 0, "once": 1, "fixpoint": None}
_SHARE_OF_DEVICE = 0.8


class GpsmStrategy:
    """Candidates, candidate relationships, and a join that goes relationship by relationship.

    Args:
        device_graph: The data graph on its device.
        memory_limit: Bytes that graph and query may take there; by default 80 % of its memory.
        refinement: How often candidates are refined: ``off``, ``once``, or to a ``fixpoint``.

    Raises:
        ConfigurationError: An argument makes no sense.
        DeviceError: The kernels do not build.
    """

    name = "gpsm"

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

    def embeddings(
        self,
        plan: Plan,
        masks: Masks,
        wanted: Wanted,
        report: StrategyReport,
        deadline: float | None = None,
    ) -> Generator[Embeddings]:
        """All embeddings, in chunks. Leaving the iteration early frees everything.

        Args:
            plan: What to find. Its steps are estimates: the order comes from counted candidates.
            masks: What predicates leave.
            wanted: Columns to fetch.
            report: Filled while running.
            deadline: ``time.monotonic()`` at which to give up.

        Raises:
            MemoryLimitError: Not possible within the memory limit.
            DeviceError: The device failed.
            QueryTimeoutError: The deadline passed.
        """
        if not plan.bound.nodes and plan.bound.no_rows is None:
            yield Embeddings(1, {}, {})
        if not self._can_match(plan.bound):
            return
        with self._graph.use(), self._workspace() as workspace:
            run = Run(self._kernels, self._graph, workspace, report, deadline)
            with run.locked():
                prepared = self._prepare(run, plan.bound, masks, wanted)
            if prepared is not None:
                yield from self._chunks(run, prepared)

    def count(
        self, plan: Plan, masks: Masks, report: StrategyReport, deadline: float | None = None
    ) -> int:
        """The number of embeddings, without making the last step's rows. Raises as `embeddings`."""
        if not plan.bound.nodes and plan.bound.no_rows is None:
            return 1
        if not self._can_match(plan.bound):
            return 0
        nothing = Wanted(frozenset(), frozenset())
        with self._graph.use(), self._workspace() as workspace:
            run = Run(self._kernels, self._graph, workspace, report, deadline)
            with run.locked():
                prepared = self._prepare(run, plan.bound, masks, nothing)
            return 0 if prepared is None else _sum(run, prepared)

    def _can_match(self, bound: BoundQuery) -> bool:
        graph = self._graph.graph
        return (
            bound.no_rows is None
            and bool(bound.nodes)
            and graph.node_count > 0
            and (not bound.relationships or graph.relationship_count > 0)
        )

    def _workspace(self) -> Workspace:
        budget = MemoryBudget(self._limit)
        budget.reserve(self._graph.nbytes, "the data graph")
        return Workspace(self._context, budget)

    def _prepare(
        self, run: Run, bound: BoundQuery, masks: Masks, wanted: Wanted
    ) -> _Prepared | None:
        with run.stage("filter"):
            candidates = filter_candidates(run, bound, masks, self._rounds)
        if candidates is None:
            return None
        with run.stage("relationships"):
            tables = assemble_relationships(run, bound, candidates)
        describe_candidates(run.report, bound, candidates, tables)
        if tables is None:
            return None
        steps = compile_steps(bound, tables.steps, tables.ends, wanted)
        windows = JoinWindows(run, steps, candidates, tables, self._sorted(bound))
        return _Prepared(bound, steps, windows)

    def _sorted(self, bound: BoundQuery) -> list[bool]:
        """Rows of the data graph are sorted by neighbour within one type and one direction."""
        only_one = len(self._graph.graph.types) <= 1
        return [
            each.directed and (only_one if each.types is None else len(each.types) == 1)
            for each in bound.relationships
        ]

    def _chunks(self, run: Run, prepared: _Prepared) -> Iterator[Embeddings]:
        tables = prepared.windows.tables()
        try:
            while True:
                # Not held while the caller looks at a chunk: others may launch meanwhile.
                with run.locked():
                    with run.stage("join"):
                        try:
                            table = next(tables)
                        except StopIteration:
                            return
                    if table is None:
                        continue
                    with run.stage("fetch"):
                        chunk = _fetch(run, table, prepared.steps[-1])
                yield chunk
        finally:
            prepared.describe(run)


@dataclass(frozen=True, slots=True, eq=False)
class _Prepared:
    bound: BoundQuery
    steps: tuple[JoinStep, ...]
    windows: JoinWindows

    def describe(self, run: Run) -> None:
        describe_steps(run.report, run.graph.graph, self.bound, self.steps, self.windows)


def _sum(run: Run, prepared: _Prepared) -> int:
    total, counts = 0, prepared.windows.counts()
    try:
        while True:
            with run.locked(), run.stage("join"):
                part = next(counts, None)
            if part is None:
                return total
            total += part
    finally:
        prepared.describe(run)


def _fetch(run: Run, table: Table, last: JoinStep) -> Embeddings:
    if table.values is None:
        return Embeddings(table.row_count, {}, {})
    values = run.workspace.download(table.values).reshape(table.width, table.row_count)
    columns = dict(zip(last.variables, values, strict=True))
    return Embeddings(
        table.row_count,
        {each.position: column for each, column in columns.items() if each.is_node},
        {each.position: column for each, column in columns.items() if not each.is_node},
    )
