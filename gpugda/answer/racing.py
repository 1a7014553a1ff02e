"""A race of two engines: one starts, the other joins it later, and the first answer counts."""

from __future__ import annotations

import threading
from contextvars import copy_context
from typing import TYPE_CHECKING

from gpugda.answer.declined import Declined
from gpugda.deadline import Cancellation

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.result.result import Result

    Runner = Callable[[Cancellation], Result | Declined]

__all__ = ["Race"]


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


class Race:
    """Runs one engine in the caller's thread, and another one beside it if it takes long.

    The first answer or error counts, and the other engine is cancelled. An engine that declines
    leaves the race to the other one.

    Args:
        first: The engine that starts.
        second: The engine that joins.
        after: Seconds until it joins; sooner if the first engine declines.
    """

    def __init__(self, first: Runner, second: Runner, after: float) -> None:
        self._first, self._second = _Entrant(first), _Entrant(second)
        self._after = after
        self._changed = threading.Condition()
        self._winner: _Entrant | None = None
        self._joined = False
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._join_later,), name="gpugda-race", daemon=True
        )

    def run(self) -> Result | Declined:
        """The answer that came first; raises the error that came first."""
        self._thread.start()
        try:
            self._enter(self._first)
            with self._changed:
                is_alone = self._winner is None and not self._joined
                self._joined = True
                self._changed.notify_all()
            if is_alone:
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

    def stop(self) -> None:
        """Cancels both engines."""
        self._first.cancellation.cancel()
        self._second.cancellation.cancel()
        with self._changed:
            self._joined = True
            self._changed.notify_all()

    def join(self, seconds: float) -> None:
        """Waits until the second engine has noticed that it was cancelled."""
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _join_later(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._winner or self._joined, self._after)
            if self._winner is not None or self._joined:
                return
            self._joined = True
        self._enter(self._second)

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
