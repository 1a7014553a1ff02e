"""Arrays that many changes went into are made whole beside the queries; see ADR 0013."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from gpugda.config import host_limit
from gpugda.data.csr import CsrParts
from gpugda.data.patches.patched import Patched
from gpugda.live.background import BackgroundWork, Stopped
from gpugda.live.shared import SharedState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.patches.patched import Array

__all__ = ["Compactor"]

logger = logging.getLogger(__name__)

_Place = tuple[str, str]
_PLACES: Final = [(way, name) for way in ("outgoing", "incoming") for name in CsrParts._fields]


class Compactor:
    """Of one follower. What it makes of an older state, the newest one is then made of.

    That exchanges nothing but how the same values are kept, at one moment: nobody ever sees half of
    it, and whatever ends it before leaves all as it was.

    Args:
        state: The newest state, and the lock under which it becomes another one.

    Attributes:
        stopping: Set when it is closed.
    """

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._work = BackgroundWork("gpugda-compact")
        self.stopping = threading.Event()

    def look_at(self, graph: DataGraph) -> bool:
        """Starts where that pays, unless it is under way; whether it was started."""
        if not any(_is_worn(array) for _, array in _arrays(graph)):
            return False
        return self._work.start(lambda: self._compact(graph))

    @property
    def last_error(self) -> BaseException | None:
        """Why it failed the last time, None if it did not."""
        return self._work.last_error

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for what is under way; whether it has ended."""
        return self._work.wait(seconds)

    def close(self) -> None:
        """Ends it, and waits for that."""
        self.stopping.set()
        self._work.close()
        self._state = SharedState()  # the newest state is not kept for one that is closed

    def _compact(self, graph: DataGraph) -> None:
        most = host_limit()
        # One after the other: at no time is more than one of them made.
        for place, array in _arrays(graph):
            if not _is_worn(array):
                continue
            assert isinstance(array, Patched)
            if most is not None and array.whole_bytes > most:
                size = array.whole_bytes
                logger.info("%d bytes are not made whole: GPUGDA_HOST_LIMIT is %d", size, most)
                continue
            if place is None:
                self._compact_ids(graph)
            else:
                self._compact_rows(array, place)

    def _compact_rows(self, array: Patched, place: _Place) -> None:
        array.whole(self._check)
        with self._state.lock:
            newest = self._newest()
            target = None if newest is None else dict(_arrays(newest)).get(place)
            if isinstance(target, Patched):
                target.rebase(array)

    def _compact_ids(self, graph: DataGraph) -> None:
        assert graph.external_ids is not None
        rebase = graph.external_ids.looked_up_whole(self._check)
        with self._state.lock:
            newest = self._newest()
            if newest is not None and newest.external_ids is not None:
                rebase(newest.external_ids)

    def _newest(self) -> DataGraph | None:
        self._check()
        loaded = self._state.loaded
        return None if loaded is None else loaded.graph

    def _check(self) -> None:
        if self.stopping.is_set():
            raise Stopped


def _arrays(graph: DataGraph) -> Iterator[tuple[_Place | None, Array]]:
    """What may be worn, and where it lies; None for the ids of relationships."""
    for way, name in _PLACES:
        array = getattr(getattr(graph, way).parts, name)
        if array is not None:
            yield (way, name), array
    if graph.external_ids is not None:
        yield None, graph.external_ids.array


def _is_worn(array: Array) -> bool:
    return isinstance(array, Patched) and array.is_worn
