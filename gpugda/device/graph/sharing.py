"""What a copy of a data graph on the device takes from the copy of an earlier state."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from gpugda.data.patches.patched import Patched
from gpugda.device.launch.patch import patch_array
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["taken_over"]

_SHARE_OF_MEMORY = 4
"""Older arrays are there besides the new ones for a moment: only where all take at most this part
of the device's memory."""


def taken_over(
    workspace: Workspace,
    older: DataGraph,
    graph: DataGraph,
    arrays: dict[tuple[str, int], DeviceArray | None],
) -> dict[tuple[str, int], DeviceArray | None]:
    """Arrays of the next state: the same ones where both states have them, or made of the older.

    Args:
        workspace: Owns them.
        older: The earlier state.
        graph: The next one.
        arrays: The older ones by direction and place.
    """
    found: dict[tuple[str, int], DeviceArray | None] = {}
    size = sum(array.nbytes for array in arrays.values() if array is not None)
    has_place = size <= workspace.context.info.global_memory_bytes // _SHARE_OF_MEMORY
    for (name, place), array in arrays.items():
        before, after = (_host_arrays(each, name)[place] for each in (older, graph))
        if all(map(operator.is_, before, after)):
            found[name, place] = None if array is None else workspace.adopt(array.shared())
        elif place and array is not None and has_place and before[1:] == after[1:]:
            made = _made(workspace, before[0], after[0], array, f"{name} relationships")
            if made is not None:
                found[name, place] = made
    return found


def _made(
    workspace: Workspace, before: Any, after: Any, array: DeviceArray, what: str
) -> DeviceArray | None:
    """None where nothing tells how to make it, or the device has no place: then it is uploaded."""
    patch = after.since(before) if isinstance(after, Patched) else None
    if patch is None:
        return None
    try:
        return patch_array(workspace, array, patch, what)
    except MemoryLimitError:
        return None


def _host_arrays(graph: DataGraph, name: str) -> list[tuple[Any, ...]]:
    """What each array of a direction is made of on the host; the first is what it holds."""
    csr = getattr(graph, name).parts
    is_one_type = len(graph.types) <= 1
    starts = csr.row_offsets if is_one_type else csr.run_starts
    return [
        (csr.run_offsets, csr.run_types, is_one_type),
        (csr.neighbours,),
        (csr.run_offsets, is_one_type),
        (csr.run_types, is_one_type),
        (starts, is_one_type),
        (csr.relationship_indexes,),
    ]
