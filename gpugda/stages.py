"""Measures the time of each stage of a query."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, MutableMapping

__all__ = ["Stage", "timed"]

_T = TypeVar("_T")


class Stage:
    """Context manager that adds the wall clock time of a block to a stage.

    A class, as the smallest query enters ten: a generator takes three times as long.

    Args:
        timings: Seconds by stage.
        name: Name of the stage.
    """

    __slots__ = ("_name", "_started", "_timings")

    def __init__(self, timings: MutableMapping[str, float], name: str) -> None:
        self._timings = timings
        self._name = name

    def __enter__(self) -> None:
        self._started = time.perf_counter()

    def __exit__(self, *error: object) -> None:
        taken = time.perf_counter() - self._started
        self._timings[self._name] = self._timings.get(self._name, 0.0) + taken


def timed(chunks: Generator[_T], spent: Callable[[float], object]) -> Generator[_T]:
    """Yields what a generator yields; ``spent`` gets the seconds that each of its steps took."""
    with closing(chunks):
        while True:
            started = time.perf_counter()
            chunk = next(chunks, None)
            spent(time.perf_counter() - started)
            if chunk is None:
                return
            yield chunk
