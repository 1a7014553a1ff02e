"""Groups rows of the core by query nodes, each weighted with the product of its leaves.

If there are few possible groups, they are summed on the device, so that no row is downloaded.
Otherwise rows are downloaded with their products, and the tail groups them.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.leaf_products import (
    SUM_WORDS,
    ProductArrays,
    group_words,
    product_words,
    whole_sums,
)
from gpugda.match.embeddings import Embeddings
from gpugda.match.launch_size import LaunchSize
from gpugda.plan.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.device.launch.join import Table
    from gpugda.device.launch.leaf_products import GroupKernels
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.extend.messages import CandidateRanks
    from gpugda.match.need import Groups
    from gpugda.match.run import Run
    from gpugda.thresholds import JoinLimits

__all__ = ["GroupSums", "RowWeights", "sums_fit"]

_MIN_TIMED_ROWS = 1 << 14
"""Rows below which a launch is not timed."""
_SHARE_FOR_PIECE = 0.25


def sums_fit(
    run: Run, wanted: Groups, candidates: Candidates, least: int, limits: JoinLimits
) -> bool:
    """True if a sum per possible group fits in memory, and they are not far more than the rows.

    ``least``: bytes that the join needs.
    """
    groups = math.prod(candidates.count(each) for each in wanted.nodes)
    if len(wanted.nodes) > 1 and groups > limits.max_tuple_groups:
        return False
    needed = 4 * SUM_WORDS * groups
    free = run.workspace.available
    longest = run.graph.context.info.max_allocation_bytes
    return needed <= min(longest, free * limits.share_for_sums, free - least)


class _Rows:
    def __init__(
        self,
        run: Run,
        kernels: GroupKernels,
        wanted: Groups,
        candidates: Candidates,
        variables: Sequence[Variable],
        product: ProductArrays | None,
    ) -> None:
        self._run = run
        self._kernels = kernels
        self._wanted = wanted
        self.nodes, self.counted = wanted.nodes, wanted.counted
        self._candidates = candidates
        self._places = {variable: number for number, variable in enumerate(variables)}
        self._columns = {each: self._places[Variable(True, each)] for each in wanted.nodes}
        self._arrays = self._no_leaves() if product is None else product

    def _no_leaves(self) -> ProductArrays:
        words = self._run.workspace.upload(product_words(()), "no leaves")
        matrix = self._candidates.matrix
        arrays = self._candidates.arrays.reading(outgoing=False, incoming=False)
        return ProductArrays(arrays, matrix, words, words, words, words, words)


class GroupSums(_Rows):
    """A sum, or one bit, for each group that the candidates could form.

    Args:
        run: The query's run.
        kernels: The strategy's kernels.
        wanted: The grouping.
        candidates: Candidates of the query nodes.
        variables: The variables that the columns of the core's tables hold.
        product: The arrays of the leaves; None if there are none.
        limits: Limits of the join's windows and launches.
        ranks: Ranks of the candidates.
        place: An array for the sums, all 0 now, and the offset in words; None to allocate one.
    """

    def __init__(
        self,
        run: Run,
        kernels: GroupKernels,
        wanted: Groups,
        candidates: Candidates,
        variables: Sequence[Variable],
        product: ProductArrays | None,
        limits: JoinLimits,
        ranks: CandidateRanks,
        place: tuple[DeviceArray, int] | None = None,
    ) -> None:
        super().__init__(run, kernels, wanted, candidates, variables, product)
        self._arrays = replace(self._arrays, ranks=ranks.array)
        profile = run.graph.context.profile
        self._launches = LaunchSize(
            limits.first_group_rows, profile.max_pairs, profile.launch_seconds
        )
        self._counts = [candidates.count(each) for each in wanted.nodes]
        keys = group_words(ranks.keys(wanted.nodes, self._places))
        self._keys = run.workspace.upload(keys, "what is grouped by")
        self._sums, self._first_word = place or (self._make_sums(), 0)

    def add(self, table: Table) -> None:
        """Adds the rows of a table."""
        first = 0
        while first < table.row_count:
            last = min(first + self._launches.size, table.row_count)
            self._run.check_deadline()
            started = time.perf_counter()
            self._launch(table, (first, last))
            if last - first >= _MIN_TIMED_ROWS:
                self._run.graph.context.finish()
                self._launches.record(last - first, time.perf_counter() - started)
            first = last

    def found(self) -> Embeddings:
        """The groups that occurred, each once."""
        words = self._run.workspace.download(self._sums)
        weights = whole_sums(words) if self._wanted.counted else None
        groups = np.flatnonzero(words if weights is None else weights)
        places = np.unravel_index(groups, self._counts)
        nodes = {
            node: self._nodes(node)[place]
            for node, place in zip(self._wanted.nodes, places, strict=True)
        }
        if weights is not None:
            weights = weights[groups]
        return Embeddings(len(groups), nodes, {}, weights, distinct=True)

    def weighted(self, factors: Sequence[NDArray[np.uint32]]) -> int:
        """The sum over the groups of one node: each sum times the node's value of each factor.

        A product saturates at `MAX_WEIGHT`.
        """
        workspace, nodes = self._run.workspace, len(factors[0])
        (node,) = self._wanted.nodes
        uploaded = workspace.allocate(len(factors) * nodes, np.uint32, "factors of nodes")
        for slot, each in enumerate(factors):
            workspace.write(uploaded, each, start=slot * nodes)
        totals = workspace.allocate(self._kernels.total_words, np.uint64, "totals")
        listed = self._candidates.listed(self._run, node)
        sums, of_nodes = (self._sums, self._first_word), (uploaded, len(factors), nodes)
        self._kernels.weigh_sums(sums, listed, of_nodes, totals)
        words = workspace.download(totals)[: self._kernels.total_words].tolist()
        workspace.release(uploaded, totals)
        return int(sum(words[::2]) + (sum(words[1::2]) << 64))

    def most(self) -> int:
        """An upper bound of all sums."""
        workspace = self._run.workspace
        most = workspace.allocate(2, np.uint32, "largest sum")
        workspace.fill(most, 0)
        self._run.check_deadline()
        self._kernels.largest(self._sums, self._first_word, math.prod(self._counts), most)
        high, low = map(int, workspace.download(most))
        workspace.release(most)
        return (high + 1) << 32 if high else low

    def _make_sums(self) -> DeviceArray:
        words = math.prod(self._counts) * (SUM_WORDS if self._wanted.counted else 1)
        sums = self._run.workspace.allocate(words, np.uint32, "sums of groups")
        self._run.workspace.fill(sums, 0)
        return sums

    def _launch(self, table: Table, rows: tuple[int, int]) -> None:
        if self._wanted.counted:
            self._kernels.sum(self._arrays, table, rows, self._keys, self._sums, self._first_word)
        else:
            self._kernels.mark(self._arrays, table, rows, self._keys, self._sums)

    def _nodes(self, node: int) -> np.ndarray:
        return self._candidates.on_host(self._run, node)


class RowWeights(_Rows):
    """The products of single rows, in pieces.

    Args: as `GroupSums`, and
        least: Bytes that the join needs.
    """

    def __init__(
        self,
        run: Run,
        kernels: GroupKernels,
        wanted: Groups,
        candidates: Candidates,
        variables: Sequence[Variable],
        product: ProductArrays | None,
        limits: JoinLimits,
        least: int,
    ) -> None:
        super().__init__(run, kernels, wanted, candidates, variables, product)
        # Before the join, which takes the remaining memory.
        free = max(0, run.workspace.available - least)
        rows = max(1, min(limits.fetched_rows, int(free * _SHARE_FOR_PIECE) // 8))
        self._weights: DeviceArray = run.workspace.allocate(rows, np.uint64, "products of rows")

    def weighted(self, table: Table) -> Iterator[Embeddings]:
        """Yields a table's rows whose product is not 0, with the product as weight."""
        rows, piece = table.row_count, self._weights.count
        for first in range(0, rows, piece):
            yield self._piece(table, first, min(first + piece, rows))

    def _piece(self, table: Table, first: int, last: int) -> Embeddings:
        assert table.values is not None
        self._run.check_deadline()
        self._kernels.weigh(self._arrays, table, (first, last), self._weights)
        download, size = self._run.workspace.download, last - first
        weights = download(self._weights, 0, size)
        kept = np.flatnonzero(weights)
        nodes = {}
        for node, column in self._columns.items():
            values = download(table.values, column * table.column_stride + first, size)
            nodes[node] = values if len(kept) == size else values[kept]
        return Embeddings(len(kept), nodes, {}, weights[kept] if self._wanted.counted else None)
