"""The entries of a data graph beyond the memory limit that a query's joins can use."""

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
    """The test that a link applies to the entries of one direction."""

    outgoing: bool
    test: EntryTest


@dataclass(frozen=True, slots=True, eq=False)
class ReducedGraph:
    """The entries of a data graph that at least one link can follow.

    Args:
        arguments: Arguments for ``GRAPH_PARAMETERS``.
        arrays: The arrays that this run owns.
        tests: The tests that selected the entries.
        numbered: True if the relationship index of each entry is known.
        kept: Number of entries kept.
        looked_at: Number of entries tested.
        uploads: The uploads that sent them; None if an earlier run of the query did.
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
        """The same candidates, with these entries as their graph."""
        return replace(candidates, arrays=replace(candidates.arrays, graph=self.arguments))
