"""What goes to and from arrays on the device, in the order of the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.arrays import DeviceArray

__all__ = ["Transfers"]

_SMALL_DOWNLOAD_BYTES = 1 << 16
_MOST_FILLED_BYTES = 1 << 30
"""At once: not every driver counts in 64 bits."""


class Transfers:
    """By the queue of ``context``, which a subclass has."""

    context: DeviceContext

    def write(self, array: DeviceArray, values: NDArray[Any], start: int = 0) -> None:
        """Copies a contiguous NumPy array into a device array, from element ``start`` on."""
        if values.nbytes:
            self.context.call(
                "uploading",
                cl.enqueue_copy,
                self.context.queue,
                array.buffer,
                values,
                dst_offset=start * array.dtype.itemsize,
                is_blocking=True,
            )

    def copy(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        """Copies a device array into another one of its dtype, from element ``start`` on."""
        self.copy_part(source, 0, target, start, source.count)

    def copy_part(
        self, source: DeviceArray, first: int, target: DeviceArray, place: int, count: int
    ) -> None:
        """Copies some elements into another array of their dtype."""
        size = target.dtype.itemsize
        self.context.call(
            "copying",
            cl.enqueue_copy,
            self.context.queue,
            target.buffer,
            source.buffer,
            src_offset=first * size,
            dst_offset=place * size,
            byte_count=count * size,
        )

    def fill(self, array: DeviceArray, value: int) -> None:
        """Sets all elements."""
        pattern = np.array(value, dtype=array.dtype)
        size = array.count * array.dtype.itemsize
        for start in range(0, size, _MOST_FILLED_BYTES):
            self.context.call(
                "filling",
                cl.enqueue_fill_buffer,
                self.context.queue,
                array.buffer,
                pattern,
                start,
                min(size - start, _MOST_FILLED_BYTES),
            )

    def read(self, array: DeviceArray, into: NDArray[Any]) -> None:
        """Copies an array into a NumPy array of its length. Waits for the queue."""
        if into.nbytes:
            self.context.call(
                "downloading",
                cl.enqueue_copy,
                self.context.queue,
                into,
                array.buffer,
                is_blocking=True,
            )

    def download(
        self, array: DeviceArray, start: int = 0, count: int | None = None
    ) -> NDArray[Any]:
        """Elements from ``start`` on, as a NumPy array. Waits for the queue."""
        wanted = array.count - start if count is None else count
        values = np.empty(wanted, dtype=array.dtype)
        if wanted:
            self.context.call(
                "downloading",
                cl.enqueue_copy,
                self.context.queue,
                values,
                array.buffer,
                src_offset=start * array.dtype.itemsize,
                is_blocking=True,
            )
        return values

    def download_at(self, array: DeviceArray, places: Sequence[int]) -> list[int]:
        """Single elements, waiting once."""
        if not places:
            return []
        first, last = min(places), max(places)
        if (last - first) * array.dtype.itemsize < _SMALL_DOWNLOAD_BYTES:
            # One copy takes no longer than one of these elements would.
            values = self.download(array, first, last - first + 1)
            found: list[int] = values[np.subtract(places, first)].tolist()
            return found
        values = np.empty(len(places), dtype=array.dtype)
        size = array.dtype.itemsize
        events = [
            self.context.call(
                "downloading",
                cl.enqueue_copy,
                self.context.queue,
                values[number : number + 1],
                array.buffer,
                src_offset=place * size,
                is_blocking=number == len(places) - 1,
            )
            for number, place in enumerate(places)
        ]
        del events  # kept until the last read, for dropping one waits
        return [int(value) for value in values]
