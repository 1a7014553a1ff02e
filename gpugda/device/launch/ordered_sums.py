"""Sums and running means of rows of the host, in their order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyopencl as cl

from gpugda.deadline import check_time
from gpugda.device.memory.host_arrays import host_buffer
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext

__all__ = ["OrderedSum", "RunningMeans"]

_ROWS: Final = 1 << 24
"""Rows of a launch: a query is stopped between launches."""


class OrderedSum:
    """Adds floats with exactly the rounding of sequential additions.

    Args:
        context: A CPU, whose memory is the host's.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._kernel = get_kernel(context, "ordered_sum.cl", "ordered_sum", "Qbb")

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


_FILE: Final = "running_means.cl"
_MEANS_PARAMETERS: Final = "QIbbb"
_SCRATCH: Final = 1024
"""Rows that the kernel processes in lanes together."""

"""Rows of a launch: a query is stopped between launches."""


class RunningMeans:
    """Updates the means of groups by the values of their rows, in the order of rows.

    Args:
        context: A CPU, whose memory is the host's.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._mean = get_kernel(context, _FILE, "running_mean", "QIIbbb")
        self._means = get_kernel(context, _FILE, "running_means", _MEANS_PARAMETERS)
        self._infinite = get_kernel(context, _FILE, "infinite_means", _MEANS_PARAMETERS)

    def states(
        self,
        rows: Iterable[tuple[NDArray[Any], NDArray[np.int64]]],
        groups: int,
        *,
        infinite: bool = False,
        squares: bool = True,
    ) -> NDArray[np.float64]:
        """Three numbers per group: its count, its mean and its sum of squared differences.

        Args:
            rows: Batches of rows: an ``int64`` or ``float64`` value per row, and its group.
            groups: The number of groups.
            infinite: True if an infinite mean stays as it is. Squares are not computed then.
            squares: True if squares are needed; otherwise their values are arbitrary.

        Raises:
            DeviceError: A launch failed.
            QueryTimeoutError: The time is up.
        """
        context = self._context
        states = np.zeros((groups, 3))
        with context.lock:
            kept = host_buffer(context, states, writable=True)
            scratch = host_buffer(context, np.empty(_SCRATCH), writable=True)
            for values, group_of in rows:
                for start in range(0, len(values), _ROWS):
                    check_time()
                    part = slice(start, start + _ROWS)
                    read, head = host_buffer(context, values[part]), self._head(values[part])
                    if groups == 1 and not infinite:
                        self._mean.launch_groups(1, *head, int(squares), read, kept, scratch)
                    else:
                        kernel = self._infinite if infinite else self._means
                        owners = None if groups == 1 else host_buffer(context, group_of[part])
                        kernel.launch_groups(1, *head, owners, read, kept)
                    context.finish()
            context.call("means of rows", cl.enqueue_copy, context.queue, states, kept)
        return states

    def _head(self, values: NDArray[Any]) -> tuple[int, int]:
        """First arguments of every kernel: the number of rows, and whether they are integers."""
        return len(values), int(values.dtype == np.int64)
