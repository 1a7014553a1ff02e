"""Counts patterns with cycles by cutset and vectors, without rows.

See `gpugda.plan.counting.vector_plan`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.vector_steps import VectorKernels
from gpugda.device.launch.vector_weights import VectorWeightKernels
from gpugda.errors import MemoryLimitError
from gpugda.match.count.batches import counted_in_batches
from gpugda.match.count.limits import may_use_vectors
from gpugda.match.count.program import Bounds, VectorProgram, encode
from gpugda.match.report import node_text
from gpugda.match.share import WHOLE, Share
from gpugda.match.special.tasks import groups_with_scratch, launches
from gpugda.match.special.unrestricted import common_link, counted_by_rank, is_unrestricted
from gpugda.plan.counting.quotients import (
    Link,
    Multiplicities,
    pattern_of,
    signed_patterns,
)
from gpugda.plan.counting.vector_plan import GraphShape, VectorPlan, plan_vectors
from gpugda.plan.join.join_order import connected_components

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.count.batches import Totals
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.engine import Engine
    from gpugda.match.run import Run
    from gpugda.match.special.unrestricted import CommonLink
    from gpugda.plan.plan import BoundQuery, Plan

__all__ = [
    "VectorCount",
    "chosen_vectors",
    "count_program",
    "find_vectors",
    "totals_of",
]

_MAX_LINKS_IF_PARALLEL = 6
_MAX_PARTITIONS, _MAX_PATTERNS = 4_000, 64
_WORK_PER_LAUNCH = 1 << 24
_MIN_ROWS = {"lists": 1e8, "marks": 1e7}
"""Rows of a join, by the device's way to intersect, below which ranks take longer than it."""
_MIN_GAIN = 1.0
"""Rows of the join per entry that is read instead."""


class VectorCount(NamedTuple):
    """A pattern that can be counted by vectors.

    Args:
        plan: The plan.
        programs: Its programs.
        links: The link that all relationships match.
        bounds: Those by which the programs' numbers fit.
        text: What is pinned, and how many steps vectors take.
    """

    plan: VectorPlan
    programs: tuple[VectorProgram, ...]
    links: CommonLink
    bounds: Bounds
    text: str

    @property
    def wraps(self) -> int | None:
        """Counts of shares add up."""
        return None

    def count_share(
        self,
        engine: Engine,
        report: StrategyReport,
        deadline: float | None,
        share: Share = WHOLE,
    ) -> int | None:
        """The number of embeddings; None without room.

        Args:
            engine: Counts.
            report: Filled while running.
            deadline: A time of ``time.monotonic``.
            share: The pinned nodes from which they are counted; the counts of all shares add up.
        """

        def count(run: Run, lists: RankedLists) -> int | None:
            try:
                with run.workspace.reclaiming(MemoryLimitError):
                    counts = [
                        count_program(replace(run, share=part), lists, each, self.bounds.longest)
                        for each, part in self._shared(share)
                    ]
            except MemoryLimitError:
                return None
            return None if None in counts else sum(each for each in counts if each is not None)

        return counted_by_rank(self.links, engine, report, deadline, count, self.text, share)

    def _shared(self, share: Share) -> Iterator[tuple[VectorProgram, Share]]:
        """The programs of a share, with the part of each that is counted."""
        if share == WHOLE:
            yield from ((each, WHOLE) for each in self.programs)
            return
        yield from ((each, share) for each in self._of_products(with_vectors=True))
        if share.does_rest:
            yield from ((each, WHOLE) for each in self._of_products(with_vectors=False))

    def _of_products(self, *, with_vectors: bool) -> tuple[VectorProgram, ...]:
        """The programs of products with vectors, which shares divide, or of the others."""
        terms = tuple(each for each in self.plan.terms if bool(each[0].sums) == with_vectors)
        found = _programs(replace(self.plan, terms=terms), self.bounds, self.links)
        assert found is not None  # as the numbers of all products fit
        return found


def chosen_vectors(plan: Plan, graph: DataGraph, intersection: str) -> VectorCount | None:
    """How the pattern of a plan is counted by vectors; None if that is not expected to be faster.

    Args:
        plan: The plan.
        graph: The data graph.
        intersection: The device's way to intersect lists.
    """
    bound = plan.bound
    if not may_use_vectors(bound) or not is_unrestricted(bound):
        return None
    least, has_messages = _MIN_ROWS[intersection], intersection == "lists"
    rows = plan.joined_rows
    if rows < least:
        return None
    found = find_vectors(bound, graph)
    # A GPU joins cycles that meet at one node apart, and multiplies their sums.
    if found is None or (has_messages and found.plan.is_separable):
        return None
    if has_messages:  # what hangs at cycles is no part of the join
        core = found.plan.core
        rows = sum(step.cardinality for step in plan.steps if step.position in core)
    return found if rows >= max(least, found.plan.cost * _MIN_GAIN) else None


def find_vectors(bound: BoundQuery, graph: DataGraph) -> VectorCount | None:
    """How a pattern is counted by vectors; None if that does not apply."""
    links = common_link(bound, graph) if is_unrestricted(bound) else None
    nodes, ends = len(bound.nodes), [(each.source, each.target) for each in bound.relationships]
    if links is None or not _all_differ(bound) or len(connected_components(nodes, ends)) > 1:
        return None
    asked = tuple(Link(each.source, each.target, each.directed) for each in bound.relationships)
    known = _multiplicities(links, graph)
    plan = _planned(nodes, asked, known, _shape(links, graph))
    if plan is None or not plan.terms:
        return None
    bounds = _bounds(links, graph)
    programs = _programs(plan, bounds, links)
    if programs is None:
        bounds = bounds._replace(two_paths=graph.most_two_paths())
        programs = _programs(plan, bounds, links)
    if programs is None:
        return None
    return VectorCount(plan, programs, links, bounds, _text(bound, plan))


def _programs(
    plan: VectorPlan, bounds: Bounds, links: CommonLink
) -> tuple[VectorProgram, ...] | None:
    """The programs of a plan; None if numbers do not fit."""
    return _encoded(plan, bounds, undirected=links.undirected) if plan.terms else ()


def _text(bound: BoundQuery, plan: VectorPlan) -> str:
    pins = ", ".join(node_text(bound, each) for each in plan.pins)
    highest = f"the one of {pins} with most relationships" if len(plan.pins) > 1 else pins
    steps = f"vectors of up to {plan.steps} steps from it"
    return f"{highest} is pinned, {steps} are multiplied and summed ({len(plan.terms)} products)"


@lru_cache(maxsize=256)
def _planned(
    nodes: int, links: tuple[Link, ...], known: Multiplicities, shape: GraphShape
) -> VectorPlan | None:
    is_simple = known.single and not known.has_loops
    if len(links) > _MAX_LINKS_IF_PARALLEL and not is_simple:
        return None
    own = pattern_of(nodes, links, known)
    patterns = () if own is None else signed_patterns(nodes, links, known, _MAX_PARTITIONS)
    if own is None or not 0 < len(patterns) <= _MAX_PATTERNS:
        return None
    return plan_vectors(own, patterns, known, shape)


_encoded = lru_cache(maxsize=256)(encode)


def _all_differ(bound: BoundQuery) -> bool:
    """True if any two relationships must differ."""
    pairs = {frozenset((test.left, test.right)) for test in bound.tests}
    every = [each.position for each in bound.relationships]
    return all(frozenset(pair) in pairs for pair in combinations(every, 2))


def _multiplicities(links: CommonLink, graph: DataGraph) -> Multiplicities:
    return Multiplicities(
        links.has_loops(graph),
        graph.max_between(links.types, directed=False) <= 1,
        graph.max_between(links.types, directed=True) <= 1,
    )


def _shape(links: CommonLink, graph: DataGraph) -> GraphShape:
    kind = links.types, None
    entries = 2.0 * graph.statistics.relationships_between(None, links.type_id, None)
    return GraphShape(graph.nodes_having(kind, None), entries, graph.reached_degree(kind, kind))


def _bounds(links: CommonLink, graph: DataGraph) -> Bounds:
    longest = max(1, links._replace(undirected=True).longest(graph))
    between = max(1, graph.max_between(links.types, directed=False))
    return Bounds(longest, 2 * graph.relationship_count, between, longest, longest**2)


# ------------------------------------------------------------------ on the device
def count_program(run: Run, lists: RankedLists, program: VectorProgram, longest: int) -> int | None:
    """What a program counts in the run's share; None without room for its vectors.

    Args:
        run: The query's run.
        lists: Lists of the type of all relationships.
        program: The program.
        longest: Upper bound of the entries of a node in both directions.
    """
    workspace = run.workspace
    weights = _weights(run, lists, program)
    totals = totals_of(run, lists, program, weights, longest)
    workspace.release(weights)
    if totals is None:
        return None
    low, high = totals
    count, total = len(program.coefficients), 0
    for place, times in enumerate(program.coefficients):
        total += times * (sum(low[place::count]) + (sum(high[place::count]) << 64))
    return total


def totals_of(
    run: Run, lists: RankedLists, program: VectorProgram, weights: DeviceArray, longest: int
) -> Totals | None:
    """The totals of each term, per group or item; None without room for its vectors.

    Args: as of `count_program`, and
        weights: ``uint64[weights][nodes]``.
    """
    made = run.workspace.upload(program.words, "a program of vectors")
    if run.graph.context.profile.intersection == "lists":
        totals = counted_in_batches(run, lists, program, made, weights, longest)
    else:
        totals = _by_items(run, lists, program, made, weights)
    run.workspace.release(made)
    return totals


def _by_items(
    run: Run, lists: RankedLists, program: VectorProgram, made: DeviceArray, weights: DeviceArray
) -> Totals | None:
    """Work items take pinned nodes."""
    workspace, shape, kernels = run.workspace, program.shape, VectorKernels(run.graph.context)
    words = max(1, (shape.vectors + shape.lists) * lists.nodes)
    items = groups_with_scratch(run, words, kernels.item_count)
    if items == 0:
        return None
    totals = items * shape.terms
    tasks = CycleTasks.new(
        workspace, items * words, lists.nodes, _WORK_PER_LAUNCH, totals, run.share
    )
    highs = workspace.upload(np.zeros(totals, dtype=np.uint32), "carried sums")
    for _ in launches(run, tasks.counters, run.share.size(lists.nodes)):
        kernels.count(lists, made, shape, weights, tasks, highs)
    low, high = workspace.download(tasks.totals).tolist(), workspace.download(highs).tolist()
    tasks.release(workspace)
    workspace.release(highs)
    return low, high


def _weights(run: Run, lists: RankedLists, program: VectorProgram) -> DeviceArray:
    kernels = VectorWeightKernels(run.graph.context)
    count = max(1, program.weights * lists.nodes)
    weights = run.workspace.allocate(count, np.uint64, "weights of nodes")
    run.workspace.fill(weights, 1)
    loops = lists.loops
    for power, target in program.loops:
        if loops is None:
            loops = run.workspace.upload(np.zeros(lists.nodes, dtype=np.uint32), "loops by rank")
        kernels.loops(loops, lists.nodes, power, target, weights)
    for each in program.pulled:
        places = each.source, each.to
        kernels.pull(lists, each.sides, each.more, places, weights)
    return weights
