"""Materialises heavily patched arrays in the background; see ADR 0013."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from gpugda.config import host_limit
from gpugda.data.csr import CsrParts
from gpugda.data.patches.patched import Patched
from gpugda.data.values.chunked_column import PatchedColumn
from gpugda.live.background import BackgroundWork, Stopped
from gpugda.live.shared import SharedState

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.patches.patched import Array

__all__ = ["Compactor"]

logger = logging.getLogger(__name__)

_Place = tuple[str, str]
"""A part of the graph, and an array in it."""
_ROWS: Final = [
    (direction, name) for direction in ("outgoing", "incoming") for name in CsrParts._fields
]
_LABELS: Final = ("label_offsets", "label_ids")
_STORES: Final = ("node_properties", "relationship_properties")


class Compactor:
    """Compacts the arrays of one follower's graph and rebases the newest state on them.

    A rebase changes only the representation of equal values, and is atomic. Cancelling before it
    leaves everything unchanged.

    Args:
        state: The newest state, and the lock that guards its replacement.

    Attributes:
        stopping: Set by `close`.
    """

    def __init__(self, state: SharedState) -> None:
        self._state = state
        self._work = BackgroundWork("gpugda-compact")
        self.stopping = threading.Event()

    def start_if_it_pays(self, graph: DataGraph) -> bool:
        """Starts compaction if it pays and none is running; returns True if it was started."""
        if not any(_pays_compaction(array) for _, array in _arrays(graph)):
            return False
        return self._work.start(lambda: self._compact(graph))

    @property
    def last_error(self) -> BaseException | None:
        """Error of the last compaction, None if it succeeded."""
        return self._work.last_error

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the running compaction; returns True if it has ended."""
        return self._work.wait(seconds)

    def close(self) -> None:
        """Cancels the running compaction and waits for its end."""
        self.stopping.set()
        self._work.close()
        self._state = SharedState()  # releases the newest state

    def _compact(self, graph: DataGraph) -> None:
        most = host_limit()
        # One after the other: at most one array is being materialised at any time.
        for place, array in _arrays(graph):
            if not _pays_compaction(array):
                continue
            assert isinstance(array, Patched)
            if most is not None and array.whole_bytes > most:
                size = array.whole_bytes
                logger.info(
                    "an array of %d bytes is not compacted: GPUGDA_HOST_LIMIT is %d", size, most
                )
                continue
            if place is None:
                self._compact_ids(graph)
            else:
                self._compact_at(array, place)

    def _compact_at(self, array: Patched, place: _Place) -> None:
        array.whole(self._check)
        with self._state.lock:
            newest = self._newest()
            target = None if newest is None else dict(_arrays(newest)).get(place)
            if isinstance(target, Patched):
                target.rebase(array)

    def _compact_ids(self, graph: DataGraph) -> None:
        assert graph.external_ids is not None
        rebase = graph.external_ids.compacted(self._check)
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
    """All arrays that may be patched, with their places; None for the ids of relationships."""
    for direction, name in _ROWS:
        array = getattr(getattr(graph, direction).parts, name)
        if array is not None:
            yield (direction, name), array
    for name in _LABELS:
        yield ("labels", name), getattr(graph, name)
    for name in _STORES:
        for key, column in getattr(graph, name).columns.items():
            if isinstance(column, PatchedColumn):
                yield (name, key), column.array
                if column.flags is not None:
                    yield (f"{name}: nulls", key), column.flags
    if graph.external_ids is not None:
        yield None, graph.external_ids.array


def _pays_compaction(array: Array) -> bool:
    return isinstance(array, Patched) and array.pays_compaction
