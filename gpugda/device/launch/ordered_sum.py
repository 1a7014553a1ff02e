"""Sums rows of the host in their order; launcher of ``ordered_sum.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyopencl as cl

from gpugda.deadline import check_time
from gpugda.device.memory.host_buffers import host_buffer
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext

__all__ = ["OrderedSum"]

_FILE: Final = "ordered_sum.cl"
_PARAMETERS: Final = "Qbb"
_ROWS: Final = 1 << 24
"""Rows of a launch: a query is stopped between launches."""


class OrderedSum:
    """Adds floats with exactly the rounding of sequential additions.

    Args:
        context: A CPU, whose memory is the host's.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._kernel = get_kernel(context, _FILE, "ordered_sum", _PARAMETERS)

    def total(self, values: NDArray[np.float64], begun: float = 0.0) -> float:
        """The sum of ``begun`` and the values.

        Raises:
            DeviceError: A launch failed.
            QueryTimeoutError: The time is up.
        """
        context, total = self._context, np.array([begun])
        with context.lock:
            kept = host_buffer(context, total, writable=True)
            for start in range(0, len(values), _ROWS):
                check_time()
                part = values[start : start + _ROWS]
                read = host_buffer(context, part)
                self._kernel.launch_groups(1, len(part), read, kept)
                context.finish()
            context.call("sum of rows", cl.enqueue_copy, context.queue, total, kept)
        return float(total[0])
