"""Translates pyopencl's errors into gpugda's; no other module does this."""

from __future__ import annotations

from typing import Any

from gpugda.errors import DeviceError, MemoryLimitError

__all__ = ["device_failure"]

_OUT_OF_MEMORY = {
    -4: "a buffer could not be allocated",
    -6: "the host's memory is full",
    -61: "a buffer is larger than the device allows",
}
_LOST = {
    -5: "the device ran out of resources: its memory is full, a kernel crashed or ran too long",
    -9999: "a kernel read or wrote outside of its buffers",
    -36: "the command queue is gone: the device was lost",
    -34: "the context is gone: the device was lost",
    -2: "the device is not available any more",
}


def device_failure(error: Any, doing: str, device: str) -> DeviceError:
    """The exception to raise for a ``pyopencl.Error``.

    Args:
        error: The error; its ``code`` decides.
        doing: What was tried, such as "allocating 4,096 bytes".
        device: The device's name.
    """
    code = getattr(error, "code", 0)
    if code in _OUT_OF_MEMORY or isinstance(error, MemoryError):
        reason = _OUT_OF_MEMORY.get(code, "memory is full")
        return MemoryLimitError(
            f"{doing} on {device}: {reason}; set a lower memory_limit or ask for less"
        )
    reason = _LOST.get(code, str(error))
    return DeviceError(f"{doing} on {device}: {reason} (OpenCL error {code})")
