"""Running means of rows that lie on the host; launcher of ``running_means.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyopencl as cl

from gpugda.deadline import check_time
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext

__all__ = ["RunningMeans"]

_FILE: Final = "running_means.cl"
_PARAMETERS: Final = "QIbbb"
_ROWS: Final = 1 << 24
"""Of a launch: a query is stopped between launches."""


class RunningMeans:
    """Moves the means of groups by the values of their rows, in the order of rows.

    Args:
        context: A CPU, whose memory is the host's.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._means = get_kernel(context, _FILE, "running_means", _PARAMETERS)
        self._infinite = get_kernel(context, _FILE, "infinite_means", _PARAMETERS)

    def states(
        self,
        rows: Iterable[tuple[NDArray[Any], NDArray[np.int64]]],
        groups: int,
        *,
        infinite: bool = False,
    ) -> NDArray[np.float64]:
        """Per group three numbers: its count, its mean and its squared differences.

        Args:
            rows: Some at a time: of each an ``int64`` or ``float64``, and its group.
            groups: How many there are.
            infinite: Shall an infinite mean stay as it is? There are no squares then.

        Raises:
            DeviceError: A launch failed.
            QueryTimeoutError: The time is up.
        """
        context = self._context
        kernel = self._infinite if infinite else self._means
        states = np.zeros((groups, 3))
        with context.lock:
            kept = context.call("means of rows", self._buffer, states, cl.mem_flags.READ_WRITE)
            for values, group_of in rows:
                for start in range(0, len(values), _ROWS):
                    check_time()
                    part = slice(start, start + _ROWS)
                    owners = None if groups == 1 else self._read(group_of[part])
                    raw = values[part]
                    is_integer = int(raw.dtype == np.int64)
                    kernel.launch_groups(1, len(raw), is_integer, owners, self._read(raw), kept)
                    context.finish()
            context.call("means of rows", cl.enqueue_copy, context.queue, states, kept)
        return states

    def _read(self, array: NDArray[Any]) -> Any:
        return self._buffer(np.ascontiguousarray(array), cl.mem_flags.READ_ONLY)

    def _buffer(self, array: NDArray[Any], access: int) -> Any:
        flags = access | cl.mem_flags.USE_HOST_PTR
        return cl.Buffer(self._context.context, flags, hostbuf=array)
