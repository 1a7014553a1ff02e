"""Arrays on the device, their memory budget, and the pool that passes them from run to run."""

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

_MAX_POOLED_ARRAYS = 64
_nbytes = attrgetter("nbytes")


@dataclass(slots=True)
class MemoryBudget:
    """A limit of bytes and the number of bytes in use.

    Args:
        limit_bytes: The limit.
        used: Bytes in use.
        peak: Maximum of ``used`` so far.
    """

    limit_bytes: int
    used: int = 0
    peak: int = 0

    @property
    def remaining(self) -> int:
        """Bytes left."""
        return self.limit_bytes - self.used

    def reserve(self, size: int, what: str) -> None:
        """Reserves bytes.

        Raises:
            MemoryLimitError: Fewer bytes are left.
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
        """Returns bytes to the budget."""
        self.used -= size


@dataclass(slots=True, eq=False)
class DeviceArray:
    """A one-dimensional array on the device.

    Args:
        buffer: pyopencl's buffer.
        dtype: Type of its elements.
        count: The number of elements; the buffer may be longer.
        nbytes: Bytes of the buffer.
        is_pooled: True if its memory may be passed on to the next run.
    """

    buffer: Any
    dtype: np.dtype[Any]
    count: int
    nbytes: int
    is_pooled: bool = True

    def shared(self) -> DeviceArray:
        """Another owner of the same memory, which is freed when all owners have freed it."""
        buffer = cl.Buffer.from_int_ptr(self.buffer.int_ptr, retain=True)
        return DeviceArray(buffer, self.dtype, self.count, self.nbytes)

    def for_next_owner(self) -> DeviceArray:
        """A new object for the same memory, so that references to this one do not reach it."""
        return DeviceArray(self.buffer, self.dtype, self.count, self.nbytes, self.is_pooled)

    @property
    def has_one_owner(self) -> bool:
        """True if the memory has no other owner, such as a kernel that has yet to run."""
        count: int = self.buffer.get_info(cl.mem_info.REFERENCE_COUNT)
        return count == 1

    def free(self) -> None:
        """Frees the memory; a second call does nothing."""
        if self.buffer is not None:
            self.buffer.release()
            self.buffer = None


@dataclass(slots=True, eq=False)
class ArrayPool:
    """Arrays that one run leaves for the next, in any thread.

    Drivers take longer to create and free an array than most kernels run.

    Args:
        max_bytes: Maximum bytes of all arrays together.
    """

    max_bytes: int
    _arrays: list[DeviceArray] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    def take(self) -> list[DeviceArray]:
        """Removes and returns all arrays, the shortest first; the caller owns them."""
        with self._lock:
            taken, self._arrays = self._arrays, []
        return taken

    def give(self, arrays: Iterable[DeviceArray]) -> None:
        """Keeps the smallest arrays and frees the others."""
        with self._lock:
            found = sorted((*self._arrays, *arrays), key=_nbytes)
            kept = 0 if self._closed else min(len(found), _MAX_POOLED_ARRAYS)
            size = sum(map(_nbytes, found[:kept]))
            while size > self.max_bytes:
                kept -= 1
                size -= found[kept].nbytes
            self._arrays = found[:kept]
        for array in found[kept:]:
            array.free()

    def close(self) -> None:
        """Frees all arrays; later ones are freed at once."""
        self._closed = True
        self.give(())
