"""The rank of a node among its query node's candidates, which indexes sums of groups."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gpugda.device.launch.leaf_products import GroupKey
from gpugda.plan.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run

__all__ = ["CandidateRanks"]


class CandidateRanks:
    """Ranks, computed on first use, for all groupings of a run.

    Args:
        run: The query's run.
        candidates: Candidates of the query nodes.
    """

    def __init__(self, run: Run, candidates: Candidates) -> None:
        self._run = run
        self._candidates = candidates

    @cached_property
    def array(self) -> DeviceArray:
        """``uint64[rows * words + 1]``: prefix sums of the bits of the candidate matrix."""
        matrix = self._candidates.matrix
        return self._run.kernels.prefix_sum.run(
            self._run.workspace, matrix, 0, matrix.count, of_bits=True
        )

    def keys(self, nodes: Iterable[int], columns: Mapping[Variable, int]) -> tuple[GroupKey, ...]:
        """The keys by which kernels number the groups of some query nodes."""
        candidates = self._candidates
        return tuple(
            GroupKey(columns[Variable(True, each)], candidates.rows[each], candidates.count(each))
            for each in nodes
        )
