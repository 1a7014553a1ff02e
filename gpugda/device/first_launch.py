"""An empty launch of each kernel, for drivers that compile at the first launch.

PoCL compiles a kernel when it first runs with a given work group size, and keeps the result in its
own folder. All scalars and buffers are 0, so the kernel has nothing to do. The exception is the
words that describe a step: they are 1, as a step has at least one link, and kernels find the last
link by this count.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyopencl as cl

from gpugda.device.failures import device_failure

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext

__all__ = ["launch_each_once", "launch_once"]

_LOGGER = logging.getLogger("gpugda.device")
_BYTES: Final = 1 << 20
_LOCAL_BYTES: Final = 1 << 12
_SCALARS: Final = {"uint": np.uint32, "ulong": np.uint64, "int": np.int32}
_DESCRIPTION: Final = "words"


def launch_each_once(context: DeviceContext, program: Any) -> None:
    """Launches every kernel of a built program once and waits for it.

    Raises:
        DeviceError: A launch failed.
    """
    for kernel in program.all_kernels():
        launch_once(context, kernel)


def launch_once(context: DeviceContext, kernel: Any, groups: int = 1) -> None:
    """Launches a kernel without work and waits for it, which makes PoCL compile it.

    Args:
        context: The device.
        kernel: pyopencl's kernel.
        groups: Number of work groups.

    Raises:
        DeviceError: The launch failed.
    """
    zeros, ones = (_filled(context, value) for value in (0, 1))
    group = (context.group_size,)
    name = kernel.function_name
    try:
        arguments = [_nothing(kernel, number, zeros, ones) for number in range(kernel.num_args)]
    except cl.Error as error:  # built without the option that records parameter names and types
        _LOGGER.debug("%s is compiled at its first launch: %s", name, error)
        return
    try:
        kernel.set_args(*arguments)
        size = (context.group_size * groups,)
        cl.enqueue_nd_range_kernel(context.queue, kernel, size, group)
        context.finish()
    except cl.Error as error:
        raise device_failure(error, f"launching {name}", context.info.name) from error


def _filled(context: DeviceContext, value: int) -> Any:
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    content = np.full(_BYTES // 4, value, np.uint32)
    doing = "making a buffer for first launches"
    return context.call(doing, cl.Buffer, context.context, flags, hostbuf=content)


def _nothing(kernel: Any, number: int, zeros: Any, ones: Any) -> Any:
    """The argument for a parameter that leaves the kernel without work."""
    ask, qualifiers = cl.kernel_arg_info, cl.kernel_arg_address_qualifier
    qualifier = kernel.get_arg_info(number, ask.ADDRESS_QUALIFIER)
    if qualifier == qualifiers.LOCAL:
        return cl.LocalMemory(_LOCAL_BYTES)  # its size does not change what is compiled
    if qualifier != qualifiers.PRIVATE:
        return ones if kernel.get_arg_info(number, ask.NAME) == _DESCRIPTION else zeros
    return _SCALARS[kernel.get_arg_info(number, ask.TYPE_NAME)](0)
