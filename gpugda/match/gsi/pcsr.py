"""Lists of one partition of the relationships on the host: PCSR, or plain rows to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.data.threads import pieces_of
from gpugda.deadline import check_time
from gpugda.match.gsi.entries import PIECE, sorted_entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.gsi.entries import Entries, Partition
    from gpugda.types import NameId

__all__ = [
    "HostLists",
    "first_places",
    "gathered_lists",
    "hash_groups",
    "hashed_lists",
    "make_lists",
]

_NONE = 0xFFFFFFFF
_PAIRS = 15
_GROUP_WORDS = 32


@dataclass(frozen=True, slots=True, eq=False)
class HostLists:
    """Lists in the layout of ``neighbour_lists.h``.

    Args:
        groups: ``uint32``, hash groups of 32 words or row offsets.
        group_count: Number of groups that a hash selects, before overflow groups; 0 for row
            offsets.
        neighbours: ``uint32`` per entry, ascending within a list.
        relationships: ``uint32`` per entry.
        types: Type per entry of plain rows, else None.
        longest: Number of entries of the longest list.
    """

    groups: NDArray[np.uint32]
    group_count: int
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]
    types: NDArray[NameId] | None = None
    longest: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.groups, self.neighbours, self.relationships, self.types)
        return sum(each.nbytes for each in arrays if each is not None)


def make_lists(graph: DataGraph, partition: Partition, *, hashed: int | None) -> HostLists:
    """The lists of a partition.

    Args:
        graph: The data graph.
        partition: The partition; plain rows hold all types.
        hashed: Average number of nodes per hash group; None for plain rows.

    Raises:
        MemoryLimitError: They have more entries than 32-bit offsets can address.
        QueryTimeoutError: The deadline of this thread's work passed.
    """
    found = sorted_entries(
        graph, partition if hashed is not None else partition._replace(types=None)
    )
    if hashed is not None:
        return hashed_lists(found, hashed)
    owners, neighbours, relationships = found
    offsets = np.zeros(graph.node_count + 1, dtype=np.uint32)
    np.cumsum(np.bincount(owners, minlength=graph.node_count), out=offsets[1:])
    check_time()
    of_relationships = graph.relationship_types()
    types = np.empty(len(relationships), dtype=of_relationships.dtype)
    for piece in pieces_of(len(relationships), PIECE):
        check_time()
        of_relationships.take(relationships[piece], mode="clip", out=types[piece])
    longest = int(np.diff(offsets).max(initial=0))
    return HostLists(offsets, 0, neighbours, relationships, types, longest)


def hashed_lists(entries: Entries, fill: int) -> HostLists:
    """Lists of entries sorted by owner, in hash groups of ``fill`` owners on average."""
    owners = entries.owners
    firsts = first_places(owners)
    lengths = np.diff(firsts, append=len(owners))
    found = entries.neighbours, entries.relationships
    return gathered_lists(owners[firsts], (firsts, lengths), found, fill)


def gathered_lists(
    owners: NDArray[np.uint32],
    runs: tuple[NDArray[np.int64], NDArray[np.int64]],
    entries: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    fill: int,
) -> HostLists:
    """Lists that are runs of some entries, in hash groups of ``fill`` owners on average.

    Args:
        owners: Owner of each list, distinct.
        runs: Start and length of each list; lengths are at least 1.
        entries: Neighbours and relationships.
        fill: Average number of nodes per hash group.
    """
    firsts, lengths = runs
    groups, base, order = hash_groups(owners, lengths, fill)
    ends = np.cumsum(lengths[order])
    total = int(ends[-1]) if len(ends) else 0
    found = np.empty(total, dtype=np.uint32), np.empty(total, dtype=np.uint32)
    first = 0
    while first < len(order):
        check_time()
        begin = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, begin + PIECE, side="right")))
        each_length = lengths[order[first:last]]
        places = np.repeat(firsts[order[first:last]], each_length) + places_in_runs(each_length)
        for values, target in zip(entries, found, strict=True):
            # All indexes are valid; without "clip" NumPy would make another copy to check them.
            values.take(places, mode="clip", out=target[begin : begin + len(places)])
        first = last
    return HostLists(groups, base, *found, longest=int(lengths.max(initial=0)))


def first_places(owners: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Indexes at which each owner's entries start."""
    found = [np.zeros(min(1, len(owners)), dtype=np.int64)]
    for piece in pieces_of(max(0, len(owners) - 1), PIECE):
        check_time()
        changes = owners[piece.start + 1 : piece.stop + 1] != owners[piece]
        found.append(np.flatnonzero(changes) + (piece.start + 1))
    return np.concatenate(found)


def hash_groups(
    owners: NDArray[np.uint32], lengths: NDArray[np.int64], fill: int
) -> tuple[NDArray[np.uint32], int, NDArray[np.int64]]:
    """Hash groups with a pair per owner, the number of base groups, and the order of the lists.

    Groups with more than 15 owners continue in overflow groups after all base groups.
    """
    base = max(1, -(-len(owners) // fill))
    homes = _homes(owners, base)
    check_time()
    order = _order_of(homes, base)
    check_time()
    counts = np.bincount(homes, minlength=base)
    extra = np.maximum(0, -(-counts // _PAIRS) - 1)
    first_extra = base + np.cumsum(extra) - extra
    rank = places_in_runs(counts)
    link, slot = rank // _PAIRS, rank % _PAIRS
    home = homes[order]
    group = np.where(link == 0, home, first_extra[home] + link - 1)
    check_time()
    table = np.full((base + int(extra.sum()), _GROUP_WORDS), _NONE, dtype=np.uint32)
    ends = np.cumsum(lengths[order])
    check_time()
    table[group, 2 * slot] = owners[order]
    table[group, 2 * slot + 1] = ends - lengths[order]
    table[group, 2 * slot + 3] = ends  # start of the next pair's list, if there is one
    table[:, 2 * _PAIRS] = _followers(base, extra, first_extra)
    return table.reshape(-1), base, order


def _order_of(homes: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """A stable order by group, 16 bits at a time, which NumPy sorts by counting."""
    order = np.argsort((homes & 0xFFFF).astype(np.uint16), kind="stable")
    if base > 1 << 16:
        order = order[np.argsort((homes >> 16).astype(np.uint16)[order], kind="stable")]
    return order


def _followers(
    base: int, extra: NDArray[np.int64], first_extra: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """The overflow group of each group, or none."""
    followers = np.full(base + int(extra.sum()), _NONE, dtype=np.uint32)
    followers[:base] = np.where(extra > 0, first_extra, _NONE)
    behind = places_in_runs(extra) + 1 < np.repeat(extra, extra)
    numbers = np.arange(base, base + len(behind))
    followers[base:] = np.where(behind, numbers + 1, _NONE)
    return followers


def _homes(owners: NDArray[np.uint32], groups: int) -> NDArray[np.int64]:
    """Hashes as ``hash_of_node`` does, scaled to the number of groups."""
    hashes = owners * np.uint32(0x9E3779B1)
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    return (hashes.astype(np.uint64) * np.uint64(groups) >> np.uint64(32)).astype(np.int64)
