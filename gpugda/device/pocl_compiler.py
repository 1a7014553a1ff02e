"""The process that compiles PoCL's kernels: if the compiler crashes, only this process ends.

It reads one job a line from standard input and answers one line each, in JSON. PoCL works in a
folder of its own, so nothing damaged is loaded; what is complete goes to the folder of the parent.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyopencl as cl

from gpugda.device.context import DeviceContext
from gpugda.device.devices import list_devices
from gpugda.device.pocl_entries import (
    BUILD_OPTIONS,
    files_of,
    is_intact,
    keep_files,
    kernel_in,
    program_path,
    remove_unused,
)
from gpugda.device.program import launch_once
from gpugda.device.program_cache import keep_program_or_fail, kept_program
from gpugda.errors import GpugdaError
from gpugda.folders import has_room

if sys.platform != "win32":
    import fcntl

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["serve"]

_IDLE_SECONDS: Final = 30.0
_LARGE_GROUPS: Final = 1 << 16
_NO_CODE: Final = ("tempfile_", "last_accessed")


def serve(folder: str, number: int) -> None:
    """Answers jobs until standard input ends, or no job has come for half a minute.

    Args:
        folder: PoCL's folder of the parent. PoCL's variable names another one here.
        number: Index of the device.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the compiler prints is no answer
    compiler = _Compiler(Path(folder), number)
    with contextlib.suppress(OSError):
        remove_unused(Path(folder))
    while select.select([sys.stdin], [], [], _IDLE_SECONDS)[0]:
        line = sys.stdin.readline()
        if not line:
            return
        answers.write(json.dumps(compiler.answer(json.loads(line))) + "\n")
        answers.flush()


class _Compiler:
    def __init__(self, folder: Path, number: int) -> None:
        self._folder = folder
        self._own = Path(os.environ["POCL_CACHE_DIR"])
        self._context = cache(lambda: DeviceContext(list_devices("Portable Computing")[number]))
        self._programs: dict[str, Any] = {}

    def answer(self, job: dict[str, Any]) -> dict[str, str]:
        try:
            with self._locked():
                self._do(job)
        except cl.Error as error:
            # On a full disk, too, the compiler says that the program is wrong.
            return {"build_log" if has_room(self._folder) else "error": str(error)}
        except GpugdaError as error:
            return {"kernel_error": str(error)}
        except OSError as error:
            return {"error": str(error)}
        return {}

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One process compiles at a time: the next finds the kernels."""
        if sys.platform == "win32":
            yield
            return
        descriptor = os.open(self._folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _do(self, job: dict[str, Any]) -> None:
        context = self._context()
        program = self._program(context, job)
        names = {each.function_name: each for each in program.all_kernels()}
        for name in job["launched"]:
            path = files_of(job["key"], name, large=job["large"], folder=self._folder)
            if is_intact(path):
                continue
            before = self._files()
            kernel = names.get(kernel_in(job["key"], name))
            if kernel is not None:  # not a kernel for another kind of device
                profile = replace(context.profile, group_size=job["group_size"])
                context.profile = profile
                launch_once(context, kernel, groups=_LARGE_GROUPS if job["large"] else 1)
            keep_files(path, sorted(self._files() - before), self._own)

    def _program(self, context: DeviceContext, job: dict[str, Any]) -> Any:
        key, path = job["key"], program_path(job["key"], self._folder)
        if key not in self._programs:
            binary = kept_program(path)
            if binary is None:
                binary = self._compiled(context, job)
            keep_program_or_fail(path, binary)
            made = cl.Program(context.context, [context.info.handle], [binary])
            self._programs[key] = made.build(options=list(BUILD_OPTIONS))
        return self._programs[key]

    def _compiled(self, context: DeviceContext, job: dict[str, Any]) -> bytes:
        """Intermediate code of a program, which PoCL leaves in its folder."""
        before = self._files()
        renamed = [f"-D{name}={kernel_in(job['key'], name)}" for name in job["names"]]
        options = [*BUILD_OPTIONS, *job["options"], *renamed]
        cl.Program(context.context, job["text"]).build(options=options)
        made = [path for path in self._files() - before if path.name == "program.bc"]
        if len(made) != 1:
            raise OSError("PoCL left no intermediate code in its folder")
        return made[0].read_bytes()

    def _files(self) -> set[Path]:
        found = (Path(place, name) for place, _, names in os.walk(self._own) for name in names)
        return {path for path in found if not path.name.startswith(_NO_CODE)}
