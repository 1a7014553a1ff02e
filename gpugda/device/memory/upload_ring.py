"""Uploads of arrays that are not page-locked, through small page-locked buffers.

Locking the pages of an array takes longer than sending it a dozen times, and the driver's own
copies use one thread. PyArrow's threads fill the buffers: threads of Python that copy a few
megabytes each wait longer for the interpreter's lock than they copy.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyopencl as cl

from gpugda.data.threads import core_count, pieces_of
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.arrays import DeviceArray

__all__ = ["Sending", "UploadRing", "map_page_locked"]

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
