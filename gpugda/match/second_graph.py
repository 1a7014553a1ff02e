"""A second graph on the device, derived from the first: both share the memory limit."""

from __future__ import annotations

import threading
import weakref
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from gpugda.device.graph.device_graph import DeviceGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gpugda.data.data_graph import DataGraph

__all__ = ["SecondGraph"]

_MIN_SHARE = 4
"""The first graph may use at most one part in this many of the limit: two such graphs use half."""


class _Placed(Protocol):
    """A strategy on one graph."""

    limit: int

    @property
    def graph(self) -> DeviceGraph:
        """The graph."""

    def cached_bytes(self) -> int:
        """Bytes on the device, apart from the graph, that can be freed when memory is short."""

    def drop_cached(self) -> int:
        """Frees these arrays. Returns the number of bytes freed."""


_Strategy = TypeVar("_Strategy", bound=_Placed)


class SecondGraph(Generic[_Strategy]):
    """Holds the second graph; empty at first.

    Args:
        first: The strategy on the first graph.
        like: Makes the same strategy for another graph.
    """

    def __init__(self, first: _Strategy, like: Callable[[DeviceGraph], _Strategy]) -> None:
        self._first = weakref.ref(first)  # weak, because the first strategy owns this object
        self._like = like
        self._second: _Strategy | None = None
        self._has_room = True
        self._lock = threading.Lock()

    @contextmanager
    def used(self, graph: DataGraph) -> Iterator[_Strategy | None]:
        """Yields the strategy on a derived graph, which stays on the device meanwhile.

        Yields None if the graph is too large, and always after memory was short once.
        """
        with ExitStack() as kept:
            with self._lock:
                second = self._placed(graph)
                if second is not None:
                    kept.enter_context(second.graph.use())
            yield second

    def _placed(self, graph: DataGraph) -> _Strategy | None:
        first = self._first()
        assert first is not None
        if self._second is not None and self._second.graph.graph is not graph:
            self.leave()
        if self._second is None:
            if not self._has_room or _MIN_SHARE * first.graph.nbytes > first.limit:
                return None
            self._second = self._like(DeviceGraph(first.graph.context, graph))
        taken = first.graph.nbytes + first.cached_bytes() - self.nbytes
        self._second.limit = first.limit - taken
        return self._second

    @property
    def nbytes(self) -> int:
        """Bytes used by the second graph and by what is kept for its queries."""
        second = self._second
        return 0 if second is None else second.graph.nbytes + second.cached_bytes()

    def give_up(self) -> int:
        """Frees unused arrays. Returns the number of bytes freed."""
        second = self._second
        if second is None:
            return 0
        kept = second.drop_cached()
        freed = second.graph.close_if_unused()
        if freed:
            self._second, self._has_room = None, False
        return kept + freed

    def leave(self) -> None:
        """Removes the second graph from the device as soon as it is unused."""
        second, self._second = self._second, None
        if second is not None:
            second.graph.close()
