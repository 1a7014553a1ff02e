"""Counts undirected squares of unrestricted nodes in the oriented graph, without rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.cycles import CycleTasks, UpwardSquareKernels
from gpugda.match.special.tasks import groups_with_scratch, launches
from gpugda.types import value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["UpwardSquare", "count_squares", "counts_upwards", "find_square"]

_WORK_PER_LAUNCH = 1 << 22
_MAX_MARK = 1 << 32
_MAX_COUNT = 1 << 61
_EMBEDDINGS_PER_COUNT = 4
"""The kernel counts each square twice; it stands for the eight orders of the square's nodes."""


@value(frozen=True, slots=True)
class UpwardSquare:
    """An undirected square of unrestricted nodes.

    Args:
        type_id: The type of its four relationships; None for any.
    """

    type_id: int | None


def find_square(bound: BoundQuery, graph: DataGraph) -> UpwardSquare | None:
    """The square that a query is; None if it is none, or if self-loops could match it.

    Args:
        bound: The query, whose conditions are all in its nodes and relationships.
        graph: The data graph, or its oriented form.
    """
    if bound.constants or not _is_ring(bound):
        return None
    kinds = {(each.types, each.clause, each.directed) for each in bound.relationships}
    if len(kinds) > 1 or any(node.labels or node.predicates for node in bound.nodes):
        return None
    ((types, _, directed),) = kinds
    if directed or (types is not None and len(types) != 1):
        return None
    if types is None and len(graph.types) == 1:
        types = (0,)
    counts = graph.statistics.loop_counts
    if any(counts if types is None else (counts[types[0]],)):
        return None
    return UpwardSquare(None if types is None else types[0])


def counts_upwards(graph: DeviceGraph) -> bool:
    """True if the device has no other way to count squares without rows.

    A CPU has one that needs no oriented graph: it marks the neighbours of one node at a time.
    """
    return graph.context.profile.intersection == "lists"


def _is_ring(bound: BoundQuery) -> bool:
    ends = {frozenset((each.source, each.target)) for each in bound.relationships}
    if len(bound.nodes) != 4 or len(bound.relationships) != 4 or len(ends) != 4:
        return False
    return all(sum(node in pair for pair in ends) == 2 for node in range(4))


def _fits(graph: DataGraph, square: UpwardSquare) -> bool:
    """True if marks fit in 32 bits and sums in 63. Parallel relationships must be adjacent."""
    statistics = graph.statistics
    if square.type_id is None and statistics.has_parallel:
        return False
    longest = sum(statistics.degrees(None, outgoing=each).largest for each in (True, False))
    types = None if square.type_id is None else (square.type_id,)
    parallel = max(graph.parallel_counts_of(types, directed=True), default=1)
    most = 2 * graph.relationship_count * longest**2 * parallel**2
    return longest * parallel < _MAX_MARK and most < _MAX_COUNT


def count_squares(run: Run, square: UpwardSquare) -> int | None:
    """The number of embeddings in the oriented graph of the run.

    Returns None if sums might overflow, or if there is no room for the marks of a work group.
    """
    graph = run.graph.graph
    if not _fits(graph, square):
        return None
    with run.locked(), run.stage("join"):
        pairs = _opposite_pairs(run, square)
    return None if pairs is None else _EMBEDDINGS_PER_COUNT * pairs + _folded(graph, square)


def _opposite_pairs(run: Run, square: UpwardSquare) -> int | None:
    kernels, workspace = UpwardSquareKernels(run.graph.context), run.workspace
    nodes = run.graph.graph.node_count
    arguments = run.graph.csr_arguments(workspace.budget)
    groups = groups_with_scratch(run, nodes, kernels.max_groups)
    if groups == 0:
        return None
    degrees = workspace.allocate(nodes, np.uint32, "degrees")
    kernels.count_relationships(arguments, nodes, degrees)
    tasks = CycleTasks.new(workspace, groups * nodes, nodes, _WORK_PER_LAUNCH, groups)
    task_count = -(-nodes // kernels.task_nodes(nodes, groups))
    for _ in launches(run, tasks.counters, task_count):
        kernels.count(arguments, square.type_id, degrees, groups, tasks)
    workspace.release(degrees)
    return tasks.total(workspace)


def _folded(graph: DataGraph, square: UpwardSquare) -> int:
    """The number of embeddings that map opposite nodes of the square to one node.

    Two relationships of the square then connect the same two nodes, and must be parallel.
    """
    if square.type_id is None or graph.parallel_counts_of((square.type_id,), directed=True) == [1]:
        return 0
    of_type = graph.relationship_types() == square.type_id
    starts, ends = graph.start_nodes()[of_type], graph.outgoing.neighbours[of_type]
    first = np.ones(len(starts), dtype=np.bool_)
    first[1:] = (starts[1:] != starts[:-1]) | (ends[1:] != ends[:-1])
    places = np.flatnonzero(first)
    between = np.diff(places, append=len(starts))
    places, between = places[between > 1], between[between > 1]
    pairs = between * (between - 1)
    nodes, of_pair = np.unique([starts[places], ends[places]], return_inverse=True)
    at = np.zeros(len(nodes), dtype=np.int64)
    np.add.at(at, of_pair.reshape(-1), np.tile(pairs, 2))
    both_opposite = pairs * (between - 2) * (between - 3)
    # The square may be folded at either of the two nodes.
    return 2 * (_squared(at) - 2 * _squared(pairs) + int(both_opposite.sum()))


def _squared(numbers: NDArray[np.int64]) -> int:
    """The sum of the squares of the numbers."""
    if int(numbers.max(initial=0)) ** 2 * len(numbers) < 1 << 63:
        return int((numbers * numbers).sum())
    return sum(number * number for number in numbers.tolist())
