"""Arrays of the host that a CPU reads and writes where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext

__all__ = ["lent"]


def lent(context: DeviceContext, array: NDArray[Any], *, writable: bool = False) -> Any:
    """An array for the kernels of a CPU; one that is not contiguous is copied.

    It must stay until the device has been waited for.

    Args:
        context: A CPU, whose memory is the host's.
        array: Of any type; contiguous if it is written.
        writable: May kernels write to it? They are read by a copy into the array.

    Raises:
        DeviceError: The device does not take it.
    """
    flags = cl.mem_flags
    access = flags.READ_WRITE if writable else flags.READ_ONLY
    lying = np.ascontiguousarray(array)
    how = access | flags.USE_HOST_PTR
    return context.call("lending", cl.Buffer, context.context, how, hostbuf=lying)
