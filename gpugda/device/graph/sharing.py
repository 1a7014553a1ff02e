"""Reuses arrays of a data graph's earlier state for a later state on the device."""

from __future__ import annotations

import operator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from gpugda.data.patches.patched import Patched
from gpugda.device.launch.patch import patch_array, patch_in_place
from gpugda.errors import MemoryLimitError
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.patches.patch import Patch
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["OutdatedArray", "Rows", "host_content", "made_from_outdated", "shared_or_outdated"]

_SHARE_OF_MEMORY = 4
"""Fraction (1/n) of device memory that all arrays may take if new ones are made from older ones.

Both exist together for a moment.
"""
_MAX_PATCHES = 4
"""An outdated array is dropped if its base is replaced more often than this meanwhile."""


@value(frozen=True, slots=True, eq=False)
class OutdatedArray:
    """An array of an earlier state, from which that of a later state is made on request.

    Args:
        before: Host array with the content after all patches.
        array: The array on the device.
        patches: Patches to apply first: each leads from one base to the next.
    """

    before: Any
    array: DeviceArray
    patches: tuple[Patch, ...] = ()


@value(frozen=True, slots=True, eq=False)
class Rows:
    """The arrays of the rows on the device, by direction and position.

    Args:
        made: Arrays of this state.
        outdated: Arrays of an earlier state.
    """

    made: dict[tuple[str, int], DeviceArray | None]
    outdated: dict[tuple[str, int], OutdatedArray]


def shared_or_outdated(
    workspace: Workspace, older: DataGraph, graph: DataGraph, rows: Rows
) -> Rows:
    """Arrays of the next state: shared ones if both states have the same content, or outdated ones.

    Args:
        workspace: Owner of the arrays.
        older: The earlier state.
        graph: The next state.
        rows: Arrays of the earlier state.
    """
    found = Rows({}, {})
    names = {name for name, _ in (*rows.made, *rows.outdated)}
    hosts = {name: (_host_arrays(older, name), _host_arrays(graph, name)) for name in names}
    for (name, place), array in rows.made.items():
        before, after = (each[place] for each in hosts[name])
        if all(map(operator.is_, before, after)):
            found.made[name, place] = None if array is None else workspace.adopt(array.shared())
        elif array is not None and before[1:] == after[1:]:
            outdated = OutdatedArray(before[0], array)
            _keep_outdated(workspace, outdated, (before[0], after[0]), (name, place), found)
    for (name, place), outdated in rows.outdated.items():
        before, after = (each[place] for each in hosts[name])
        if before[1:] == after[1:]:
            _keep_outdated(workspace, outdated, (before[0], after[0]), (name, place), found)
    return found


def _keep_outdated(
    workspace: Workspace,
    outdated: OutdatedArray,
    states: tuple[Any, Any],
    key: tuple[str, int],
    found: Rows,
) -> None:
    """Records the outdated array for the second of two states, if that can be made from it."""
    after = states[1]
    if not isinstance(after, Patched):
        return
    if after.base is not _base(outdated.before):
        # If the base is replaced once more, the relation between the two is lost.
        extended = _with_base_patch(outdated, states)
        if extended is None or len(extended.patches) > _MAX_PATCHES:
            return
        outdated = extended
    array = workspace.adopt(outdated.array.shared())
    found.outdated[key] = OutdatedArray(outdated.before, array, outdated.patches)


def _with_base_patch(outdated: OutdatedArray, states: tuple[Any, Any]) -> OutdatedArray | None:
    """The outdated array with a patch that leads to the new base; None if no such patch is known.

    Args:
        outdated: An outdated array of the old base.
        states: The two states. The one that was replaced has both bases: the state before, if the
            replacement was after that was made.
    """
    for state in reversed(states):
        patch = state.since(outdated.before) if isinstance(state, Patched) else None
        if patch is not None and state.base is states[1].base:
            return OutdatedArray(state, outdated.array, (*outdated.patches, patch))
    return None


def _base(array: Any) -> Any:
    return array.base if isinstance(array, Patched) else array


def made_from_outdated(
    workspace: Workspace, outdated: OutdatedArray, after: Any, what: str
) -> DeviceArray | None:
    """Makes a state's array, in the memory of the older one if that has no other owner.

    Returns None if no patch is known or the device has no space: then the array is uploaded. The
    outdated array is gone in any case.

    Args:
        workspace: Owner of both.
        outdated: The older array.
        after: Host array with the wanted content.
        what: Name of the array for errors.
    """
    patch = after.since(outdated.before) if isinstance(after, Patched) else None
    made = None
    with suppress(MemoryLimitError):
        made = None if patch is None else _patched(workspace, outdated, patch, what)
    if made is not outdated.array:
        for each in workspace.detach([outdated.array]):
            each.free()
    return made


def _patched(
    workspace: Workspace, outdated: OutdatedArray, last: Patch, what: str
) -> DeviceArray | None:
    """Applies all patches, one after the other; releases intermediate arrays."""
    array = outdated.array
    for patch in (*outdated.patches, last):
        made = None
        try:
            made = _made(workspace, array, patch, what)
        finally:
            if made is not array and array is not outdated.array:
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


def host_content(graph: DataGraph, name: str, place: int) -> Any:
    """Host array with the content of an array of a direction."""
    return _host_arrays(graph, name)[place][0]


def _host_arrays(graph: DataGraph, name: str) -> list[tuple[Any, ...]]:
    """What determines each array's content on the host, by array; the first item is the content."""
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
