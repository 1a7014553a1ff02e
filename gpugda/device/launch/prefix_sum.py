"""Prefix sums on the device; launcher of ``prefix_sum.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["PrefixSum"]

_FILE = "prefix_sum.cl"
_VALUES, _BITS = 0, 1


class PrefixSum:
    """Exclusive prefix sums of u32 arrays, in u64."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._sum_blocks = get_kernel(context, _FILE, "sum_blocks", "bQQIQb")
        self._scan_block_sums = get_kernel(context, _FILE, "scan_block_sums", "bQ")
        self._write = get_kernel(context, _FILE, "write_prefix_sums", "bQQIQbIb")

    def run(
        self,
        workspace: Workspace,
        values: DeviceArray,
        first: int,
        count: int,
        *,
        of_bits: bool = False,
    ) -> DeviceArray:
        """Returns ``uint64[count+1]``: sums of ``values[first:first+i]``, the total last.

        Args:
            workspace: Owner of the result.
            values: ``uint32``.
            first: First element.
            count: The number of elements.
            of_bits: True to sum the number of bits set in each element instead of the elements.

        Raises:
            MemoryLimitError: The sums do not fit.
        """
        what = _BITS if of_bits else _VALUES
        block = self._block_size(count)
        blocks = max(1, -(-count // block))
        sums = workspace.allocate(count + 1, np.uint64, "prefix sums")
        block_sums = workspace.allocate(blocks, np.uint64, "sums of blocks")
        if blocks > 1:
            self._sum_blocks.launch_groups(blocks, values, first, count, what, block, block_sums)
            self._scan_block_sums.launch_groups(1, block_sums, blocks)
        self._write.launch_groups(
            blocks, values, first, count, what, block, block_sums, blocks, sums
        )
        workspace.release(block_sums)
        return sums

    def _block_size(self, count: int) -> int:
        profile = self._context.profile
        if profile.sum_shares is None:
            return profile.sum_block
        shares = profile.sum_shares * self._context.info.compute_units
        return max(profile.sum_block, -(-count // shares))
