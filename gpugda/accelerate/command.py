"""The command ``python -m gpugda.accelerate [-v] (script.py | -m module) [arguments]``."""

from __future__ import annotations

import argparse
import atexit
import logging
import sys
from typing import TYPE_CHECKING, Any

from gpugda.accelerate.patch import accelerate_all
from gpugda.accelerate.script import open_script, run_module, run_script
from gpugda.config import parse_freshness
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.accelerate.gate import Gate

__all__ = ["main"]

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
