"""Cache of predicate results: bitmaps of matching nodes, for later queries and graph states.

Evaluating a predicate takes time linear in the number of nodes. If some nodes have other values in
the next state, it is evaluated again for these nodes only.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.patches.sorted_sets import sorted_distinct

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from numpy.typing import NDArray

__all__ = ["CachedMask", "MaskCache"]

_CACHE_SIZE = 8
"""Maximum number of masks; 8 bitmaps take at most a byte per node together."""
_MAX_STALE = 1 << 13
"""A mask with more changed nodes than this is dropped."""


@dataclass(frozen=True, slots=True, eq=False)
class CachedMask:
    """Bitmap of the nodes that satisfy some predicates.

    Args:
        bits: ``uint32[words]`` over the nodes of its state. Must not be written.
        reads: The properties that the predicates depend on; they depend on nothing else.
        stale: ``int64``, increasing: nodes to evaluate again, including all nodes created since.
    """

    bits: NDArray[np.uint32]
    reads: frozenset[str]
    stale: NDArray[np.int64]


class MaskCache:
    """The masks of one state of the node properties; thread-safe."""

    __slots__ = ("_known", "_lock")

    def __init__(self, known: Mapping[Hashable, CachedMask] | None = None) -> None:
        self._known = dict(known or {})
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> CachedMask | None:
        """The mask if it is cached; it is valid except for the nodes in ``stale``."""
        with self._lock:
            found = self._known.pop(key, None)
            if found is not None:
                self._known[key] = found  # moved to the end: the most recently used
            return found

    def put(self, key: Hashable, bits: NDArray[np.uint32], reads: frozenset[str]) -> None:
        """Caches a mask of all nodes; may evict the least recently used one."""
        with self._lock:
            self._known.pop(key, None)
            bits.flags.writeable = False  # a write would corrupt other queries, so let it raise
            self._known[key] = CachedMask(bits, reads, np.empty(0, dtype=np.int64))
            if len(self._known) > _CACHE_SIZE:
                del self._known[next(iter(self._known))]

    def followed(
        self,
        changed: Mapping[str, NDArray[np.int64]],
        created: NDArray[np.int64],
        told: Collection[str] | None,
    ) -> MaskCache:
        """The masks for the next state, in which the old nodes keep their numbers.

        Args:
            changed: Nodes with changed values, by property.
            created: Created nodes.
            told: Properties for which ``changed`` is complete; None: all properties.
        """
        found = {}
        with self._lock:
            known = dict(self._known)
        for key, mask in known.items():
            if told is not None and not mask.reads.issubset(told):
                continue
            rows = [changed[each] for each in mask.reads if each in changed]
            stale = (
                sorted_distinct(mask.stale, created, *rows) if rows or len(created) else mask.stale
            )
            if len(stale) <= _MAX_STALE:
                found[key] = replace(mask, stale=stale)
        return MaskCache(found)
