"""Lists of upper neighbours, made of chunks of a data graph; launcher of ``upward_lists.cl``."""

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
    """Some entries of one direction that are on the device.

    Args:
        neighbours: ``uint32``, where they are.
        place: Of the first one there.
        first: Its place among all entries.
        size: How many.
    """

    neighbours: DeviceArray
    place: int
    first: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class UpwardSource:
    """What lists are made of.

    Args:
        directory: For ``GRAPH_PARAMETERS``, entries are not looked at.
        type_id: Of the relationships.
        node_count: Of the data graph.
        run_count: Runs of its outgoing direction.
        ranks: ``uint32[node_count]``.
    """

    directory: Sequence[Any]
    type_id: int
    node_count: int
    run_count: int
    ranks: DeviceArray

    @property
    def arguments(self) -> tuple[Any, ...]:
        """In the order of ``CHUNK_PARAMETERS``."""
        return (*self.directory, self.type_id, self.node_count, self.run_count, self.ranks)


class UpwardKernels:
    """Measures lists, and packs what is sorted into them."""

    def __init__(self, context: DeviceContext) -> None:
        chunk = f"{GRAPH}IIIbbQII"
        self._count = get_kernel(context, _FILE, "count_upwards", f"{chunk}b")
        self._pack = get_kernel(context, _FILE, "pack_upwards", f"{chunk}IIIbb")

    def count(self, source: UpwardSource, chunk: EntryChunk, counts: DeviceArray) -> None:
        """Adds to ``counts``, ``uint32[2 * node_count]``, how long each list becomes."""
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
        """Appends the entries of some lists, in no order.

        Args:
            source: Of the lists.
            chunk: That is looked at.
            lists: The first one, and how many.
            bits: Of a neighbour.
            written: ``uint32``, how many entries were appended.
            numbers: ``uint64``, with room for all: the list, seen from the first one, then the
                neighbour.
        """
        self._pack(chunk.size, *source.arguments, *chunk, *lists, bits, written, numbers)
