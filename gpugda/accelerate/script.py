"""Runs a Python file as ``__main__``, so that it cannot tell how it was started."""

from __future__ import annotations

import builtins
import io
import os
import runpy
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["open_script", "run_module", "run_script"]

_HERE = str(Path(__file__).parent)


def open_script(path: str) -> bytes:
    """Reads the source of a script.

    Raises:
        OSError: The file cannot be read.
    """
    with io.open_code(os.path.abspath(path)) as file:
        return file.read()


def run_script(source: bytes, path: str, arguments: Sequence[str]) -> None:
    """Runs the script to its end; its exceptions, including ``SystemExit``, pass through.

    Tracebacks of uncaught exceptions are shown without the frames of this package and of the
    interpreter's start-up.
    """
    sys.excepthook = _show
    sys.argv = [path, *arguments]
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    module = ModuleType("__main__")
    module.__dict__.update(__file__=path, __builtins__=builtins, __cached__=None)
    sys.modules["__main__"] = module
    code: CodeType = compile(source, path, "exec", dont_inherit=True)
    exec(code, module.__dict__)


def run_module(name: str, arguments: Sequence[str]) -> None:
    """Runs a module or package like ``python -m``; its exceptions pass through."""
    sys.excepthook = _show
    try:
        found = find_spec(name)
    except (ImportError, ValueError) as error:
        sys.exit(
            f"{sys.executable}: Error while finding module specification for {name!r} ({error})"
        )
    if found is None:
        sys.exit(f"{sys.executable}: No module named {name}")
    sys.argv = [name, *arguments]  # runpy replaces the first item by the module's file
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    seen: set[int] = set()
    each: BaseException | None = error
    while each is not None and id(each) not in seen:
        seen.add(id(each))
        each.__traceback__ = _without_own_frames(each.__traceback__)
        each = each.__cause__ or each.__context__
    sys.__excepthook__(kind, error, error.__traceback__)


def _without_own_frames(trace: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this package and of the interpreter's start-up."""
    kept = []
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if os.path.dirname(name) != _HERE and name != "<frozen runpy>":
            kept.append(trace)
        trace = trace.tb_next
    if not kept:
        return None
    for before, after in pairwise(kept):
        before.tb_next = after
    kept[-1].tb_next = None
    return kept[0]
