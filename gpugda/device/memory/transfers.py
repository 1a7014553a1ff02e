"""Transfers to and from arrays on the device, in order with the kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from gpugda.device.memory.uploads import UploadRing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.arrays import DeviceArray

__all__ = ["Transfers"]

_SMALL_DOWNLOAD_BYTES = 1 << 16
_SMALL_WRITE_BYTES = 1 << 12
_MIN_RING = 1 << 27
"""Bytes from which an array is sent through an `UploadRing`, which takes 50 ms to make."""
_MAX_SENT = 32
_MAX_FILLED_BYTES = 1 << 30
"""Maximum size of the driver's fill: NVIDIA's fails beyond 8 GiB of an array, even in parts."""


class Transfers:
    """Transfers on the queue of ``context``. A subclass has the context and the pending uploads."""

    context: DeviceContext
    _sent: list[Any]
    """Pending uploads and their copies. Dropping one waits for it, which is instant after a
    download.
    """

    def write(self, array: DeviceArray, values: NDArray[Any], start: int = 0) -> None:
        """Copies a contiguous NumPy array into a device array, from element ``start`` on.

        A small array is copied and sent without waiting, before any later launch.
        """
        if not values.nbytes:
            return
        is_small = values.nbytes <= _SMALL_WRITE_BYTES
        if values.nbytes >= _MIN_RING and self.context.profile.page_locked_bytes:
            ring = UploadRing.of(self.context)
            if ring is not None:
                first_byte = start * array.dtype.itemsize
                sending = ring.send(self.context.queue, array, first_byte, values, None)
                self.context.call("uploading", sending.event().wait)
                return
        sent = self.context.call(
            "uploading",
            cl.enqueue_copy,
            self.context.queue,
            array.buffer,
            values.copy() if is_small else values,
            dst_offset=start * array.dtype.itemsize,
            is_blocking=not is_small,
        )
        if is_small:
            if len(self._sent) == _MAX_SENT:
                self._sent.clear()
            self._sent.append(sent)

    def copy(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        """Copies a device array into another one of its dtype, from element ``start`` on."""
        self.copy_part(source, 0, target, start, source.count)

    def copy_part(
        self, source: DeviceArray, first: int, target: DeviceArray, place: int, count: int
    ) -> None:
        """Copies a range of elements into another array of the same dtype."""
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
        filled = min(size, _MAX_FILLED_BYTES)
        if not filled:
            return
        queue, buffer = self.context.queue, array.buffer
        self.context.call("filling", cl.enqueue_fill_buffer, queue, buffer, pattern, 0, filled)
        for start in range(filled, size, filled):
            self.context.call(
                "filling",
                cl.enqueue_copy,
                queue,
                buffer,
                buffer,
                src_offset=0,
                dst_offset=start,
                byte_count=min(filled, size - start),
            )

    def read(self, array: DeviceArray, into: NDArray[Any], start: int = 0) -> None:
        """Copies elements from ``start`` on into a contiguous NumPy array. Waits for the queue."""
        if into.nbytes:
            self.context.call(
                "downloading",
                cl.enqueue_copy,
                self.context.queue,
                into,
                array.buffer,
                src_offset=start * array.dtype.itemsize,
                is_blocking=True,
            )

    def download(
        self, array: DeviceArray, start: int = 0, count: int | None = None
    ) -> NDArray[Any]:
        """Downloads elements from ``start`` on as a NumPy array. Waits for the queue."""
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
            self._sent.clear()
        return values

    def download_at(self, array: DeviceArray, places: Sequence[int]) -> list[int]:
        """Downloads single elements, waiting once."""
        return [int(found[0]) for found in self.download_runs(array, places, 1)]

    def download_runs(
        self, array: DeviceArray, places: Sequence[int], count: int
    ) -> list[NDArray[Any]]:
        """Downloads ``count`` elements from each of these positions on, waiting once."""
        if not places or not count:
            return [np.empty(0, dtype=array.dtype) for _ in places]
        first, size = min(places), array.dtype.itemsize
        length = max(places) + count - first
        if length * size < _SMALL_DOWNLOAD_BYTES or length == len(places) * count:
            # One copy takes no longer than that of one run, or the runs have no gaps.
            values = self.download(array, first, length)
            return [values[place - first : place - first + count] for place in places]
        found = [np.empty(count, dtype=array.dtype) for _ in places]
        events = [
            self.context.call(
                "downloading",
                cl.enqueue_copy,
                self.context.queue,
                values,
                array.buffer,
                src_offset=place * size,
                is_blocking=number == len(places) - 1,
            )
            for number, (place, values) in enumerate(zip(places, found, strict=True))
        ]
        del events  # kept until the last read, as dropping one waits for it
        self._sent.clear()
        return found
