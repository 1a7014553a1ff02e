"""Prefix sums and a stable radix sort on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["PrefixSum", "RadixSort"]

_PREFIX_SUM_FILE = "prefix_sum.cl"
_VALUES, _BITS = 0, 1


class PrefixSum:
    """Exclusive prefix sums of u32 arrays, in u64."""

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._sum_blocks = get_kernel(context, _PREFIX_SUM_FILE, "sum_blocks", "bQQIQb")
        self._scan_block_sums = get_kernel(context, _PREFIX_SUM_FILE, "scan_block_sums", "bQ")
        self._write = get_kernel(context, _PREFIX_SUM_FILE, "write_prefix_sums", "bQQIQbIb")

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


_RADIX_SORT_FILE: Final = "radix_sort.cl"
_DIGIT_BITS: Final = 8
_DIGITS: Final = 1 << _DIGIT_BITS
_SMALLEST_BLOCK: Final = 1 << 13
_MAX_BLOCKS: Final = 1 << 15
"""Maximum blocks on a GPU: each has a count per digit, over which prefix sums are computed."""


class RadixSort:
    """Sorts 64-bit keys, each with an optional 32-bit payload.

    Args:
        context: The device.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._sums = PrefixSum(context)
        self._count = get_kernel(context, _RADIX_SORT_FILE, "count_digits", "bQIQIb")
        self._scatter = get_kernel(context, _RADIX_SORT_FILE, "scatter_digits", "bbQIQIbbb")

    def run(
        self,
        workspace: Workspace,
        numbers: DeviceArray,
        beside: DeviceArray | None,
        bits: int,
    ) -> tuple[DeviceArray, DeviceArray | None]:
        """Sorts the numbers and their payload by the lowest bits; consumes the arguments.

        Args:
            workspace: Owner of the arrays.
            numbers: ``uint64`` keys.
            beside: ``uint32`` payload of the same length, or None.
            bits: Number of low bits to sort by; higher bits are 0 in all numbers.

        Raises:
            MemoryLimitError: A second array of each does not fit.
        """
        count = numbers.count
        if count < 2:
            return numbers, beside
        size = self._block_size(count)
        blocks = -(-count // size)
        others = workspace.allocate(count, np.uint64, "numbers to sort")
        others_beside = beside and workspace.allocate(count, np.uint32, "numbers to sort")
        counts = workspace.allocate(_DIGITS * blocks, np.uint32, "digits")
        for shift in range(0, bits, _DIGIT_BITS):
            self._count.launch_groups(blocks, numbers, count, shift, size, blocks, counts)
            firsts = self._sums.run(workspace, counts, 0, counts.count)
            before = (numbers, beside, count, shift, size, blocks, firsts)
            self._scatter.launch_groups(blocks, *before, others, others_beside)
            workspace.release(firsts)
            numbers, others = others, numbers
            beside, others_beside = others_beside, beside
        workspace.release(others, others_beside, counts)
        return numbers, beside

    def _block_size(self, count: int) -> int:
        shares = self._context.profile.sum_shares
        if shares is None:
            return max(_SMALLEST_BLOCK, -(-count // _MAX_BLOCKS))
        return max(_SMALLEST_BLOCK, -(-count // (shares * self._context.info.compute_units)))
