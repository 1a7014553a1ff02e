"""A small cache for several threads: the least recently used entry leaves first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import _lru_cache_wrapper, lru_cache
from typing import Generic, ParamSpec, TypeVar
from weakref import WeakMethod

__all__ = ["LruCache", "cached_method"]

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
P = ParamSpec("P")


class LruCache(Generic[K, V]):
    """Keeps at most ``size`` values that are made on demand."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of ``key``, made now if it is not there. An error in making keeps nothing."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        value = make()  # outside the lock: two threads may both make it, and both are right
        with self._lock:
            self._entries[key] = value
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return value


def cached_method(method: Callable[P, V], most: int | None = None) -> _lru_cache_wrapper[V]:
    """A bound method that remembers what it gave; an object that has it is in no cycle with it.

    For objects that hold much: what is in a cycle lives until Python looks for such.

    Args:
        method: Of an object that lives as long as somebody calls this.
        most: So many answers are kept; None: all.
    """
    known = WeakMethod(method)

    @lru_cache(most)
    def found(*args: P.args, **kwargs: P.kwargs) -> V:
        bound = known()
        assert bound is not None
        return bound(*args, **kwargs)

    return found
