"""A newcomer's steps: functions that return what they observed, and raise if it is wrong.

Runs with an installed gpugda alone: nothing of the repository is imported here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

BIN = Path(sys.executable).parent
SECONDS = 600
"""Time limit of one command; generous, as it only ends hanging ones."""
WIDTH = 150


class LeftOutError(Exception):
    """This machine does not allow the step; the text says why."""


class Step(NamedTuple):
    title: str
    do: Callable[[], object]


class Group:
    """Steps of one kind, run in order in one process."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.steps: list[Step] = []

    def step(self, title: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
        def keep(do: Callable[[], object]) -> Callable[[], object]:
            self.steps.append(Step(title, do))
            return do

        return keep

    def run(self) -> int:
        """Prints one line per step; returns the number of wrong ones."""
        return sum(not self._passes(step) for step in self.steps)

    def _passes(self, step: Step) -> bool:
        try:
            word, saw = "ok", str(step.do())
        except LeftOutError as error:
            word, saw = "left out", str(error)
        except BaseException as error:  # the next step runs anyway
            word, saw = "WRONG", f"{type(error).__name__}: {error}"
        print(f"{word:8} {self.name}: {step.title}: {_one_line(saw, word == 'WRONG')}", flush=True)
        return word != "WRONG"


def _one_line(text: str, whole: bool) -> str:
    line = " ".join(text.split())
    return line if whole or len(line) <= WIDTH else line[: WIDTH - 1] + "…"


# ------------------------------------------------------------------ checks
def same(found: object, wanted: object) -> object:
    """Returns ``found``; raises if it differs from ``wanted``."""
    if found != wanted:
        raise AssertionError(f"{found!r} instead of {wanted!r}")
    return found


def tells(text: object, *words: str) -> str:
    """Returns the text; raises if one of the words is missing."""
    missing = [word for word in words if word not in str(text)]
    if missing:
        raise AssertionError(f"{missing} is not said: {text}")
    return str(text)


def refuses(kind: type[BaseException], words: Iterable[str], call: Callable[[], object]) -> str:
    """Returns the message of the expected error; raises if there is none."""
    try:
        found = call()
    except kind as error:
        return f"{type(error).__name__}: {tells(error, *words)}"
    raise AssertionError(f"{kind.__name__} was not raised; there came {found!r}")


class Said(NamedTuple):
    out: str
    err: str


def command(*words: object, stdin: str = "", code: int = 0, **environment: str) -> Said:
    """Runs a command of the installation (``gpugda``, ``python``); raises on another exit code."""
    done = subprocess.run(
        [BIN / str(words[0]), *map(str, words[1:])],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
        env={**os.environ, **environment},
    )
    if done.returncode != code:
        raise AssertionError(
            f"{' '.join(map(str, words))} ended with {done.returncode} instead of {code}: "
            f"{done.stdout[-1500:]} {done.stderr[-1500:]}"
        )
    if "Traceback" in done.stderr:
        raise AssertionError(f"{words} showed a traceback: {done.stderr[-1500:]}")
    return Said(done.stdout, done.stderr)


def records(found: Any) -> list[list[Any]]:
    """The values of a result of gpugda or of the driver, in a canonical order."""
    return sorted(([*record.values()] for record in found), key=repr)
