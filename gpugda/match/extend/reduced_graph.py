"""What the joins of a query can use of a data graph that does not fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.launch.kept_entries import EntryTest
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.memory.uploads import Uploads
    from gpugda.match.candidates.candidates import Candidates

__all__ = ["DirectionTest", "ReducedGraph"]


class DirectionTest(NamedTuple):
    """What a link asks of the entries of one direction."""

    outgoing: bool
    test: EntryTest


@dataclass(frozen=True, slots=True, eq=False)
class ReducedGraph:
    """A data graph's entries that some link can follow.

    Args:
        arguments: For ``GRAPH_PARAMETERS``.
        arrays: What of it is this run's own.
        tests: What they were chosen by.
        numbered: Is it known which relationships they are?
        kept: How many there are.
        looked_at: Of how many.
        uploads: Which sent them; None where an earlier run of the query did.
    """

    arguments: list[Any]
    arrays: Sequence[DeviceArray]
    tests: frozenset[DirectionTest]
    numbered: bool
    kept: int
    looked_at: int
    uploads: Uploads | None

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(each.nbytes for each in self.arrays)

    def seen(self, candidates: Candidates) -> Candidates:
        """The same candidates, whose entries are these."""
        return replace(candidates, arrays=replace(candidates.arrays, graph=self.arguments))
