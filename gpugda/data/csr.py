"""One direction of the data graph's relationships as compressed sparse rows."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.data.patches.patched import Patched, stored_bytes, whole
from gpugda.data.runs import repeated
from gpugda.data.threads import in_threads_ahead, pieces_of
from gpugda.deadline import check_time
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from gpugda.data.patches.patched import Array
    from gpugda.types import NameId

__all__ = ["Csr", "CsrParts", "csr_of", "sums_over_neighbours"]

_PIECE = 1 << 22
"""Runs that a thread reads between two checks of the deadline."""
_ROWS_SUMMED = 1 << 16
"""Nodes whose entries are summed between two checks of the deadline."""
_FILLED = 1 << 19
"""Entries that a thread writes at a time."""


class CsrParts(NamedTuple):
    """The arrays of a `Csr`, some of which may be patched; for reading few of their entries.

    Args: as for `Csr`.
    """

    row_offsets: Array
    neighbours: Array
    relationship_indexes: Array | None
    run_offsets: Array
    run_types: Array
    run_starts: Array


@value(frozen=True, slots=True, eq=False)
class Csr:
    """Each node's relationships in one direction, sorted by (type, neighbour, relationship index).

    The directory divides each row into runs of one type: node v has the runs ``run_offsets[v] …
    run_offsets[v+1]-1``; run i holds the type ``run_types[i]`` (increasing within a node) and the
    entries ``run_starts[i] … run_starts[i+1]-1``. Nodes without relationships have no runs, so the
    directory has size O(m).

    Args:
        row_offsets: ``uint32[n+1]``.
        neighbours: ``uint32[m]``, the node at the other end.
        relationship_indexes: ``uint32[m]``; None where entry i is relationship i (outgoing).
        run_offsets: ``uint32[n+1]``.
        run_types: ``uint16[runs]``, or ``uint32[runs]`` if there are too many types for that.
        run_starts: ``uint32[runs+1]``.
    """

    row_offsets: NDArray[np.uint32]
    neighbours: NDArray[np.uint32]
    relationship_indexes: NDArray[np.uint32] | None
    run_offsets: NDArray[np.uint32]
    run_types: NDArray[NameId]
    run_starts: NDArray[np.uint32]

    @property
    def parts(self) -> CsrParts:
        """The arrays as stored, perhaps patched; the attributes of the same names are whole."""
        return CsrParts(
            self.row_offsets,
            self.neighbours,
            self.relationship_indexes,
            self.run_offsets,
            self.run_types,
            self.run_starts,
        )

    @property
    def node_count(self) -> int:
        """Number of nodes, n."""
        return len(self.row_offsets) - 1

    @property
    def relationship_count(self) -> int:
        """Number of relationships, m."""
        return len(self.neighbours)

    @property
    def nbytes(self) -> int:
        """Size of all arrays in bytes."""
        return sum(array.nbytes for array in self.parts if array is not None)

    def degrees(self, types: Collection[int] | None = None) -> NDArray[np.uint32]:
        """``uint32[n]``: degree of each node in this direction, over some types (None: all)."""
        if types is None:
            return np.diff(self.row_offsets)
        found = np.zeros(self.node_count, dtype=np.uint32)

        def count(nodes: tuple[int, int]) -> None:
            offsets = self.run_offsets[nodes[0] : nodes[1] + 1]
            kinds = self.run_types[int(offsets[0]) : int(offsets[-1])]
            for each in frozenset(types):
                runs = np.flatnonzero(kinds == each).astype(np.uint32) + offsets[0]
                own = np.searchsorted(offsets, runs, side="right") - 1
                # A node has at most one run of a type.
                found[own + nodes[0]] += self.run_starts[1:][runs] - self.run_starts[runs]

        bounds = [0, *self._nodes_of_pieces(), self.node_count]
        for _ in in_threads_ahead(count, list(pairwise(bounds))):
            check_time()
        return found

    def _nodes_of_pieces(self) -> list[int]:
        """Nodes that divide the directory into pieces."""
        runs = np.arange(_PIECE, len(self.run_types), _PIECE, dtype=np.uint32)
        nodes: list[int] = np.searchsorted(self.run_offsets, runs).tolist()
        return nodes

    def run(self, node: int, type_id: int) -> tuple[int, int]:
        """First entry and end (exclusive) of a node's run of one type; (0, 0) if it has none."""
        first, last = int(self.run_offsets[node]), int(self.run_offsets[node + 1])
        place = first + int(np.searchsorted(self.run_types[first:last], type_id))
        if place == last or self.run_types[place] != type_id:
            return 0, 0
        return int(self.run_starts[place]), int(self.run_starts[place + 1])

    def entry_types(self) -> NDArray[NameId]:
        """Type of each entry, in the order of this direction."""
        return _repeated(self.run_types, self.run_starts)

    def entry_nodes(self) -> NDArray[np.uint32]:
        """``uint32[m]``: the node that owns the row of each entry."""
        return _repeated(np.arange(self.node_count, dtype=np.uint32), self.row_offsets)

    def entries(self, piece: slice) -> tuple[NDArray[np.uint32], NDArray[NameId]]:
        """The node that owns the row of each entry of a slice, and the type of each entry."""
        # In the dtype of the offsets: otherwise searchsorted would cast all of them.
        low, high = np.uint32(piece.start), np.uint32(piece.stop)
        if low == high:
            return np.empty(0, dtype=np.uint32), np.empty(0, dtype=self.run_types.dtype)
        first = int(np.searchsorted(self.run_starts, low, side="right")) - 1
        last = int(np.searchsorted(self.run_starts, high, side="left"))
        runs = np.zeros(int(high - low), dtype=np.uint32)
        runs[self.run_starts[first + 1 : last] - low] = 1
        np.cumsum(runs, out=runs)
        nodes = self._run_nodes(np.uint32(first), np.uint32(last))
        types = np.take(self.run_types[first:last], runs, mode="clip")
        return np.take(nodes, runs, mode="clip"), types

    def _run_nodes(self, low: np.uint32, high: np.uint32) -> NDArray[np.uint32]:
        """Node of each run from ``low`` to ``high`` (exclusive)."""
        first = int(np.searchsorted(self.run_offsets, low, side="right")) - 1
        last = int(np.searchsorted(self.run_offsets, high, side="left"))
        counts = np.diff(self.run_offsets[first : last + 1].clip(low, high))
        return repeated(np.arange(first, last, dtype=np.uint32), counts)

    def check(self) -> None:
        """Checks every invariant; for tests and for files that may be damaged.

        Raises:
            ValueError: An invariant is violated; the message says which.
        """
        m = self.relationship_count
        _check(self.row_offsets, m, "row_offsets")
        _check(self.run_offsets, len(self.run_types), "run_offsets")
        _check(self.run_starts, m, "run_starts")
        _demand(len(self.row_offsets) == len(self.run_offsets), "run_offsets has the wrong length")
        _demand(len(self.run_starts) == len(self.run_types) + 1, "run_starts has the wrong length")
        _demand(bool((np.diff(self.run_starts) > 0).all()), "a run is empty")
        rows_of_runs = self.run_starts[self.run_offsets]
        _demand(bool((rows_of_runs == self.row_offsets).all()), "runs do not fit the rows")
        _demand(
            m == 0 or int(self.neighbours.max()) < self.node_count,
            "a neighbour is not a node index",
        )
        self._check_order()

    def _check_order(self) -> None:
        m = self.relationship_count
        if self.relationship_indexes is None:
            indexes = np.arange(m, dtype=np.uint32)
        else:
            indexes = self.relationship_indexes
            each_once = bool((np.sort(indexes) == np.arange(m)).all())
            _demand(each_once, "relationship_indexes is not a permutation")
        order = np.lexsort((indexes, self.neighbours, self.entry_types(), self.entry_nodes()))
        _demand(bool((order == np.arange(m)).all()), "entries are not sorted")
        new_run = np.diff(self.run_types.astype(np.int32)) > 0
        new_row = np.zeros(len(self.run_types) + 1, dtype=np.bool_)
        new_row[self.run_offsets] = True
        _demand(bool((new_run | new_row[1:-1]).all()), "a node has two runs of one type")


def _repeated(values: NDArray[Any], offsets: NDArray[np.uint32]) -> NDArray[Any]:
    """Value ``i`` at the positions ``offsets[i] … offsets[i+1]-1``; in threads."""
    total = int(offsets[-1])
    found = np.empty(total, dtype=values.dtype)

    def fill(piece: slice) -> None:
        low = int(np.searchsorted(offsets, np.uint32(piece.start), side="right")) - 1
        high = int(np.searchsorted(offsets, np.uint32(piece.stop), side="left"))
        some = offsets[low : high + 1].clip(piece.start, piece.stop)
        found[piece] = repeated(values[low:high], np.diff(some))

    for _ in in_threads_ahead(fill, pieces_of(total, _FILLED)):
        check_time()
    return found


def _check(offsets: NDArray[np.uint32], total: int, name: str) -> None:
    _demand(len(offsets) > 0 and offsets[0] == 0, f"{name} does not begin with 0")
    _demand(int(offsets[-1]) == total, f"{name} does not end with {total}")
    _demand(bool((offsets[1:] >= offsets[:-1]).all()), f"{name} decreases")


def _demand(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)


def sums_over_neighbours(csr: Csr, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """``int64[n]``: for each node the sum of a number over its entries."""
    offsets, neighbours = csr.row_offsets, csr.neighbours
    sums = np.zeros(csr.node_count, dtype=np.int64)
    rows = np.flatnonzero(offsets[1:] > offsets[:-1])
    for first in range(0, len(rows), _ROWS_SUMMED):
        check_time()
        some = rows[first : first + _ROWS_SUMMED]
        begin, end = int(offsets[some[0]]), int(offsets[some[-1] + 1])
        found = numbers[neighbours[begin:end]]
        sums[some] = np.add.reduceat(found, offsets[some].astype(np.int64) - begin)
    return sums


class PatchedCsr(Csr):
    """A `Csr` over patched arrays."""

    __slots__ = ("_parts",)
    _parts: CsrParts

    def __init__(self, parts: CsrParts) -> None:
        object.__setattr__(self, "_parts", parts)

    @property
    def parts(self) -> CsrParts:
        """See `Csr`."""
        return self._parts

    @property
    def row_offsets(self) -> NDArray[np.uint32]:
        """See `Csr`; materialised, like all the arrays below."""
        return whole(self._parts.row_offsets)

    @property
    def neighbours(self) -> NDArray[np.uint32]:
        """See `Csr`."""
        return whole(self._parts.neighbours)

    @property
    def relationship_indexes(self) -> NDArray[np.uint32] | None:
        """See `Csr`."""
        indexes = self._parts.relationship_indexes
        return None if indexes is None else whole(indexes)

    @property
    def run_offsets(self) -> NDArray[np.uint32]:
        """See `Csr`."""
        return whole(self._parts.run_offsets)

    @property
    def run_types(self) -> NDArray[NameId]:
        """See `Csr`."""
        return whole(self._parts.run_types)

    @property
    def run_starts(self) -> NDArray[np.uint32]:
        """See `Csr`."""
        return whole(self._parts.run_starts)

    @property
    def node_count(self) -> int:
        """See `Csr`."""
        return len(self._parts.row_offsets) - 1

    @property
    def relationship_count(self) -> int:
        """See `Csr`."""
        return len(self._parts.neighbours)

    @property
    def nbytes(self) -> int:
        """See `Csr`; size of the arrays as stored, and of their bases."""
        return sum(stored_bytes(each) for each in self._parts if each is not None)


def csr_of(parts: CsrParts) -> Csr:
    """A `Csr` of these arrays, patched or not."""
    arrays: list[Any] = list(parts)
    return PatchedCsr(parts) if any(isinstance(each, Patched) for each in arrays) else Csr(*arrays)
