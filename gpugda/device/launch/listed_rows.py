"""The rows of kept entries in a graph with one type; launcher of ``listed_rows.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.kept_entries import Chunk, KeptBits, KeptEntries
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["HEADER_WORDS", "WORDS_OF_32", "ListedKernels", "NodeStarts"]

_FILE = "listed_rows.cl"
HEADER_WORDS = WORDS_OF_32 = 2
"""Words before the list in ``csr.h``, and words of 32 nodes in it."""


class NodeStarts(NamedTuple):
    """Row offsets of nodes whose rows begin in a chunk, or, for the last chunk, at its end.

    Args:
        offsets: ``uint32``, the array that has them.
        place: Position of the first one.
        known: How many are there; all others equal the last of these.
        first: The first node.
        size: Number of nodes, and one more after the last node of the graph.
    """

    offsets: DeviceArray
    place: int
    known: int
    first: int
    size: int


class ListedKernels:
    """Lists rows, and writes where they start among the kept entries."""

    def __init__(self, context: DeviceContext) -> None:
        self._mark = get_kernel(context, _FILE, "mark_rows", "bIIbb")
        self._list = get_kernel(context, _FILE, "list_rows", "bbIb")
        self._start = get_kernel(context, _FILE, "start_rows", "bQIIQIIIbbbIbIb")
        self._mark_filled = get_kernel(context, _FILE, "mark_filled", "bbIb")
        self._move = get_kernel(context, _FILE, "move_starts", "bIbbbIb")

    def mark(
        self,
        candidates: DeviceArray,
        words: int,
        node_count: int,
        rows: DeviceArray,
        marks: DeviceArray,
    ) -> None:
        """Marks the nodes that are candidates in some rows of the matrix.

        Args:
            candidates: ``uint32[rows * words]``, the candidate matrix.
            words: Words of a row.
            node_count: The number of nodes.
            rows: ``uint32``, the number of rows, and the rows; ``NONE`` stands for all nodes.
            marks: ``uint32[words]``, the output.
        """
        self._mark(words, candidates, words, node_count, rows, marks)

    def list(self, marked: KeptBits, words: int, listed: DeviceArray) -> None:
        """Writes the list of the marked nodes: `HEADER_WORDS`, and `WORDS_OF_32` per word."""
        self._list(words, marked.bits, marked.sums, words, listed)

    def start(
        self,
        nodes: NodeStarts,
        node_count: int,
        chunk: Chunk,
        found: KeptBits,
        listed: tuple[DeviceArray, int],
        target: KeptEntries,
    ) -> None:
        """Writes the starts of listed rows; call it after the chunk's entries are written.

        Args:
            nodes: The nodes whose rows begin in the chunk.
            node_count: The number of nodes of the graph.
            chunk: The chunk.
            found: Its kept entries.
            listed: The list, and its number of rows.
            target: Its ``starts`` are the output.
        """
        self._start(
            nodes.size,
            nodes.offsets,
            nodes.place,
            nodes.known,
            nodes.first,
            nodes.size,
            node_count,
            chunk.first,
            chunk.count,
            found.bits,
            found.sums,
            target.kept,
            chunk.number,
            *listed,
            target.starts,
        )

    def mark_filled(
        self, listed: DeviceArray, starts: DeviceArray, words: int, marks: DeviceArray
    ) -> None:
        """Marks the nodes whose rows have entries: ``uint32[words]``."""
        self._mark_filled(words, listed, starts, words, marks)

    def move(
        self,
        listed: tuple[DeviceArray, int],
        starts: DeviceArray,
        marked: KeptBits,
        words: int,
        target: DeviceArray,
    ) -> None:
        """Copies the starts of the marked nodes' rows, and the end of the last one.

        Args:
            listed: The list, and its number of rows.
            starts: Starts of its rows.
            marked: The rows to copy.
            words: Words of a bitmap of nodes.
            target: ``uint32``, one more than marked rows, the output.
        """
        self._move(words, *listed, starts, marked.bits, marked.sums, words, target)
