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
    "MAX_TESTS",
    "Chunk",
    "EntryTest",
    "KeptBits",
    "KeptEntries",
    "KeptKernels",
    "KeptRuns",
    "Runs",
    "entry_words",
]

_FILE = "kept_entries.cl"
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
