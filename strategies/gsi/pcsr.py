"""Lists of one partition of the relationships on the host: PCSR, or plain rows to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from gpugda_strategies.gsi.entries import PIECE, sorted_lists

from gpugda.data.runs import places_in_runs, positions, repeated, windows_of
from gpugda.data.threads import core_count, in_threads_ahead, pieces_of
from gpugda.deadline import check_time, working_deadline, working_until

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda_strategies.gsi.entries import Partition, SortedLists
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.types import NameId

__all__ = ["HostLists", "gathered_lists", "hashed_lists", "make_lists"]

_Part = TypeVar("_Part")
_Found = TypeVar("_Found")
_RANGES_PER_CORE = 4
_RANGE_OWNERS = 1 << 17
"""Owners of a range of groups, at least."""
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
    found = sorted_lists(graph, partition if hashed is not None else partition._replace(types=None))
    if hashed is not None:
        return hashed_lists(found, hashed)
    offsets = found.row_offsets(graph.node_count).astype(np.uint32)
    check_time()
    of_relationships = graph.relationship_types()
    types = np.empty(len(found.relationships), dtype=of_relationships.dtype)
    for piece in pieces_of(len(types), PIECE):
        check_time()
        of_relationships.take(found.relationships[piece], mode="clip", out=types[piece])
    longest = int(np.diff(found.offsets).max(initial=0))
    return HostLists(offsets, 0, found.neighbours, found.relationships, types, longest)


def hashed_lists(lists: SortedLists, fill: int) -> HostLists:
    """The same lists in hash groups of ``fill`` owners on average."""
    runs = lists.offsets[:-1], np.diff(lists.offsets)
    return gathered_lists(lists.owners, runs, (lists.neighbours, lists.relationships), fill)


def gathered_lists(
    owners: NDArray[np.uint32],
    runs: tuple[NDArray[np.int64], NDArray[np.int64]],
    entries: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    fill: int,
) -> HostLists:
    """Lists that are runs of some entries, in hash groups of ``fill`` owners on average.

    Groups with more than 15 owners continue in overflow groups after all base groups. Threads make
    a range of groups each.

    Args:
        owners: Owner of each list, distinct.
        runs: Start and length of each list; lengths are at least 1.
        entries: Neighbours and relationships.
        fill: Average number of nodes per hash group.
    """
    lengths = runs[1]
    base = max(1, -(-len(owners) // fill))
    homes = _homes(owners, base)
    bounds = _range_bounds(len(owners), base)
    parts = _checked(lambda each: _placed(homes, each, lengths), list(pairwise(bounds)))
    first_extra = np.cumsum([0, *(int(each.extra.sum()) for each in parts)]) + base
    firsts = np.cumsum([0, *(each.entry_count for each in parts)])
    groups = np.empty((int(first_extra[-1]), _GROUP_WORDS), dtype=np.uint32)
    found = tuple(np.empty(int(firsts[-1]), dtype=np.uint32) for _ in entries)

    def fill_range(number: int) -> None:
        part, order = parts[number], parts[number].order
        places = int(first_extra[number]), int(firsts[number])
        _fill_groups(groups, part, (owners[order], lengths[order]), places)
        _gather((runs[0][order], lengths[order]), entries, found, places[1])

    _checked(fill_range, range(len(parts)))
    longest = int(lengths.max(initial=0))
    return HostLists(groups.reshape(-1), base, found[0], found[1], longest=longest)


def _checked(work: Callable[[_Part], _Found], parts: Sequence[_Part]) -> list[_Found]:
    """The results for each part, in order; threads keep the deadline of this thread's work."""
    deadline = working_deadline()

    def timed(part: _Part) -> _Found:
        with working_until(deadline):
            check_time()
            return work(part)

    return list(in_threads_ahead(timed, parts))


def _range_bounds(owners: int, base: int) -> list[int]:
    """Bounds of ranges of groups: each range reads the groups of all owners once."""
    ranges = min(_RANGES_PER_CORE * core_count(), -(-owners // _RANGE_OWNERS), base)
    bounds: list[int] = np.linspace(0, base, max(ranges, 1) + 1).astype(np.int64).tolist()
    return bounds


@dataclass(frozen=True, slots=True, eq=False)
class _Placed:
    """The lists of a range of groups.

    Args:
        groups: First group and end (exclusive).
        order: ``int64``: the lists in the order of their groups.
        counts: Number of owners of each group.
        extra: Number of overflow groups of each group.
        entry_count: Number of entries of all lists.
    """

    groups: tuple[int, int]
    order: NDArray[np.int64]
    counts: NDArray[np.int64]
    extra: NDArray[np.int64]
    entry_count: int


def _placed(
    homes: NDArray[np.uint32], groups: tuple[int, int], lengths: NDArray[np.int64]
) -> _Placed:
    count = groups[1] - groups[0]
    own = homes - np.uint32(groups[0])  # modulo 2^32: nodes of lower groups get high numbers
    some = np.flatnonzero(own < count)
    own = own[some]
    check_time()
    order = some[_order_of(own, count)]
    check_time()
    counts = np.bincount(own, minlength=count)
    extra = np.maximum(0, -(-counts // _PAIRS) - 1)
    return _Placed(groups, order, counts, extra, int(lengths[order].sum()))


def _fill_groups(
    table: NDArray[np.uint32],
    part: _Placed,
    lists: tuple[NDArray[np.uint32], NDArray[np.int64]],
    places: tuple[int, int],
) -> None:
    """Writes a range of groups and its overflow groups.

    Args:
        table: ``uint32[groups, 32]``.
        part: The range.
        lists: Owners and lengths, in order.
        places: The first overflow group, and the first entry.
    """
    (first, last), extra = part.groups, part.extra
    (overflow, entry), more = places, int(extra.sum())
    own, behind = table[first:last], table[overflow : overflow + more]
    own.fill(_NONE)
    behind.fill(_NONE)
    check_time()
    rank = places_in_runs(part.counts)
    home = repeated(np.arange(first, last), part.counts)
    first_extra = overflow + np.cumsum(extra) - extra
    group = home
    if more:
        link = rank // _PAIRS
        group = np.where(link == 0, home, first_extra[home - first] + link - 1)
        rank -= link * _PAIRS
    check_time()
    words = table.reshape(-1)
    at = group * _GROUP_WORDS + 2 * rank
    ends = np.cumsum(lists[1])
    ends += entry
    words[at] = lists[0]
    words[at + 1] = ends - lists[1]
    words[at + 3] = ends  # start of the next pair's list, if there is one
    check_time()
    own[:, 2 * _PAIRS] = np.where(extra > 0, first_extra, _NONE)
    follows = places_in_runs(extra) + 1 < repeated(extra, extra)
    numbers = np.arange(overflow, overflow + more)
    behind[:, 2 * _PAIRS] = np.where(follows, numbers + 1, _NONE)


def _gather(
    runs: tuple[NDArray[np.int64], NDArray[np.int64]],
    entries: tuple[NDArray[np.uint32], NDArray[np.uint32]],
    found: tuple[NDArray[np.uint32], ...],
    begin: int,
) -> None:
    """Copies runs of entries, one after the other, to ``found`` from ``begin`` on."""
    firsts, lengths = runs
    for first, last in windows_of(lengths, PIECE):
        check_time()
        places = positions(firsts[first:last], lengths[first:last])
        target = slice(begin, begin + len(places))
        for values, column in zip(entries, found, strict=True):
            # All indexes are valid; without "clip" NumPy would make another copy to check them.
            values.take(places, mode="clip", out=column[target])
        begin = target.stop


def _order_of(homes: NDArray[np.uint32], base: int) -> NDArray[np.int64]:
    """A stable order by group, 16 bits at a time, which NumPy sorts by counting."""
    order = np.argsort((homes & 0xFFFF).astype(np.uint16), kind="stable")
    if base > 1 << 16:
        order = order[np.argsort((homes >> 16).astype(np.uint16)[order], kind="stable")]
    return order


def _homes(owners: NDArray[np.uint32], groups: int) -> NDArray[np.uint32]:
    """Hashes as ``hash_of_node`` does, scaled to the number of groups."""
    homes = np.empty(len(owners), dtype=np.uint32)

    def hash_piece(piece: slice) -> None:
        hashes = owners[piece] * np.uint32(0x9E3779B1)
        hashes ^= hashes >> np.uint32(16)
        hashes *= np.uint32(0x85EBCA6B)
        hashes ^= hashes >> np.uint32(13)
        homes[piece] = hashes.astype(np.uint64) * np.uint64(groups) >> np.uint64(32)

    _checked(hash_piece, pieces_of(len(owners), PIECE))
    return homes
