"""The strategy ``sgsi``: as ``gsi``, for graphs beyond the device's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from gpugda_strategies.gsi.cursor import type_frequency
from gpugda_strategies.gsi.order import node_order
from gpugda_strategies.gsi.steps import compile_steps
from gpugda_strategies.gsi.strategy import GsiStrategy
from gpugda_strategies.launch.gsi_join import GsiJoin
from gpugda_strategies.launch.sgsi_join import SgsiJoin
from gpugda_strategies.launch.sgsi_signatures import SegmentSignatures
from gpugda_strategies.sgsi.candidates import base_candidates, filter_by_segments
from gpugda_strategies.sgsi.cursor import SegmentCursor
from gpugda_strategies.sgsi.generate import Generator
from gpugda_strategies.sgsi.join import JoinKernels, SegmentJoin, Sources
from gpugda_strategies.sgsi.loader import KeptSegments, SegmentLoader
from gpugda_strategies.sgsi.memory import plan_memory
from gpugda_strategies.sgsi.options import SgsiOptions
from gpugda_strategies.sgsi.scratch import Scratch
from gpugda_strategies.sgsi.segments import HostSegments
from gpugda_strategies.sgsi.signature_table import SignatureTable, make_table
from gpugda_strategies.sgsi.windows import HostWindows

from gpugda.device.memory.uploads import PageLocked, Uploads
from gpugda.match.matcher import Matcher
from gpugda.match.need import Count, Rows
from gpugda.plan.readable import bytes_text, count_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda_strategies.gsi.steps import Link, NodeStep
    from gpugda_strategies.sgsi.candidates import HostCandidates
    from gpugda_strategies.sgsi.memory import MemoryPlan
    from gpugda_strategies.sgsi.segments import Segments

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.match.embeddings import Masks
    from gpugda.match.need import Need
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery, PlanStep

__all__ = ["SgsiStrategy"]

_DEFAULT_OPTIONS = SgsiOptions()
_ENTRY_BYTES = 8
_MAX_RELATIONSHIPS = 30_000
"""A place counts passed tests in 16 bits: links, and up to two tests per relationship."""


class SgsiStrategy(Matcher):
    """Keeps lists in segments and tables in columns on the host; both pass through the device.

    Args:
        device_graph: The data graph on its device; its relationships are not copied there.
        memory_limit: As for every strategy.
        refinement: Has no effect: signatures are tested once.
        options: Techniques to use; the answer is the same with all.
    """

    name = "sgsi"
    method = (
        "filters by node signatures, then joins node by node: segments of the lists and columns "
        "of the tables come from the host as they are needed"
    )

    @classmethod
    def can_match(cls, pattern: BoundQuery, need: Need) -> str | None:
        """See `Matcher.can_match`."""
        del need
        if len(pattern.relationships) <= _MAX_RELATIONSHIPS:
            return None
        return (
            f"the pattern has {len(pattern.relationships):,} relationships; strategy sgsi takes "
            f"{_MAX_RELATIONSHIPS:,}"
        )

    @classmethod
    def plan(cls, pattern: BoundQuery) -> tuple[PlanStep, ...]:
        """See `Matcher.plan`: the order is that of ``gsi``."""
        return GsiStrategy.plan(pattern)

    @classmethod
    def sizes_text(cls, pattern: BoundQuery) -> str:
        """See `Matcher.sizes_text`: the lists that are cut into segments."""
        lists = {
            (each.types, each.directed): each.cardinality * (1 if each.directed else 2)
            for each in pattern.relationships
        }
        if not lists:
            return ""
        entries = sum(lists.values())
        size = bytes_text(int(entries * _ENTRY_BYTES))
        return f"lists of {count_text(entries)} entries, {size} or more, are cut into segments"

    def __init__(
        self,
        device_graph: DeviceGraph,
        *,
        memory_limit: int | None = None,
        refinement: Literal["off", "once", "fixpoint"] | str = "once",
        options: SgsiOptions | None = None,
    ) -> None:
        super().__init__(device_graph, memory_limit=memory_limit, refinement=refinement)
        self._options = options or _DEFAULT_OPTIONS
        self._joins = JoinKernels(GsiJoin(self._context), SgsiJoin(self._context))
        self._signatures = SegmentSignatures(self._context)
        lists = self._options.lists
        self._host = HostSegments(
            device_graph.graph, lists.group_fill, self._options.segment_entries
        )
        self._kept = KeptSegments()
        self._uploads: Uploads | None = None
        self._locked: PageLocked | None = None
        self._table: SignatureTable | None = None

    def cached_bytes(self) -> int:
        """See `Matcher.cached_bytes`."""
        return super().cached_bytes() + self._kept.nbytes

    def drop_cached(self) -> int:
        """See `Matcher.drop_cached`."""
        return super().drop_cached() + self._kept.drop()

    def start(
        self, run: Run, pattern: BoundQuery, masks: Masks, need: Rows | Count
    ) -> SegmentCursor | None:
        """See `Matcher.start`."""
        plan = plan_memory(
            run.workspace, self._kept.nbytes, run.graph.words, len(pattern.nodes), self._options
        )
        scratch = Scratch(run, plan)
        scratch.make_room()
        loader = SegmentLoader(run, self._kept, plan.segments_bytes, scratch, *self._pipeline())
        with run.stage("filter"):
            candidates = self._filtered(run, pattern, masks, plan, loader)
        if candidates is None:
            loader.leave()
            return None
        run.report.candidates.update(dict(enumerate(candidates.counts)))
        rows = Rows(frozenset(), frozenset()) if isinstance(need, Count) else need
        frequency = type_frequency(pattern, self._graph)
        order = node_order(pattern, candidates.count, frequency)
        steps = compile_steps(pattern, self._graph.graph, order, rows, frequency)
        with run.stage("lists"), run.working():
            sources = Sources(candidates, self._segments(steps, masks, plan), loader)
        join = SegmentJoin(run, sources, self._joins, scratch, plan, self._options)
        generator = Generator(run, self._joins.sgsi, scratch)
        windows = HostWindows(run, steps, candidates, join, generator)
        return SegmentCursor(pattern, steps, sources, windows)

    def _pipeline(self) -> tuple[Uploads | None, PageLocked | None]:
        """The prefetching uploads, and page-locked memory on a device with its own memory."""
        if self._options.pipelined and self._uploads is None:
            self._uploads = Uploads(self._context)
            if self._context.profile.aside_bytes is not None:
                graph = self._graph.graph
                most = 2 * (graph.outgoing.nbytes + graph.incoming.nbytes)
                self._locked = PageLocked(self._context, most)
        return self._uploads, self._locked

    def _filtered(
        self,
        run: Run,
        pattern: BoundQuery,
        masks: Masks,
        plan: MemoryPlan,
        loader: SegmentLoader,
    ) -> HostCandidates | None:
        found = base_candidates(run, pattern, masks)
        if 0 in found.counts:
            return None
        if self._options.lists.signatures and pattern.relationships:
            if self._table is None:
                table = make_table(run, self._signatures, plan, self._options)
                self._table = SignatureTable(table, self._options)
            found = filter_by_segments(
                run, pattern, found, self._table, self._signatures, loader, plan.segment_bytes
            )
        return None if 0 in found.counts else found

    def _segments(
        self, steps: Sequence[NodeStep], masks: Masks, plan: MemoryPlan
    ) -> dict[Link, Segments]:
        links = dict.fromkeys(link for step in steps for link in step.links)
        return {
            link: self._host.find(
                link.partition,
                plan.segment_bytes,
                plan.places,
                masks.relationships.get(link.relationship),
            )
            for link in links
        }
