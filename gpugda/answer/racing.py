"""A race of two engines: one starts, the other joins it later, and the first answer counts."""

from __future__ import annotations

import math
import threading
from contextvars import copy_context
from time import monotonic
from typing import TYPE_CHECKING, Final

from gpugda.answer.declined import Declined
from gpugda.deadline import Cancellation

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.result.result import Result

    Runner = Callable[[Cancellation], Result | Declined]

__all__ = ["Races"]

_IDLE_SECONDS: Final = 30.0
"""Seconds after which the waiting thread ends if there is no race."""


class _Entrant:
    """An engine in a race.

    Args:
        runner: Answers, or returns why it does not; ends soon once it is cancelled.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.cancellation = Cancellation()
        self.outcome: Result | Declined | Exception | None = None

    @property
    def has_answered(self) -> bool:
        """True if there is an answer or an error, rather than nothing or a refusal."""
        return self.outcome is not None and not isinstance(self.outcome, Declined)

    def run(self) -> Result | Declined | Exception:
        """Runs the engine."""
        try:
            return self._runner(self.cancellation)
        except Exception as error:  # raised in the caller's thread if it comes first
            return error


class Races:
    """Runs one engine in the caller's thread, and another one beside it if it takes long.

    The first answer or error counts, and the other engine is cancelled. An engine that declines
    leaves the race to the other one. Thread-safe.

    One thread waits for all races: starting one for each would delay short queries, on a busy
    machine by milliseconds.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._joins: dict[_Race, float] = {}
        self._losing: list[_Race] = []
        self._wake = math.inf
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, first: Runner, second: Runner, after: float) -> Result | Declined:
        """The answer that comes first; raises the error that comes first.

        Args:
            first: The engine that starts.
            second: The engine that joins.
            after: Seconds until it joins; sooner if the first engine declines.
        """
        race = _Race(first, second)
        self._add(race, monotonic() + after)
        try:
            return race.run()
        finally:
            with self._changed:
                del self._joins[race]
                # An engine that joined and lost may still use the server's connections.
                self._losing = [each for each in (*self._losing, race) if each.is_joined]

    def close(self, seconds: float) -> None:
        """Cancels both engines of all races, and waits for those that joined."""
        with self._changed:
            self._closed = True
            races, thread = [*self._joins, *self._losing], self._thread
            self._changed.notify()
        for race in races:
            race.stop()
        for race in races:
            race.wait(seconds)
        if thread is not None:
            thread.join(seconds)

    def _add(self, race: _Race, when: float) -> None:
        with self._changed:
            self._joins[race] = when
            if self._thread is None:
                self._wake = when
                self._thread = threading.Thread(target=self._wait, name="gpugda-races", daemon=True)
                self._thread.start()
            elif when < self._wake:
                self._changed.notify()

    def _wait(self) -> None:
        while due := self._next():
            for race in due:
                race.join()

    def _next(self) -> list[_Race]:
        """Waits for races that an engine is to join; none if the thread should end."""
        with self._changed:
            while not self._closed:
                now = monotonic()
                if due := [race for race, when in self._joins.items() if when <= now]:
                    self._joins.update(dict.fromkeys(due, math.inf))
                    return due
                self._wake = min(self._joins.values(), default=math.inf)
                # A race that ends does not wake this thread: it finds nothing to do then.
                left = min(self._wake - now, _IDLE_SECONDS)
                if not self._changed.wait(left) and not self._joins and left == _IDLE_SECONDS:
                    break
            self._thread = None
            return []


class _Race:
    def __init__(self, first: Runner, second: Runner) -> None:
        self._first, self._second = _Entrant(first), _Entrant(second)
        self._changed = threading.Condition()
        self._winner: _Entrant | None = None
        self._has_joined = False
        self._thread: threading.Thread | None = None
        self._context = copy_context()

    def run(self) -> Result | Declined:
        """Runs the first engine, and the second one if it has declined alone."""
        try:
            self._enter(self._first)
            if self._winner is None and self._may_join():
                self._enter(self._second)
            with self._changed:
                self._changed.wait_for(lambda: self._winner or self._second.outcome)
        except BaseException:
            self.stop()
            raise
        outcome = (self._winner or self._second).outcome
        if isinstance(outcome, Exception):
            raise outcome
        assert outcome is not None
        return outcome

    def join(self) -> None:
        """Starts the second engine, unless the race has ended."""
        with self._changed:  # a race that has ended has its thread, or will never have one
            if not self._may_join():
                return
            self._thread = threading.Thread(
                target=self._context.run,
                args=(self._enter, self._second),
                name="gpugda-race",
                daemon=True,
            )
            self._thread.start()

    @property
    def is_joined(self) -> bool:
        """True while the second engine runs beside the first one, or after it."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Cancels both engines."""
        self._may_join()
        self._first.cancellation.cancel()
        self._second.cancellation.cancel()

    def wait(self, seconds: float) -> None:
        """Waits until the second engine has noticed that it was cancelled."""
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _may_join(self) -> bool:
        """True for the first caller of a race that has not ended."""
        with self._changed:
            is_first = not self._has_joined and self._winner is None
            self._has_joined = True
            return is_first

    def _enter(self, entrant: _Entrant) -> None:
        outcome = entrant.run()
        with self._changed:
            entrant.outcome = outcome
            if self._winner is None and entrant.has_answered:
                self._winner = entrant
            has_won = self._winner is entrant
            self._changed.notify_all()
        if has_won:
            other = self._second if entrant is self._first else self._first
            other.cancellation.cancel()
