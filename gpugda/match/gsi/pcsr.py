"""Lists of one partition of the relationships on the host: PCSR, and plain rows to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = ["Entries", "HostLists", "Partition", "hashed_lists", "make_lists", "sorted_entries"]

_NONE = 0xFFFFFFFF
_PAIRS = 15
_GROUP_WORDS = 32
_MOST_ENTRIES = 0xFFFFFFFE


class Partition(NamedTuple):
    """Relationships of some types (None for any) as seen along one direction, or both."""

    types: tuple[int, ...] | None
    outgoing: bool
    incoming: bool


@dataclass(frozen=True, slots=True, eq=False)
class HostLists:
    """As ``neighbour_lists.h`` has them.

    Args:
        groups: ``uint32``, hash groups of 32 words or row offsets.
        group_count: Groups that a hash chooses from, others follow behind; 0 for row offsets.
        neighbours: ``uint32`` per entry, rising within a list.
        relationships: ``uint32`` per entry.
        types: ``uint16`` per entry of plain rows, else None.
        longest: Entries of the longest list.
    """

    groups: NDArray[np.uint32]
    group_count: int
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]
    types: NDArray[np.uint16] | None = None
    longest: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.groups, self.neighbours, self.relationships, self.types)
        return sum(each.nbytes for each in arrays if each is not None)


class Entries(NamedTuple):
    """One per relationship and direction that a partition sees, all ``uint32``."""

    owners: NDArray[np.uint32]
    neighbours: NDArray[np.uint32]
    relationships: NDArray[np.uint32]


def make_lists(graph: DataGraph, partition: Partition, *, hashed: int | None) -> HostLists:
    """The lists of a partition.

    Args:
        graph: The data graph.
        partition: Whose; of plain rows its types are not left out.
        hashed: Nodes per hash group on average; None for plain rows.

    Raises:
        MemoryLimitError: They have more entries than offsets of 32 bits can name.
    """
    chosen = partition if hashed is not None else partition._replace(types=None)
    owners, neighbours, relationships = sorted_entries(graph, chosen)
    if hashed is None:
        offsets = np.zeros(graph.node_count + 1, dtype=np.uint32)
        np.cumsum(np.bincount(owners, minlength=graph.node_count), out=offsets[1:])
        types = graph.relationship_types()[relationships]
        longest = int(np.diff(offsets).max(initial=0))
        return HostLists(offsets, 0, neighbours, relationships, types, longest)
    firsts = np.flatnonzero(np.diff(owners, prepend=_NONE).astype(np.bool_))
    lengths = np.diff(firsts, append=len(owners))
    return hashed_lists(owners[firsts], firsts, lengths, (neighbours, relationships), hashed)


def hashed_lists(
    owners: NDArray[np.uint32],
    firsts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    entries: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    fill: int,
) -> HostLists:
    """Lists that lie somewhere among entries, as a hash table of their own.

    Args:
        owners: Whose; each once.
        firsts: Where each list begins.
        lengths: How long each is, 1 at least.
        entries: Neighbours and relationships.
        fill: Nodes per hash group on average.
    """
    groups, base, order = hash_groups(owners, lengths, fill)
    places = np.repeat(firsts[order], lengths[order]) + places_in_runs(lengths[order])
    neighbours, relationships = (each[places] for each in entries)
    return HostLists(groups, base, neighbours, relationships, longest=int(lengths.max(initial=0)))


def _entries(graph: DataGraph, partition: Partition) -> Entries:
    """In no order."""
    starts, ends = graph.start_nodes(), graph.outgoing.neighbours
    indexes = np.arange(graph.relationship_count, dtype=np.uint32)
    if partition.types is not None:
        allowed = np.zeros(len(graph.types), dtype=np.bool_)
        allowed[list(partition.types)] = True
        indexes = indexes[allowed[graph.relationship_types()]]
        starts, ends = starts[indexes], ends[indexes]
    if not partition.incoming:
        return Entries(starts, ends, indexes)
    if not partition.outgoing:
        return Entries(ends, starts, indexes)
    back = starts != ends  # a loop is in its list once
    return Entries(
        np.concatenate([starts, ends[back]]),
        np.concatenate([ends, starts[back]]),
        np.concatenate([indexes, indexes[back]]),
    )


def sorted_entries(graph: DataGraph, partition: Partition) -> Entries:
    """By owner, then by neighbour.

    Raises:
        MemoryLimitError: There are more than offsets of 32 bits can name.
    """
    if partition.outgoing and partition.incoming and 2 * graph.relationship_count > _MOST_ENTRIES:
        raise MemoryLimitError(
            f"lists of undirected relationships have up to {2 * graph.relationship_count:,} "
            f"entries, and at most {_MOST_ENTRIES:,} are possible: give a direction, or leave the "
            "strategy to gpugda"
        )
    entries, node_count = _entries(graph, partition), graph.node_count
    keys = entries.owners.astype(np.uint64) * np.uint64(max(node_count, 1)) + entries.neighbours
    order = np.argsort(keys, kind="stable")
    return Entries(*(each[order] for each in entries))


def hash_groups(
    owners: NDArray[np.uint32], lengths: NDArray[np.int64], fill: int
) -> tuple[NDArray[np.uint32], int, NDArray[np.int64]]:
    """Hash groups with a pair per owner, how many a hash chooses from, and the order of the lists.

    Groups with more than 15 owners go on in groups behind all others.
    """
    base = max(1, -(-len(owners) // fill))
    homes = _homes(owners, base)
    order = np.argsort(homes, kind="stable")
    counts = np.bincount(homes, minlength=base)
    extra = np.maximum(0, -(-counts // _PAIRS) - 1)
    first_extra = base + np.cumsum(extra) - extra
    rank = places_in_runs(counts)
    link, slot = rank // _PAIRS, rank % _PAIRS
    home = homes[order]
    group = np.where(link == 0, home, first_extra[home] + link - 1)
    table = np.full((base + int(extra.sum()), _GROUP_WORDS), _NONE, dtype=np.uint32)
    ends = np.cumsum(lengths[order])
    table[group, 2 * slot] = owners[order]
    table[group, 2 * slot + 1] = ends - lengths[order]
    table[group, 2 * slot + 3] = ends  # where the list of the next pair begins, if there is one
    table[:, 2 * _PAIRS] = _followers(base, extra, first_extra)
    return table.reshape(-1), base, order


def _followers(
    base: int, extra: NDArray[np.int64], first_extra: NDArray[np.int64]
) -> NDArray[np.uint32]:
    """Per group the one in which it goes on, or none."""
    followers = np.full(base + int(extra.sum()), _NONE, dtype=np.uint32)
    followers[:base] = np.where(extra > 0, first_extra, _NONE)
    behind = places_in_runs(extra) + 1 < np.repeat(extra, extra)
    numbers = np.arange(base, base + len(behind))
    followers[base:] = np.where(behind, numbers + 1, _NONE)
    return followers


def _homes(owners: NDArray[np.uint32], groups: int) -> NDArray[np.int64]:
    """As ``hash_of_node`` has it, scaled to the number of groups."""
    hashes = owners * np.uint32(0x9E3779B1)
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    return (hashes.astype(np.uint64) * np.uint64(groups) >> np.uint64(32)).astype(np.int64)
