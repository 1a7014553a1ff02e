"""Kernels from the text files of ``gpugda_opencl``: built once per device, kept."""

from __future__ import annotations

import logging
import re
import time
import warnings
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from gpugda.device.failures import device_failure
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext

__all__ = ["GRAPH", "Kernel", "get_kernel", "kernel_text", "with_headers"]

_LOGGER = logging.getLogger("gpugda.device")
_INCLUDE = re.compile(r'^#include "([a-z_]+\.h)"$', re.MULTILINE)
# From the disk a file takes 0.03 s to 0.06 s, compiled anew 0.2 s and more.
_SLOW_BUILD_SECONDS = 0.15

_SCALARS = {"b": None, "I": np.uint32, "Q": np.uint64}
GRAPH = "b" * 11
"""Parameters of a kernel that reads the data graph, see ``csr.h``."""


class Kernel:
    """A kernel with its launch sizes. Arguments are state: launch under the context's lock."""

    __slots__ = ("_context", "_kernel", "name")

    def __init__(self, context: DeviceContext, kernel: Any, name: str) -> None:
        self._context = context
        self._kernel = kernel
        self.name = name

    def __call__(self, items: int, *arguments: Any) -> None:
        """Launches enough work items for ``items`` elements; nothing for none."""
        if items > 0:
            group_size = self._context.group_size
            wanted = -(-items // self._context.tuning.work_per_item)
            wanted = -(-wanted // group_size) * group_size
            self._launch(min(wanted, self._context.most_items), arguments)

    def launch_groups(self, groups: int, *arguments: Any) -> None:
        """Launches exactly so many work groups."""
        self._launch(groups * self._context.group_size, arguments)

    def _launch(self, size: int, arguments: tuple[Any, ...]) -> None:
        context = self._context
        context.check()
        try:
            self._kernel.set_args(*[getattr(each, "buffer", each) for each in arguments])
            cl.enqueue_nd_range_kernel(context.queue, self._kernel, (size,), (context.group_size,))
        except cl.Error as error:
            raise device_failure(error, f"launching {self.name}", context.info.name) from error


def get_kernel(context: DeviceContext, file: str, name: str, parameters: str) -> Kernel:
    """A kernel of a file such as ``join.cl``, built at the first call for the device.

    Args:
        context: The device.
        file: Name in ``gpugda_opencl``.
        name: Name in the file.
        parameters: One letter each: ``b`` buffer (or None), ``I`` uint, ``Q`` ulong.

    Raises:
        DeviceError: It does not build; the error has the build log.
    """
    with context.lock:
        context.check()
        known: Kernel | None = context.kernels.get((file, name))
        if known is None:
            handle = cl.Kernel(_program(context, file), name)
            handle.set_scalar_arg_dtypes([_SCALARS[letter] for letter in parameters])
            known = context.kernels[file, name] = Kernel(context, handle, name)
        return known


def kernel_text(file: str) -> str:
    """A file's text with its headers put in their places, each once."""
    return with_headers(resources.files("gpugda_opencl").joinpath(file).read_text("utf-8"))


def with_headers(text: str) -> str:
    """A kernel's text with the headers of ``gpugda_opencl`` put in their places, each once."""
    folder = resources.files("gpugda_opencl")
    seen: set[str] = set()

    def include(found: re.Match[str]) -> str:
        header = found.group(1)
        if header in seen:
            return ""
        seen.add(header)
        return _INCLUDE.sub(include, folder.joinpath(header).read_text("utf-8"))

    return _INCLUDE.sub(include, text)


def _program(context: DeviceContext, file: str) -> Any:
    if file not in context.programs:
        options = ["-cl-std=CL1.2", *(["-DON_CPU"] if context.is_cpu else [])]
        started = time.perf_counter()
        context.programs[file] = _build(context, file, kernel_text(file), options)
        if time.perf_counter() - started > _SLOW_BUILD_SECONDS:
            _LOGGER.info(
                "compiling %s for %s took %.1f s (kept on disk, so only the first time)",
                file,
                context.info.name,
                time.perf_counter() - started,
            )
    return context.programs[file]


def _build(context: DeviceContext, file: str, text: str, options: list[str]) -> Any:
    try:
        with warnings.catch_warnings():
            # NVIDIA's compiler writes notes even where all is well; our own log has them.
            warnings.simplefilter("ignore", cl.CompilerWarning)
            program = cl.Program(context.context, text).build(options=options)
        log = program.get_build_info(context.info.handle, cl.program_build_info.LOG).strip()
        if log:
            _LOGGER.debug("compiling %s: %s", file, log)
        return program
    except cl.RuntimeError as error:
        raise DeviceError(
            f"{file} does not build for {context.info.name} with {' '.join(options)}",
            build_log=str(error),
        ) from error
    except cl.Error as error:
        raise device_failure(error, f"building {file}", context.info.name) from error
