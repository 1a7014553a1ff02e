"""Buffers on arrays of the host, which a CPU reads and writes without a copy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext

__all__ = ["host_buffer"]


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
