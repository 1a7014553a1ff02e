"""CSR rows after relationships were deleted and created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.csr import CsrParts
from gpugda.data.increments.changes import ChangesError
from gpugda.data.increments.offsets import Amounts, changed_offsets
from gpugda.data.increments.searching import bounds_of_rows, equal_range, lower_bound, run_bounds
from gpugda.data.patches.changing import renumbered, spliced
from gpugda.data.patches.sorted_sets import is_in_sorted, sorted_counts
from gpugda.data.patches.splice import Splice
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.increments.nodes import NodeNumbers
    from gpugda.data.patches.patched import Array

__all__ = ["Ends", "Lost", "incoming_rows", "lost_entries", "outgoing_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Some relationships: ``int64`` start nodes, types, end nodes and their own ids."""

    starts: NDArray[np.int64]
    types: NDArray[np.int64]
    ends: NDArray[np.int64]
    ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[np.intp]) -> Ends:
        """The relationships at these positions."""
        return Ends(self.starts[rows], self.types[rows], self.ends[rows], self.ids[rows])


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """Deleted relationships in the rows of one direction.

    Args:
        entries: ``int64``: their entries.
        runs: The run of each.
        owners: The node that owns the row of each.
    """

    entries: NDArray[np.int64]
    runs: NDArray[np.int64]
    owners: NDArray[np.int64]

    def in_order(self) -> Lost:
        """The same in the order of entries."""
        if len(self.entries) <= 1:
            return self
        order = self.entries.argsort()
        return Lost(self.entries[order], self.runs[order], self.owners[order])


def lost_entries(outgoing: CsrParts, gone: Ends, ids: Array) -> Lost:
    """The given relationships in the rows by start node, in the order given.

    Args:
        outgoing: The rows by start node.
        gone: The relationships, with nodes and types as numbered there; -1 if absent.
        ids: ``int64[m]``: ids of all relationships.

    Raises:
        ChangesError: A relationship is absent.
    """
    if not len(gone):
        return Lost(gone.ids, gone.ids, gone.starts)
    if min(map(np.min, (gone.starts, gone.types, gone.ends))) < 0:
        raise ChangesError("a deleted relationship refers to a missing node or type")
    runs, low, high = run_bounds(outgoing, gone.starts, gone.types)
    first, counts = equal_range(outgoing.neighbours, low, high, gone.ends)
    # Parallel relationships are told apart by id.
    owner = np.arange(len(gone)).repeat(counts)
    entries = first[owner] + places_in_runs(counts)
    same = ids[entries] == gone.ids[owner]
    if int(np.count_nonzero(same)) != len(gone):
        raise ChangesError("a deleted relationship is missing")
    return Lost(entries[same], runs, gone.starts)


def outgoing_rows(
    old: CsrParts, nodes: NodeNumbers, lost: Lost, new: Ends
) -> tuple[CsrParts, Splice, Ends]:
    """The rows by start node, the splice of relationships, and the new relationships in order.

    Args:
        old: The rows before.
        nodes: Old and new node numbers.
        lost: The deleted relationships, in any order.
        new: The created relationships, with new node numbers, in order of id.
    """
    if not len(lost.entries) and not len(new) and _keeps_rows(nodes):
        stays = Splice(len(old.neighbours), lost.entries, lost.entries)
        return _with_empty_rows(old, nodes), stays, new
    order = np.lexsort((new.ends, new.types, new.starts))
    new, lost = new.take(order), lost.in_order()
    rows = _Rows(old, nodes)
    # A new relationship comes last among parallel ones: before the first end beyond its own.
    came = rows.places(new.starts, new.types, nodes.limits(new.ends + 1))
    splice = Splice(len(old.neighbours), lost.entries, came.entries)
    neighbours = spliced(renumbered(old.neighbours, nodes.splice), splice, new.ends)
    return rows.changed(lost, came, new, neighbours, None), splice, new


def incoming_rows(
    old: CsrParts, nodes: NodeNumbers, relationships: Splice, gone: Ends, new: Ends
) -> CsrParts:
    """The rows by end node.

    Args:
        old: The rows before.
        nodes: Old and new node numbers.
        relationships: Splice of the relationships.
        gone: The deleted relationships, with old node numbers; their ``ids`` are indexes.
        new: The created relationships in the order of their new indexes.
    """
    assert old.relationship_indexes is not None
    if not relationships and _keeps_rows(nodes):
        return _with_empty_rows(old, nodes)
    lost = Lost(gone.ids, gone.ids, gone.ends)
    if len(gone):
        runs, low, high = run_bounds(old, gone.ends, gone.types)
        entries = lower_bound(old.relationship_indexes, low, high, gone.ids)
        lost = Lost(entries, runs, gone.ends).in_order()
    indexes = relationships.new_places()
    order = np.lexsort((indexes, new.starts, new.types, new.ends))
    new, indexes = new.take(order), indexes[order]
    rows = _Rows(old, nodes)
    came = rows.places(new.ends, new.types, nodes.limits(new.starts + 1))
    splice = Splice(len(old.neighbours), lost.entries, came.entries)
    neighbours = spliced(renumbered(old.neighbours, nodes.splice), splice, new.starts)
    moved = spliced(renumbered(old.relationship_indexes, relationships), splice, indexes)
    turned = Ends(new.ends, new.types, new.starts, new.ids)
    return rows.changed(lost, came, turned, neighbours, moved)


def _keeps_rows(nodes: NodeNumbers) -> bool:
    """True if all nodes keep their numbers; new ones may follow."""
    return not nodes.splice or nodes.splice.only_appends


def _with_empty_rows(old: CsrParts, nodes: NodeNumbers) -> CsrParts:
    """The rows with those of new nodes, which come last and have no relationships."""
    if not nodes.splice:
        return old
    ends = Splice(len(old.row_offsets), nodes.splice.removed, nodes.splice.places + 1)
    return old._replace(
        row_offsets=spliced(old.row_offsets, ends, len(old.neighbours)),
        neighbours=renumbered(old.neighbours, nodes.splice),
        run_offsets=spliced(old.run_offsets, ends, len(old.run_types)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Came:
    """Insertion points of new entries.

    Args:
        entries: The entry before which each goes.
        runs: The run that it joins or, if it starts one, precedes.
        joins: ``bool``: True if it joins that run.
    """

    entries: NDArray[np.int64]
    runs: NDArray[np.int64]
    joins: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows of one direction, and their runs."""

    old: CsrParts
    nodes: NodeNumbers

    def places(
        self, owners: NDArray[np.int64], types: NDArray[np.int64], limits: NDArray[np.int64]
    ) -> _Came:
        """Insertion points of new entries.

        Args:
            owners: Node that owns the row of each entry, by new number, non-decreasing.
            types: Type of each entry.
            limits: An entry comes before the first one whose neighbour, by old number, is at least
                this.
        """
        old = self.old
        if not self.nodes.splice:
            return self._places(owners, types, limits)
        known = self.nodes.old_numbers(owners)
        there = known >= 0
        before = self.nodes.limits(owners)  # for a new node: the row that follows
        runs = old.run_offsets[before].astype(np.int64)
        entries = old.run_starts[runs].astype(np.int64)
        joins = np.zeros(len(owners), dtype=np.bool_)
        found = self._places(known[there], types[there], limits[there])
        entries[there], runs[there], joins[there] = found.entries, found.runs, found.joins
        return _Came(entries, runs, joins)

    def _places(
        self, owners: NDArray[np.int64], types: NDArray[np.int64], limits: NDArray[np.int64]
    ) -> _Came:
        """As `places`, for owners by old number that have a row."""
        if not len(owners):
            return _Came(owners, owners, np.zeros(0, dtype=np.bool_))
        runs, low, high = run_bounds(self.old, owners, types)
        return _Came(lower_bound(self.old.neighbours, low, high, limits), runs, low < high)

    def changed(
        self, lost: Lost, came: _Came, new: Ends, neighbours: Array, indexes: Array | None
    ) -> CsrParts:
        """The rows after the changes.

        Args:
            lost: The removed entries, in order.
            came: The insertion points of the new ones.
            new: The new entries; ``starts`` are the nodes that own their rows.
            neighbours: All neighbours after the changes.
            indexes: All relationship indexes after the changes.
        """
        old, owners, types = self.old, new.starts, new.types
        is_first = _differs(owners, types)
        counts = _lengths_of_groups(is_first)
        runs, joins = came.runs[is_first], came.joins[is_first]
        owners, types = owners[is_first], types[is_first]
        losing, losses = sorted_counts(lost.runs)
        empty = losing
        if len(losing):
            # A run is removed if it loses all entries and gains none.
            first, last = bounds_of_rows(old.run_starts, losing)
            empty = losing[(last - first == losses) & ~is_in_sorted(losing, runs[joins])]
        of_runs = Splice(len(old.run_types), empty, runs[~joins])
        run_starts = changed_offsets(
            old.run_starts,
            of_runs,
            Amounts(losing, -losses),
            Amounts(runs[joins], counts[joins]),
            counts[~joins],
        )
        runs_lost_from = lost.owners[lost.runs.searchsorted(empty)]
        return CsrParts(
            row_offsets=self._offsets(old.row_offsets, lost.owners, new.starts),
            neighbours=neighbours,
            relationship_indexes=indexes,
            run_offsets=self._offsets(old.run_offsets, runs_lost_from, owners[~joins]),
            run_types=spliced(old.run_types, of_runs, types[~joins]),
            run_starts=run_starts,
        )

    def _offsets(
        self, offsets: Array, losing: NDArray[np.int64], owners: NDArray[np.int64]
    ) -> Array:
        """Offsets after changes; losses are given by old node, gains (``owners``) by new node."""
        splice = self.nodes.splice
        losing, losses = sorted_counts(losing)
        gaining, gains = sorted_counts(owners)
        if not splice:
            less, more = Amounts(losing, -losses), Amounts(gaining, gains)
            return changed_offsets(offsets, splice, less, more, gaining[:0])
        known = self.nodes.old_numbers(gaining)
        is_old = known >= 0
        of_new = np.zeros(len(splice.places), dtype=np.int64)
        of_new[np.searchsorted(splice.new_places(), gaining[~is_old])] = gains[~is_old]
        return changed_offsets(
            offsets,
            splice,
            Amounts(losing, -losses),
            Amounts(known[is_old], gains[is_old]),
            of_new,
        )


def _differs(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.bool_]:
    """``bool`` per sorted pair: True if it differs from the pair before."""
    differs = np.ones(len(first), dtype=np.bool_)
    differs[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return differs


def _lengths_of_groups(is_first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Length of each group of consecutive entries, whose first ones are marked."""
    firsts = is_first.nonzero()[0]
    lengths = np.empty(len(firsts), dtype=np.int64)
    lengths[:-1] = firsts[1:] - firsts[:-1]
    lengths[-1:] = len(is_first) - firsts[-1:]
    return lengths
