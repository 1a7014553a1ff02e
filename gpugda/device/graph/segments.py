"""Cuts a data graph's rows into segments that fit a share of the device's memory."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.patches.patched import Array

__all__ = [
    "Part",
    "Ranges",
    "Segments",
    "cut_segments",
    "directory_bytes",
    "max_runs",
    "ranges_of",
    "whole_bytes",
    "whole_segment",
]


class Part(NamedTuple):
    """Unit of loading in one direction: a segment, or a piece of a row that is too long for one."""

    segment: int
    piece: int = 0


@value(frozen=True, slots=True, eq=False)
class Segments:
    """Ranges of nodes whose rows are loaded together.

    Args:
        bounds: ``uint32[segments+1]``, the first node of each, and the number of nodes.
        pieces: For segments with a single row that is too long to be loaded: ``int64``, the
            neighbours at which it is cut, ascending, the first 0 and the last the number of nodes.
        longest: Maximum number of entries of a part in one direction.
    """

    bounds: NDArray[np.uint32]
    pieces: Mapping[int, NDArray[np.int64]]
    longest: int

    @property
    def count(self) -> int:
        """The number of segments."""
        return len(self.bounds) - 1

    def parts(self, segment: int) -> list[Part]:
        """The parts of a segment."""
        cuts = self.pieces.get(segment)
        return [Part(segment, each) for each in range(1 if cuts is None else len(cuts) - 1)]

    def neighbours(self, part: Part) -> tuple[int, int] | None:
        """The range of neighbours (end exclusive) that a part holds; None for all."""
        cuts = self.pieces.get(part.segment)
        return None if cuts is None else (int(cuts[part.piece]), int(cuts[part.piece + 1]))

    def may_meet(self, part: Part, other: Part) -> bool:
        """True if entries of both may lead to the same node."""
        one, two = self.neighbours(part), self.neighbours(other)
        return one is None or two is None or (one[0] < two[1] and two[0] < one[1])


def cut_segments(directions: Sequence[Csr], most: int, most_nodes: int | None = None) -> Segments:
    """Cuts segments of at most ``most`` entries in each direction, and ``most_nodes`` nodes.

    Relationships to the same neighbour stay together: a part has more than ``most`` entries if a
    node has that many to one neighbour.
    """
    nodes = directions[0].node_count
    bounds, pieces, longest = [0], {}, 0
    most_nodes = nodes if most_nodes is None else most_nodes
    while bounds[-1] < nodes:
        first = bounds[-1]
        last = min(first + most_nodes, *(_last_node(csr, first, most) for csr in directions))
        if last == first:
            last = first + 1
            cuts, entries = _cut_row(directions, first, most)
            pieces[len(bounds) - 1] = cuts
        else:
            entries = max(int(csr.row_offsets[last] - csr.row_offsets[first]) for csr in directions)
        longest = max(longest, entries)
        bounds.append(last)
    return Segments(np.array(bounds, dtype=np.uint32), pieces, longest)


def whole_segment(nodes: int) -> Segments:
    """A single segment of all nodes, for joins that read no entries."""
    return Segments(np.array([0, nodes], dtype=np.uint32), {}, 0)


def _last_node(csr: Csr, first: int, most: int) -> int:
    """End of the longest range of nodes whose rows fit; ``first`` if its own row does not."""
    entries = min(int(csr.row_offsets[first]) + most, csr.relationship_count)
    return int(np.searchsorted(csr.row_offsets, np.uint32(entries), side="right")) - 1


def _cut_row(directions: Sequence[Csr], node: int, most: int) -> tuple[NDArray[np.int64], int]:
    """The neighbours at which a row is cut, and the number of entries of its longest piece."""
    rows = [_sorted_row(csr, node) for csr in directions]
    cuts, nodes, longest = [0], directions[0].node_count, 0
    begins = [0] * len(rows)
    while cuts[-1] < nodes:
        ends = [
            int(row[begin + most]) if begin + most < len(row) else nodes
            for row, begin in zip(rows, begins, strict=True)
        ]
        cuts.append(max(min(ends), cuts[-1] + 1))
        # In the dtype of the rows: otherwise searchsorted would cast all of them.
        found = [int(np.searchsorted(row, np.uint32(cuts[-1]))) for row in rows]
        longest = max(longest, *(end - begin for end, begin in zip(found, begins, strict=True)))
        begins = found
    return np.array(cuts, dtype=np.int64), longest


def _sorted_row(csr: Csr, node: int) -> NDArray[np.uint32]:
    """The neighbours of a node, ascending."""
    row = csr.neighbours[int(csr.row_offsets[node]) : int(csr.row_offsets[node + 1])]
    runs = int(csr.run_offsets[node + 1] - csr.run_offsets[node])
    return np.sort(row) if runs > 1 else row


def max_runs(csr: Csr, segments: Segments) -> int:
    """Maximum number of runs of a part in a direction; each run has an entry there."""
    counts = np.diff(csr.run_offsets[segments.bounds].astype(np.int64))
    for segment in segments.pieces:
        counts[segment] = min(counts[segment], segments.longest)
    return int(counts.max(initial=0))


@value(frozen=True, slots=True, eq=False)
class Ranges:
    """The entries of a part in one direction.

    Args:
        runs: ``int64[ranges, 2]``, the first run of each range and the one after its last,
            ascending.
        entries: The same for entries, ``int64[ranges, 2]``.
        is_piece: True for a piece of a row. Then each range has one run, and may be empty.
    """

    runs: NDArray[np.int64]
    entries: NDArray[np.int64]
    is_piece: bool = False

    @property
    def count(self) -> int:
        """The number of entries."""
        return int((self.entries[:, 1] - self.entries[:, 0]).sum())

    def numbers(self) -> NDArray[np.int64]:
        """Positions of the entries, ``int64[count]``."""
        lengths = self.entries[:, 1] - self.entries[:, 0]
        before = np.cumsum(lengths) - lengths
        return np.repeat(self.entries[:, 0] - before, lengths) + np.arange(lengths.sum())


def ranges_of(csr: Csr, segments: Segments, part: Part, *, one_type: bool) -> Ranges:
    """The entries of a part; in a graph with one type, each row is a run."""
    first, last = (int(each) for each in segments.bounds[part.segment : part.segment + 2])
    offsets = None if one_type else csr.run_offsets
    runs = (first, last) if offsets is None else (int(offsets[first]), int(offsets[last]))
    neighbours = segments.neighbours(part)
    if neighbours is None:
        entries = (int(csr.row_offsets[first]), int(csr.row_offsets[last]))
        return Ranges(np.array([runs]), np.array([entries]))
    starts = csr.row_offsets if one_type else csr.run_starts
    begins = starts[runs[0] : runs[1] + 1].astype(np.int64)
    found = [begins[:-1] + _below(csr.neighbours, begins, each) for each in neighbours]
    numbers = np.arange(*runs, dtype=np.int64)
    return Ranges(np.stack([numbers, numbers + 1], axis=1), np.stack(found, axis=1), is_piece=True)


def _below(neighbours: NDArray[np.uint32], begins: NDArray[np.int64], bound: int) -> list[int]:
    """The number of neighbours below a bound in each run of a row."""
    # In the dtype of the neighbours: otherwise searchsorted would cast all of them.
    runs, limit = pairwise(begins.tolist()), np.uint32(bound)
    return [int(np.searchsorted(neighbours[low:high], limit)) for low, high in runs]


def directory_bytes(graph: DataGraph) -> int:
    """Bytes on a device of the whole directory and, with several types, a copy for the parts."""
    if len(graph.types) <= 1:
        return 2 * 4 * (graph.node_count + 1)
    total = 0
    for csr in (graph.outgoing, graph.incoming):
        parts = csr.parts
        runs, kind = len(parts.run_types), parts.run_types.dtype.itemsize
        total += 4 * len(parts.run_offsets) + (kind + 2 * 4) * runs
    return total


def whole_bytes(graph: DataGraph) -> int:
    """Bytes of all rows of both directions on a device.

    Computed from the lengths of the arrays, without making patched arrays whole.
    """
    is_one_type, total = len(graph.types) <= 1, 0
    for csr in (graph.outgoing, graph.incoming):
        parts = csr.parts
        arrays: list[Array | None] = [parts.neighbours, parts.relationship_indexes]
        if is_one_type:
            arrays.append(parts.row_offsets)
        else:
            arrays += [parts.run_offsets, parts.run_types, parts.run_starts]
        total += sum(len(each) * each.dtype.itemsize for each in arrays if each is not None)
    return total
