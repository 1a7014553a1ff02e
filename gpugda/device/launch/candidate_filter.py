"""Computes candidates of query nodes on the device; launcher of ``candidate_filter.cl``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["Batch", "CandidateFilter", "FilterArrays", "GraphByPart"]

_FILE = "candidate_filter.cl"
_WORDS_PER_PIECE = 1 << 14
_EXPLORE_PARAMETERS = f"{GRAPH}bbIbbIIIIIbbb"
_EXPLORING = ("explore_candidates",)
_EXPLORING_BALANCED = ("explore_candidates", "mark_neighbours")


class GraphByPart(Protocol):
    """Arguments for ``GRAPH_PARAMETERS``; iterating over them makes all arrays."""

    def __iter__(self) -> Iterator[Any]:
        """All arguments."""

    def of(
        self, *, outgoing: bool, incoming: bool, numbers: bool = False, lengths: bool = False
    ) -> list[Any]:
        """The arguments that a kernel needs, see `FilterArrays.reading`."""


@value(frozen=True, slots=True, eq=False)
class FilterArrays:
    """Arrays that all steps of one query read.

    Args:
        graph: Arguments for ``GRAPH_PARAMETERS``.
        query: ``uint32``, see `write_query`.
        label_bits: ``uint32[labels * words]`` or None.
        node_masks: ``uint32[masks * words]`` or None.
        relationship_masks: ``uint32[masks * relationship_words]`` or None.
        words: Words of a bitmap of nodes.
        relationship_words: Words of a bitmap of relationships.
        node_count: The number of data nodes.
    """

    graph: list[Any] | GraphByPart
    query: DeviceArray
    label_bits: DeviceArray | None
    node_masks: DeviceArray | None
    relationship_masks: DeviceArray | None
    words: int
    relationship_words: int
    node_count: int

    def reading(
        self, *, outgoing: bool, incoming: bool, numbers: bool = False, lengths: bool = False
    ) -> FilterArrays:
        """The arrays for a kernel that reads only rows of these directions, or only ``lengths``.

        With ``numbers`` the kernel also reads the relationship indexes of the entries.
        """
        if isinstance(self.graph, list):
            return self
        some = self.graph.of(outgoing=outgoing, incoming=incoming, numbers=numbers, lengths=lengths)
        return replace(self, graph=some)


@value(frozen=True, slots=True)
class Batch:
    """Rows ``first … first+count-1`` of the candidate matrix."""

    first: int
    count: int


class CandidateFilter:
    """Checks, collects and explores candidates."""

    def __init__(self, context: DeviceContext) -> None:
        self._check = get_kernel(context, _FILE, "check_candidates", f"{GRAPH}bbbbIIIIbb")
        self._count = get_kernel(context, _FILE, "count_candidates", "bIIb")
        self._collect = get_kernel(context, _FILE, "collect_candidates", "bbIIIbb")
        self._explore = [
            get_kernel(context, _FILE, name, _EXPLORE_PARAMETERS)
            for name in (_EXPLORING if context.is_cpu else _EXPLORING_BALANCED)
        ]
        self._explore_bits = (
            None
            if context.is_cpu
            else get_kernel(context, _FILE, "explore_bits", _EXPLORE_PARAMETERS)
        )

    def check_candidates(
        self,
        arrays: FilterArrays,
        batch: Batch,
        marks: DeviceArray | None,
        candidates: DeviceArray,
        kept: DeviceArray | None = None,
    ) -> None:
        """Writes a batch's rows of ``candidates`` from labels, masks, degrees and ``marks``.

        Writes the same rows to ``kept``, if given.
        """
        self._check(
            batch.count * arrays.words,
            *arrays.graph,
            arrays.query,
            arrays.label_bits,
            arrays.node_masks,
            marks,
            batch.first,
            batch.count,
            arrays.words,
            arrays.node_count,
            candidates,
            kept,
        )

    def count_candidates(
        self, arrays: FilterArrays, rows: int, candidates: DeviceArray, counts: DeviceArray
    ) -> None:
        """Adds the number of candidates of each row to ``uint32[rows]``."""
        pieces = -(-arrays.words // _WORDS_PER_PIECE)
        self._count.launch_groups(rows * pieces, candidates, rows, arrays.words, counts)

    def collect_candidates(
        self,
        arrays: FilterArrays,
        batch: Batch,
        candidates: DeviceArray,
        ranks: DeviceArray,
        kept: DeviceArray,
        nodes: DeviceArray,
    ) -> None:
        """Writes the node indexes of a batch's candidates, and copies its rows to ``kept``.

        Args:
            arrays: Arrays of the query.
            batch: The rows.
            candidates: The candidate matrix.
            ranks: ``uint64[count*words+1]``, prefix sums of the batch's bits.
            kept: Another matrix of the same shape.
            nodes: ``uint32``, as long as the total of ``ranks``.
        """
        self._collect(
            batch.count * arrays.words,
            candidates,
            ranks,
            batch.first,
            batch.count,
            arrays.words,
            kept,
            nodes,
        )

    def explore_candidates(
        self,
        arrays: FilterArrays,
        batch: Batch,
        settled: int,
        known: int,
        nodes: DeviceArray,
        ranks: DeviceArray,
        candidates: DeviceArray,
        kept: DeviceArray,
        marks: DeviceArray | None,
    ) -> None:
        """Removes candidates without a neighbour from ``kept``; marks the neighbours of the others.

        Args:
            arrays: Arrays of the query.
            batch: The rows.
            settled: Rows of lower levels are read from ``kept``, others from ``candidates``.
            known: Rows of higher levels have no candidates yet: every neighbour that fits otherwise
                counts and is marked.
            nodes: The batch's collected candidates.
            ranks: Prefix sums as in `collect_candidates`.
            candidates: The matrix to read.
            kept: The matrix in which bits are cleared.
            marks: The matrix in which neighbours are marked; None if all levels are known.
        """
        given = _explored(arrays, batch, (nodes, ranks), (settled, known), candidates, kept, marks)
        for kernel in self._explore if marks is not None else self._explore[:1]:
            kernel(nodes.count, *given)

    def explore_bits(
        self,
        arrays: FilterArrays,
        batch: Batch,
        settled: int,
        known: int,
        candidates: DeviceArray,
        kept: DeviceArray,
        marks: DeviceArray | None,
    ) -> None:
        """As `explore_candidates`, on a GPU, for few candidates that are not collected."""
        assert self._explore_bits is not None
        given = _explored(arrays, batch, (None, None), (settled, known), candidates, kept, marks)
        self._explore_bits(batch.count * arrays.words * 32, *given)


def _explored(
    arrays: FilterArrays,
    batch: Batch,
    collected: tuple[DeviceArray | None, DeviceArray | None],
    levels: tuple[int, int],
    candidates: DeviceArray,
    kept: DeviceArray,
    marks: DeviceArray | None,
) -> tuple[Any, ...]:
    return (
        *arrays.graph,
        arrays.query,
        arrays.relationship_masks,
        arrays.relationship_words,
        *collected,
        batch.first,
        batch.count,
        arrays.words,
        *levels,
        candidates,
        kept,
        marks,
    )
