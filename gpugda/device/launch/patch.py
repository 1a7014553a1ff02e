"""Makes arrays on the device from older ones; launcher of ``patch.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.patch import Patch
    from gpugda.data.patches.stretches import Origins
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["block_shifts", "patch_array", "patch_in_place", "patch_table"]

_PATCH_FILE = "patch.cl"
_BLOCK_BITS = 5
_FEW_SHIFTS = 32
"""Both values as in ``patch.h``."""
_SPARE_PART = 64
"""Arrays get 1/n more space, so that arrays of later states fit in the same memory."""
_SHARE = 1 << 14
"""Entries that a work group makes."""


def patch_array(
    workspace: Workspace, older: DeviceArray, patch: Patch, what: str = "an array"
) -> DeviceArray:
    """Makes an array of ``uint32`` or ``uint16`` from an older one on the device, which stays.

    Args:
        workspace: Owner of the array.
        older: The older array.
        patch: The changes; numbers that move are below the older array's own bounds.
        what: Name of the array for errors.

    Raises:
        MemoryLimitError: It does not fit.
    """
    count, stretches = patch.origins.count, len(patch.origins.starts)
    found = workspace.allocate(count + count // _SPARE_PART, older.dtype, what)
    found.count = count
    if not count:
        return found
    context, table = workspace.context, workspace.upload(patch_table(patch), "changes")
    groups = -(-count // _SHARE)
    before = (older, patch.origins.older_count, table, stretches)
    if older.dtype == np.uint16:
        kernel = get_kernel(context, _PATCH_FILE, "patch_halves", "bIbIbII")
        kernel.launch_groups(groups, *before, found, count, _SHARE)
        workspace.release(table)
        return found
    shifts = 0 if patch.shifts is None else len(patch.shifts.starts)
    blocks = block_shifts(workspace, table, patch, shifts)
    kernel = get_kernel(context, _PATCH_FILE, "patch_words", "bIbIIbbII")
    kernel.launch_groups(groups, *before, shifts, blocks, found, count, _SHARE)
    workspace.release(table, blocks)
    return found


def block_shifts(
    workspace: Workspace, table: DeviceArray, patch: Patch, shifts: int
) -> DeviceArray | None:
    """Shifts of blocks of numbers; None if each number is compared with all starts instead."""
    context = workspace.context
    few = _FEW_SHIFTS if context.profile.group_size == 1 else 0
    if shifts <= few or patch.shifts is None:
        return None
    count = (patch.bound >> _BLOCK_BITS) + 1
    blocks = workspace.allocate(count, np.uint32, "changes")
    kernel = get_kernel(context, _PATCH_FILE, "block_shifts", "bIIIb")
    kernel(count, table, len(patch.origins.starts), shifts, count, blocks)
    return blocks


def patch_table(patch: Patch) -> NDArray[np.uint32]:
    """Encodes a patch for ``patch.cl``."""
    origins, shifts, amounts = patch.origins, patch.shifts, patch.amounts
    parts = [origins.starts, origins.places]
    parts.append(np.zeros(len(origins.starts), dtype=np.int64) if amounts is None else amounts)
    if shifts is not None:
        parts += [shifts.starts, shifts.amounts]
    parts.append(patch.added)
    # Negative numbers wrap around.
    return np.concatenate(parts).astype(np.int64).astype(np.uint32)


_PATCH_IN_PLACE_FILE = "patch_in_place.cl"
_ITEM_SHARE = 1 << 13
_MAX_EDGE = 1 << 10
"""Both values as in ``patch_in_place.cl``."""
_MOVED_SHARE = 1 << 16
"""Entries that a work group moves if their values stay."""


def patch_in_place(workspace: Workspace, array: DeviceArray, patch: Patch) -> bool:
    """Turns an array of ``uint32`` or ``uint16`` into that of the next state, in its own memory.

    Nothing else may read the array. Returns False, with the array unchanged, if this is impossible.

    Args:
        workspace: Owner of the table of changes.
        array: The older array, afterwards the next one.
        patch: The changes; numbers that move are below the older array's own bounds.

    Raises:
        MemoryLimitError: The additional memory does not fit; the array is unchanged.
    """
    count, edge = patch.origins.count, _edge(patch.origins)
    has_place = count * array.dtype.itemsize <= array.nbytes
    if workspace.context.profile.group_size > 1 or not has_place or edge > _MAX_EDGE:
        return False
    if count:
        _launch(workspace, array, patch, edge)
    array.count = count
    return True


def _edge(origins: Origins) -> int:
    """Maximum distance by which entries move."""
    stays = origins.before >= 0
    moves = np.abs(origins.starts[stays] - origins.places[stays])
    return int(moves.max(initial=0))


def _launch(workspace: Workspace, array: DeviceArray, patch: Patch, edge: int) -> None:
    context, count = workspace.context, patch.origins.count
    is_halves = array.dtype == np.uint16
    older_count, stretches = patch.origins.older_count, len(patch.origins.starts)
    shifts = 0 if patch.shifts is None else len(patch.shifts.starts)
    share = _ITEM_SHARE if shifts else _MOVED_SHARE
    groups = -(-count // share)
    # Allocates everything before anything is written.
    table = workspace.upload(patch_table(patch), "changes")
    blocks = block_shifts(workspace, table, patch, shifts)
    edges = workspace.allocate(2 * edge * groups, array.dtype, "changes") if edge else None
    if edge:
        save = get_kernel(
            context, _PATCH_IN_PLACE_FILE, "save_halves" if is_halves else "save_words", "bIbII"
        )
        save.launch_groups(groups, array, older_count, edges, edge, share)
    changes = (older_count, table, stretches)
    if not shifts:
        kernel = get_kernel(
            context, _PATCH_IN_PLACE_FILE, "move_halves" if is_halves else "move_words", "bIbIbIII"
        )
        kernel.launch_groups(groups, array, *changes, edges, edge, count, share)
    else:
        kernel = get_kernel(context, _PATCH_IN_PLACE_FILE, "patch_words_in_place", "bIbIIbbII")
        kernel.launch_groups(groups, array, *changes, shifts, blocks, edges, edge, count)
    workspace.release(table, blocks, edges)
