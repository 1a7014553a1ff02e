"""Arrays on the device, and the memory they may take."""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyopencl as cl

from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType

    from numpy.typing import DTypeLike, NDArray

    from gpugda.device.context import DeviceContext

__all__ = ["SMALLEST_BYTES", "ArrayPool", "DeviceArray", "MemoryBudget", "Workspace"]

SMALLEST_BYTES = 256
"""No array takes less."""
_SMALL_UPLOAD_BYTES = 1 << 20
_SMALL_DOWNLOAD_BYTES = 1 << 16
_MOST_POOLED_ARRAYS = 64
_MOST_FILLED_BYTES = 1 << 30
"""At once: not every driver counts in 64 bits."""
_nbytes = attrgetter("nbytes")


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
                f"not enough memory for {what}: {size:,} bytes are needed and "
                f"{self.remaining:,} of the memory limit of {self.limit_bytes:,} are left: "
                "raise memory_limit or ask for less"
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

    def shared(self) -> DeviceArray:
        """Another owner of the same memory, which is there until all of them have freed it."""
        buffer = cl.Buffer.from_int_ptr(self.buffer.int_ptr, retain=True)
        return DeviceArray(buffer, self.dtype, self.count, self.nbytes)

    def free(self) -> None:
        """Gives the memory back; a second call does nothing."""
        if self.buffer is not None:
            self.buffer.release()
            self.buffer = None


@dataclass(slots=True, eq=False)
class ArrayPool:
    """Arrays that one run leaves for the next, in whichever thread.

    Drivers take longer to make and to free an array than most kernels run.

    Args:
        most_bytes: Of all together.
    """

    most_bytes: int
    _arrays: list[DeviceArray] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def take(self) -> list[DeviceArray]:
        """All of them; the taker owns them."""
        with self._lock:
            taken, self._arrays = self._arrays, []
        return taken

    def give(self, arrays: Iterable[DeviceArray]) -> None:
        """Keeps the smallest and frees the others."""
        with self._lock:
            found = sorted((*self._arrays, *arrays), key=_nbytes)
            sizes = accumulate(each.nbytes for each in found)
            fitting = 0 if self._closed else sum(size <= self.most_bytes for size in sizes)
            kept = min(fitting, _MOST_POOLED_ARRAYS)
            self._arrays = found[:kept]
        for array in found[kept:]:
            array.free()

    def close(self) -> None:
        """Frees all, and what is given later at once."""
        self._closed = True
        self.give(())


@dataclass(slots=True, eq=False)
class Workspace:
    """Arrays of one run: counted, used again, and freed together.

    Args:
        context: The device.
        budget: What is counted against.
        pool: Where the arrays come from and go to, if there is one.
        give_way: Called when the budget is used up; may call `uncount`.
        outside: Bytes that are counted here, of arrays that others own.
    """

    context: DeviceContext
    budget: MemoryBudget
    pool: ArrayPool | None = None
    give_way: Callable[[], None] | None = None
    outside: int = 0
    _live: dict[int, DeviceArray] = field(default_factory=dict)
    _idle: list[DeviceArray] = field(default_factory=list)  # the shortest first
    _idle_bytes: int = 0

    def __post_init__(self) -> None:
        if self.pool is None:
            return
        arrays = self.pool.take()
        size = sum(each.nbytes for each in arrays)
        if size <= self.budget.remaining // 16:
            self.budget.reserve(size, "arrays")
            self._idle = sorted(arrays, key=_nbytes)
            self._idle_bytes = size
        else:
            # Where memory is short, arrays longer than need be would take what others lack.
            self.pool.give(arrays)

    @property
    def available(self) -> int:
        """Bytes that can still be taken, idle arrays counted."""
        return self.budget.remaining + self._idle_bytes

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
                owner = DeviceArray(array.buffer, array.dtype, array.count, array.nbytes)
                insort(self._idle, owner, key=_nbytes)
                self._idle_bytes += array.nbytes

    def upload(self, values: NDArray[Any], what: str = "an array") -> DeviceArray:
        """A copy of a NumPy array."""
        values = np.ascontiguousarray(values)
        is_small = 0 < values.nbytes <= _SMALL_UPLOAD_BYTES
        if not is_small or self._fits_idle(values.nbytes):
            array = self.allocate(values.size, values.dtype, what)
            self.write(array, values)
            return array
        self.make_room(values.nbytes)
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

    def adopt(self, array: DeviceArray, what: str = "an array") -> DeviceArray:
        """Owns an array from now on that is there already.

        Raises:
            MemoryLimitError: It does not fit the budget.
        """
        self.budget.reserve(array.nbytes, what)
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

    def copy(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        """Copies a device array into another one of its dtype, from element ``start`` on."""
        self.context.call(
            "copying",
            cl.enqueue_copy,
            self.context.queue,
            target.buffer,
            source.buffer,
            dst_offset=start * target.dtype.itemsize,
            byte_count=source.count * source.dtype.itemsize,
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

    @contextmanager
    def given_up(self, *errors: type[BaseException]) -> Iterator[None]:
        """Where one of these errors is raised, what was allocated meanwhile can be used again.

        Who still holds such an array has one without memory then.
        """
        before = frozenset(self._live)
        try:
            yield
        except errors:
            given_up = [array for key, array in self._live.items() if key not in before]
            self.context.finish()  # some of them may be freed next
            self.release(*given_up)
            for array in given_up:
                array.buffer = None
            raise

    def trim(self) -> None:
        """Frees what is idle."""
        while self._idle:
            self._free(self._take_idle(-1))

    def hand_over(self, *arrays: DeviceArray) -> None:
        """Others own these arrays now; they stay counted until this workspace is closed."""
        for array in arrays:
            if self._live.pop(id(array), None) is not None:
                self.outside += array.nbytes

    def count(self, size: int, what: str) -> None:
        """Counts arrays that others own.

        Raises:
            MemoryLimitError: They do not fit the budget.
        """
        self.budget.reserve(size, what)
        self.outside += size

    def uncount(self, size: int) -> None:
        """Counts so much less of what others own."""
        freed = min(size, self.outside)
        self.outside -= freed
        self.budget.release(freed)

    def close(self) -> None:
        """Frees everything, or leaves it in the pool."""
        self.uncount(self.outside)
        arrays = [*self._idle, *self._live.values()]
        self._idle.clear()
        self._idle_bytes = 0
        self._live.clear()
        self.budget.release(sum(each.nbytes for each in arrays))
        if self.pool is not None:
            # Owners of their own, as in `release`.
            owners = [DeviceArray(a.buffer, a.dtype, a.count, a.nbytes) for a in arrays]
            self.pool.give(owners)
        for array in arrays:
            if self.pool is None:
                array.free()
            array.buffer = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _fits_idle(self, size: int) -> bool:
        place = bisect_left(self._idle, size, key=_nbytes)
        longest = max(2 * size, SMALLEST_BYTES)
        return place < len(self._idle) and self._idle[place].nbytes <= longest

    def _idle_array(self, size: int) -> DeviceArray | None:
        # The smallest one that is long enough, but none of which most would lie fallow.
        place = bisect_left(self._idle, size, key=_nbytes)
        if place == len(self._idle) or self._idle[place].nbytes > 2 * size:
            return None
        return self._take_idle(place)

    def _take_idle(self, place: int) -> DeviceArray:
        array = self._idle.pop(place)
        self._idle_bytes -= array.nbytes
        return array

    def make_room(self, size: int) -> None:
        """Lets go of what is not in use, if so many bytes cannot be taken else."""
        if size > self.budget.remaining:
            self.trim()
        if size > self.budget.remaining and self.give_way is not None:
            self.give_way()

    def _buffer(self, size: int, what: str) -> Any:
        longest = self.context.info.max_allocation_bytes
        if size > longest:
            raise MemoryLimitError(
                f"{what} needs {size:,} bytes, but {self.context.info.name} allocates at most "
                f"{longest:,} at once"
            )
        self.make_room(size)
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
        array.free()
