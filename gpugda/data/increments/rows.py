"""CSR rows after relationships were deleted and created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.csr import CsrParts
from gpugda.data.increments.changes import ChangesError
from gpugda.data.increments.offsets import Amounts, changed_offsets
from gpugda.data.increments.searching import lower_bound, rows_of, run_bounds
from gpugda.data.patches.changing import renumbered, spliced
from gpugda.data.patches.sorted_sets import is_in_sorted, sorted_counts
from gpugda.data.patches.splice import Splice
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.increments.nodes import NodeNumbers
    from gpugda.data.patches.patched import Array

__all__ = ["Ends", "entries_of", "incoming_rows", "outgoing_rows"]


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


def entries_of(outgoing: CsrParts, gone: Ends, ids: Array) -> NDArray[np.int64]:
    """Indexes of the given relationships, in the order given.

    Args:
        outgoing: The rows by start node.
        gone: The relationships, with nodes and types as numbered there; -1 if absent.
        ids: ``int64[m]``: ids of all relationships.

    Raises:
        ChangesError: A relationship is absent.
    """
    if not len(gone):
        return gone.ids
    known = (gone.starts >= 0) & (gone.types >= 0) & (gone.ends >= 0)
    if not known.all():
        raise ChangesError("a deleted relationship refers to a missing node or type")
    _, low, high = run_bounds(outgoing, gone.starts, gone.types)
    first = lower_bound(outgoing.neighbours, low, high, gone.ends)
    after = lower_bound(outgoing.neighbours, low, high, gone.ends + 1)
    # Parallel relationships are told apart by id.
    lengths = after - first
    owner = np.repeat(np.arange(len(gone)), lengths)
    entries = first[owner] + places_in_runs(lengths)
    same = ids[entries] == gone.ids[owner]
    if int(np.count_nonzero(same)) != len(gone):
        raise ChangesError("a deleted relationship is missing")
    found: NDArray[np.int64] = entries[same]
    return found


def outgoing_rows(
    old: CsrParts, nodes: NodeNumbers, gone: NDArray[np.int64], new: Ends
) -> tuple[CsrParts, Splice, Ends]:
    """The rows by start node, the splice of relationships, and the new relationships in order.

    Args:
        old: The rows before.
        nodes: Old and new node numbers.
        gone: Indexes of the deleted relationships, in any order.
        new: The created relationships, with new node numbers, in order of id.
    """
    if not (nodes.splice or len(gone) or len(new)):
        return old, Splice(len(old.neighbours), gone, gone), new
    order = np.lexsort((new.ends, new.types, new.starts))
    new = new.take(order)
    rows = _Rows(old, nodes)
    # A new relationship comes last among parallel ones: before the first end beyond its own.
    places, runs = rows.places(new.starts, new.types, nodes.limits(new.ends + 1))
    splice = Splice(len(old.neighbours), np.sort(gone), places)
    neighbours = spliced(renumbered(old.neighbours, nodes.splice), splice, new.ends)
    return rows.changed(splice, runs, new, neighbours, None), splice, new


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
    if not (nodes.splice or relationships):
        return old
    _, low, high = run_bounds(old, gone.ends, gone.types)
    removed = np.sort(lower_bound(old.relationship_indexes, low, high, gone.ids))
    indexes = relationships.new_places()
    order = np.lexsort((indexes, new.starts, new.types, new.ends))
    new, indexes = new.take(order), indexes[order]
    rows = _Rows(old, nodes)
    places, runs = rows.places(new.ends, new.types, nodes.limits(new.starts + 1))
    splice = Splice(len(old.neighbours), removed, places)
    neighbours = spliced(renumbered(old.neighbours, nodes.splice), splice, new.starts)
    moved = spliced(renumbered(old.relationship_indexes, relationships), splice, indexes)
    turned = Ends(new.ends, new.types, new.starts, new.ids)
    return rows.changed(splice, runs, turned, neighbours, moved)


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows of one direction, and their runs."""

    old: CsrParts
    nodes: NodeNumbers

    def places(
        self, owners: NDArray[np.int64], types: NDArray[np.int64], limits: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Insertion points of new entries: the entry, and the run that they join or precede.

        Args:
            owners: Node that owns the row of each entry, by new number, non-decreasing.
            types: Type of each entry.
            limits: An entry comes before the first one whose neighbour, by old number, is at least
                this.
        """
        old, known = self.old, self.nodes.old_numbers(owners)
        there = known >= 0
        before = self.nodes.limits(owners)  # for a new node: the row that follows
        runs = old.run_offsets[before].astype(np.int64)
        entries = old.run_starts[runs].astype(np.int64)
        found, low, high = run_bounds(old, known[there], types[there])
        runs[there] = found
        entries[there] = lower_bound(old.neighbours, low, high, limits[there])
        return entries, runs

    def changed(
        self,
        splice: Splice,
        runs: NDArray[np.int64],
        new: Ends,
        neighbours: Array,
        indexes: Array | None,
    ) -> CsrParts:
        """The rows after the changes.

        Args:
            splice: Splice of the entries.
            runs: Per new entry, the run that it joins or before which its run is inserted.
            new: The new entries; ``starts`` are the nodes that own their rows.
            neighbours: All neighbours after the changes.
            indexes: All relationship indexes after the changes.
        """
        old, owners, types = self.old, new.starts, new.types
        lost_runs = rows_of(old.run_starts, splice.removed)
        losing, losses = sorted_counts(lost_runs)
        is_first = _differs(owners, types)
        group = np.cumsum(is_first) - 1
        counts = np.bincount(group, minlength=int(is_first.sum())).astype(np.int64)
        runs, owners, types = runs[is_first], owners[is_first], types[is_first]
        joins = self._joins(runs, owners, types)
        # A run is removed if it loses all entries and gains none.
        lengths = (old.run_starts[losing + 1] - old.run_starts[losing]).astype(np.int64)
        empty = losing[(lengths == losses) & ~is_in_sorted(losing, runs[joins])]
        of_runs = Splice(len(old.run_types), empty, runs[~joins])
        run_starts = changed_offsets(
            old.run_starts,
            of_runs,
            Amounts(losing, -losses),
            Amounts(runs[joins], counts[joins]),
            counts[~joins],
        )
        lost_from = rows_of(old.row_offsets, splice.removed)
        runs_lost_from = rows_of(old.run_offsets, empty)
        return CsrParts(
            row_offsets=self._offsets(old.row_offsets, lost_from, new.starts),
            neighbours=neighbours,
            relationship_indexes=indexes,
            run_offsets=self._offsets(old.run_offsets, runs_lost_from, owners[~joins]),
            run_types=spliced(old.run_types, of_runs, types[~joins]),
            run_starts=run_starts,
        )

    def _joins(
        self, runs: NDArray[np.int64], owners: NDArray[np.int64], types: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """``bool`` per group: True if the run that was found has this node and type."""
        known = self.nodes.old_numbers(owners)
        there = known >= 0
        there[there] = runs[there] < self.old.run_offsets[known[there] + 1]
        there[there] = self.old.run_types[runs[there]] == types[there]
        return there

    def _offsets(
        self, offsets: Array, losing: NDArray[np.int64], owners: NDArray[np.int64]
    ) -> Array:
        """Offsets after changes; losses are given by old node, gains (``owners``) by new node."""
        splice = self.nodes.splice
        losing, losses = sorted_counts(losing)
        gaining, gains = sorted_counts(owners)
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
