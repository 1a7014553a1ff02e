"""Counts entries of rows on the host's processor; launcher of ``row_counts.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.counting import RunLengths
from gpugda.device.memory.host_arrays import launch_on_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.counting import LabelSets
    from gpugda.data.csr import Csr
    from gpugda.device.context import DeviceContext
    from gpugda.types import NameId

__all__ = ["RowCounts"]

_FILE: Final = "row_counts.cl"
_ITEMS_PER_UNIT: Final = 2
_MAX_COUNTS: Final = 1 << 16
"""Maximum size of a table, so that it stays in the cache of a core."""
_WORD_BITS: Final = 32
_MARK_BYTES: Final = 1 << 26
"""Memory for a bit per node and work item, or 4 bytes per relationship if that is more."""


class RowCounts:
    """Counts in the arrays of a `Csr`.

    Args:
        context: A CPU.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._items = _ITEMS_PER_UNIT * context.info.compute_units

    def lengths(
        self, starts: NDArray[np.uint32], kinds: NDArray[NameId] | None, type_count: int
    ) -> RunLengths | None:
        """See `gpugda.data.counting.RowCounter`.

        Raises:
            DeviceError: A launch failed.
        """
        is_wide = kinds is not None and kinds.dtype != np.uint16
        if is_wide or 4 * type_count > _MAX_COUNTS:
            return None
        tables = np.zeros((self._items, 4, type_count), dtype=np.uint64)
        arguments = starts, kinds, len(starts) - 1, type_count, tables
        launch_on_arrays(self._context, _FILE, "add_lengths", "bbQIb", self._items, *arguments)
        counts, totals, squares = tables[:, 1:].sum(axis=0)
        return RunLengths(
            tables[:, 0].max(axis=0).tolist(),
            counts.tolist(),
            totals.tolist(),
            squares.astype(np.float64).tolist(),
        )

    def labelled(
        self, label_sets: LabelSets, type_count: int, outgoing: Csr
    ) -> NDArray[np.int64] | None:
        """See `gpugda.data.counting.RowCounter`.

        Raises:
            DeviceError: A launch failed.
        """
        set_count = len(label_sets.sets)
        size = set_count * type_count * set_count
        if outgoing.run_types.dtype != np.uint16 or size > _MAX_COUNTS:
            return None
        tables = np.zeros((self._items, size), dtype=np.uint64)
        launch_on_arrays(
            self._context,
            _FILE,
            "count_labelled",
            "bbbbQbIIbb",
            self._items,
            outgoing.neighbours,
            outgoing.run_offsets,
            outgoing.run_types,
            outgoing.run_starts,
            outgoing.node_count,
            label_sets.codes.astype(np.uint8),  # fits, as the table has set_count squared entries
            type_count,
            set_count,
            np.zeros(1, dtype=np.uint32),
            tables,
        )
        counts: NDArray[np.int64] = tables.sum(axis=0).view(np.int64)
        return counts

    def has_parallel(self, csr: Csr) -> bool:
        """True if a row of several types has two entries with the same neighbour.

        Raises:
            DeviceError: A launch failed.
        """
        words = -(-csr.node_count // _WORD_BITS)
        room = max(_MARK_BYTES, csr.neighbours.nbytes)
        items = max(1, min(self._items, room // (4 * words)))
        found = np.zeros(1, dtype=np.uint32)
        launch_on_arrays(
            self._context,
            _FILE,
            "find_parallel",
            "bbbQQbbb",
            items,
            csr.neighbours,
            csr.run_offsets,
            csr.run_starts,
            csr.node_count,
            words,
            np.zeros(1, dtype=np.uint32),
            np.zeros(items * words, dtype=np.uint32),
            found,
        )
        return bool(found[0])
