"""The command ``python -m gpugda.accelerate [-v] (script.py | -m module) [arguments]``."""

from __future__ import annotations

import argparse
import atexit
import builtins
import io
import logging
import os
import runpy
import sys
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from gpugda.accelerate.patch import accelerate_all
from gpugda.config import parse_freshness
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.accelerate.gate import Gate


__all__ = ["main", "open_script", "run_module", "run_script"]

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


_DESCRIPTION = """Runs a Python script, unchanged, with accelerated Neo4j drivers: every driver that
neo4j.GraphDatabase.driver or neo4j.AsyncGraphDatabase.driver gives it is gpugda's. Device, memory
limit and cache are chosen by GPUGDA_DEVICE and the other variables of the environment."""


_USAGE = "%(prog)s [-v] [--freshness POLICY] [--load WHEN] (script.py | -m module) [argument …]"
_WITH_VALUE = ("--freshness", "--load")


def main(arguments: Sequence[str]) -> None:
    """Runs the script like Python itself would, with the same exit code and errors."""
    parser = _parser()
    before, module = _split(arguments)
    given = parser.parse_args(before)
    options: dict[str, Any] = {"freshness": given.freshness, "load": given.load}
    try:
        parse_freshness(given.freshness)
    except ConfigurationError as error:
        parser.error(str(error))
    code = b"" if module else _opened(parser, given.script)
    # If the script sets up no logging, our log messages must not appear on its standard error.
    logging.getLogger("gpugda").addHandler(logging.NullHandler())
    gates = accelerate_all(options)
    if given.verbose:
        atexit.register(_report, gates)
    if module:
        run_module(given.script, given.arguments)
    else:
        run_script(code, given.script, given.arguments)


def _split(arguments: Sequence[str]) -> tuple[list[str], bool]:
    """The arguments without ``-m``, and True if there was one: the next word names a module."""
    left = iter(range(len(arguments)))
    for place in left:
        word = arguments[place]
        if word == "-m":
            return [*arguments[:place], *arguments[place + 1 :]], True
        if not word.startswith("-"):
            break  # the script; the remaining words are its arguments
        if word in _WITH_VALUE:
            next(left, None)
    return list(arguments), False


def _opened(parser: argparse.ArgumentParser, script: str) -> bytes:
    try:
        return open_script(script)
    except OSError as error:
        parser.error(f"can't open file {script!r}: {error.strerror}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m gpugda.accelerate", description=_DESCRIPTION, usage=_USAGE, allow_abbrev=False
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="say at the end what was accelerated"
    )
    parser.add_argument(
        "--freshness", default="strict", metavar="POLICY", help="strict, max_age=5s or manual"
    )
    parser.add_argument(
        "--load",
        choices=("background", "now"),
        default="background",
        help="whether the script waits for the first snapshot",
    )
    parser.add_argument("script", help="a Python file")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")
    return parser


def _report(gates: Sequence[Gate]) -> None:
    for number, gate in enumerate(gates, 1):
        which = f" {number}" if len(gates) > 1 else ""
        sys.stderr.write(f"gpugda: driver{which}: {gate.tally}\n")
    if not gates:
        sys.stderr.write("gpugda: the script made no driver\n")
