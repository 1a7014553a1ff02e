"""Selects the entries of chunks that a join can use; launcher of ``kept_entries.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.query_words import NONE
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = [
    "HEADER_WORDS",
    "MAX_TESTS",
    "WORDS_OF_32",
    "Chunk",
    "EntryTest",
    "KeptBits",
    "KeptEntries",
    "KeptKernels",
    "KeptRuns",
    "ListedKernels",
    "NodeStarts",
    "RunKernels",
    "Runs",
    "entry_words",
]

_KEPT_ENTRIES_FILE = "kept_entries.cl"
MAX_TESTS = 32
"""Maximum number of tests: a run's tests are bits of a word."""


class EntryTest(NamedTuple):
    """Conditions of one link on an entry.

    Args:
        bound_row: Row in the candidate matrix of the node whose entries are followed; None if it
            may be any node.
        row: The same for the node at the other end.
        types: Type ids; None for any.
    """

    bound_row: int | None
    row: int | None
    types: tuple[int, ...] | None


def entry_words(tests: Sequence[EntryTest]) -> list[int]:
    """Encodes tests for ``kept_entries.cl``; `MAX_TESTS` at most."""
    words, types = [len(tests)], list[int]()
    place = 1 + 4 * len(tests)
    for each in tests:
        rows = [NONE if row is None else row for row in (each.bound_row, each.row)]
        count = NONE if each.types is None else len(each.types)
        words += [*rows, place + len(types), count]
        types += each.types or ()
    return words + types


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """The directory of a direction, see ``csr.h``.

    Args:
        starts: ``uint32[count+1]``.
        count: The number of runs.
        offsets: Run offsets of nodes; None if there is only one type.
        types: Types of runs; None if there is only one type.
        node_count: The number of nodes of the data graph.
        place: Position of the first run's start and type.
        first: Its number in the data graph, as the arrays may hold a part of the runs only.
    """

    starts: DeviceArray
    count: int
    offsets: DeviceArray | None
    types: DeviceArray | None
    node_count: int
    place: int = 0
    first: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Entries that are on the device together.

    Args:
        neighbours: The array of entries.
        numbers: Their relationship indexes, at the same positions; None if these equal the position
            among all entries of the direction.
        place: Position of the first entry in the array.
        first: Its position among all entries of the direction.
        count: The number of entries.
        number: Number of the chunk; the first is 0.
    """

    neighbours: DeviceArray
    numbers: DeviceArray | None
    place: int
    first: int
    count: int
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class KeptEntries:
    """Output arrays for the kept entries.

    Args:
        kept: ``uint64[chunks+1]``: the number kept before each chunk; the first is 0.
        capacity: Maximum number of entries that are written.
        neighbours: ``uint32[capacity]``.
        numbers: ``uint32[capacity]``, relationship indexes; None if they are not needed.
        starts: ``uint32[runs+1]``; ``uint32[capacity+1]`` if runs without entries are dropped.
        runs: Output for the runs; None if all runs stay.
    """

    kept: DeviceArray
    capacity: int
    neighbours: DeviceArray
    numbers: DeviceArray | None
    starts: DeviceArray
    runs: KeptRuns | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KeptRuns:
    """Output arrays for the runs that keep entries.

    Args:
        kept: ``uint64[chunks+1]``, as for entries.
        capacity: Maximum number of runs that are written.
        types: Types of runs, dtype as in the data graph, length ``capacity``.
        offsets: ``uint32[n+1]``.
    """

    kept: DeviceArray
    capacity: int
    types: DeviceArray
    offsets: DeviceArray


class KeptBits(NamedTuple):
    """The kept elements of a chunk: one bit for each, and prefix sums of the bits."""

    bits: DeviceArray
    sums: DeviceArray


class KeptKernels:
    """Finds and copies entries."""

    def __init__(self, context: DeviceContext) -> None:
        self._find = get_kernel(context, _KEPT_ENTRIES_FILE, "find_kept", "bQbbIQIbQIIbbIb")
        self._write = get_kernel(context, _KEPT_ENTRIES_FILE, "write_kept", "bbQIIbbbIQbb")
        self._start = get_kernel(context, _KEPT_ENTRIES_FILE, "start_kept", "bQQIIbbbIb")

    def find(
        self,
        runs: Runs,
        chunk: Chunk,
        tests: DeviceArray,
        candidates: DeviceArray,
        words: int,
        bits: DeviceArray,
    ) -> None:
        """Writes a bit per entry of a chunk.

        Args:
            runs: Runs of the direction.
            chunk: Entries of the direction.
            tests: See `entry_words`.
            candidates: ``uint32[rows * words]``, the candidate matrix.
            words: Words of a row.
            bits: ``uint32``, a word for 32 entries.
        """
        self._find(
            -(-chunk.count // 32),
            runs.starts,
            runs.count,
            runs.offsets,
            runs.types,
            runs.node_count,
            runs.place,
            runs.first,
            chunk.neighbours,
            chunk.place,
            chunk.first,
            chunk.count,
            tests,
            candidates,
            words,
            bits,
        )

    def write(self, chunk: Chunk, found: KeptBits, target: KeptEntries) -> None:
        """Copies the entries of a chunk whose bits are set."""
        self._write(
            -(-chunk.count // 32),
            chunk.neighbours,
            chunk.numbers,
            chunk.place,
            chunk.first,
            chunk.count,
            found.bits,
            found.sums,
            target.kept,
            chunk.number,
            target.capacity,
            target.neighbours,
            target.numbers,
        )

    def start(
        self,
        runs: Runs,
        window: tuple[int, int],
        chunk: Chunk,
        found: KeptBits,
        target: KeptEntries,
    ) -> None:
        """Writes the starts of runs among the kept entries.

        ``window``: the runs that begin in the chunk, or, for the last chunk, at its end.
        """
        self._start(
            window[1] - window[0],
            runs.starts,
            window[0],
            window[1] - window[0],
            chunk.first,
            chunk.count,
            found.bits,
            found.sums,
            target.kept,
            chunk.number,
            target.starts,
        )


_KEPT_RUNS_FILE = "kept_runs.cl"


class RunKernels:
    """Finds and copies runs."""

    def __init__(self, context: DeviceContext) -> None:
        self._find = get_kernel(context, _KEPT_RUNS_FILE, "find_runs", "bQQIIbbb")
        self._write = get_kernel(context, _KEPT_RUNS_FILE, "write_runs", "bbQQIIbbbIbbbQbb")
        self._start = get_kernel(context, _KEPT_RUNS_FILE, "start_nodes", "bIIIQbbbIb")

    def find(self, runs: Runs, chunk: Chunk, found: KeptBits, bits: DeviceArray) -> None:
        """Writes a bit per run that begins in a chunk (``runs``); at least one word."""
        self._find(
            max(1, -(-runs.count // 32)),
            runs.starts,
            runs.place,
            runs.count,
            chunk.first,
            chunk.count,
            found.bits,
            found.sums,
            bits,
        )

    def write(
        self,
        runs: Runs,
        chunk: Chunk,
        entries: KeptBits,
        found: KeptBits,
        target: KeptEntries,
        nodes: tuple[int, int],
    ) -> None:
        """Copies the runs whose bits are set; call it after the chunk's entries are written.

        Args:
            runs: The runs that begin in the chunk.
            chunk: The chunk whose entries were written.
            entries: The kept ones of these.
            found: The kept ones of the runs.
            target: Output, with arrays for runs.
            nodes: Nodes whose first runs begin in the chunk, or, for the last chunk, at its end:
                the first one and the one after the last.
        """
        kept = target.runs
        assert kept is not None
        self._write(
            max(1, -(-runs.count // 32)),
            runs.starts,
            runs.types,
            runs.place,
            runs.count,
            chunk.first,
            chunk.count,
            entries.bits,
            entries.sums,
            target.kept,
            chunk.number,
            found.bits,
            found.sums,
            kept.kept,
            kept.capacity,
            kept.types,
            target.starts,
        )
        self._start(
            nodes[1] - nodes[0],
            runs.offsets,
            nodes[0],
            nodes[1] - nodes[0],
            runs.first,
            runs.count,
            found.bits,
            found.sums,
            kept.kept,
            chunk.number,
            kept.offsets,
        )


_LISTED_ROWS_FILE = "listed_rows.cl"
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
        self._mark = get_kernel(context, _LISTED_ROWS_FILE, "mark_rows", "bIIbb")
        self._list = get_kernel(context, _LISTED_ROWS_FILE, "list_rows", "bbIb")
        self._start = get_kernel(context, _LISTED_ROWS_FILE, "start_rows", "bQIIQIIIbbbIbIb")
        self._mark_filled = get_kernel(context, _LISTED_ROWS_FILE, "mark_filled", "bbIb")
        self._move = get_kernel(context, _LISTED_ROWS_FILE, "move_starts", "bIbbbIb")

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
