"""Makes arrays on the device from older ones; launcher of ``patch.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.patch import Patch
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["block_shifts", "patch_array", "patch_table"]

_FILE = "patch.cl"
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
        kernel = get_kernel(context, _FILE, "patch_halves", "bIbIbII")
        kernel.launch_groups(groups, *before, found, count, _SHARE)
        workspace.release(table)
        return found
    shifts = 0 if patch.shifts is None else len(patch.shifts.starts)
    blocks = block_shifts(workspace, table, patch, shifts)
    kernel = get_kernel(context, _FILE, "patch_words", "bIbIIbbII")
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
    kernel = get_kernel(context, _FILE, "block_shifts", "bIIIb")
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
