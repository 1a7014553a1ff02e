"""Uploads on a separate queue, while kernels work on earlier data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from gpugda.data.threads import core_count, in_threads, pieces_of
from gpugda.deadline import check_time
from gpugda.device.memory.upload_ring import Sending, UploadRing, map_page_locked
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.arrays import DeviceArray

__all__ = ["PageLocked", "Uploads"]

_COPIED_BYTES = 1 << 26
"""Bytes that a thread copies to page-locked memory between two checks of the deadline."""
_LOCKED_AT_ONCE = 1 << 23
"""Bytes of an array that is copied to page-locked memory before it is sent for the first time."""
_PASSES = 16
"""Longer arrays are copied when they are sent this often: locking takes some 20 times as long."""
_MIN_RING = 1 << 22
"""Bytes from which an array that is not page-locked is sent through an `UploadRing`."""


class Uploads:
    """Sends arrays to the device. Under the context's lock.

    Args:
        context: The device.

    Attributes:
        sent: Bytes sent so far.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._queue: Any = context.call("opening a queue", cl.CommandQueue, context.context)
        self._sending: Sending | None = None
        self.sent = 0

    def begin(self, target: DeviceArray, place: int, values: NDArray[Any]) -> Any:
        """Starts to write contiguous values from element ``place`` on, after all earlier kernels.

        Returns what `wait_on_device` takes. The values must not change meanwhile.
        """
        context = self._context
        before = context.call("uploading", cl.enqueue_marker, context.queue)
        context.call("uploading", context.queue.flush)
        self.sent += values.nbytes
        ring = self._ring(values)
        if ring is not None:
            first_byte = place * target.dtype.itemsize
            last = self._sending
            self._sending = ring.send(self._queue, target, first_byte, values, before, last)
            return self._sending
        self._read()  # the ring's values could be for the same place
        event = context.call(
            "uploading",
            cl.enqueue_copy,
            self._queue,
            target.buffer,
            values,
            dst_offset=place * target.dtype.itemsize,
            is_blocking=False,
            wait_for=[before],
        )
        context.call("uploading", self._queue.flush)
        return event

    def _ring(self, values: NDArray[Any]) -> UploadRing | None:
        """The ring through which an array is sent; None to send it from where it is."""
        context = self._context
        if values.nbytes < _MIN_RING or not context.profile.page_locked_bytes:
            return None
        return None if _is_locked(context, values) else UploadRing.of(context)

    def wait_on_device(self, begun: Sequence[Any]) -> None:
        """Kernels launched from now on start after these uploads."""
        if begun:
            events = [each.event() if isinstance(each, Sending) else each for each in begun]
            context = self._context
            context.call("uploading", cl.enqueue_barrier, context.queue, wait_for=events)

    def finish(self) -> None:
        """Waits until all uploads are done.

        Raises:
            DeviceError: The device failed.
        """
        try:
            self._read()
        finally:
            self._context.call("uploading", self._queue.finish)

    def _read(self) -> None:
        """Waits until all values that a ring sends have been read."""
        if self._sending is not None:
            sending, self._sending = self._sending, None
            sending.end()


def _is_locked(context: DeviceContext, values: NDArray[Any]) -> bool:
    address = values.ctypes.data
    return any(first <= address < last for first, last in context.page_locked)


class PageLocked:
    """Copies of arrays in page-locked memory, which a device reads at the bus's full bandwidth.

    Args:
        context: The device.
        max_bytes: Maximum bytes of all copies; further arrays are sent from their own memory.
    """

    def __init__(self, context: DeviceContext, max_bytes: int) -> None:
        self._context = context
        self._left = max_bytes
        self._copies: dict[int, tuple[NDArray[Any], NDArray[Any]]] = {}
        # Copies that a query did not complete in its time: the next one continues them.
        self._begun: dict[int, tuple[NDArray[Any], NDArray[Any], list[slice]]] = {}
        self._asked: dict[int, tuple[NDArray[Any], int]] = {}
        self._buffers: list[tuple[Any, tuple[int, int]]] = []

    def part(self, values: NDArray[Any], first: int, last: int) -> NDArray[Any]:
        """The elements ``first … last-1`` to send: of the copy, or of an array not sent often.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        if id(values) not in self._copies and values.nbytes > _LOCKED_AT_ONCE:
            _, asked = self._asked.get(id(values), (values, 0))
            asked += last - first
            self._asked[id(values)] = values, asked
            if asked <= _PASSES * values.size:
                return values[first:last]
        return self.of(values)[first:last]

    def of(self, values: NDArray[Any]) -> NDArray[Any]:
        """The copy, created at the first call; the array itself if it is locked or none has room.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        known = self._copies.get(id(values))
        if known is not None:
            return known[1]
        if id(values) not in self._begun:
            if not 0 < values.nbytes <= self._left or _is_locked(self._context, values):
                return values
            check_time()
            made = self.empty(values.size, values.dtype)
            if made is None:
                return values
            pieces = pieces_of(values.size, _COPIED_BYTES // values.dtype.itemsize)
            self._begun[id(values)] = values, made, pieces
        _, copy, pieces = self._begun[id(values)]
        at_once = core_count()
        while pieces:
            check_time()
            in_threads(lambda piece: np.copyto(copy[piece], values[piece]), pieces[-at_once:])
            del pieces[-at_once:]
        self._copies[id(values)] = values, copy
        del self._begun[id(values)]
        return copy

    def empty(self, count: int, dtype: DTypeLike) -> NDArray[Any] | None:
        """A new array that lives as long as the copies; None if there is no room."""
        size = count * np.dtype(dtype).itemsize
        if not 0 < size <= self._left:
            return None
        try:
            made = self._mapped(count, np.dtype(dtype))
        except (DeviceError, MemoryError):
            self._left = 0
            return None
        self._left -= size
        return made

    def close(self) -> None:
        """Frees the copies; nothing may read them any more."""
        self._copies.clear()
        self._begun.clear()
        self._asked.clear()
        for buffer, addresses in self._buffers:
            self._context.page_locked.discard(addresses)
            buffer.release()
        self._buffers.clear()

    def _mapped(self, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        buffer, mapped = map_page_locked(self._context, count, dtype)
        addresses = mapped.ctypes.data, mapped.ctypes.data + mapped.nbytes
        self._context.page_locked.add(addresses)
        self._buffers.append((buffer, addresses))
        return mapped
