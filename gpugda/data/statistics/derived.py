"""Values that are derived from a graph's arrays when they are first needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeVar, cast

from gpugda.deadline import seconds_left, working_deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Derived"]

_Value = TypeVar("_Value")


class Derived:
    """Cache of values derived from the arrays: each is computed once, on demand, by any thread."""

    __slots__ = ("_lock", "_values")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._values: dict[Any, Any] = {}

    def get(self, key: Any, compute: Callable[[], _Value]) -> _Value:
        """The value of a key, computed if it is missing. Nothing is kept if that fails.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        # Reading a dict needs no lock: the value is present, or it is computed under the lock.
        if key not in self._values:
            self._wait()
            try:
                if key not in self._values:
                    self._values[key] = compute()
            finally:
                self._lock.release()
        return cast("_Value", self._values[key])

    def peek(self, key: Any, otherwise: _Value) -> _Value:
        """The value if it was computed already."""
        return cast("_Value", self._values.get(key, otherwise))

    def known(self) -> dict[Any, Any]:
        """All values computed so far."""
        with self._lock:
            return dict(self._values)

    def put(self, values: Mapping[Any, Any]) -> None:
        """Adds values that are known already."""
        with self._lock:
            self._values.update(values)

    def nbytes(self) -> int:
        """Bytes of the arrays among the values."""
        with self._lock:
            values = list(self._values.values())
        return sum(int(getattr(value, "nbytes", 0)) for value in values)

    def _wait(self) -> None:
        """Acquires the lock, which another query may hold for seconds in a very large graph."""
        left = seconds_left(working_deadline())
        while not self._lock.acquire(timeout=-1 if left is None else left):
            left = seconds_left(working_deadline())
