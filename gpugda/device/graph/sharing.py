"""What a copy of a data graph on the device takes from the copy of an earlier state."""

from __future__ import annotations

import operator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpugda.data.patches.patched import Patched
from gpugda.device.launch.patch import patch_array
from gpugda.device.launch.patch_in_place import patch_in_place
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.patches.patch import Patch
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["LateArray", "Rows", "made_of_late", "taken_over", "what_is_held"]

_SHARE_OF_MEMORY = 4
"""Older arrays are there besides the new ones for a moment: only where all take at most this part
of the device's memory."""
_MOST_PATCHES = 4
"""An array that nobody asks for while its base is exchanged more often goes."""


@dataclass(frozen=True, slots=True, eq=False)
class LateArray:
    """An array of an earlier state, from which a later state's is made once it is asked for.

    Args:
        before: What it holds once the patches are applied, on the host.
        array: On the device.
        patches: What is to be applied first: each leads from one base to the next.
    """

    before: Any
    array: DeviceArray
    patches: tuple[Patch, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The arrays of the rows on the device, by direction and place.

    Args:
        made: Those that are of this state.
        late: Those that are of an earlier one.
    """

    made: dict[tuple[str, int], DeviceArray | None]
    late: dict[tuple[str, int], LateArray]


def taken_over(workspace: Workspace, older: DataGraph, graph: DataGraph, rows: Rows) -> Rows:
    """Arrays of the next state: the same ones where both states have them, or late ones.

    Args:
        workspace: Owns them.
        older: The earlier state.
        graph: The next one.
        rows: Of the earlier one.
    """
    found = Rows({}, {})
    for (name, place), array in rows.made.items():
        before, after = (_host_arrays(each, name)[place] for each in (older, graph))
        if all(map(operator.is_, before, after)):
            found.made[name, place] = None if array is None else workspace.adopt(array.shared())
        elif array is not None and before[1:] == after[1:]:
            late = LateArray(before[0], array)
            _take_late(workspace, late, (before[0], after[0]), (name, place), found)
    for (name, place), late in rows.late.items():
        before, after = (_host_arrays(each, name)[place] for each in (older, graph))
        if before[1:] == after[1:]:
            _take_late(workspace, late, (before[0], after[0]), (name, place), found)
    return found


def _take_late(
    workspace: Workspace,
    late: LateArray,
    states: tuple[Any, Any],
    key: tuple[str, int],
    found: Rows,
) -> None:
    """Notes the late array for the second of two states, if that can be made of it."""
    after = states[1]
    if not isinstance(after, Patched):
        return
    if after.base is not _base(late.before):
        # Once it is made of yet another base, nobody knows any more how the two belong together.
        on_way = _led_over(late, states)
        if on_way is None or len(on_way.patches) > _MOST_PATCHES:
            return
        late = on_way
    array = workspace.adopt(late.array.shared())
    found.late[key] = LateArray(late.before, array, late.patches)


def _led_over(late: LateArray, states: tuple[Any, Any]) -> LateArray | None:
    """The same with a patch that leads to the new base; None where nothing tells it.

    Args:
        late: Of the old base.
        states: What was exchanged has both bases: the state before, if it was after that was made.
    """
    for state in reversed(states):
        patch = state.since(late.before) if isinstance(state, Patched) else None
        if patch is not None and state.base is states[1].base:
            return LateArray(state, late.array, (*late.patches, patch))
    return None


def _base(array: Any) -> Any:
    return array.base if isinstance(array, Patched) else array


def made_of_late(
    workspace: Workspace, late: LateArray, after: Any, what: str
) -> DeviceArray | None:
    """The array that a state has, in the memory of the older one if nobody else owns that.

    None where nothing tells how to make it, or the device has no place: then it is uploaded.
    The late one is gone in any case.

    Args:
        workspace: Owns both.
        late: The older one.
        after: What it is to hold, on the host.
        what: For errors.
    """
    patch = after.since(late.before) if isinstance(after, Patched) else None
    made = None
    with suppress(MemoryLimitError):
        made = None if patch is None else _patched(workspace, late, patch, what)
    if made is not late.array:
        for each in workspace.given_away([late.array]):
            each.free()
    return made


def _patched(workspace: Workspace, late: LateArray, last: Patch, what: str) -> DeviceArray | None:
    """With all patches, one after the other; what is made on the way goes."""
    array = late.array
    for patch in (*late.patches, last):
        made = None
        try:
            made = _made(workspace, array, patch, what)
        finally:
            if made is not array and array is not late.array:
                workspace.release(array)
        if made is None:
            return None
        array = made
    return array


def _made(workspace: Workspace, older: DeviceArray, patch: Patch, what: str) -> DeviceArray | None:
    if older.has_one_owner and patch_in_place(workspace, older, patch):
        return older
    most = workspace.context.info.global_memory_bytes // _SHARE_OF_MEMORY
    if workspace.budget.used > most:
        return None
    return patch_array(workspace, older, patch, what)


def what_is_held(graph: DataGraph, name: str, place: int) -> Any:
    """What an array of a direction holds, on the host."""
    return _host_arrays(graph, name)[place][0]


def _host_arrays(graph: DataGraph, name: str) -> list[tuple[Any, ...]]:
    """What each array of a direction is made of on the host; the first is what it holds."""
    csr = getattr(graph, name).parts
    is_one_type = len(graph.types) <= 1
    starts = csr.row_offsets if is_one_type else csr.run_starts
    return [
        (csr.neighbours,),
        (csr.run_offsets, is_one_type),
        (csr.run_types, is_one_type),
        (starts, is_one_type),
        (csr.relationship_indexes,),
    ]
