"""The nodes that were read: only relationships between them are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpugda.data.batches import RelationshipBatch, id_array
from gpugda.data.values.arrow_numbers import numpy_numbers
from gpugda.errors import StaleSnapshotError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.batches import NodeBatch

__all__ = ["KnownNodes"]

_SPREAD = 16
"""The lookup table has at most this many entries (bytes) per existing id."""


class KnownNodes:
    """The ids of the nodes that were read.

    Args:
        partial: True if the database has other nodes, whose relationships are left out.
    """

    def __init__(self, *, partial: bool) -> None:
        self._partial = partial
        self._pieces: list[NDArray[np.int64]] = []
        self._marks: NDArray[np.bool_] | None = None
        self._gapless = False
        self.ids = np.empty(0, dtype=np.int64)
        """``int64``, increasing; complete after `freeze`."""

    def add(self, batch: NodeBatch) -> None:
        """Adds a batch; batches come in order of id."""
        self._pieces.append(np.asarray(batch.ids))

    def freeze(self) -> None:
        """Completes the set and builds the lookup table."""
        self.ids = np.concatenate([self.ids, *self._pieces])
        self._pieces = []
        largest = int(self.ids[-1]) if len(self.ids) else 0
        self._gapless = len(self.ids) > 0 and largest - int(self.ids[0]) + 1 == len(self.ids)
        if largest < _SPREAD * len(self.ids):
            self._marks = np.zeros(largest + 2, dtype=np.bool_)
            self._marks[self.ids] = True

    def checked(self, batch: RelationshipBatch) -> RelationshipBatch:
        """The relationships between known nodes.

        Raises:
            StaleSnapshotError: There are others, although all nodes were read.
        """
        sources, targets = numpy_numbers(batch.source_ids), numpy_numbers(batch.target_ids)
        if self._contains_all(sources) and self._contains_all(targets):
            return batch
        if not self._partial:
            raise StaleSnapshotError(
                "The database changed while it was read: there are relationships of nodes that "
                "were not read."
            )
        inside = self._contains(sources) & self._contains(targets)
        ids = batch.relationship_ids
        return RelationshipBatch(
            count=int(np.count_nonzero(inside)),
            source_ids=pa.array(sources[inside]),
            target_ids=pa.array(targets[inside]),
            type_codes=batch.type_codes[inside],
            type_names=batch.type_names,
            origin=batch.origin,
            relationship_ids=None if ids is None else id_array(ids)[inside],
        )

    def _contains_all(self, ids: NDArray[np.int64]) -> bool:
        """True if all ids are known; for a gapless range of ids the extremes decide."""
        if self._gapless and len(ids):
            return int(self.ids[0]) <= int(ids.min()) and int(ids.max()) <= int(self.ids[-1])
        return bool(self._contains(ids).all())

    def _contains(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        if self._marks is not None:
            # The last entry stands for all larger ids, and is never set.
            return np.take(self._marks, ids, mode="clip")
        if len(self.ids) == 0:
            return np.zeros(len(ids), dtype=np.bool_)
        places = np.searchsorted(self.ids, ids)
        places[places == len(self.ids)] = 0
        return np.equal(self.ids[places], ids)
