"""Uploads on a separate queue, while kernels work on earlier data."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyopencl as cl

from gpugda.data.threads import core_count, in_threads, pieces_of
from gpugda.deadline import check_time
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.arrays import DeviceArray


__all__ = ["PageLocked", "Sending", "UploadRing", "Uploads", "map_page_locked"]

_PIECES, _PIECE_BYTES = 4, 1 << 24
_MAX_THREADS = 16
_COPIED_AT_ONCE = 1 << 20
"""Fewer bytes are copied by one thread."""


class Sending:
    """Values that a ring is sending.

    Args:
        future: Its result is the event of the last transfer.
    """

    def __init__(self, future: Future[Any]) -> None:
        self._future = future
        self._is_awaited = False

    def event(self) -> Any:
        """Waits until the values have been read; returns the event of the last transfer.

        Raises:
            DeviceError: The device failed.
        """
        self._is_awaited = True
        return self._future.result()

    def end(self) -> None:
        """Waits until the values have been read.

        Raises:
            DeviceError: The device failed, which `event` has not told yet.
        """
        wait([self._future])
        if not self._is_awaited:
            self.event()


class UploadRing:
    """Buffers that one thread fills while the device reads others. For several threads.

    Args:
        context: The device.

    Raises:
        DeviceError: There is no page-locked memory.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._buffer, memory = map_page_locked(context, _PIECES * _PIECE_BYTES, np.uint8)
        self._pieces = memory.reshape(_PIECES, _PIECE_BYTES)
        self._events: list[Any] = [None] * _PIECES
        self._next = 0
        self._threads = min(core_count(), _MAX_THREADS)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gpugda-upload")

    @classmethod
    def of(cls, context: DeviceContext) -> UploadRing | None:
        """The context's ring, created on demand; None if there is no page-locked memory."""
        if context.upload_ring is None:
            try:
                context.upload_ring = cls(context)
            except (DeviceError, MemoryError):
                context.upload_ring = False
        return context.upload_ring or None

    def send(
        self,
        queue: Any,
        target: DeviceArray,
        first_byte: int,
        values: NDArray[Any],
        before: Any,
        last: Sending | None = None,
    ) -> Sending:
        """Begins to send contiguous values, after those of earlier calls.

        They must not change before they have been read.

        Args:
            queue: In-order queue of the transfers.
            target: Receives the values.
            first_byte: Offset in it.
            values: The values, of at least one byte.
            before: Event that the transfers wait for, or None.
            last: What was sent before; if that failed and nobody was told, this fails, too.
        """
        self._context.check()  # the thread does not live in a forked process
        source = values.reshape(-1).view(np.uint8)
        wait_for = None if before is None else [before]

        def send() -> Any:
            if last is not None:
                last.end()
            for part in pieces_of(source.size, _PIECE_BYTES):
                first = first_byte + part.start
                event = self._sent(queue, target, first, source[part], wait_for)
            return event

        return Sending(self._thread.submit(send))

    def _sent(
        self,
        queue: Any,
        target: DeviceArray,
        first_byte: int,
        some: NDArray[np.uint8],
        wait_for: list[Any] | None,
    ) -> Any:
        """Sends some values through the next piece; returns the transfer's event."""
        number, call = self._next, self._context.call
        self._next = (number + 1) % _PIECES
        if self._events[number] is not None:
            call("uploading", self._events[number].wait)
        writer = pa.FixedSizeBufferWriter(pa.py_buffer(self._pieces[number]))
        writer.set_memcopy_threads(self._threads)
        writer.set_memcopy_threshold(_COPIED_AT_ONCE)
        writer.write(some)
        event = call(
            "uploading",
            cl.enqueue_copy,
            queue,
            target.buffer,
            self._pieces[number, : some.size],
            dst_offset=first_byte,
            is_blocking=False,
            wait_for=wait_for,
        )
        call("uploading", queue.flush)
        self._events[number] = event
        return event


def map_page_locked(
    context: DeviceContext, count: int, dtype: DTypeLike
) -> tuple[Any, NDArray[Any]]:
    """A page-locked array, and its buffer, which frees it.

    Raises:
        DeviceError: It cannot be allocated.
        MemoryLimitError: Memory is exhausted.
    """
    doing, kind = "allocating page-locked memory", np.dtype(dtype)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
    buffer = context.call(doing, cl.Buffer, context.context, flags, count * kind.itemsize)
    access = cl.map_flags.READ | cl.map_flags.WRITE
    mapped: NDArray[Any]
    mapped, _ = context.call(
        doing, cl.enqueue_map_buffer, context.queue, buffer, access, 0, (count,), kind
    )
    return buffer, mapped


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
