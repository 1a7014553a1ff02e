"""Runs an engine in its own process, so that it can be killed and has its own memory."""

from __future__ import annotations

import multiprocessing
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lab.lsqb_engines import ENGINES, TooLongError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

    from lab.lsqb_engines import Engine
    from lab.lsqb_queries import LsqbQuery

__all__ = ["Answer", "Child"]

_GRACE = 30.0
_LOADING = 1800.0


@dataclass(frozen=True, slots=True)
class Answer:
    """Result of one run.

    Args:
        outcome: ``ok``, ``too long``, or the reason of the failure.
        count: The count; None if there is none.
        seconds: Time from the query text to the count in Python.
        processor: Processor seconds of all cores in that time; other programs affect these less.
    """

    outcome: str
    count: int | None
    seconds: float
    processor: float = 0.0


class Child:
    """An engine process; starts at the first query, and again after it had to be killed.

    Args:
        name: Name in `ENGINES`.
        scale: Scale of the graph.
        seed: Seed of the graph.
        options: Options of `gpugda.connect`, for gpugda.
    """

    def __init__(self, name: str, scale: float, seed: int, options: Mapping[str, Any]) -> None:
        self.name, self.load_seconds = name, 0.0
        self._made = name, scale, seed, dict(options)
        self._process: multiprocessing.process.BaseProcess | None = None

    def start(self) -> Answer:
        """Starts the process and loads the graph, unless that is done."""
        if self._process is not None:
            return Answer("ok", None, self.load_seconds)
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other, *self._made), daemon=True)
        self._process.start()
        other.close()
        loaded = self._received(_LOADING)
        self.load_seconds = loaded.seconds
        if loaded.outcome != "ok":
            self.stop()
        return loaded

    def ask(self, query: LsqbQuery, seconds: float) -> Answer:
        """Runs a query once; kills the process if it exceeds the time."""
        started = self.start()
        if started.outcome != "ok":
            return started
        self._pipe.send((query, seconds))
        return self._received(seconds)

    def _received(self, seconds: float) -> Answer:
        try:
            if self._pipe.poll(seconds + _GRACE):
                answer: Answer = self._pipe.recv()
                return answer
        except EOFError:
            self.stop()
            return Answer("its process died", None, 0.0)
        self.stop()
        return Answer("too long", None, seconds)

    def stop(self) -> None:
        """Kills the process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            self._process = None


def _serve(
    pipe: Connection, name: str, scale: float, seed: int, options: Mapping[str, Any]
) -> None:
    """Loads the graph, then answers queries until the parent closes the pipe."""
    try:
        begun = time.perf_counter()
        engine = ENGINES[name](scale, seed, options)
        pipe.send(Answer("ok", None, time.perf_counter() - begun))
        while True:
            pipe.send(_answer(engine, *pipe.recv()))
    except EOFError:
        return
    except Exception as error:  # any error of a peer is reported and ends its process
        pipe.send(Answer(_error_text(error), None, 0.0))


def _answer(engine: Engine, query: LsqbQuery, seconds: float) -> Answer:
    begun, processor = time.perf_counter(), time.process_time()
    try:
        count = engine.count(query, seconds)
    except TooLongError:
        return Answer("too long", None, seconds)
    except Exception as error:  # after a failed query, a peer gets the next one
        return Answer(_error_text(error), None, 0.0)
    return Answer("ok", count, time.perf_counter() - begun, time.process_time() - processor)


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]
