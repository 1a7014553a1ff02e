"""Launches a CPU's kernels on arrays of the host without copying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext


__all__ = ["host_buffer", "launch_on_arrays"]


def host_buffer(context: DeviceContext, array: NDArray[Any], *, writable: bool = False) -> Any:
    """A buffer on an array for the kernels of a CPU; copies an array that is not contiguous.

    The array must live until the device has finished.

    Args:
        context: A CPU, whose memory is the host's.
        array: Of any type; contiguous if kernels write to it.
        writable: True if kernels may write to it. Read results by a copy into the array.

    Raises:
        DeviceError: The device does not accept the array.
    """
    flags = cl.mem_flags
    access = flags.READ_WRITE if writable else flags.READ_ONLY
    lying = np.ascontiguousarray(array)
    how = access | flags.USE_HOST_PTR
    return context.call("lending", cl.Buffer, context.context, how, hostbuf=lying)


_DOING = "arrays of the host"


def launch_on_arrays(
    context: DeviceContext, file: str, name: str, parameters: str, groups: int, *arguments: Any
) -> None:
    """Launches ``groups`` work groups and waits for them.

    Args:
        context: A CPU.
        file: See `get_kernel`.
        name: See `get_kernel`.
        parameters: See `get_kernel`.
        groups: The number of work groups.
        arguments: Numbers, None, and contiguous arrays; empty arrays are passed as None.

    Raises:
        DeviceError: A launch failed, or an array is longer than the device's largest buffer.
    """
    with context.lock:
        kernel = get_kernel(context, file, name, parameters)
        given = [
            _buffer(context, each) if isinstance(each, np.ndarray) else each for each in arguments
        ]
        try:
            kernel.launch_groups(groups, *given)
            for each in given:
                if isinstance(each, cl.Buffer):
                    _settle(context, each)
        finally:
            # Also on an interrupt: arrays must not be freed while a kernel writes them.
            context.finish()


def _buffer(context: DeviceContext, array: np.ndarray[Any, Any]) -> Any:
    if not array.size:
        return None
    access = cl.mem_flags.READ_WRITE if array.flags.writeable else cl.mem_flags.READ_ONLY
    flags = access | cl.mem_flags.USE_HOST_PTR
    return context.call(_DOING, cl.Buffer, context.context, flags, hostbuf=array)


def _settle(context: DeviceContext, buffer: Any) -> None:
    """Makes a buffer's content visible in its array; free if they share memory."""
    doing, queue, access = _DOING, context.queue, cl.map_flags.READ
    mapped, _ = context.call(
        doing, cl.enqueue_map_buffer, queue, buffer, access, 0, (buffer.size,), np.uint8
    )
    mapped.base.release(queue)
