"""Finds candidates for the strategy ``extend``; small filters run without synchronisation."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.graph.lazy_arguments import LazyArguments
from gpugda.device.launch.candidate_filter import Batch, FilterArrays
from gpugda.match.candidates.candidates import Candidates
from gpugda.match.candidates.encode import Exploration, encode_query, needed_degrees
from gpugda.match.candidates.filter import count_candidates, encode_filter, explore_candidates
from gpugda.match.extend.earlier_candidates import (
    KnownCandidates,
    allowed_nodes,
    can_update,
    update_candidates,
)
from gpugda.plan.cardinality import label_share
from gpugda.plan.join.join_order import join_cost

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.small_queries import SmallFilter
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.encode import Encoding
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.cache import KeptQuery
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship
    from gpugda.thresholds import FilterLimits


__all__ = [
    "candidates_on_host",
    "exploration_pays",
    "find_candidates",
    "selects_nothing",
    "update_from_snapshot",
    "with_counted_cardinalities",
]

_SELECTIVE_SHARE = 0.25
"""Share of all nodes or relationships. The neighbours of more are most nodes anyway."""
_SOMEWHAT_SELECTIVE_SHARE = 0.75
"""Up to this share, a candidate may still lack neighbours, if few nodes of its label have them."""
_JOIN_COST_PER_LOOK, _JOIN_COST_PER_DOUBTFUL_LOOK = 2, 8
"""Expected cost of a join, per neighbour read, from which exploring pays off."""


def selects_nothing(masks: Masks) -> bool:
    """True if a predicate holds for no node, or for no relationship, at all."""
    return any(
        not np.any(mask) for each in (masks.nodes, masks.relationships) for mask in each.values()
    )


def with_counted_cardinalities(bound: BoundQuery, masks: Masks, graph: DataGraph) -> BoundQuery:
    """The query with cardinalities corrected by the counts that the predicates select."""
    if not masks.nodes and not masks.relationships:
        return bound
    nodes = tuple(_counted_node(each, masks, graph) for each in bound.nodes)
    shares = [
        new.cardinality / max(old.cardinality, 1.0)
        for new, old in zip(nodes, bound.nodes, strict=True)
    ]
    relationships = tuple(
        _counted_relationship(each, masks, shares) for each in bound.relationships
    )
    return replace(bound, nodes=nodes, relationships=relationships)


def exploration_pays(
    exploration: Exploration,
    graph: DataGraph,
    leaves: Callable[[], Collection[int]],
    limits: FilterLimits,
) -> bool:
    """True if candidates without a matching neighbour should be removed.

    If something is selective and there is little to read, exploration is cheap, while estimates of
    the join may be far too low. Otherwise the join must be expected to cost more; much more if
    each query node has many candidates.

    Args:
        exploration: The exploration of the query `with_counted_cardinalities`.
        graph: The data graph.
        leaves: Returns the query nodes that are multiplied, not joined; called only if needed.
        limits: Limits of what is cheap.
    """
    if limits.explores is not None:
        return limits.explores
    bound = exploration.bound
    share = _smallest_share(bound, graph)
    if share >= _SOMEWHAT_SELECTIVE_SHARE:
        return False
    looks, cost = exploration.looks, _JOIN_COST_PER_DOUBTFUL_LOOK
    if share < _SELECTIVE_SHARE:
        if looks <= limits.cheap_entries:
            return True
        cost = _JOIN_COST_PER_LOOK
    return join_cost(bound, leaves()) > cost * looks


def _smallest_share(bound: BoundQuery, graph: DataGraph) -> float:
    """The smallest share of all nodes that are candidates, or of relationships with predicates."""
    nodes = min((each.cardinality for each in bound.nodes), default=0.0)
    selected = [each.cardinality for each in bound.relationships if each.predicates]
    of_relationships = min(selected) / max(graph.relationship_count, 1) if selected else 1.0
    return min(nodes / max(graph.node_count, 1), of_relationships)


def _counted_node(node: BoundNode, masks: Masks, graph: DataGraph) -> BoundNode:
    mask = masks.nodes.get(node.position)
    if mask is None:
        return node
    labelled = label_share(node.labels, graph.statistics) * graph.node_count
    return replace(node, cardinality=min(labelled, float(_bits(mask))))


def _counted_relationship(
    each: BoundRelationship, masks: Masks, shares: list[float]
) -> BoundRelationship:
    ends = {each.source, each.target}
    count = each.cardinality
    for end in ends:
        count *= shares[end]
    mask = masks.relationships.get(each.position)
    if mask is not None:
        count = min(count, float(_bits(mask)) * (1 if each.directed else 2))
    return replace(each, cardinality=count)


def _bits(mask: NDArray[np.uint32]) -> int:
    return int(np.bitwise_count(mask).sum(dtype=np.int64))


_MAX_ITEM_ENTRIES = 1 << 10
"""Maximum entries of a node that one work item of a GPU scans."""
_MAX_ROUNDS = 4
_MAX_WORDS_AT_ONCE = 1 << 15
"""Words of the matrix that a GPU checks in less time than the host needs for another launch."""
_MEMORY_FACTOR = 4
"""The free memory must be this many times what one work item needs, to stay away from the limit."""


def find_candidates(
    run: Run,
    query: KeptQuery,
    small: SmallFilter | None,
    rounds: int | None,
    limits: FilterLimits,
    *,
    counting: bool,
) -> Candidates | None:
    """The candidates of all query nodes; None as soon as one has none.

    Args:
        run: The query's run.
        query: The kept query: its predicates' masks, and the leaves that need no join.
        small: Filter for one work item; None if the device is unsuitable for it.
        rounds: How often candidates are refined; None until nothing changes.
        limits: What one work item may filter, and when exploring neighbours pays off.
        counting: True if rows are only counted, so that leaves are not joined.
    """
    graph, masks = run.graph.graph, query.masks
    if selects_nothing(masks):
        return None
    exploration = Exploration(with_counted_cardinalities(query.bound, masks, graph))

    def leaves() -> frozenset[int]:
        return query.leaves(graph) if counting else frozenset()

    # Of a segmented graph, only the join reads neighbours.
    explore = run.placement.is_whole and exploration_pays(exploration, graph, leaves, limits)
    explores = explore and bool(query.bound.relationships)
    return _filtered(run, small, exploration, masks, rounds, limits, explores=explores)


def update_from_snapshot(
    run: Run, query: KeptQuery, earlier: KnownCandidates
) -> tuple[Candidates, KnownCandidates] | None:
    """The candidates, updated from those of an earlier snapshot; None if that is not possible.

    Args:
        run: The query's run.
        query: The kept query with its predicates' masks.
        earlier: The candidates of the earlier snapshot.
    """
    graph, bound, masks = run.graph, query.bound, query.masks
    if not can_update(bound, masks):
        return None
    known = update_candidates(earlier, bound, graph.graph, allowed_nodes(bound, masks, graph))
    if known is None:
        return None
    encoding = known.encoding
    if encoding is None:
        exploration = Exploration(with_counted_cardinalities(bound, masks, graph.graph))
        encoding = encode_query(exploration, masks, graph, {}, 0.0)
        encoding = replace(encoding, node_masks=None, relationship_masks=None)
        known = replace(known, encoding=encoding)
    rows = [known.bits[position] for position in encoding.rows]
    counts = [int(np.bitwise_count(each).sum(dtype=np.int64)) for each in rows]
    if 0 in counts:
        return None
    arrays = FilterArrays(
        graph=_lazy_arguments(run, bound),
        query=run.workspace.upload(encoding.query.words, "the query graph"),
        label_bits=None,
        node_masks=None,
        relationship_masks=None,
        words=graph.words,
        relationship_words=graph.relationship_words,
        node_count=graph.graph.node_count,
    )
    matrix = run.workspace.upload(np.concatenate(rows), "candidates")
    found = _candidates(arrays, encoding, matrix, counts, {}, explored=known.explored)
    return None if found is None else (found, known)


def _lazy_arguments(run: Run, bound: BoundQuery) -> list[Any] | LazyArguments:
    """Graph arguments that are not uploaded yet: the join knows which of them it needs."""
    budget = run.workspace.budget
    # A GPU that intersects lists merges the graph's own lists.
    if bound.relationships and run.graph.context.profile.intersection == "marks":
        return LazyArguments(run.graph, budget)
    return run.placement.arguments(budget, needed=bool(bound.relationships))


def candidates_on_host(run: Run, query: KeptQuery) -> KnownCandidates | None:
    """What the next snapshot's candidates may be derived from; None if they may not."""
    candidates, bound, graph = query.candidates, query.bound, run.graph
    if candidates is None or not can_update(bound, query.masks):
        return None
    matrix = run.workspace.download(candidates.matrix).reshape(len(bound.nodes), -1)
    return KnownCandidates(
        graph.graph.node_changes(),
        allowed_nodes(bound, query.masks, graph),
        {position: matrix[row] for position, row in candidates.rows.items()},
        tuple(map(needed_degrees, bound.nodes)),
        candidates.explored,
    )


def _filtered(
    run: Run,
    small: SmallFilter | None,
    exploration: Exploration,
    masks: Masks,
    rounds: int | None,
    limits: FilterLimits,
    *,
    explores: bool,
) -> Candidates | None:
    """Filters by labels, degrees and predicates, and by neighbours if it ``explores``."""
    arrays, encoding = encode_filter(run, exploration, masks, explores=explores)
    bound = exploration.bound
    if small is not None and _is_small(run, arrays, encoding, limits, explores=explores):
        outcome = small.filter_all(
            run.workspace,
            arrays,
            len(bound.nodes),
            explores=explores,
            rounds=rounds,
            max_looks=limits.abandon_entries,
            max_nodes=min(limits.listed, len(bound.nodes) * arrays.node_count),
        )
        if outcome is not None:
            lists = {} if outcome.nodes is None else _lists(outcome.nodes, outcome.counts)
            return _candidates(
                arrays, encoding, outcome.matrix, outcome.counts, lists, explored=explores
            )
        # There are more neighbours than expected, so that exploring them does not pay off.
        explores = False
    if small is None and explores and _has_few_bits(run, arrays, encoding, rounds, limits):
        matrix, counts = _explored_bits(run, arrays, encoding, rounds or 0)
        return _candidates(arrays, encoding, matrix, counts, {}, explored=True)
    if explores:
        return explore_candidates(run, arrays, encoding, rounds)
    matrix, counts = _checked(run, arrays, len(bound.nodes))
    return _candidates(arrays, encoding, matrix, counts, {}, explored=False)


def _is_small(
    run: Run, arrays: FilterArrays, encoding: Encoding, limits: FilterLimits, *, explores: bool
) -> bool:
    words = len(encoding.rows) * arrays.words
    needed = 4 * (2 * words + limits.listed)
    most = limits.small_explored_words if explores else limits.small_words
    if words > most or needed * _MEMORY_FACTOR > run.workspace.available:
        return False
    return encoding.looks <= limits.small_entries


def _has_few_bits(
    run: Run,
    arrays: FilterArrays,
    encoding: Encoding,
    rounds: int | None,
    limits: FilterLimits,
) -> bool:
    """True if a GPU should explore bit by bit."""
    if (
        rounds is None
        or rounds > _MAX_ROUNDS
        or not _is_small(run, arrays, encoding, limits, explores=True)
    ):
        return False
    statistics = run.graph.graph.statistics
    return all(
        statistics.degrees(None, outgoing=outgoing).largest <= _MAX_ITEM_ENTRIES
        for outgoing in (True, False)
    )


def _explored_bits(
    run: Run, arrays: FilterArrays, encoding: Encoding, rounds: int
) -> tuple[DeviceArray, list[int]]:
    """As `explore_candidates`, but synchronises only once, for the counts at the end."""
    run.check_deadline()
    workspace, kernels, levels = run.workspace, run.kernels.candidate_filter, encoding.levels
    size = levels[-1] * arrays.words
    read, kept = (workspace.allocate(size, np.uint32, "candidates") for _ in range(2))
    everything, deepest = Batch(0, levels[-1]), len(levels) - 2
    at_once, marks = size <= _MAX_WORDS_AT_ONCE, None
    if at_once:
        kernels.check_candidates(arrays, everything, None, read, kept)
    elif deepest:
        marks = workspace.allocate(size, np.uint32, "marks")
        workspace.fill(marks, 0)
    for level, (first, last) in enumerate(pairwise(levels)):
        batch = Batch(first, last - first)
        if not at_once:
            kernels.check_candidates(arrays, batch, marks, read, kept)
        known = deepest if at_once else level
        kernels.explore_bits(arrays, batch, level, known, read, kept, marks)
    for _ in range(rounds):
        read, kept = kept, read
        workspace.copy(read, kept, 0)
        kernels.explore_bits(arrays, everything, 0, deepest, read, kept, None)
    workspace.release(read, marks)
    return kept, count_candidates(run, arrays, levels[-1], kept)


def _checked(run: Run, arrays: FilterArrays, rows: int) -> tuple[DeviceArray, list[int]]:
    run.check_deadline()
    workspace, kernels = run.workspace, run.kernels.candidate_filter
    matrix = workspace.allocate(rows * arrays.words, np.uint32, "candidates")
    kernels.check_candidates(arrays, Batch(0, rows), None, matrix)
    return matrix, count_candidates(run, arrays, rows, matrix)


def _lists(nodes: DeviceArray, counts: list[int]) -> dict[int, tuple[DeviceArray, int]]:
    firsts = accumulate(counts, initial=0)
    return {row: (nodes, first) for row, first in zip(range(len(counts)), firsts, strict=False)}


def _candidates(
    arrays: FilterArrays,
    encoding: Encoding,
    matrix: DeviceArray,
    counts: list[int],
    lists: dict[int, tuple[DeviceArray, int]],
    *,
    explored: bool,
) -> Candidates | None:
    if 0 in counts:
        return None
    return Candidates(
        encoding.rows, arrays, encoding.query.adjacencies, matrix, counts, lists, explored
    )
