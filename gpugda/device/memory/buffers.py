"""The arrays of one run: counted, reused, and freed together."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyopencl as cl

from gpugda.device.memory.arrays import ArrayPool, DeviceArray, MemoryBudget
from gpugda.device.memory.transfers import Transfers
from gpugda.device.memory.uploads import Uploads
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import TracebackType

    from numpy.typing import DTypeLike, NDArray

    from gpugda.device.context import DeviceContext

__all__ = ["SMALLEST_BYTES", "ArrayPool", "DeviceArray", "MemoryBudget", "Workspace"]

SMALLEST_BYTES = 256
"""Minimum size of an array."""
_SMALL_UPLOAD_BYTES = 1 << 20
_PARTLY_TAKEN = 1 << 24
"""If idle arrays may take this many bytes, the shorter ones are taken when not all fit."""
_nbytes = attrgetter("nbytes")


@dataclass(slots=True, eq=False)
class Workspace(Transfers):
    """Arrays of one run: counted, reused, and freed together.

    Args:
        context: The device.
        budget: Budget that the arrays are counted against.
        pool: Source and destination of the arrays, if there is one.
        free_cached: Called when the budget is used up; may call `uncount`.
        outside: Bytes counted here for arrays that others own.
    """

    context: DeviceContext
    budget: MemoryBudget
    pool: ArrayPool | None = None
    free_cached: Callable[[], None] | None = None
    outside: int = 0
    _live: dict[int, DeviceArray] = field(default_factory=dict)
    _idle: list[DeviceArray] = field(default_factory=list)  # the shortest first
    _idle_bytes: int = 0
    _max_taken: int = 0
    _uploads: Uploads | None = None
    _sent: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.pool is None:
            return
        # If memory is short, arrays longer than necessary would take memory that others need.
        arrays, most = self.pool.take(), self.budget.remaining // 16
        sizes = list(accumulate(map(_nbytes, arrays)))
        fit = bisect_right(sizes, most) if most >= _PARTLY_TAKEN or sizes[-1:] <= [most] else 0
        if fit < len(arrays):
            self.pool.give(arrays[fit:])
        self._idle = arrays[:fit]
        self._idle_bytes = sum(map(_nbytes, self._idle))
        self.budget.reserve(self._idle_bytes, "arrays")

    @property
    def taken(self) -> int:
        """Bytes in use, without idle arrays."""
        return self.budget.used - self._idle_bytes

    @property
    def max_taken(self) -> int:
        """Maximum of `taken` right after an allocation."""
        return self._max_taken

    @property
    def available(self) -> int:
        """Bytes that can still be allocated, idle arrays included."""
        return self.budget.remaining + self._idle_bytes

    def allocate(self, count: int, dtype: DTypeLike, what: str = "an array") -> DeviceArray:
        """Allocates an array without initialising it.

        Raises:
            MemoryLimitError: It does not fit the budget or the device.
        """
        kind = np.dtype(dtype)
        size = max(count * kind.itemsize, SMALLEST_BYTES)
        array = self._idle_array(size)
        if array is None:
            array = DeviceArray(self._buffer(size, what), kind, count, size)
        array.dtype, array.count = kind, count
        return self._track(array)

    def release(self, *arrays: DeviceArray | None) -> None:
        """Makes arrays available for reuse."""
        for array in arrays:
            if array is not None and self._live.pop(id(array), None) is not None:
                # A new owner, so that a holder of the old object cannot free the next user's array.
                owner = array.for_next_owner()
                insort(self._idle, owner, key=_nbytes)
                self._idle_bytes += array.nbytes

    def upload(self, values: NDArray[Any], what: str = "an array") -> DeviceArray:
        """Copies a NumPy array to the device."""
        values = np.ascontiguousarray(values)
        is_small = 0 < values.nbytes <= _SMALL_UPLOAD_BYTES
        is_made = is_small and values.nbytes <= self.context.profile.fresh_upload_bytes
        if not is_small or (not is_made and self._fits_idle(values.nbytes)):
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
        array = DeviceArray(buffer, values.dtype, values.size, values.nbytes, not is_made)
        return self._track(array)

    def _track(self, array: DeviceArray) -> DeviceArray:
        self._live[id(array)] = array
        taken = self.budget.used - self._idle_bytes
        if taken > self._max_taken:
            self._max_taken = taken
        return array

    def adopt(self, array: DeviceArray, what: str = "an array") -> DeviceArray:
        """Takes ownership of an existing array.

        Raises:
            MemoryLimitError: It does not fit the budget.
        """
        self.budget.reserve(array.nbytes, what)
        self._live[id(array)] = array
        return array

    @contextmanager
    def reclaiming(self, *errors: type[BaseException]) -> Iterator[None]:
        """On one of these errors, makes all arrays allocated meanwhile available for reuse.

        References to such arrays then have no memory.
        """
        before = frozenset(self._live)
        try:
            yield
        except errors:
            given_up = [array for key, array in self._live.items() if key not in before]
            self.context.finish()  # some of them may be freed next
            if self._uploads is not None:
                self._uploads.finish()
            self.release(*given_up)
            for array in given_up:
                array.buffer = None
            raise

    def trim(self) -> None:
        """Frees idle arrays."""
        while self._idle:
            self._free(self._take_idle(-1))

    def hand_over(self, *arrays: DeviceArray) -> None:
        """Gives these arrays to other owners; they stay counted until this workspace is closed."""
        for array in arrays:
            if self._live.pop(id(array), None) is not None:
                self.outside += array.nbytes

    def detach(self, arrays: Sequence[DeviceArray]) -> list[DeviceArray]:
        """Gives these arrays to the caller and stops counting them."""
        found = []
        for array in arrays:
            if self._live.pop(id(array), None) is not None:
                self.budget.release(array.nbytes)
                found.append(array)
        return found

    def count(self, size: int, what: str) -> None:
        """Counts arrays that others own.

        Raises:
            MemoryLimitError: They do not fit the budget.
        """
        self.budget.reserve(size, what)
        self.outside += size

    def uncount(self, size: int) -> None:
        """Reduces the count of bytes that others own."""
        freed = min(size, self.outside)
        self.outside -= freed
        self.budget.release(freed)

    def uploads(self) -> Uploads:
        """Uploads beside running kernels; all are complete before arrays are reused."""
        if self._uploads is None:
            self._uploads = Uploads(self.context)
        return self._uploads

    def close(self) -> None:
        """Frees everything, or leaves it in the pool."""
        if self._uploads is not None:
            self._uploads.finish()
        self.free_cached = None  # it may hold the object that this is a part of
        self.uncount(self.outside)
        idle, live = self._idle, list(self._live.values())
        self.budget.release(self._idle_bytes + sum(map(_nbytes, live)))
        self._idle, self._idle_bytes = [], 0
        self._live.clear()
        # New owners, as in `release`.
        left = [*idle, *[array.for_next_owner() for array in live]]
        for array in live:
            array.buffer = None
        if self.pool is not None:
            self.pool.give([each for each in left if each.is_pooled])
            left = [each for each in left if not each.is_pooled]
        for array in left:
            array.free()

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
        # The smallest one that is long enough, but none of which more than half would be wasted.
        place = bisect_left(self._idle, size, key=_nbytes)
        if place == len(self._idle) or self._idle[place].nbytes > 2 * size:
            return None
        return self._take_idle(place)

    def _take_idle(self, place: int) -> DeviceArray:
        array = self._idle.pop(place)
        self._idle_bytes -= array.nbytes
        return array

    def make_room(self, size: int) -> None:
        """Frees unused memory if this many bytes cannot be reserved otherwise."""
        if size > self.budget.remaining:
            self.trim()
        if size > self.budget.remaining and self.free_cached is not None:
            self.free_cached()

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
