"""The rows that a search starts with: nodes of a partition, or crossing relationships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.launch.pbe_search import GivenRows

from gpugda.device.launch.join import Table
from gpugda.plan.row_tests import type_ids
from gpugda.plan.variables import Variable, node_variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda_strategies.launch.pbe_search import PbeSearch
    from gpugda_strategies.pbe.partitions import PartitionPlan
    from numpy.typing import NDArray

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundRelationship

__all__ = ["Seeds"]

_MAX_GIVEN = 1 << 22
"""Maximum number of rows at once: the deadline is checked between two pieces."""
_FIRST, _SECOND, _RELATIONSHIP = 0, 1, 2
_Columns = tuple["NDArray[np.uint32]", ...]


@dataclass(frozen=True, slots=True, eq=False)
class Seeds:
    """Makes seeds from arrays of the host, in pieces.

    Args:
        run: The query's run.
        plan: The partitions.
        candidates: Candidates of the query nodes.
        masks: Bitmaps of relationships that pass the predicates, by query relationship.
        kernels: The launcher.
        level_bytes: Maximum bytes of seeds with what they are made from.
    """

    run: Run
    plan: PartitionPlan
    candidates: Candidates
    masks: Mapping[int, DeviceArray]
    kernels: PbeSearch
    level_bytes: int

    def nodes(
        self, partition: int, position: int, variables: Sequence[Variable]
    ) -> Iterator[Table]:
        """Yields the candidates of a query node that are in a partition."""
        sources = [_FIRST] * len(variables)
        bits = self.candidates.matrix, self._bits(position), 0
        columns = (self.plan.nodes_of(partition),)
        yield from self._made(columns, 1, bits, None, sources)

    def crossing(self, prime: BoundRelationship, variables: Sequence[Variable]) -> Iterator[Table]:
        """Yields the crossing relationships that match a query relationship, with their ends."""
        graph = self.run.graph.graph
        found = self.plan.crossing
        if prime.types is not None:
            allowed = np.zeros(len(graph.types), dtype=np.bool_)
            allowed[list(type_ids(prime, graph))] = True
            found = found[allowed[graph.relationship_types()[found]]]
        columns = graph.start_nodes()[found], graph.outgoing.neighbours[found], found
        place = {
            node_variable(prime.source): _FIRST,
            node_variable(prime.target): _SECOND,
        }
        sources = [place.get(each, _RELATIONSHIP) for each in variables]
        bits = self.candidates.matrix, self._bits(prime.source), self._bits(prime.target)
        turns = 1 if prime.directed else 2
        yield from self._made(columns, turns, bits, self.masks.get(prime.position), sources)

    def _bits(self, position: int) -> int:
        return self.candidates.rows[position] * self.candidates.arrays.words

    def _made(
        self,
        columns: _Columns,
        turns: int,
        bits: tuple[DeviceArray, int, int],
        mask: DeviceArray | None,
        sources: Sequence[int],
    ) -> Iterator[Table]:
        width = len(sources)
        row_bytes = 4 * len(columns) + turns * (12 + 4 * width)
        size = max(1, min(_MAX_GIVEN, self.level_bytes // (2 * row_bytes)))
        words = self.run.workspace.upload(np.array(sources, dtype=np.uint32), "columns of seeds")
        for first in range(0, len(columns[0]), size):
            self.run.check_deadline()
            piece = tuple(each[first : first + size] for each in columns)
            seeds = self._piece(piece, turns, bits, mask, (words, width))
            if seeds.row_count:
                yield seeds
            self.run.workspace.release(seeds.values)

    def _piece(
        self,
        columns: _Columns,
        turns: int,
        bits: tuple[DeviceArray, int, int],
        mask: DeviceArray | None,
        sources: tuple[DeviceArray, int],
    ) -> Table:
        workspace = self.run.workspace
        arrays = [workspace.upload(each, "given rows") for each in columns]
        starts, ends, relationships = [*arrays, None, None][:3]
        assert starts is not None
        given = GivenRows(starts, ends, relationships, len(columns[0]), turns)
        flags = workspace.allocate(given.row_count, np.uint32, "which given rows pass")
        self.kernels.check_seeds(given, bits, mask, flags)
        sums = self.run.kernels.prefix_sum.run(workspace, flags, 0, given.row_count)
        total = int(workspace.download(sums, given.row_count, 1)[0])
        words, width = sources
        seeds = Table(None, total, 0)
        if width and total:
            values = workspace.allocate(total * width, np.uint32, "seeds")
            seeds = Table(values, total, width)
            self.kernels.write_seeds(given, sums, words, seeds)
        workspace.release(*arrays, flags, sums)
        return seeds
