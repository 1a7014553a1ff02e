"""Lists of upper neighbours, built from chunks of a data graph; launcher of ``upward_lists.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from gpugda.device.program import GRAPH, get_kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["EntryChunk", "UpwardKernels", "UpwardSource"]

_FILE = "upward_lists.cl"


class EntryChunk(NamedTuple):
    """Entries of one direction that are on the device together.

    Args:
        neighbours: ``uint32``, the array of entries.
        place: Position of the first one in the array.
        first: Its position among all entries.
        size: The number of entries.
    """

    neighbours: DeviceArray
    place: int
    first: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class UpwardSource:
    """Input of the lists.

    Args:
        directory: Arguments for ``GRAPH_PARAMETERS``; entries are not read.
        type_id: Type of the relationships.
        node_count: The number of nodes of the data graph.
        run_count: The number of runs of its outgoing direction.
        ranks: ``uint32[node_count]``.
    """

    directory: Sequence[Any]
    type_id: int
    node_count: int
    run_count: int
    ranks: DeviceArray

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Arguments in the order of ``CHUNK_PARAMETERS``."""
        return (*self.directory, self.type_id, self.node_count, self.run_count, self.ranks)


class UpwardKernels:
    """Measures lists, and packs entries into sort keys."""

    def __init__(self, context: DeviceContext) -> None:
        chunk = f"{GRAPH}IIIbbQII"
        self._count = get_kernel(context, _FILE, "count_upwards", f"{chunk}b")
        self._pack = get_kernel(context, _FILE, "pack_upwards", f"{chunk}IIIbb")

    def count(self, source: UpwardSource, chunk: EntryChunk, counts: DeviceArray) -> None:
        """Adds the length of each list to ``counts``, ``uint32[2 * node_count]``."""
        self._count(chunk.size, *source.arguments, *chunk, counts)

    def pack(
        self,
        source: UpwardSource,
        chunk: EntryChunk,
        lists: tuple[int, int],
        bits: int,
        written: DeviceArray,
        numbers: DeviceArray,
    ) -> None:
        """Appends the entries of a range of lists, in no order.

        Args:
            source: Input of the lists.
            chunk: The entries to read.
            lists: The first list, and the number of lists.
            bits: Bits of a neighbour.
            written: ``uint32``, the number of entries appended so far.
            numbers: ``uint64``, with room for all: the list, counted from the first one, above the
                neighbour.
        """
        self._pack(chunk.size, *source.arguments, *chunk, *lists, bits, written, numbers)
