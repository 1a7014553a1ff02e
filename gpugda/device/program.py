"""Kernels from text files, built once per device and kept."""

from __future__ import annotations

import logging
import time
import warnings
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyopencl as cl

from gpugda.deadline import working_deadline
from gpugda.device.failures import device_failure
from gpugda.device.kernel_text import kernel_files, kernel_names, kernel_text, only_kernel
from gpugda.device.pocl_programs import (
    LARGE_ITEMS,
    Program,
    compile_kernels,
    has_compiler,
    has_kernels,
    load_program,
    missing_kernels,
)
from gpugda.device.program_cache import discard_program, keep_program, kept_program, program_file
from gpugda.errors import DeviceError
from gpugda.types import first_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from gpugda.device.context import DeviceContext


__all__ = [
    "GRAPH",
    "Kernel",
    "build_everything",
    "build_file",
    "build_share",
    "get_kernel",
    "is_compiled",
    "is_everything_built",
    "launch_each_once",
    "launch_once",
]


def is_compiled(context: DeviceContext, texts: Mapping[str, str]) -> bool:
    """True if no query on the device has to wait for a compiler.

    Args:
        context: The device.
        texts: Texts of its kernels, by file.
    """
    context.everything_compiled = all(_is_kept(context, each) for each in texts.values())
    return context.everything_compiled


def _is_kept(context: DeviceContext, text: str) -> bool:
    profile = context.profile
    for options in ([*profile.options, *profile.defines], [*profile.defines]):
        if context.is_pocl:
            if has_kernels(context.info, text, options, context.group_size):
                return True
        else:
            path = program_file(context.info, text, options)
            if path is not None and path.exists():
                return True
    return False


_LOGGER = logging.getLogger("gpugda.device")
_BYTES: Final = 1 << 20
_LOCAL_BYTES: Final = 1 << 12
_SCALAR_TYPES: Final = {"uint": np.uint32, "ulong": np.uint64, "int": np.int32}
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
    return _SCALAR_TYPES[kernel.get_arg_info(number, ask.TYPE_NAME)](0)


# Loading a file from disk takes 0.03 s to 0.06 s, compiling it 0.2 s and more.
_SLOW_BUILD_SECONDS = 0.15
_ONLY_FOR = {
    "cliques.cl": "lists",
    "csr_rows.cl": "lists",
    "edge_triangles.cl": "lists",
    "extend_lists.cl": "lists",
    "extend_marks.cl": "marks",
    "ordered_sum.cl": "marks",
    "radix_sort.cl": "lists",
    "range_rows.cl": "marks",
    "ranked_lists.cl": "lists",
    "ranked_triangles.cl": "lists",
    "ring_squares.cl": "lists",
    "row_counts.cl": "marks",
    "running_means.cl": "marks",
    "single_walks.cl": "marks",
    "squares.cl": "marks",
    "triangle_sums.cl": "marks",
    "triangles.cl": "marks",
    "upward_lists.cl": "lists",
    "upward_triangles.cl": "lists",
    "vector_batches.cl": "lists",
    "vector_sums.cl": "lists",
    "vector_steps.cl": "marks",
}
_ON_DEMAND = (
    "kept_",
    "segments",
    "upward_lists",
    "upward_triangles",
)
"""Prefixes of files that only graphs in segments use."""

_SCALARS: Final = {"I": b"I", "Q": b"L"}
"""By letter of a parameter, the letter of Python's ``struct`` for its native size."""
GRAPH = "b" * 10
"""Parameters of a kernel that reads the data graph, see ``csr.h``."""


class Kernel:
    """A kernel with its launch sizes. Arguments are state, so launch under the context's lock.

    It is compiled before its first launch, so that a query waits only for the kernels that it uses.
    """

    __slots__ = (
        "_context",
        "_file",
        "_is_large_ready",
        "_kernel",
        "_parameters",
        "_set_arguments",
        "name",
    )

    def __init__(self, context: DeviceContext, file: str, name: str, parameters: str) -> None:
        self._context = context
        self._file = file
        self._is_large_ready = not context.is_pocl
        self._kernel: Any = None
        self._parameters = parameters
        self._set_arguments = _setter(parameters)
        self.name = name

    def compile(self) -> None:
        """Compiles the kernel unless that is done.

        Raises:
            DeviceError: The kernel does not build; the error has the build log.
            QueryTimeoutError: The deadline of the lock's holder passed meanwhile.
        """
        context = self._context
        with context.lock:
            context.check()
            if self._kernel is None:
                started = time.perf_counter()
                program = _program(context, self._file, self.name)
                _compile_in_time(context, program, self._file, self.name)
                self._kernel = _handle(program, self.name, self._parameters)
                context.compiling_seconds += time.perf_counter() - started

    def __call__(self, items: int, *arguments: Any) -> None:
        """Launches enough work items for ``items`` elements; nothing for 0."""
        if items > 0:
            group_size = self._context.group_size
            wanted = -(-items // self._context.profile.work_per_item)
            wanted = -(-wanted // group_size) * group_size
            self._launch(min(wanted, self._context.max_items), _buffers(arguments))

    def launch_groups(self, groups: int, *arguments: Any) -> None:
        """Launches exactly ``groups`` work groups."""
        self._launch(groups * self._context.group_size, _buffers(arguments))

    def launch_each(self, groups: int, numbers: Iterable[int], *arguments: Any) -> None:
        """Launches ``groups`` work groups once per number, which is passed as the last argument."""
        buffers, size = _buffers(arguments), groups * self._context.group_size
        for number in numbers:
            self._launch(size, [*buffers, number])

    def _launch(self, size: int, arguments: list[Any]) -> None:
        context = self._context
        context.check()
        if self._kernel is None:
            self.compile()
        if size >= LARGE_ITEMS and not self._is_large_ready:
            self._compile_large()
        try:
            self._set_arguments(self._kernel, *arguments)
            cl.enqueue_nd_range_kernel(context.queue, self._kernel, (size,), (context.group_size,))
        except cl.Error as error:
            raise device_failure(error, f"launching {self.name}", context.info.name) from error

    def _compile_large(self) -> None:
        context = self._context
        with context.lock:
            program = _program(context, self._file, self.name)
            if program.job is not None:
                try:
                    compile_kernels(context, self._file, program, [self.name], large=True)
                except DeviceError as error:
                    _LOGGER.info("PoCL compiles %s in this process: %s", self.name, error)
            self._is_large_ready = True


def _buffers(arguments: tuple[Any, ...]) -> list[Any]:
    # Most arguments are integers: probing these for an attribute they lack would double the time.
    return [each if each.__class__ is int else getattr(each, "buffer", each) for each in arguments]


def get_kernel(context: DeviceContext, file: str, name: str, parameters: str) -> Kernel:
    """Returns a kernel of a file such as ``join.cl``; the same object at each call for a device.

    Args:
        context: The device.
        file: See `kernel_text`.
        name: Name of the kernel in the file.
        parameters: One letter each: ``b`` buffer (or None), ``I`` uint, ``Q`` ulong.

    Raises:
        DeviceError: The device is closed.
    """
    with context.lock:
        context.check()
        known: Kernel | None = context.kernels.get((file, name))
        if known is None:
            known = context.kernels[file, name] = Kernel(context, file, name, parameters)
        return known


def _handle(program: Program, name: str, parameters: str) -> Any:
    handle = cl.Kernel(program.handle, program.name(name))
    if handle.num_args != len(parameters):
        raise TypeError(f"{name} takes {handle.num_args} arguments, not {len(parameters)}")
    return handle


@cache
def _setter(parameters: str) -> Callable[..., None]:
    """A function that passes a kernel its arguments, for parameters as in `get_kernel`.

    pyopencl would make such a function, too, but takes a hundred times as long without its cache. A
    loop over the arguments would take twice as long at each launch.
    """
    names = [f"a{number}" for number in range(len(parameters))]
    buffers, scalars = [], []
    for number, letter in enumerate(parameters):
        if letter in _SCALARS:
            scalars.append(f"{number}, {_SCALARS[letter]!r}, a{number}")
        else:
            buffers.append(f"{number}, a{number}")
    lines = [f"def set_arguments(kernel, {', '.join(names)}):", " pass"]
    for method, values in (("_set_arg_multi", buffers), ("_set_arg_buf_pack_multi", scalars)):
        if values:
            lines.append(f" kernel.{method}(({', '.join(values)},))")
    made: dict[str, Callable[..., None]] = {}
    exec("\n".join(lines), made)
    return made["set_arguments"]


def _compile_in_time(context: DeviceContext, program: Program, file: str, name: str) -> None:
    """Compiles a PoCL kernel, or waits until the deadline for that."""
    if not context.is_pocl:
        return
    deadline = _deadline(context)
    make: Callable[[], None]
    if program.job is not None:
        if not missing_kernels(program, [name]):
            return
        make = partial(compile_kernels, context, file, program, [name])
    elif deadline is None:
        return  # it is compiled at its first launch
    else:
        make = partial(launch_once, context, cl.Kernel(program.handle, name))
    context.compiling.result(f"{name} of {file}", make, deadline)


def build_everything(
    context: DeviceContext,
    should_continue: Callable[[int, int], bool] = lambda done, total: True,
    *,
    on_demand: bool = False,
    folders: Sequence[str] = (),
) -> Mapping[str, str]:
    """Compiles all kernels; returns the files that built only without the device's options.

    Holds the lock for one program at a time, so that others can launch in between; not while
    another process compiles kernels of PoCL.

    Args:
        context: The device.
        should_continue: Called before each file with the numbers of finished and of all files;
            returns False to stop.
        on_demand: True to include the kernels that only graphs in segments use.
        folders: Folders of other packages whose kernels are built, too, such as
            ``gpugda_strategies/opencl``.

    Returns:
        By file, the reason why the device's options failed.

    Raises:
        DeviceError: A kernel does not build at all.
    """
    files = _files(context, on_demand=on_demand)
    files += [f"{folder}/{name}" for folder in folders for name in kernel_files(folder)]
    for done, file in enumerate(files):
        if not should_continue(done, len(files)):
            return context.plain_builds
        build_file(context, file)
    context.everything_compiled = True
    return context.plain_builds


def build_file(context: DeviceContext, file: str) -> None:
    """Compiles all kernels of a file.

    Raises:
        DeviceError: A kernel does not build at all.
    """
    names = kernel_names(kernel_text(file))
    for name in names[:1] if context.is_pocl else names:
        with context.lock:
            # One log line covers all of them.
            program = _program(context, file, name, logging.DEBUG)
            if context.is_pocl and program.job is None:
                launch_each_once(context, program.handle)
        if program.job is not None:
            compile_kernels(context, file, program, names)


def build_share(context: DeviceContext, share: int, shares: int) -> None:
    """Compiles every ``shares``-th kernel, from ``share`` on, and leaves it on disk for others.

    Raises:
        DeviceError: A kernel does not build at all.
    """
    parts = [(file, name) for file in _files(context) for name in kernel_names(kernel_text(file))]
    for file, name in parts[share::shares]:
        with context.lock:
            _program(context, file, name, logging.DEBUG)


def is_everything_built(context: DeviceContext) -> bool:
    """True if this or an earlier process compiled all kernels, so that no query waits for one."""
    return context.everything_compiled or is_compiled(context, _texts(context))


def _texts(context: DeviceContext) -> dict[str, str]:
    texts = {}
    for file in _files(context):
        for name in kernel_names(kernel_text(file)):
            part, text = _part(context, file, name)
            texts[part] = text
    return texts


def _files(context: DeviceContext, *, on_demand: bool = False) -> list[str]:
    kind = context.profile.intersection
    kernels = kernel_files("gpugda_opencl")
    if not on_demand:
        kernels = [each for each in kernels if not each.startswith(_ON_DEMAND)]
    return [each for each in kernels if _ONLY_FOR.get(each, kind) == kind]


def _part(context: DeviceContext, file: str, name: str) -> tuple[str, str]:
    """Name (for messages) and text of the program that is built for a kernel.

    PoCL builds a whole file quickly and compiles each kernel at its first launch. Other drivers are
    slow to build, and get the kernel alone.
    """
    text = kernel_text(file)
    if context.is_pocl:
        return file, text
    return f"{name} of {file}", only_kernel(text, name)


def _program(context: DeviceContext, file: str, name: str, level: int = logging.INFO) -> Program:
    part, text = _part(context, file, name)
    if part not in context.programs:
        started = time.perf_counter()
        make = partial(_tuned_or_plain, context, file, text)
        context.programs[part] = context.compiling.result(part, make, _deadline(context))
        seconds = time.perf_counter() - started
        is_slow = seconds > _SLOW_BUILD_SECONDS and _LOGGER.isEnabledFor(level)
        # Loading alone can take as long on a busy machine. The check runs only if the log is
        # enabled.
        if is_slow and not is_everything_built(context):
            where = context.info.name
            kept = "kept on disk, so only the first time"
            _LOGGER.log(level, "compiling %s for %s took %.1f s (%s)", part, where, seconds, kept)
    found: Program = context.programs[part]
    return found


def _deadline(context: DeviceContext) -> float | None:
    """Deadline of the lock's holder; while a device is opened, of the query that waits for it."""
    deadlines = [each for each in (context.deadline, working_deadline()) if each is not None]
    return min(deadlines, default=None)


def _tuned_or_plain(context: DeviceContext, file: str, text: str) -> Program:
    """Builds with the options for the kind of device, otherwise with the required ones alone."""
    defines, options = context.profile.defines, context.profile.options
    try:
        return _build(context, file, text, [*options, *defines])
    except DeviceError as error:
        if not error.build_log:
            raise
        try:
            program = _build(context, file, text, [*defines])
        except DeviceError:
            raise error from None  # the options are not the cause
        context.plain_builds[file] = first_line(error)
        _LOGGER.warning(
            "%s does not build for %s with %s, but without: plain build options are used",
            file,
            context.info.name,
            " ".join(options),
        )
        return program


def _build(context: DeviceContext, file: str, text: str, options: list[str]) -> Program:
    known: Program | None = context.loaded.programs.get((text, tuple(options)))
    if known is None:
        known = _load(context, file, text, options)
        context.loaded.programs[text, tuple(options)] = known
    return known


def _load(context: DeviceContext, file: str, text: str, options: list[str]) -> Program:
    if context.is_pocl:
        if has_compiler():
            return load_program(context, file, text, options)
        _LOGGER.info("no Python was found that could compile: PoCL compiles in this process")
        return Program(_compiled(context, file, text, options))
    path = program_file(context.info, text, options)
    program = _kept(context, path, options)
    if program is None:
        program = _compiled(context, file, text, options)
        if path is not None:
            keep_program(path, program.get_info(cl.program_info.BINARIES)[0])
    return Program(program)


def _kept(context: DeviceContext, path: Path | None, options: list[str]) -> Any:
    binary = kept_program(path)
    if binary is None:
        return None
    try:
        return cl.Program(context.context, [context.info.handle], [binary]).build(options=options)
    except (cl.Error, ValueError) as error:
        discard_program(path, first_line(error))
        return None


def _compiled(context: DeviceContext, file: str, text: str, options: list[str]) -> Any:
    try:
        with warnings.catch_warnings():
            # NVIDIA's compiler writes notes even on success; they go to our own log.
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
