"""The degrees of anchors on the device: how they are stored, and who counts them.

A degree is the number of a node's relationships that can match a leaf. Usually each group of leaves
has a number per node of the data graph. Where memory is short, degrees are packed: in as few bytes
as the largest one takes, and of the anchor's candidates alone if these are few.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.leaf_products import CountsPlace
from gpugda.match.extend.segments.degrees import (
    count_by_segment,
    counts_lengths,
    lengths_on_host,
)
from gpugda.plan.list_lengths import max_list_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.launch.leaf_products import Leaves, ProductKernels
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import Eliminate, InterchangeableLeaves

__all__ = ["DegreeCounts", "DegreePlaces", "degree_places", "max_degree"]

_WIDTH, _RANK_BYTES = 4, 8
_ALIGNED = 128
_KEPT_BYTES = 1 << 24
"""Bytes of degrees that a query's candidates keep on the host: counting these takes longest."""
_TYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def max_degree(plan: Eliminate, group: InterchangeableLeaves, graph: DataGraph) -> int:
    """Upper bound of a node's relationships that can match a leaf of the group."""
    types = plan.core.relationships[group.relationships[0]].types
    return max_list_length(graph, types, outgoing=group.outgoing, incoming=group.incoming)


@dataclass(frozen=True, slots=True)
class DegreePlaces:
    """Where the degrees of a plan's groups are.

    Args:
        groups: The place of each group's degrees.
        size: Bytes of all degrees.
        rank_rows: Rows of the candidate matrix whose ranks are needed, in their order.
        ranks: Number of ranks per row.
    """

    groups: tuple[CountsPlace, ...]
    size: int
    rank_rows: tuple[int, ...]
    ranks: int

    @property
    def nbytes(self) -> int:
        """Bytes of degrees and ranks; ranks are made one row after the other."""
        return self.size + _RANK_BYTES * self.ranks * _rows_at_once(len(self.rank_rows))


def _rows_at_once(rows: int) -> int:
    return rows if rows < 2 else rows + 1


def degree_places(
    plan: Eliminate, graph: DataGraph, candidates: Candidates, *, packs: bool
) -> DegreePlaces:
    """The places of a plan's degrees; ``packs``: True to use as little memory as possible."""
    nodes, ranks = graph.node_count, candidates.arrays.words + 1
    places: list[CountsPlace] = []
    rows: list[int] = []
    size = 0
    for group in plan.groups:
        width = _width(max_degree(plan, group, graph)) if packs else _WIDTH
        row = candidates.rows[group.anchor]
        count = candidates.count(group.anchor)
        new = 0 if row in rows else _RANK_BYTES * ranks
        if packs and width * count + new < width * nodes:
            if row not in rows:
                rows.append(row)
            places.append(CountsPlace(size, width, rows.index(row) * ranks, row))
        else:
            count = nodes
            places.append(CountsPlace(size, width, None, row))
        size += -(-width * count // _ALIGNED) * _ALIGNED
    return DegreePlaces(tuple(places), size, tuple(rows), ranks)


def _width(most: int) -> int:
    """Bytes of a number up to ``most``."""
    return next((width for width in (1, 2) if most < 1 << 8 * width), _WIDTH)


class DegreeCounts:
    """Counts the degrees of a plan's anchors, group by group.

    Args:
        run: The query's run.
        kernels: The strategy's kernels.
        plan: The plan, which has the groups.
        candidates: Candidates of the query nodes.
        masks: The nodes and relationships that pass the predicates.
        views: The segments of the data graph on the device; None if all entries that the query
            reads are there.
        packs: True if degrees are packed.

    Attributes:
        places: Where the degrees are.
        counts: The degrees, in bytes.
        ranks: Ranks of the candidates of anchors by which degrees are indexed; `counts` if none
            are.
    """

    def __init__(
        self,
        run: Run,
        kernels: ProductKernels,
        plan: Eliminate,
        candidates: Candidates,
        masks: Masks,
        views: SegmentViews | None,
        *,
        packs: bool,
    ) -> None:
        self._run, self._kernels = run, kernels
        self._plan, self._candidates, self._masks = plan, candidates, masks
        self._views, self._packs = views, packs
        self.places = degree_places(plan, run.graph.graph, candidates, packs=packs)
        size = max(1, self.places.size)
        self.counts = run.workspace.allocate(size, np.uint8, "degrees of anchors")
        self.ranks = self._ranks_of(self.places.rank_rows) if self.places.rank_rows else self.counts

    def count(self, group: InterchangeableLeaves, leaves: Leaves) -> None:
        """Counts the degrees of a group's anchor; ``leaves``: the group as kernels read it."""
        run, graph = self._run, self._run.graph.graph
        run.check_deadline()
        by_length = counts_lengths(group, self._plan, self._masks, graph)
        if by_length and not run.placement.has_directory:
            degrees = self._on_host(group, leaves.counts)
            self._run.workspace.write(self.counts, degrees.view(np.uint8), leaves.counts.first_byte)
            return
        matrix, arrays = self._candidates.matrix, self._candidates.arrays
        views = None if by_length else self._views
        if views is None:
            arrays = arrays.reading(
                outgoing=group.outgoing,
                incoming=group.incoming,
                numbers=group.relationships[0] in self._masks.relationships,
                lengths=by_length,
            )
            if not self._packs and self._candidates.fits_list(run, group.anchor):
                nodes, counts = self._candidates.listed(run, group.anchor), self.counts
                count_matches = self._kernels.count_matches
                count_matches(arrays, matrix, leaves, nodes, counts, by_length=by_length)
                return
        count = partial(
            self._kernels.count_packed,
            matrix=matrix,
            leaves=leaves,
            leaf_counts=self.counts,
            anchor_ranks=self.ranks,
            by_length=by_length,
        )
        if views is None:
            count(arrays, nodes=(0, graph.node_count))
            return
        used = {"outgoing": group.outgoing, "incoming": group.incoming}
        anchors = self._bits(leaves.counts)
        count_by_segment(run, arrays, views, used, anchors, count)

    def _on_host(self, group: InterchangeableLeaves, place: CountsPlace) -> np.ndarray:
        """Degrees that the host counts; short arrays are kept as long as the candidates."""
        types = self._plan.core.relationships[group.relationships[0]].types
        anchors = None if place.ranks is None else place.anchor_row
        known = self._candidates.degrees
        key = types, group.outgoing, group.incoming, anchors, place.width
        if key in known:
            return known[key]
        bits = None if anchors is None else self._bits(place)
        graph, dtype = self._run.graph.graph, _TYPES[place.width]
        found = lengths_on_host(group, self._plan, graph, dtype, bits)
        if found.nbytes + sum(each.nbytes for each in tuple(known.values())) <= _KEPT_BYTES:
            known[key] = found
        return found

    def _bits(self, place: CountsPlace) -> np.ndarray:
        """The words of the anchor's row of the candidate matrix."""
        words = self._candidates.arrays.words
        matrix = self._candidates.matrix
        found: np.ndarray = self._run.workspace.download(matrix, place.anchor_row * words, words)
        return found

    def _ranks_of(self, rows: Sequence[int]) -> DeviceArray:
        workspace, matrix = self._run.workspace, self._candidates.matrix
        words, count = self._candidates.arrays.words, self.places.ranks
        prefix_sum = self._run.kernels.prefix_sum
        if len(rows) == 1:
            return prefix_sum.run(workspace, matrix, rows[0] * words, words, of_bits=True)
        ranks = workspace.allocate(count * len(rows), np.uint64, "ranks of anchors")
        for number, row in enumerate(rows):
            found = prefix_sum.run(workspace, matrix, row * words, words, of_bits=True)
            workspace.copy_part(found, 0, ranks, number * count, count)
            workspace.release(found)
        return ranks
