"""Builds a data graph's rows and their statistics by kernels on the host's processor."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeVar

from gpugda.data.identifiers import MAX_SHORT_IDS
from gpugda.data.sorting import RowFacts, SortedRows, reversed_csr
from gpugda.device.host_device import host_device
from gpugda.device.launch.csr_rows import RangeRows, RowCounts
from gpugda.errors import DeviceError, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.sorting import Unsorted
    from gpugda.data.statistics.counting import (
        LabelSets,
        RunLengths,
    )
    from gpugda.device.context import DeviceContext
    from gpugda.types import NameId

__all__ = ["HostRows"]

_LOGGER = logging.getLogger("gpugda.device")
_Found = TypeVar("_Found")
_FROM: Final = 1 << 20
"""Minimum number of relationships or rows: below, NumPy takes no longer than opening the device."""
_COUNTED_FROM: Final = 1 << 16
"""The same minimum once the device is open."""
_FAILURES: Final = (DeviceError, MemoryLimitError, MemoryError)
"""NumPy may find the memory that the kernels lacked, as it sorts with other arrays."""


class HostRows:
    """Sorts and counts with all cores; None if there is no such device or NumPy is as fast."""

    def __init__(self) -> None:
        self._is_open = False

    def sorted(self, given: Unsorted, *, with_order: bool) -> SortedRows | None:
        """See `gpugda.data.sorting.RowSorter`."""
        if given.type_count > MAX_SHORT_IDS or not given.node_count:
            return None
        return self._tried(
            len(given.starts), lambda device: _rows(device, given, with_order=with_order)
        )

    def lengths(
        self, starts: NDArray[np.uint32], kinds: NDArray[NameId] | None, type_count: int
    ) -> RunLengths | None:
        """See `gpugda.data.statistics.counting.RowCounter`."""
        count = len(starts)
        return self._tried(
            count, lambda device: RowCounts(device).lengths(starts, kinds, type_count)
        )

    def labelled(
        self, label_sets: LabelSets, type_count: int, outgoing: Csr
    ) -> NDArray[np.int64] | None:
        """See `gpugda.data.statistics.counting.RowCounter`."""
        return self._tried(
            outgoing.relationship_count,
            lambda device: RowCounts(device).labelled(label_sets, type_count, outgoing),
        )

    def _tried(self, count: int, work: Callable[[DeviceContext], _Found | None]) -> _Found | None:
        device = host_device() if count >= (_COUNTED_FROM if self._is_open else _FROM) else None
        if device is None:
            return None
        self._is_open = True
        try:
            return work(device)
        except _FAILURES as error:
            _LOGGER.info("NumPy builds rows of %d: %s", count, error)
            return None


def _rows(device: DeviceContext, given: Unsorted, *, with_order: bool) -> SortedRows:
    rows = RangeRows(device, given, with_order=with_order)
    outgoing, order = rows.outgoing()
    loops, parallel = tuple(rows.loops.tolist()), tuple((rows.parallel > 0).tolist())
    try:
        incoming = rows.incoming(outgoing)
        several = given.type_count > 1
        has_parallel = any(parallel) or (several and RowCounts(device).has_parallel(outgoing))
    except _FAILURES as error:
        # The input may be overwritten by now, so starting again is impossible.
        _LOGGER.info("NumPy turns %d relationships: %s", rows.count, error)
        return SortedRows(outgoing, reversed_csr(outgoing, given.type_count), order)
    return SortedRows(outgoing, incoming, order, RowFacts(loops, parallel, has_parallel))
