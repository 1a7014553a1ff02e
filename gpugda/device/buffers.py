"""Arrays on the device, and the memory they may take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyopencl as cl

from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

    from numpy.typing import DTypeLike, NDArray

    from gpugda.device.context import DeviceContext

__all__ = ["SMALLEST_BYTES", "DeviceArray", "MemoryBudget", "Workspace"]

SMALLEST_BYTES = 256
"""No array takes less."""
_SMALL_UPLOAD_BYTES = 1 << 20


@dataclass(slots=True)
class MemoryBudget:
    """How many bytes may be taken, and how many are.

    Args:
        limit_bytes: The limit.
        used: Bytes taken.
        peak: Most bytes that were taken at one time.
    """

    limit_bytes: int
    used: int = 0
    peak: int = 0

    @property
    def remaining(self) -> int:
        """Bytes left."""
        return self.limit_bytes - self.used

    def reserve(self, size: int, what: str) -> None:
        """Takes bytes.

        Raises:
            MemoryLimitError: There are not as many left.
        """
        if size > self.remaining:
            raise MemoryLimitError(
                f"{what} needs {size:,} bytes, but {self.used:,} of the memory limit of "
                f"{self.limit_bytes:,} bytes are taken: raise memory_limit or ask for less"
            )
        self.used += size
        self.peak = max(self.peak, self.used)

    def release(self, size: int) -> None:
        """Gives bytes back."""
        self.used -= size


@dataclass(slots=True, eq=False)
class DeviceArray:
    """A one-dimensional array on the device.

    Args:
        buffer: pyopencl's buffer.
        dtype: Of its elements.
        count: Number of elements; the buffer may be longer.
        nbytes: Bytes of the buffer.
    """

    buffer: Any
    dtype: np.dtype[Any]
    count: int
    nbytes: int


@dataclass(slots=True, eq=False)
class Workspace:
    """Arrays of one run: counted, used again, and freed together.

    Args:
        context: The device.
        budget: What is counted against.
    """

    context: DeviceContext
    budget: MemoryBudget
    _live: dict[int, DeviceArray] = field(default_factory=dict)
    _idle: list[DeviceArray] = field(default_factory=list)

    @property
    def available(self) -> int:
        """Bytes that can still be taken, idle arrays counted."""
        return self.budget.remaining + sum(array.nbytes for array in self._idle)

    def allocate(self, count: int, dtype: DTypeLike, what: str = "an array") -> DeviceArray:
        """An array with whatever was in its memory.

        Raises:
            MemoryLimitError: It does not fit the budget or the device.
        """
        kind = np.dtype(dtype)
        size = max(count * kind.itemsize, SMALLEST_BYTES)
        array = self._idle_array(size)
        if array is None:
            array = DeviceArray(self._buffer(size, what), kind, count, size)
        array.dtype, array.count = kind, count
        self._live[id(array)] = array
        return array

    def release(self, *arrays: DeviceArray | None) -> None:
        """Lets arrays be used again."""
        for array in arrays:
            if array is not None and self._live.pop(id(array), None) is not None:
                # An owner of its own: who kept the old one must not free the next user's array.
                self._idle.append(DeviceArray(array.buffer, array.dtype, array.count, array.nbytes))

    def upload(self, values: NDArray[Any], what: str = "an array") -> DeviceArray:
        """A copy of a NumPy array."""
        values = np.ascontiguousarray(values)
        if values.nbytes == 0 or values.nbytes > _SMALL_UPLOAD_BYTES:
            array = self.allocate(values.size, values.dtype, what)
            self.write(array, values)
            return array
        self.budget.reserve(values.nbytes, what)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
        try:
            buffer = self.context.call(
                f"uploading {what}", cl.Buffer, self.context.context, flags, hostbuf=values
            )
        except BaseException:
            self.budget.release(values.nbytes)
            raise
        array = DeviceArray(buffer, values.dtype, values.size, values.nbytes)
        self._live[id(array)] = array
        return array

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

    def fill(self, array: DeviceArray, value: int) -> None:
        """Sets all elements."""
        pattern = np.array(value, dtype=array.dtype)
        if array.count:
            self.context.call(
                "filling",
                cl.enqueue_fill_buffer,
                self.context.queue,
                array.buffer,
                pattern,
                0,
                array.count * array.dtype.itemsize,
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

    def trim(self) -> None:
        """Frees what is idle."""
        while self._idle:
            self._free(self._idle.pop())

    def close(self) -> None:
        """Frees everything."""
        self.trim()
        while self._live:
            self._free(self._live.popitem()[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _idle_array(self, size: int) -> DeviceArray | None:
        # The smallest one that is long enough, but none of which most would lie fallow.
        fitting = [each for each in self._idle if size <= each.nbytes <= 2 * size]
        if not fitting:
            return None
        array = min(fitting, key=lambda each: each.nbytes)
        self._idle.remove(array)
        return array

    def _buffer(self, size: int, what: str) -> Any:
        longest = self.context.info.max_allocation_bytes
        if size > longest:
            raise MemoryLimitError(
                f"{what} needs {size:,} bytes, but {self.context.info.name} allocates at most "
                f"{longest:,} at once"
            )
        if size > self.budget.remaining:
            self.trim()
        self.budget.reserve(size, what)
        try:
            return self.context.call(
                f"allocating {size:,} bytes for {what}",
                cl.Buffer,
                self.context.context,
                cl.mem_flags.READ_WRITE,
                size,
            )
        except BaseException:
            self.budget.release(size)
            raise

    def _free(self, array: DeviceArray) -> None:
        self.budget.release(array.nbytes)
        if array.buffer is not None:
            array.buffer.release()
            array.buffer = None
