"""Counts undirected cliques of four or five unrestricted nodes on a GPU, without rows."""

from __future__ import annotations

from itertools import combinations
from math import comb, factorial
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.ranked_cycles import CliqueKernels
from gpugda.match.share import WHOLE
from gpugda.match.special.tasks import groups_with_scratch, launches
from gpugda.match.special.unrestricted import (
    CommonLink,
    common_link,
    counted_by_rank,
    is_unrestricted,
    ranked_lists_apply,
)

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.engine import Engine
    from gpugda.match.run import Run
    from gpugda.match.share import Share
    from gpugda.plan.plan import BoundQuery

__all__ = ["cliques_in", "count_cliques", "find_clique"]

_SIZES = (4, 5)
_WORK_PER_LAUNCH = 1 << 24
_MAX_CLIQUES, _MAX_COUNT = 1 << 64, 1 << 63


def find_clique(bound: BoundQuery, graph: DataGraph) -> CommonLink | None:
    """The link that all relationships of the clique match; None if the query is no clique.

    Also None if two nodes of the graph have parallel relationships, or a node has two self-loops:
    without these the nodes of an embedding are distinct, as a third node is connected to both.
    """
    size = len(bound.nodes)
    ends = {frozenset((each.source, each.target)) for each in bound.relationships}
    pairs = {frozenset(pair) for pair in combinations(range(size), 2)}
    if size not in _SIZES or ends != pairs or len(bound.relationships) != len(pairs):
        return None
    links = common_link(bound, graph) if is_unrestricted(bound) else None
    is_simple = links is not None and links.undirected and links.max_between(graph) == 1
    return links if is_simple else None


def _fits(run: Run, lists: RankedLists, size: int) -> bool:
    """True if sums fit in 64 bits: two connected lowest nodes, and others above the first."""
    if lists.size * comb(lists.max_above, size - 2) < _MAX_CLIQUES:
        return True
    starts, middles = (run.workspace.download(each) for each in lists.outgoing[1:])
    lengths: list[int] = np.bincount(middles - starts[:-1]).tolist()
    most = sum(comb(above, size - 1) * nodes for above, nodes in enumerate(lengths))
    return most < _MAX_CLIQUES


def count_cliques(
    bound: BoundQuery,
    graph: DataGraph,
    strategy: Engine,
    report: StrategyReport,
    deadline: float | None,
    share: Share = WHOLE,
) -> int | None:
    """The number of embeddings; None if this method does not apply, or has no room.

    Args: as of `count_oriented`, and
        bound: The pattern.
    """
    links = find_clique(bound, graph) if ranked_lists_apply(graph, strategy) else None
    if links is None:
        return None
    size = len(bound.nodes)
    said = f"cliques of {size} nodes counted from their node of fewest relationships"

    def count(run: Run, lists: RankedLists) -> int | None:
        cliques = cliques_in(run, lists, size)
        found = None if cliques is None else factorial(size) * cliques
        return None if found is None or found >= _MAX_COUNT else found

    return counted_by_rank(links, strategy, report, deadline, count, said, share)


def cliques_in(run: Run, lists: RankedLists, size: int) -> int | None:
    """The number of cliques in the graph; None if it might overflow, or if there is no room.

    Args:
        run: The query's run.
        lists: Undirected lists without parallel entries.
        size: Nodes of a clique: 4 or 5.
    """
    if not _fits(run, lists, size):
        return None
    kernels, workspace = CliqueKernels(run.graph.context), run.workspace
    words = kernels.group_words(lists)
    groups = groups_with_scratch(run, words, kernels.max_groups)
    if groups == 0:
        return None
    nodes = lists.nodes
    tasks = CycleTasks.new(workspace, groups * words, nodes, _WORK_PER_LAUNCH, groups, run.share)
    task_count = run.share.size(-(-nodes // kernels.task_nodes(nodes)))
    for _ in launches(run, tasks.counters, task_count):
        kernels.count(lists, size, groups, tasks)
    return tasks.total(workspace)
