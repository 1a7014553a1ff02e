"""Builds a data graph's rows on a device: sorts both directions there and fetches them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.csr import Csr
from gpugda.data.identifiers import MAX_SHORT_IDS
from gpugda.data.sorting import SortedRows, bits_for
from gpugda.data.threads import in_threads, pieces_of
from gpugda.device.launch.csr_rows import CsrRows, Relationships
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.errors import DeviceError, MemoryLimitError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.sorting import Unsorted
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.csr_rows import Directory
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["build_rows"]

_LOGGER = logging.getLogger("gpugda.device")
_WORD_BITS = 64
_NUMBER_BYTES = 8
_BYTES_EACH, _BYTES_OF_ONE_TYPE = 48, 34
"""Maximum device bytes per relationship: two arrays of each kind for sorting, and the results. Less
if the order of arrival is not needed and there is one type."""
_BYTES_PER_NODE = 16
_SHARE_OF_MEMORY = 0.8
_PAGE = 4096
_PIECE = 1 << 24


def build_rows(context: DeviceContext, given: Unsorted, *, with_order: bool) -> SortedRows | None:
    """As `gpugda.data.sorting.sorted_rows`, on the device; None if they do not fit there.

    Args:
        context: The device.
        given: The relationships.
        with_order: True to return the order of arrival, too.
    """
    count, node_count = len(given.starts), given.node_count
    node_bits, type_bits = bits_for(node_count), bits_for(given.type_count)
    limit = int(context.info.global_memory_bytes * _SHARE_OF_MEMORY)
    is_plain = given.type_count == 1 and not with_order
    bytes_each = _BYTES_OF_ONE_TYPE if is_plain else _BYTES_EACH
    needed = bytes_each * count + _BYTES_PER_NODE * node_count
    is_long = _NUMBER_BYTES * count > context.info.max_allocation_bytes
    is_wide = given.type_count > MAX_SHORT_IDS
    if not count or is_long or is_wide or needed > limit:
        return None
    if 2 * node_bits + type_bits > _WORD_BITS:
        return None
    rows = CsrRows(context, node_count, node_bits, type_bits)
    try:
        with context.lock, Workspace(context, MemoryBudget(limit)) as workspace:
            return _built(rows, workspace, given, with_order=with_order)
    except (DeviceError, MemoryLimitError) as error:
        _LOGGER.info("the host sorts %d relationships: %s", count, error)
        return None


def _built(rows: CsrRows, workspace: Workspace, given: Unsorted, *, with_order: bool) -> SortedRows:
    entries = given.entries(slice(None))
    what, types = "relationships", entries.types
    arrived = Relationships(
        workspace.upload(entries.rows, what),
        None if types is None else workspace.upload(types, what),
        workspace.upload(entries.neighbours, what),
    )
    numbers, places = rows.outgoing(workspace, arrived, with_order=with_order)
    order = None if places is None else _fetched(workspace, places)
    facts = rows.facts(workspace, numbers, given.type_count)
    directory = rows.outgoing_directory(workspace, numbers)
    numbers, indexes, sources, targets = rows.turned(workspace, numbers)
    outgoing = _csr(workspace, directory, targets, None)
    found, neighbours, indexes = rows.incoming(workspace, numbers, indexes, sources)
    return SortedRows(outgoing, _csr(workspace, found, neighbours, indexes), order, facts)


def _csr(
    workspace: Workspace,
    directory: Directory,
    neighbours: DeviceArray,
    indexes: DeviceArray | None,
) -> Csr:
    return Csr(
        row_offsets=_fetched(workspace, directory.row_offsets),
        neighbours=_fetched(workspace, neighbours),
        relationship_indexes=None if indexes is None else _fetched(workspace, indexes),
        run_offsets=_fetched(workspace, directory.run_offsets),
        run_types=_fetched(workspace, directory.run_types),
        run_starts=_fetched(workspace, directory.run_starts),
    )


def _fetched(workspace: Workspace, array: DeviceArray) -> NDArray[Any]:
    """Copies the array to the host and releases it on the device."""
    found: NDArray[Any] = np.empty(array.count, dtype=array.dtype)
    # The system maps pages at the first write, which is slow with one thread.
    in_threads(lambda part: _touch(found[part]), pieces_of(array.count, _PIECE))
    workspace.read(array, found)
    workspace.release(array)
    return found


def _touch(values: NDArray[Any]) -> None:
    values[:: _PAGE // values.itemsize] = 0
