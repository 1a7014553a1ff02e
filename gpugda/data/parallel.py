"""Maximum number of relationships of a type between two nodes, counted for types when needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.parallel_scans import EitherWay, OneWay
from gpugda.data.patched_csr import PatchedCsr
from gpugda.deadline import seconds_left, working_deadline

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.parallel_scans import Scan

__all__ = ["ParallelCounts"]

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
