"""A small thread-safe cache with least recently used eviction."""

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
    """Caches at most ``size`` values, which are created on demand."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K, make: Callable[[], V]) -> V:
        """The value of ``key``, created if it is missing. Nothing is cached if creation fails."""
        with self._lock:
            if key in self._entries:
                self._entries.move_to_end(key)
                return self._entries[key]
        value = make()  # outside the lock: two threads may both create it, with equal results
        with self._lock:
            self._entries[key] = value
            while len(self._entries) > self._size:
                self._entries.popitem(last=False)
        return value


def cached_method(method: Callable[P, V], most: int | None = None) -> _lru_cache_wrapper[V]:
    """A memoised bound method that does not form a reference cycle with its object.

    For large objects: a cycle would keep them alive until the next garbage collection.

    Args:
        method: A method of an object that outlives all calls of the result.
        most: Maximum number of cached results; None for no limit.
    """
    known = WeakMethod(method)

    @lru_cache(most)
    def found(*args: P.args, **kwargs: P.kwargs) -> V:
        bound = known()
        assert bound is not None
        return bound(*args, **kwargs)

    return found
