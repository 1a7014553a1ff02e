"""Lists of one partition of the relationships on the host: PCSR, and plain rows to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph
    from gpugda.types import NameId

__all__ = [
    "Entries",
    "HostLists",
    "Partition",
    "gathered_lists",
    "hash_groups",
    "hashed_lists",
    "make_lists",
    "sorted_entries",
]

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
        types: Per entry of plain rows, else None.
        longest: Entries of the longest list.
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


class Entries(NamedTuple):
    """Of lists: whose it is, the neighbour, and the relationship; each ``uint32``."""

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
    found = sorted_entries(
        graph, partition if hashed is not None else partition._replace(types=None)
    )
    if hashed is not None:
        return hashed_lists(found, hashed)
    owners, neighbours, relationships = found
    offsets = np.zeros(graph.node_count + 1, dtype=np.uint32)
    np.cumsum(np.bincount(owners, minlength=graph.node_count), out=offsets[1:])
    types = graph.relationship_types()[relationships]
    longest = int(np.diff(offsets).max(initial=0))
    return HostLists(offsets, 0, neighbours, relationships, types, longest)


def hashed_lists(entries: Entries, fill: int) -> HostLists:
    """Lists of entries that are sorted by owner, in hash groups of so many owners on average."""
    owners = entries.owners
    firsts = np.flatnonzero(np.diff(owners, prepend=_NONE).astype(np.bool_))
    lengths = np.diff(firsts, append=len(owners))
    found = entries.neighbours, entries.relationships
    return gathered_lists(owners[firsts], (firsts, lengths), found, fill)


def gathered_lists(
    owners: NDArray[np.uint32],
    runs: tuple[NDArray[np.int64], NDArray[np.int64]],
    entries: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    fill: int,
) -> HostLists:
    """Lists that lie somewhere among entries, in hash groups of so many owners on average.

    Args:
        owners: Whose; each once.
        runs: Where each list begins, and how long it is: 1 at least.
        entries: Neighbours and relationships.
        fill: Nodes per hash group on average.
    """
    firsts, lengths = runs
    groups, base, order = hash_groups(owners, lengths, fill)
    in_order = lengths[order]
    places = np.repeat(firsts[order] - (np.cumsum(in_order) - in_order), in_order)
    places += np.arange(len(places))
    # All are within: without "clip" NumPy would copy once more, lest some are not.
    neighbours, relationships = (each.take(places, mode="clip") for each in entries)
    return HostLists(groups, base, neighbours, relationships, longest=int(lengths.max(initial=0)))


def sorted_entries(graph: DataGraph, partition: Partition) -> Entries:
    """The entries of a partition, by owner, then by neighbour.

    Raises:
        MemoryLimitError: There are more than offsets of 32 bits can name.
    """
    if partition.outgoing and partition.incoming and 2 * graph.relationship_count > _MOST_ENTRIES:
        raise MemoryLimitError(
            f"lists of undirected relationships have up to {2 * graph.relationship_count:,} "
            f"entries, and at most {_MOST_ENTRIES:,} are possible: give a direction, or leave the "
            "strategy to gpugda"
        )
    ways = []
    if partition.outgoing:
        ways.append(_one_way(graph.outgoing, partition.types, len(graph.types)))
    if partition.incoming:
        ways.append(_one_way(graph.incoming, partition.types, len(graph.types)))
    if len(ways) == 2:
        back = ways[1].owners != ways[1].neighbours  # a loop is in its list once
        ways[1] = Entries(*(each[back] for each in ways[1]))
    found = Entries(*(np.concatenate(each) for each in zip(*ways, strict=True)))
    if len(ways) == 1 and (len(graph.types) <= 1 or len(partition.types or (0, 0)) == 1):
        return found  # a row is sorted by neighbour within a type
    return _sorted(found, graph.node_count)


def _one_way(csr: Csr, types: tuple[int, ...] | None, type_count: int) -> Entries:
    """By owner."""
    relationships = csr.relationship_indexes
    if relationships is None:
        relationships = np.arange(csr.relationship_count, dtype=np.uint32)
    if types is None or len(types) == type_count:
        return Entries(csr.entry_nodes(), csr.neighbours, relationships)
    allowed = np.zeros(type_count, dtype=np.bool_)
    allowed[list(types)] = True
    runs = np.flatnonzero(allowed[csr.run_types])
    lengths = (csr.run_starts[runs + 1] - csr.run_starts[runs]).astype(np.int64)
    chosen = np.repeat(csr.run_starts[runs], lengths) + places_in_runs(lengths)
    nodes = (np.searchsorted(csr.run_offsets, runs, side="right") - 1).astype(np.uint32)
    return Entries(np.repeat(nodes, lengths), csr.neighbours[chosen], relationships[chosen])


def _sorted(entries: Entries, node_count: int) -> Entries:
    # Two sorted halves are merged by a stable sort, not sorted again.
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
    order = _order_of(homes, base)
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


def _order_of(homes: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    """A stable order by group: by 16 bits at a time, which NumPy sorts by counting."""
    order = np.argsort((homes & 0xFFFF).astype(np.uint16), kind="stable")
    if base > 1 << 16:
        order = order[np.argsort((homes >> 16).astype(np.uint16)[order], kind="stable")]
    return order


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
