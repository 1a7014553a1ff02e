"""Which nodes a predicate left, kept for the next query and for the next state of the graph.

Evaluating a predicate takes as long as there are nodes. Where some of them have other values in the
next state, only these are evaluated again.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.patches.rising import rising

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from numpy.typing import NDArray

__all__ = ["KeptMask", "KeptMasks"]

_MOST_KEPT = 8
"""Together they take at most a byte a node."""
_MOST_STALE = 1 << 13
"""Of a mask of which more nodes have changed, nothing is kept."""


@dataclass(frozen=True, slots=True, eq=False)
class KeptMask:
    """What some predicates left of all nodes.

    Args:
        bits: ``uint32[words]`` of the nodes that there were then. Nobody may write them.
        reads: The properties that they look at, and nothing else of the graph.
        stale: ``int64``, rising: nodes whose bits are to be found anew, also all that came since.
    """

    bits: NDArray[np.uint32]
    reads: frozenset[str]
    stale: NDArray[np.int64]


class KeptMasks:
    """The masks of one state of the nodes' properties, for several threads."""

    __slots__ = ("_known", "_lock")

    def __init__(self, known: Mapping[Hashable, KeptMask] | None = None) -> None:
        self._known = dict(known or {})
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> KeptMask | None:
        """A mask, if it is known; ``stale`` tells of which nodes it is not."""
        with self._lock:
            found = self._known.pop(key, None)
            if found is not None:
                self._known[key] = found  # the last one to go
            return found

    def put(self, key: Hashable, bits: NDArray[np.uint32], reads: frozenset[str]) -> None:
        """Keeps a mask of all nodes; the one that was asked for the longest ago may go for it."""
        with self._lock:
            self._known.pop(key, None)
            bits.flags.writeable = False  # better an error than another query's nodes
            self._known[key] = KeptMask(bits, reads, np.empty(0, dtype=np.int64))
            if len(self._known) > _MOST_KEPT:
                del self._known[next(iter(self._known))]

    def followed(
        self,
        changed: Mapping[str, NDArray[np.int64]],
        created: NDArray[np.int64],
        told: Collection[str] | None,
    ) -> KeptMasks:
        """Those of the next state, in which the nodes that there were have the same numbers.

        Args:
            changed: Nodes with other values, by property.
            created: New nodes.
            told: Properties of which that is all that changed; None: of any.
        """
        found = {}
        with self._lock:
            known = dict(self._known)
        for key, mask in known.items():
            if told is not None and not mask.reads.issubset(told):
                continue
            rows = [changed[each] for each in mask.reads if each in changed]
            stale = rising(mask.stale, created, *rows) if rows or len(created) else mask.stale
            if len(stale) <= _MOST_STALE:
                found[key] = replace(mask, stale=stale)
        return KeptMasks(found)
