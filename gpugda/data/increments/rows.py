"""Rows of relationships, without those that were deleted and with those that were created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.csr import CsrParts
from gpugda.data.increments.changes import ChangesError
from gpugda.data.increments.offsets import Amounts, changed_offsets
from gpugda.data.increments.searching import first_not_below, rows_of, run_bounds
from gpugda.data.patches.changing import renumbered, spliced
from gpugda.data.patches.rising import counted, is_among
from gpugda.data.patches.splice import Splice
from gpugda.data.runs import places_in_runs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.increments.nodes import NodeNumbers
    from gpugda.data.patches.patched import Array

__all__ = ["Ends", "entries_of", "incoming_rows", "outgoing_rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """Some relationships: ``int64`` start nodes, types, end nodes and ids of their own."""

    starts: NDArray[np.int64]
    types: NDArray[np.int64]
    ends: NDArray[np.int64]
    ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: NDArray[np.intp]) -> Ends:
        """Those at these positions."""
        return Ends(self.starts[rows], self.types[rows], self.ends[rows], self.ids[rows])


def entries_of(outgoing: CsrParts, gone: Ends, ids: Array) -> NDArray[np.int64]:
    """Indexes of relationships, in the order in which they are given.

    Args:
        outgoing: The rows by start node.
        gone: With nodes and types as they are numbered there; -1 for what is not there.
        ids: ``int64[m]``, of all relationships.

    Raises:
        ChangesError: One of them is not there.
    """
    if not len(gone):
        return gone.ids
    known = (gone.starts >= 0) & (gone.types >= 0) & (gone.ends >= 0)
    if not known.all():
        raise ChangesError("a deleted relationship is of nodes or a type that are not there")
    _, low, high = run_bounds(outgoing, gone.starts, gone.types)
    first = first_not_below(outgoing.neighbours, low, high, gone.ends)
    after = first_not_below(outgoing.neighbours, low, high, gone.ends + 1)
    # Of parallel ones the id decides.
    lengths = after - first
    owner = np.repeat(np.arange(len(gone)), lengths)
    entries = first[owner] + places_in_runs(lengths)
    same = ids[entries] == gone.ids[owner]
    if int(np.count_nonzero(same)) != len(gone):
        raise ChangesError("a deleted relationship is not there")
    found: NDArray[np.int64] = entries[same]
    return found


def outgoing_rows(
    old: CsrParts, nodes: NodeNumbers, gone: NDArray[np.int64], new: Ends
) -> tuple[CsrParts, Splice, Ends]:
    """The rows by start node, what became of the relationships, and the new ones in their order.

    Args:
        old: The rows before.
        nodes: What became of the nodes.
        gone: Indexes of the deleted relationships, in any order.
        new: Those created, with nodes as they are numbered afterwards, by rising id.
    """
    if not (nodes.splice or len(gone) or len(new)):
        return old, Splice(len(old.neighbours), gone, gone), new
    order = np.lexsort((new.ends, new.types, new.starts))
    new = new.take(order)
    rows = _Rows(old, nodes)
    # What comes last among parallel ones: after all whose end is not beyond its own.
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
        nodes: What became of the nodes.
        relationships: What became of the relationships.
        gone: The deleted ones, with nodes as they were numbered before; their ``ids`` are indexes.
        new: Those created, in the order of their new indexes.
    """
    assert old.relationship_indexes is not None
    if not (nodes.splice or relationships):
        return old
    _, low, high = run_bounds(old, gone.ends, gone.types)
    removed = np.sort(first_not_below(old.relationship_indexes, low, high, gone.ids))
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
    """The rows of one direction, and the runs that they are cut into."""

    old: CsrParts
    nodes: NodeNumbers

    def places(
        self, owners: NDArray[np.int64], types: NDArray[np.int64], limits: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Before which entry new ones come, and in or before which run.

        Args:
            owners: Nodes in whose rows, by their new numbers, never falling.
            types: Of the entries.
            limits: They come before the first entry whose neighbour, by its old number, is not
                below.
        """
        old, known = self.old, self.nodes.olds(owners)
        there = known >= 0
        before = self.nodes.limits(owners)  # of a new node: the row that follows
        runs = old.run_offsets[before].astype(np.int64)
        entries = old.run_starts[runs].astype(np.int64)
        found, low, high = run_bounds(old, known[there], types[there])
        runs[there] = found
        entries[there] = first_not_below(old.neighbours, low, high, limits[there])
        return entries, runs

    def changed(
        self,
        splice: Splice,
        runs: NDArray[np.int64],
        new: Ends,
        neighbours: Array,
        indexes: Array | None,
    ) -> CsrParts:
        """The rows afterwards.

        Args:
            splice: Of the entries.
            runs: The run of each new entry, or before which its run comes.
            new: The new entries; each starts at the node in whose row it lies.
            neighbours: All of them.
            indexes: Relationship indexes, all of them.
        """
        old, owners, types = self.old, new.starts, new.types
        lost_runs = rows_of(old.run_starts, splice.removed)
        losing, losses = counted(lost_runs)
        is_first = _differs(owners, types)
        group = np.cumsum(is_first) - 1
        counts = np.bincount(group, minlength=int(is_first.sum())).astype(np.int64)
        runs, owners, types = runs[is_first], owners[is_first], types[is_first]
        joins = self._joins(runs, owners, types)
        # A run goes where it loses all and nothing joins it.
        lengths = (old.run_starts[losing + 1] - old.run_starts[losing]).astype(np.int64)
        empty = losing[(lengths == losses) & ~is_among(losing, runs[joins])]
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
        """Whether the run that was found is of this node and type."""
        known = self.nodes.olds(owners)
        there = known >= 0
        there[there] = runs[there] < self.old.run_offsets[known[there] + 1]
        there[there] = self.old.run_types[runs[there]] == types[there]
        return there

    def _offsets(
        self, offsets: Array, losing: NDArray[np.int64], owners: NDArray[np.int64]
    ) -> Array:
        """With the nodes' own changes, where something went (by old node) and came (by new one)."""
        splice = self.nodes.splice
        losing, losses = counted(losing)
        gaining, gains = counted(owners)
        known = self.nodes.olds(gaining)
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
    """Per sorted pair: is it another one than the one before?"""
    differs = np.ones(len(first), dtype=np.bool_)
    differs[1:] = (first[1:] != first[:-1]) | (second[1:] != second[:-1])
    return differs
