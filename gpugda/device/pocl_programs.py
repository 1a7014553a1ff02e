"""Loads PoCL's programs and kernels; another process compiles what is missing or damaged."""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gpugda.device.caches import POCL_VARIABLE, pocl_folder, why_pocl_cannot_load
from gpugda.device.devices import list_devices
from gpugda.device.kernel_text import kernel_names
from gpugda.device.pocl_entries import (
    BUILD_OPTIONS,
    entry_key,
    files_of,
    is_intact,
    is_kept,
    kernel_in,
    program_path,
)
from gpugda.device.program_cache import kept_program
from gpugda.errors import DeviceError
from gpugda.folders import has_room
from gpugda.process import process_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.devices import DeviceInfo

__all__ = [
    "LARGE_ITEMS",
    "Program",
    "check_pocl",
    "compile_kernels",
    "has_compiler",
    "has_kernels",
    "load_program",
    "missing_kernels",
]

_LOGGER = logging.getLogger("gpugda.device")

LARGE_ITEMS: Final = 65_535
"""Work items from which PoCL launches another form of a kernel."""
_FAILED_SECONDS: Final = 60.0
_SERVE: Final = """
import sys
from gpugda.device.pocl_compiler import serve
serve(sys.argv[1], int(sys.argv[2]))
"""
_known: set[Path] = set()
"""Files of checksums that this process has compared."""


class Program(NamedTuple):
    """A loaded program, and what its kernels are compiled from.

    Args:
        handle: pyopencl's program.
        job: What the compiler has to know; None if PoCL compiles in this process.
    """

    handle: Any
    job: dict[str, Any] | None = None

    def name(self, kernel: str) -> str:
        """Name of a kernel in the program."""
        return kernel if self.job is None else kernel_in(self.job["key"], kernel)


def check_pocl(info: DeviceInfo) -> None:
    """Refuses a PoCL that must not load kernels from its folder.

    Raises:
        DeviceError: Kernels must not be loaded.
    """
    is_pocl = "portable computing language" in info.platform.lower()
    if is_pocl and (reason := why_pocl_cannot_load()):
        raise DeviceError(f"{info.name}: {reason}. engine='reference' needs no device.")


def has_compiler() -> bool:
    """True if a process can be started that compiles. A program that contains Python has none."""
    return _python() is not None


def load_program(context: DeviceContext, file: str, text: str, options: Sequence[str]) -> Program:
    """Loads a program, which is compiled first if it is not kept.

    Raises:
        DeviceError: It does not build.
    """
    import pyopencl as cl

    key = entry_key(context.info, text, options, context.group_size)
    job = {
        "key": key,
        "text": text,
        "options": list(options),
        "names": kernel_names(text),
        "group_size": context.group_size,
    }
    binary = kept_program(program_path(key))
    if binary is None:
        _compile(context.info, file, {**job, "launched": [], "large": False})
        binary = kept_program(program_path(key))
    if binary is None:
        raise DeviceError(f"{file} was compiled for {context.info.name}, but is not in its folder")
    made = cl.Program(context.context, [context.info.handle], [binary])
    return Program(made.build(options=list(BUILD_OPTIONS)), job)


def compile_kernels(
    context: DeviceContext,
    file: str,
    program: Program,
    names: Iterable[str],
    *,
    large: bool = False,
) -> None:
    """Returns when the files of these kernels are intact, so that launching them loads them.

    Raises:
        DeviceError: They cannot be compiled.
    """
    missing = missing_kernels(program, names, large=large)
    if missing and program.job is not None:
        _compile(context.info, file, {**program.job, "launched": missing, "large": large})
        missing = missing_kernels(program, missing, large=large)
    if missing:
        raise DeviceError(f"{file} was compiled for {context.info.name}, but is not in its folder")


def missing_kernels(
    program: Program, names: Iterable[str], *, large: bool = False
) -> Sequence[str]:
    """The kernels of these names whose files are absent or damaged."""
    if program.job is None:
        return ()
    paths = {name: files_of(program.job["key"], name, large=large) for name in names}
    missing = [name for name, path in paths.items() if path not in _known and not is_intact(path)]
    _known.update(path for name, path in paths.items() if name not in missing)
    return missing


def has_kernels(info: DeviceInfo, text: str, options: Sequence[str], group_size: int) -> bool:
    """True if a program and all its kernels are in the folder; does not look into them."""
    key = entry_key(info, text, options, group_size)
    return program_path(key).exists() and all(
        is_kept(files_of(key, name, large=False)) for name in kernel_names(text)
    )


# ------------------------------------------------------------------ the process
def _compile(info: DeviceInfo, file: str, job: dict[str, Any]) -> None:
    answer = _process.ask(info, job)
    if log := answer.get("build_log"):
        raise DeviceError(
            f"{file} does not build for {info.name} with {' '.join(job['options'])}", build_log=log
        )
    if said := answer.get("kernel_error"):  # other kernels can be compiled all the same
        raise DeviceError(f"{file} does not run on {info.name}: {said}")
    if said := answer.get("error"):
        raise DeviceError(f"{info.name}: {_cause(said)}")


class _Process:
    """The process that compiles; started when it is needed, it ends when it has been idle."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None
        self._owner = 0
        self._device = -1
        self._errors: Any = None
        self._folder: Path | None = None
        self._failed: tuple[float, str] = (0.0, "")

    def ask(self, info: DeviceInfo, job: dict[str, Any]) -> dict[str, str]:
        with self._lock:
            until, said = self._failed
            if time.monotonic() < until:  # it takes a second, and queries come by the hundred
                return {"error": said}
            try:
                answer = self._answer(info, job)
            except OSError as error:
                answer = {"error": str(error)}
            if said := answer.get("error", ""):
                self._failed = (time.monotonic() + _FAILED_SECONDS, said)
            return answer

    def _answer(self, info: DeviceInfo, job: dict[str, Any]) -> dict[str, str]:
        said = ""
        for _ in range(2):  # it may have ended just now, as it was idle
            child = self._running(info)
            assert child.stdin is not None
            assert child.stdout is not None
            line = ""
            with contextlib.suppress(OSError, ValueError):  # closed
                child.stdin.write(json.dumps(job) + "\n")
                child.stdin.flush()
                line = child.stdout.readline()
            if line:
                answer: dict[str, str] = json.loads(line)
                return answer
            said = self._ended(child)
            if said:
                break
        return {"error": said or "the compiler ends at once"}

    def _running(self, info: DeviceInfo) -> subprocess.Popen[str]:
        if self._owner != process_id():  # forked: the child is another process's
            self._child = self._folder = None
        if self._child is not None and self._device != info.index:
            self.stop()
        if self._child is None:
            self._folder = Path(tempfile.mkdtemp(prefix="new-", dir=pocl_folder()))
            self._errors = _memory_file()
            self._owner, self._device = process_id(), info.index
            self._child = _started(self._folder, _number(info), self._errors)
        return self._child

    def _ended(self, child: subprocess.Popen[str]) -> str:
        """Why the process ended; empty if it was idle."""
        code = child.wait()
        said = ""
        if self._errors is not None:
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()
        self.stop()
        if code == 0:
            return ""
        return said.splitlines()[-1] if said else f"the compiler ended with {code}"

    def stop(self) -> None:
        child, folder, self._child, self._folder = self._child, self._folder, None, None
        if child is None or self._owner != process_id():
            return
        for stream in (child.stdin, child.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        child.terminate()
        child.wait()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


_process: Final = _Process()
atexit.register(_process.stop)


def _started(own_folder: Path, number: int, errors: Any) -> subprocess.Popen[str]:
    python = _python()
    assert python is not None
    # The child must import this package from where this process imported it, and nothing from the
    # current folder (-P).
    path = os.pathsep.join(each for each in sys.path if each)
    return subprocess.Popen(
        [python, "-P", "-c", _SERVE, str(pocl_folder()), str(number)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL if errors is None else errors,
        env={**os.environ, "PYTHONPATH": path, POCL_VARIABLE: str(own_folder)},
        text=True,
    )


def _number(info: DeviceInfo) -> int:
    """Index among the devices of PoCL of a device, or of the one that it is a part of."""
    indexes = [each.index for each in list_devices() if each.platform == info.platform]
    return indexes.index(info.index)


def _memory_file() -> Any:
    """A file that takes no room on a disk, which may be full; None if there is no such thing."""
    if not hasattr(os, "memfd_create"):
        return None
    return os.fdopen(os.memfd_create("gpugda"), "w+b")


def _python() -> str | None:
    if getattr(sys, "frozen", False):
        return None
    return next(filter(_is_python, _pythons()), None)


def _pythons() -> Iterator[str]:
    yield sys.executable or ""
    yield os.path.join(sys.prefix, "bin", "python3")


def _is_python(path: str) -> bool:
    return os.path.basename(path).startswith("python") and os.access(path, os.X_OK)


def _cause(said: str) -> str:
    """Why kernels were not compiled, with the remedy."""
    folder = pocl_folder()
    if shutil.which("ld") is None:
        return (
            "PoCL cannot make kernels, as it finds no linker (ld): install one and the libraries "
            "of C and of the compiler (packages binutils, libc6-dev and libgcc-12-dev or later, or "
            "gcc), or see that ld is in a folder of PATH. engine='reference' needs no device."
        )
    if "No space left" in said or "uota exceeded" in said or not has_room(folder):
        return (
            f"PoCL cannot make kernels, as there is no room left in {folder}: make some, or set "
            f"{POCL_VARIABLE} to a folder elsewhere. engine='reference' needs no device."
        )
    return f"PoCL cannot make kernels in {folder}: {said}"
