"""Maximum number of relationships of a type between two nodes, counted for types when needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpugda.data.csr import PatchedCsr
from gpugda.data.runs import TypeFilter, positions, repeated
from gpugda.data.threads import core_count, in_threads, pieces_of
from gpugda.deadline import check_time, seconds_left, working_deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["EitherWay", "OneWay", "ParallelCounts", "Scan"]

_PIECE = 1 << 18
"""Approximate number of runs, or of outgoing relationships, that a thread looks at: it takes up to
60 bytes for each."""
_NODE_BITS = 16
_PIECES_PER_CORE = 4
"""Pieces of each core between two checks of the deadline."""

_Found: TypeAlias = "tuple[NDArray[Any], NDArray[Any]]"
"""Types of relationships that have parallel ones, and how many are parallel."""


class Scan:
    """A pass over the rows of a graph, which can be interrupted.

    Args:
        types: The types to count.
        counts: ``int64`` per type id: known lower bounds.
        pieces: The parts of the graph.

    Attributes:
        counts: The counts of these types, once the scan is finished.
    """

    def __init__(
        self, types: frozenset[int], counts: NDArray[np.int64], pieces: Sequence[Any]
    ) -> None:
        self.types, self.counts = types, counts
        self.left = list(pieces)[::-1]

    def finish(self) -> None:
        """Looks at the pieces that are left.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        at_once = _PIECES_PER_CORE * core_count()
        while self.left:
            check_time()
            for kinds, lengths in in_threads(self.look, self.left[-at_once:]):
                np.maximum.at(self.counts, kinds, lengths)
            del self.left[-at_once:]
            self.narrow()

    def look(self, piece: Any) -> _Found:
        """The parallel relationships of a piece."""
        raise NotImplementedError

    def narrow(self) -> None:
        """Drops the types whose counts are known by now."""


class OneWay(Scan):
    """Counts relationships with the same start and end: neighbours that are equal in a run.

    All types at once: comparing all neighbours takes less time than finding the runs of a type.
    """

    def __init__(self, csr: Csr, types: frozenset[int], type_count: int) -> None:
        pieces = pieces_of(len(csr.run_types), _PIECE)
        super().__init__(types, np.ones(type_count, dtype=np.int64), pieces)
        self._csr = csr

    def look(self, piece: slice) -> _Found:
        """As in `Scan`; a piece is a slice of the runs."""
        csr = self._csr
        bounds = csr.run_starts[piece.start : piece.stop + 1]
        neighbours = csr.neighbours[int(bounds[0]) : int(bounds[-1])]
        places = np.flatnonzero(neighbours[1:] == neighbours[:-1])
        # In the dtype of the bounds: otherwise searchsorted would copy all of them.
        entries = places.astype(np.uint32) + bounds[0]
        runs = np.searchsorted(bounds, entries, side="right")
        inside = entries + np.uint32(1) < bounds[runs]
        places, runs = places[inside], runs[inside] - 1
        firsts, lengths = _stretches(places)
        return csr.run_types[piece][runs[firsts]], lengths


class EitherWay(Scan):
    """Counts relationships between two nodes in either order; a loop counts once.

    Both orders occur only at nodes that have a run of the type in each direction.

    Args:
        csrs: The rows of both directions.
        types: The types.
        one_way: Per type id, the counts of one order.
        bounded: True if it suffices to know whether a type's count is 1.
    """

    def __init__(
        self, csrs: tuple[Csr, Csr], types: frozenset[int], one_way: Sequence[int], bounded: bool
    ) -> None:
        super().__init__(types, np.array(one_way, dtype=np.int64), list(_pieces(csrs[0])))
        self._csrs, self._bounded, self._open = csrs, bounded, types
        # None: all types.
        self._filter = None if len(types) == len(one_way) else TypeFilter(types)
        self._one_type = len(one_way) == 1

    def look(self, piece: tuple[int, int]) -> _Found:
        """As in `Scan`; a piece is the nodes from the first to the second (exclusive)."""
        if self._one_type:
            return self._look_at_all(piece)
        sides = [self._runs(csr, piece) for csr in self._csrs]
        rows = np.concatenate([keys for keys, _ in sides])
        rows.sort(kind="stable")  # merges two sorted parts
        rows = rows[:-1][rows[1:] == rows[:-1]]
        parts = []
        for csr, (keys, runs) in zip(self._csrs, sides, strict=True):
            common = runs[np.searchsorted(keys, rows)]
            starts = csr.run_starts[common]
            lengths = csr.run_starts[common + 1] - starts
            entries = repeated(np.arange(len(rows), dtype=np.uint64) << np.uint64(32), lengths)
            entries |= csr.neighbours[positions(starts, lengths)]
            parts.append(entries)
        found, lengths = _equal_entries(parts)
        rows = rows[(found >> np.uint64(32)).astype(np.intp)]
        lengths = _loops_halved(rows >> np.uint64(32), found, lengths, piece[0])
        return (rows & np.uint64(0xFFFFFFFF)).astype(np.intp), lengths

    def _look_at_all(self, piece: tuple[int, int]) -> _Found:
        """As `look`, in a graph of one type: each row is a run, and no run is looked up."""
        nodes, parts = np.arange(piece[1] - piece[0], dtype=np.uint64) << np.uint64(32), []
        for csr in self._csrs:
            offsets = csr.row_offsets[piece[0] : piece[1] + 1]
            entries = repeated(nodes, np.diff(offsets))
            entries |= csr.neighbours[int(offsets[0]) : int(offsets[-1])]
            parts.append(entries)
        found, lengths = _equal_entries(parts)
        lengths = _loops_halved(found >> np.uint64(32), found, lengths, piece[0])
        return np.zeros(len(found), dtype=np.intp), lengths

    def _runs(
        self, csr: Csr, nodes: tuple[int, int]
    ) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
        """Node (relative) and type as an increasing key, and position, of each wanted run."""
        offsets = csr.run_offsets[nodes[0] : nodes[1] + 1]
        begin, end = int(offsets[0]), int(offsets[-1])
        kinds = csr.run_types[begin:end]
        if self._filter is None:
            runs = np.arange(begin, end)
            owners = repeated(np.arange(nodes[1] - nodes[0], dtype=np.uint64), np.diff(offsets))
        else:
            runs = self._filter.places(kinds)
            kinds = kinds[runs]
            runs += begin
            # In the dtype of the offsets: otherwise searchsorted would copy all of them.
            ends = np.searchsorted(offsets, runs.astype(np.uint32), side="right")
            owners = (ends - 1).astype(np.uint64)
        return owners << np.uint64(32) | kinds, runs

    def narrow(self) -> None:
        """As in `Scan`; the types found first are frequent, so that the others take less time."""
        if self._bounded:
            left = frozenset(each for each in self._open if self.counts[each] == 1)
            if not left:
                self.left.clear()
            elif len(left) < len(self._open):
                self._open, self._filter = left, TypeFilter(left)


def _equal_entries(parts: list[NDArray[np.uint64]]) -> _Found:
    """Entries that occur several times in sorted parts, each once, and how often they do."""
    entries = np.concatenate(parts)
    entries.sort(kind="stable")  # merges the parts
    same = np.flatnonzero(entries[1:] == entries[:-1])
    firsts, lengths = _stretches(same)
    return entries[same[firsts]], lengths


def _loops_halved(
    nodes: NDArray[np.uint64], found: NDArray[np.uint64], lengths: NDArray[np.intp], first: int
) -> NDArray[np.intp]:
    """Lengths of stretches in both directions; a self-loop is in both.

    Args:
        nodes: Nodes of the rows, relative to ``first``.
        found: Entries, with the neighbour in the lower 32 bits.
        lengths: How often each occurs.
        first: The first node of the piece.
    """
    is_loop = nodes + np.uint64(first) == found & np.uint64(0xFFFFFFFF)
    return np.where(is_loop, lengths // 2, lengths)


def _stretches(places: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Stretches of equal elements.

    Args:
        places: Increasing positions of elements whose next one is equal.

    Returns:
        Index in ``places`` of the first one of each stretch, and the stretch's length, at least 2.
    """
    is_first = np.ones(len(places), dtype=np.bool_)
    np.not_equal(places[1:], places[:-1] + 1, out=is_first[1:])
    firsts = np.flatnonzero(is_first)
    return firsts, np.diff(firsts, append=len(places)) + 1


def _pieces(csr: Csr) -> Iterator[tuple[int, int]]:
    """First node and end (exclusive) of pieces of at least one node each."""
    first = 0
    while first < csr.node_count:
        limit = np.uint32(min(int(csr.row_offsets[first]) + _PIECE, csr.relationship_count))
        last = int(np.searchsorted(csr.row_offsets, limit, side="right")) - 1
        last = min(max(first + 1, last), first + (1 << _NODE_BITS), csr.node_count)
        yield first, last
        first = last


_FEW_RUNS = 1 << 20
"""Up to this many runs, all types are counted at once."""


class ParallelCounts:
    """Counts per type id the most relationships between two nodes; 1 if there are none.

    A graph may have 100,000 types, of which a query names a few. Only these are counted, piece by
    piece in several threads; their counts are kept. A count that a deadline interrupts continues
    where it stopped. For several threads.

    Args:
        outgoing: Rows by start node.
        incoming: Rows by end node.
        flags: Per type id, False if no two relationships have the same start and end.
        bounded: True if counts in either order may be twice those of one order, but exact where
            they are 1. False: all counts are exact.
    """

    def __init__(
        self, outgoing: Csr, incoming: Csr, flags: Sequence[bool], *, bounded: bool
    ) -> None:
        self._csrs, self._bounded = (outgoing, incoming), bounded
        self._lock = threading.Lock()
        # By `directed`, then by type id; 0: not counted yet.
        self._found = {True: [0 if each else 1 for each in flags], False: [0] * len(flags)}
        self._begun: dict[bool, Scan] = {}

    @property
    def nbytes(self) -> int:
        """Size of the counts in bytes."""
        return 8 * sum(map(len, self._found.values()))

    def of(self, types: Collection[int] | None, *, directed: bool) -> list[int]:
        """The count of each type (None: all), with the same start and end, or in either order.

        A loop counts once.

        Raises:
            QueryTimeoutError: The deadline of this thread's work passed.
        """
        found = self._found[directed]
        wanted = range(len(found)) if types is None else types
        counts = [found[each] for each in wanted]
        if all(counts):
            return counts
        self._wait()
        try:
            self._count(frozenset(wanted), directed)
        finally:
            self._lock.release()
        return [found[each] for each in wanted]

    def known(self, *, directed: bool) -> NDArray[np.int64]:
        """``int64`` per type id: the counts so far, 0 for types not counted."""
        return np.array(self._found[directed], dtype=np.int64)

    def inherit(self, known: NDArray[np.int64], most: NDArray[np.int64], *, directed: bool) -> None:
        """Takes over counts of an earlier state as bounds; before any other use.

        Args:
            known: The result of `known` there. There may be more types now.
            most: Per type, the most relationships parallel to one that is new here.
            directed: As for `of`.
        """
        found = self._found[directed]
        for each in np.flatnonzero(known).tolist():
            found[each] = int(max(known[each], most[each]))

    def holds(self, later: ParallelCounts) -> bool:
        """True if a later state has all the counts that are known here."""
        for directed in (True, False):
            known, others = self.known(directed=directed), later.known(directed=directed)
            counted = np.flatnonzero(known)
            if len(others) < len(known) or (known[counted] != others[counted]).any():
                return False
        return True

    def _wait(self) -> None:
        """Acquires the lock, which another query may hold for seconds in a very large graph."""
        left = seconds_left(working_deadline())
        while not self._lock.acquire(timeout=-1 if left is None else left):
            left = seconds_left(working_deadline())

    # ------------------------------------------------------------------ counting
    def _count(self, types: frozenset[int], directed: bool) -> None:
        """Counts those types that were not counted. Under the lock."""
        found = self._found[directed]
        if directed or self._counts_all():
            types = frozenset(range(len(found)))
        missing = frozenset(each for each in types if not found[each])
        if not missing:
            return
        if directed:
            self._finish(directed, missing, lambda: OneWay(self._csrs[0], missing, len(found)))
            return
        self._count(missing, True)
        one_way = self._found[True]
        if self._bounded:
            several = frozenset(each for each in missing if one_way[each] > 1)
            for each in several:
                found[each] = 2 * one_way[each]
            missing -= several
        if missing:
            self._finish(
                directed, missing, lambda: EitherWay(self._csrs, missing, one_way, self._bounded)
            )

    def _counts_all(self) -> bool:
        """True if few types take as long as all: a patched graph is materialised for either."""
        outgoing = self._csrs[0]
        return isinstance(outgoing, PatchedCsr) or len(outgoing.run_types) <= _FEW_RUNS

    def _finish(self, directed: bool, types: frozenset[int], begin: Callable[[], Scan]) -> None:
        scan = self._begun.get(directed)
        if scan is None or scan.types != types:
            scan = self._begun[directed] = begin()
        scan.finish()
        found = self._found[directed]
        for each in types:
            found[each] = int(scan.counts[each])
        del self._begun[directed]
