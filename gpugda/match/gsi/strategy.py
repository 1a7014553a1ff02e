"""The strategy ``gsi``: filter by vertex signatures, then join vertex by vertex."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gpugda.device.launch.gsi_join import GsiJoin
from gpugda.device.launch.gsi_signatures import SignatureKernels
from gpugda.match.gsi.filter import filter_by_signatures
from gpugda.match.gsi.options import GsiOptions
from gpugda.match.gsi.order import node_order
from gpugda.match.gsi.report import describe_steps
from gpugda.match.gsi.steps import compile_steps
from gpugda.match.gsi.store import GraphStore, with_mask
from gpugda.match.gsi.windows import VertexWindows
from gpugda.match.matcher import Cursor, Matcher
from gpugda.match.need import Count, Rows
from gpugda.match.report import describe_candidates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.launch.gsi_join import ListArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.embeddings import Masks
    from gpugda.match.gsi.steps import Link, VertexStep
    from gpugda.match.run import Run
    from gpugda.match.variables import Variable
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["GsiStrategy", "lists_of", "type_frequency"]


class GsiStrategy(Matcher):
    """Vertex signatures, lists per type that are found in one transaction, Prealloc-Combine.

    Args:
        device_graph: The data graph on its device.
        memory_limit: As for every strategy.
        refinement: Means nothing here: signatures are looked at once.
        options: Which techniques are used; the answer is the same with all.
    """

    name = "gsi"
    method = "filters by vertex signatures, then joins node by node into places allocated before"

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
        options: GsiOptions | None = None,
    ) -> None:
        super().__init__(device_graph, memory_limit=memory_limit, refinement=refinement)
        self._options = options or GsiOptions()
        self._joins = GsiJoin(self._context)
        self._signatures = SignatureKernels(self._context)
        self._store = GraphStore(device_graph, self._options)

    def _workspace(self) -> Workspace:
        workspace = super()._workspace()
        kept = self._store.nbytes
        if kept > workspace.budget.remaining:
            kept -= self._store.drop()
        workspace.count(kept, "lists and signatures kept from before")
        return workspace

    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> _VertexCursor | None:
        """See `Matcher.start`."""
        with run.stage("filter"):
            candidates = filter_by_signatures(
                run, pattern, masks, self._store, self._signatures, self._options
            )
        if candidates is None:
            return None
        describe_candidates(run.report, pattern, candidates)
        rows = Rows(frozenset(), frozenset()) if isinstance(need, Count) else need
        frequency = type_frequency(pattern, self._graph)
        order = node_order(pattern, candidates.count, frequency)
        steps = compile_steps(pattern, self._graph.graph, order, rows, frequency)
        with run.stage("lists"):
            lists = lists_of(run, steps, masks, self._store)
        windows = VertexWindows(run, steps, candidates, lists, self._joins, self._options)
        return _VertexCursor(pattern, steps, windows)


def type_frequency(bound: BoundQuery, graph: DeviceGraph) -> Callable[[BoundRelationship], float]:
    """How many relationships of the data graph have the types of a query relationship."""
    counts = graph.graph.statistics.type_counts
    found = {
        each.position: float(
            sum(counts) if each.types is None else sum(counts[kind] for kind in each.types)
        )
        for each in bound.relationships
    }
    return lambda each: found[each.position]


def lists_of(
    run: Run, steps: Sequence[VertexStep], masks: Masks, store: GraphStore
) -> dict[Link, ListArrays]:
    """The lists of each link of these steps, with what predicates leave of its relationships."""
    links = [link for step in steps for link in step.links]
    lists = store.lists(run, list(dict.fromkeys(link.partition for link in links)))
    uploaded = {
        position: run.workspace.upload(masks.relationships[position], "predicate bitmaps")
        for position in sorted({link.relationship for link in links} & set(masks.relationships))
    }
    return {
        link: with_mask(lists[link.partition], uploaded.get(link.relationship)) for link in links
    }


@dataclass(frozen=True, slots=True, eq=False)
class _VertexCursor(Cursor):
    bound: BoundQuery
    steps: tuple[VertexStep, ...]
    windows: VertexWindows

    @property
    def variables(self) -> Sequence[Variable]:
        return self.windows.variables

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        return self.windows.tables(enough)

    def counts(self) -> Iterator[int]:
        return self.windows.counts()

    def describe(self, run: Run) -> None:
        describe_steps(run.report, run.graph.graph, self.bound, self.steps, self.windows)
