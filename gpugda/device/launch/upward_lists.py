"""Lists of upper neighbours, built from chunks of a data graph, and triangles in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gpugda.device.launch.cycles import share_of_nodes
from gpugda.device.program import GRAPH, get_kernel
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.cycles import CycleTasks
    from gpugda.device.memory.buffers import DeviceArray

__all__ = [
    "EntryChunk",
    "NodeLists",
    "UpwardKernels",
    "UpwardSource",
    "UpwardTriangleKernels",
    "total_bytes",
]

_UPWARD_LISTS_FILE = "upward_lists.cl"


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


@value(frozen=True, slots=True, eq=False)
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
        self._count = get_kernel(context, _UPWARD_LISTS_FILE, "count_upwards", f"{chunk}b")
        self._pack = get_kernel(context, _UPWARD_LISTS_FILE, "pack_upwards", f"{chunk}IIIbb")

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


_GROUPS_PER_UNIT = 16
_TASKS_PER_GROUP = 256
_MAX_TASK_NODES = 16


def total_bytes(compute_units: int) -> int:
    """Bytes of the totals of all work groups on a device with this many compute units."""
    return 8 * compute_units * _GROUPS_PER_UNIT


class NodeLists(NamedTuple):
    """The lists of a range of nodes, which are on the device.

    Args:
        low: The first node.
        high: The one after the last.
        place: Position of the starts of their lists, which the lists follow.
    """

    low: int
    high: int
    place: int


class UpwardTriangleKernels:
    """Counts each triangle from its lowest node."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._count = get_kernel(
            context, "upward_triangles.cl", "count_upward_triangles", "bIIQIIQIQIIbb"
        )

    @property
    def groups(self) -> int:
        """The number of work groups that keeps the device busy; the length of ``totals``."""
        return self._context.info.compute_units * _GROUPS_PER_UNIT

    def task_nodes(self, nodes: int) -> int:
        """Nodes of a task, for ``nodes`` lowest nodes."""
        return share_of_nodes(nodes, self.groups, _TASKS_PER_GROUP, _MAX_TASK_NODES)

    def count(
        self,
        lists: DeviceArray,
        lowest: NodeLists,
        middle: NodeLists,
        weights: int,
        tasks: CycleTasks,
        *,
        looks_up: bool,
    ) -> None:
        """Takes tasks; adds their counts to ``totals``.

        Args:
            lists: ``uint32``, for each range of nodes the starts of their lists among all lists,
                two per node and the end of the last, followed by the lists.
            lowest: The lowest nodes of the triangles to count.
            middle: The middle nodes of the triangles to count.
            weights: Embeddings per kind of triangle, see ``triangles_above.h``.
            tasks: The tasks, without scratch.
            looks_up: True if nodes may have parallel relationships.
        """
        task_nodes = self.task_nodes(lowest.high - lowest.low)
        self._count.launch_groups(
            self.groups,
            lists,
            *lowest,
            *middle,
            task_nodes,
            tasks.max_work,
            weights,
            looks_up,
            tasks.counters,
            tasks.totals,
        )
