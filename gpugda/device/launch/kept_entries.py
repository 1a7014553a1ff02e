"""Entries that a join can use, taken out of chunks; launcher of ``kept_entries.cl``."""

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
    "MOST_TESTS",
    "Chunk",
    "EntryTest",
    "Found",
    "KeptEntries",
    "KeptKernels",
    "KeptRuns",
    "Runs",
    "entry_words",
]

_FILE = "kept_entries.cl"
MOST_TESTS = 32
"""A run's tests are bits of a word."""


class EntryTest(NamedTuple):
    """What one link asks of an entry.

    Args:
        bound_row: Row of the node whose entries are followed in the matrix of candidates; None
            where it may be any node.
        row: Of the node at the other end, likewise.
        types: Type ids; None for any.
    """

    bound_row: int | None
    row: int | None
    types: tuple[int, ...] | None


def entry_words(tests: Sequence[EntryTest]) -> list[int]:
    """As ``kept_entries.cl`` reads them; `MOST_TESTS` at most."""
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
        count: Of the runs.
        offsets: None where there is one type only.
        types: Likewise.
        node_count: Of the data graph.
        place: Of the first one's start and type.
        first: Its number in the data graph: there may be some of the runs only.
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
    """Some entries that are on the device.

    Args:
        neighbours: Where they are.
        numbers: Which relationships they are, at the same places; None where they count up from
            their own place among all entries.
        place: Of the first one there.
        first: Its place among all entries of the direction.
        count: How many.
        number: Of the chunk; the first is 0.
    """

    neighbours: DeviceArray
    numbers: DeviceArray | None
    place: int
    first: int
    count: int
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class KeptEntries:
    """Where the kept entries go.

    Args:
        kept: ``uint64[chunks+1]``: how many there are before each chunk; 0 first.
        capacity: No more are written.
        neighbours: ``uint32[capacity]``.
        numbers: Likewise; None where nobody asks which relationships they are.
        starts: ``uint32[runs+1]``; ``uint32[capacity+1]`` of runs where others are left out.
        runs: Of these; None where all runs stay.
    """

    kept: DeviceArray
    capacity: int
    neighbours: DeviceArray
    numbers: DeviceArray | None
    starts: DeviceArray
    runs: KeptRuns | None = None


@dataclass(frozen=True, slots=True, eq=False)
class KeptRuns:
    """Where the runs go that keep entries.

    Args:
        kept: ``uint64[chunks+1]``, as of entries.
        capacity: No more are written.
        types: As of the data graph, so many.
        offsets: ``uint32[n+1]``.
    """

    kept: DeviceArray
    capacity: int
    types: DeviceArray
    offsets: DeviceArray


class Found(NamedTuple):
    """What of a chunk is kept: a bit for each, and sums of the bits."""

    bits: DeviceArray
    sums: DeviceArray


class KeptKernels:
    """Finds and copies entries."""

    def __init__(self, context: DeviceContext) -> None:
        self._find = get_kernel(context, _FILE, "find_kept", "bQbbIQIbQIIbbIb")
        self._write = get_kernel(context, _FILE, "write_kept", "bbQIIbbbIQbb")
        self._start = get_kernel(context, _FILE, "start_kept", "bQQIIbbbIb")

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
            runs: Of the direction.
            chunk: Of its entries.
            tests: See `entry_words`.
            candidates: ``uint32[rows * words]``, the matrix.
            words: Of a row.
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

    def write(self, chunk: Chunk, found: Found, target: KeptEntries) -> None:
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
        found: Found,
        target: KeptEntries,
    ) -> None:
        """Writes where runs begin among what is kept.

        ``window``: the runs, which begin in the chunk, or, of the last one, where it ends.
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
