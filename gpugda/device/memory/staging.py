"""Long downloads through page-locked memory while kernels run."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["Staging"]


class Staging:
    """Copies results to the host on its own queue. For several threads, one at a time.

    The device writes to one page-locked buffer while the host copies out of the other. The host's
    first write to a new page takes four times as long as the device's transfer of it.

    Args:
        context: The device.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._queue: Any = context.call("opening a queue", cl.CommandQueue, context.context)
        self._pieces = [self._page_locked(), self._page_locked()]

    @classmethod
    def of(cls, context: DeviceContext) -> Staging:
        """The context's staging, created on demand. Under the context's lock."""
        if context.staging is None:
            context.staging = cls(context)
        found: Staging = context.staging
        return found

    def copy(self, source: DeviceArray, target: DeviceArray) -> Any:
        """Starts a copy on the device, in order with the kernels.

        Returns the event that `download` waits for. Later kernels may overwrite ``source``.
        """
        done = self._context.call(
            "copying on the device",
            cl.enqueue_copy,
            self._context.queue,
            target.buffer,
            source.buffer,
            byte_count=source.count * source.dtype.itemsize,
        )
        self._context.call("copying on the device", self._context.queue.flush)
        return done

    def download(
        self, array: DeviceArray, start: int, count: int, after: Any = None
    ) -> NDArray[Any]:
        """Downloads elements from ``start`` on after event ``after``; kernels may run meanwhile."""
        values = np.empty(count, dtype=array.dtype)
        bytes_out = values.view(np.uint8)
        first = start * array.dtype.itemsize
        filled: list[tuple[Any, int, int]] = []
        longest = self._pieces[0].nbytes
        with self._lock:
            for number, low in enumerate(range(0, values.nbytes, longest)):
                size = min(longest, values.nbytes - low)
                event = self._context.call(
                    "downloading",
                    cl.enqueue_copy,
                    self._queue,
                    self._pieces[number % 2][:size],
                    array.buffer,
                    src_offset=first + low,
                    is_blocking=False,
                    wait_for=None if after is None else [after],
                )
                self._context.call("downloading", self._queue.flush)
                filled.append((event, low, size))
                if number:
                    self._empty(number - 1, filled, bytes_out)
            if filled:
                self._empty(len(filled) - 1, filled, bytes_out)
        return values

    def download_made(self, array: DeviceArray, start: int, count: int) -> NDArray[Any]:
        """As `download`, once all kernels launched so far are done."""
        made = self._context.call("downloading", cl.enqueue_marker, self._context.queue)
        self._context.call("downloading", self._context.queue.flush)
        return self.download(array, start, count, made)

    def _empty(
        self, number: int, filled: list[tuple[Any, int, int]], target: NDArray[np.uint8]
    ) -> None:
        event, low, size = filled[number]
        self._context.call("downloading", event.wait)
        np.copyto(target[low : low + size], self._pieces[number % 2][:size])

    def _page_locked(self) -> NDArray[np.uint8]:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        size = self._context.profile.staging_bytes
        buffer = self._context.call(
            "allocating page-locked memory", cl.Buffer, self._context.context, flags, size
        )
        access = cl.map_flags.READ | cl.map_flags.WRITE
        piece, _ = self._context.call(
            "allocating page-locked memory",
            cl.enqueue_map_buffer,
            self._queue,
            buffer,
            access,
            0,
            size,
            np.uint8,
        )
        mapped: NDArray[np.uint8] = piece
        return mapped
