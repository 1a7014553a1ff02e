"""Uploads of arrays that are not page-locked, through small page-locked buffers.

Locking the pages of an array takes longer than sending it a dozen times, and the driver's own
copies use one thread.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from gpugda.data.threads import core_count, pieces_of
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.arrays import DeviceArray

__all__ = ["UploadRing", "map_page_locked"]

_PIECES, _PIECE_BYTES = 2, 1 << 25
_COPIED_BYTES = 1 << 21
"""Bytes that one thread copies at a time."""


class UploadRing:
    """Buffers that threads fill while the device reads others. For several threads, one at a time.

    Args:
        context: The device.

    Raises:
        DeviceError: There is no page-locked memory.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        made = [map_page_locked(context, _PIECE_BYTES, np.uint8) for _ in range(_PIECES)]
        self._buffers = [buffer for buffer, _ in made]
        self._pieces = [piece for _, piece in made]
        self._events: list[Any] = [None] * _PIECES
        self._next = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(core_count(), thread_name_prefix="gpugda-upload")

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
        self, queue: Any, target: DeviceArray, first_byte: int, values: NDArray[Any], before: Any
    ) -> Any:
        """Sends contiguous values, of at least one byte; returns the event of the last transfer.

        They have been read when this returns.

        Args:
            queue: In-order queue of the transfers.
            target: Receives the values.
            first_byte: Offset in it.
            values: The values.
            before: Event that the first transfer waits for, or None.
        """
        self._context.check()  # no thread of the pool lives in a forked process
        source, event = values.reshape(-1).view(np.uint8), None
        with self._lock:
            for part in pieces_of(source.size, _PIECE_BYTES):
                event = self._sent(queue, target, first_byte + part.start, source[part], before)
        return event

    def _sent(
        self, queue: Any, target: DeviceArray, first_byte: int, some: NDArray[Any], before: Any
    ) -> Any:
        number = self._next
        self._next = (number + 1) % _PIECES
        if self._events[number] is not None:
            self._context.call("uploading", self._events[number].wait)
        piece = self._pieces[number][: some.size]
        self._fill(piece, some)
        event = self._context.call(
            "uploading",
            cl.enqueue_copy,
            queue,
            target.buffer,
            piece,
            dst_offset=first_byte,
            is_blocking=False,
            wait_for=None if before is None else [before],
        )
        self._context.call("uploading", queue.flush)
        self._events[number] = event
        return event

    def _fill(self, piece: NDArray[np.uint8], source: NDArray[np.uint8]) -> None:
        def copy(some: slice) -> None:
            np.copyto(piece[some], source[some])

        for _ in self._pool.map(copy, pieces_of(source.size, _COPIED_BYTES)):
            pass


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
