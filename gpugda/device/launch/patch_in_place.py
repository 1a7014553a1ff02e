"""Turns arrays into those of the next state in place; launcher of ``patch_in_place.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.patch import block_shifts, patch_table
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.data.patches.patch import Patch
    from gpugda.data.patches.stretches import Origins
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["patch_in_place"]

_FILE = "patch_in_place.cl"
_SHARE = 1 << 13
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
    share = _SHARE if shifts else _MOVED_SHARE
    groups = -(-count // share)
    # Allocates everything before anything is written.
    table = workspace.upload(patch_table(patch), "changes")
    blocks = block_shifts(workspace, table, patch, shifts)
    edges = workspace.allocate(2 * edge * groups, array.dtype, "changes") if edge else None
    if edge:
        save = get_kernel(context, _FILE, "save_halves" if is_halves else "save_words", "bIbII")
        save.launch_groups(groups, array, older_count, edges, edge, share)
    changes = (older_count, table, stretches)
    if not shifts:
        kernel = get_kernel(
            context, _FILE, "move_halves" if is_halves else "move_words", "bIbIbIII"
        )
        kernel.launch_groups(groups, array, *changes, edges, edge, count, share)
    else:
        kernel = get_kernel(context, _FILE, "patch_words_in_place", "bIbIIbbII")
        kernel.launch_groups(groups, array, *changes, shifts, blocks, edges, edge, count)
    workspace.release(table, blocks, edges)
