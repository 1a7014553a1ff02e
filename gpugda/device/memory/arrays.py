"""Arrays on the device, the bytes they may take, and those that one run leaves for the next."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

__all__ = ["ArrayPool", "DeviceArray", "MemoryBudget"]

_MOST_POOLED_ARRAYS = 64
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
        is_pooled: Shall the next run have its memory?
    """

    buffer: Any
    dtype: np.dtype[Any]
    count: int
    nbytes: int
    is_pooled: bool = True

    def shared(self) -> DeviceArray:
        """Another owner of the same memory, which is there until all of them have freed it."""
        buffer = cl.Buffer.from_int_ptr(self.buffer.int_ptr, retain=True)
        return DeviceArray(buffer, self.dtype, self.count, self.nbytes)

    def for_next_owner(self) -> DeviceArray:
        """The same memory as a value of its own: nobody reaches it by this one's reference."""
        return DeviceArray(self.buffer, self.dtype, self.count, self.nbytes, self.is_pooled)

    @property
    def has_one_owner(self) -> bool:
        """Whether nobody else owns the memory, a kernel that is to run included."""
        count: int = self.buffer.get_info(cl.mem_info.REFERENCE_COUNT)
        return count == 1

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
        """All of them, the shortest first; the taker owns them."""
        with self._lock:
            taken, self._arrays = self._arrays, []
        return taken

    def give(self, arrays: Iterable[DeviceArray]) -> None:
        """Keeps the smallest and frees the others."""
        with self._lock:
            found = sorted((*self._arrays, *arrays), key=_nbytes)
            kept = 0 if self._closed else min(len(found), _MOST_POOLED_ARRAYS)
            size = sum(map(_nbytes, found[:kept]))
            while size > self.most_bytes:
                kept -= 1
                size -= found[kept].nbytes
            self._arrays = found[:kept]
        for array in found[kept:]:
            array.free()

    def close(self) -> None:
        """Frees all, and what is given later at once."""
        self._closed = True
        self.give(())
