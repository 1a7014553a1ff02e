"""Messages of a count plan on the device, and the products of core rows with them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.leaf_products import (
    SUM_WORDS,
    BranchSums,
    Factor,
    Leaves,
    ProductArrays,
    common_columns,
    product_words,
)
from gpugda.match.extend.primes import falling_prime
from gpugda.match.extend.segments.degrees import (
    count_by_segment,
    counts_lengths,
    lengths_on_host,
    share_no_entries,
)
from gpugda.plan.counting.row_messages import max_matches
from gpugda.plan.list_lengths import max_list_length
from gpugda.plan.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.launch.leaf_products import CommonColumn, ProductKernels
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.candidate_ranks import CandidateRanks
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import (
        DegreeMessage,
        Eliminate,
        InterchangeableLeaves,
        TableMessage,
    )

__all__ = ["Messages", "bytes_of", "has_room"]

_WORD = 1 << 64


def has_room(
    run: Run, plan: Eliminate, kernels: ProductKernels, candidates: Candidates, share: float
) -> bool:
    """True if a share of the free memory holds the plan's messages.

    These are a degree per node and group of leaves, and the tables. ``share``: the part of the free
    memory that they may use.
    """
    needed, longest = bytes_of(run, plan, kernels, candidates)
    return (
        longest <= run.graph.context.info.max_allocation_bytes
        and needed <= run.workspace.available * share
    )


def bytes_of(
    run: Run, plan: Eliminate, kernels: ProductKernels, candidates: Candidates
) -> tuple[int, int]:
    """Bytes of all messages of a plan, and bytes of the longest array among them."""
    needed, longest = 0, 0
    waiting = [plan]
    while waiting:
        each = waiting.pop()
        degrees = 4 * run.graph.graph.node_count * len(each.groups)
        tables = 4 * sum(_table_words(table, candidates) for table in each.tables)
        needed += degrees + tables + 8 * kernels.group_count
        longest = max(longest, degrees, tables)
        waiting.extend(table.plan for table in each.tables)
    return needed, longest


def _table_words(table: TableMessage, candidates: Candidates) -> int:
    return SUM_WORDS * math.prod(candidates.count(each) for each in table.separator)


@dataclass(frozen=True, slots=True, eq=False)
class _OnDevice:
    arrays: ProductArrays
    totals: DeviceArray


class Messages:
    """The messages that rows of the core are multiplied with.

    Args:
        run: The query's run.
        kernels: The strategy's kernels.
        plan: The plan, which says what is eliminated.
        candidates: Candidates of the query nodes.
        masks: The nodes and relationships that pass the predicates.
        variables: The variables that the columns of the core's tables hold.
        ranks: Ranks of the candidates.
        views: The segments of the data graph on the device; None if all of it is there.

    Attributes:
        shared: Numbers that the rows must hold in columns after those of ``variables``.
    """

    def __init__(
        self,
        run: Run,
        kernels: ProductKernels,
        plan: Eliminate,
        candidates: Candidates,
        masks: Masks,
        variables: Sequence[Variable],
        ranks: CandidateRanks,
        views: SegmentViews | None,
    ) -> None:
        self._run = run
        self._views = views
        self._kernels = kernels
        self.plan = plan
        self._candidates = candidates
        self._masks = masks
        self._ranks = ranks
        self._columns = {variable: number for number, variable in enumerate(variables)}
        # Before the join, which takes the remaining memory.
        self.shared: Sequence[CommonColumn] = ()
        self._made = self._on_device()
        self._most = self._most_of_core()

    @property
    def arrays(self) -> ProductArrays:
        """The arrays that rows of the core are multiplied with."""
        return self._made.arrays

    def place_of_table(self, number: int) -> tuple[DeviceArray, int]:
        """Where a table's sums must be before the first row: an array, and an offset in words."""
        return self._made.arrays.tables, self._first_words()[number]

    def add_table(self, most: int) -> None:
        """Records that a table's sums are complete; ``most``: an upper bound of them."""
        self._most *= most

    def count(self, table: Table) -> int:
        """The number of embeddings whose cores are in a table, however large.

        Sums of a table saturate at 2**63.
        """
        bound = table.row_count * self._most
        total, modulus, number = self._sum(table, self._made, 0), _WORD, 0
        while bound >= modulus:
            # Chinese remainder theorem: exactly one number below the product has both remainders.
            prime = falling_prime(number)
            rest = self._sum(table, self._made, prime)
            total += modulus * ((rest - total) * pow(modulus, -1, prime) % prime)
            modulus *= prime
            number += 1
        return total

    def _sum(self, table: Table, made: _OnDevice, modulus: int) -> int:
        self._run.check_deadline()
        self._kernels.multiply(made.arrays, table, modulus, made.totals)
        sums = self._run.workspace.download(made.totals)
        total = int(sums.sum(dtype=np.uint64))  # wraps as the device does
        return total % modulus if modulus else total

    # ------------------------------------------------------------------ what is multiplied
    def _on_device(self) -> _OnDevice:
        workspace, graph = self._run.workspace, self._run.graph.graph
        factors: list[Factor] = []
        slot = 0
        for message in self.plan.degrees:
            shared = sum(each.common is not None for each in factors)
            factors += self._factors(message, slot, len(self._columns) + shared)
            slot += len(message.groups)
        groups, nodes = [each for factor in factors for each in factor.groups], graph.node_count
        degrees = workspace.allocate(max(1, slot * nodes), np.uint32, "degrees of anchors")
        for group, leaves in zip(self.plan.groups, groups, strict=True):
            self._count_degrees(group, leaves, degrees)
        weights = [(self._columns[Variable(True, each[0])], len(each)) for each in self.plan.rows]
        tables = [
            BranchSums(first, self._ranks.keys(each.separator, self._columns))
            for first, each in zip(self._first_words(), self.plan.tables, strict=False)
        ]
        made = product_words(factors, weights, tables)
        self.shared = common_columns(made, factors)
        words = workspace.upload(made, "what is multiplied")
        ranks, sums = (self._ranks.array, self._tables()) if tables else (words, words)
        arrays = ProductArrays(
            self._looked_at(factors), self._candidates.matrix, words, degrees, ranks, sums
        )
        totals = workspace.allocate(self._kernels.group_count, np.uint64, "totals")
        return _OnDevice(arrays, totals)

    def _looked_at(self, factors: Sequence[Factor]) -> FilterArrays:
        """The arrays that multiplication reads; rows only if groups share entries."""
        # A relationship in common is looked up in the rows of the first group's anchor.
        first = [each.groups[0] for each in factors if len(each.groups) > 1 and each.common is None]
        return self._candidates.arrays.reading(
            outgoing=any(each.outgoing for each in first),
            incoming=any(each.incoming for each in first),
        )

    def _tables(self) -> DeviceArray:
        workspace = self._run.workspace
        tables = workspace.allocate(self._first_words()[-1], np.uint32, "tables")
        workspace.fill(tables, 0)
        return tables

    def _first_words(self) -> list[int]:
        """Offset in words of each table's sums, and the offset after the last one."""
        sizes = (_table_words(each, self._candidates) for each in self.plan.tables)
        return list(accumulate(sizes, initial=0))

    def _most_of_core(self) -> int:
        """Upper bound of the product of a row, without tables."""
        graph = self._run.graph.graph
        most = 1
        for group in self.plan.groups:
            most *= _largest(self.plan, group, graph) ** len(group.leaves)
        for each in self.plan.rows:
            most *= max_matches(self.plan.core, graph, each[0]) ** len(each)
        return most

    def _factors(self, message: DegreeMessage, slot: int, column: int) -> list[Factor]:
        """The factors of one message; ``column``: the next one after those of the core."""
        groups = tuple(
            self._leaves(group, slot + number) for number, group in enumerate(message.groups)
        )
        if share_no_entries(message, self.plan, self._run.graph.graph):
            return [Factor((each,), ()) for each in groups]
        looks_up = self._views is None or len(groups) < 2
        return [Factor(groups, self._ends(message.taken), None if looks_up else column)]

    def _leaves(self, group: InterchangeableLeaves, slot: int) -> Leaves:
        candidates, leaf = self._candidates, group.leaves[0]
        fits_all = not self.plan.core.nodes[leaf].labels and leaf not in self._masks.nodes
        return Leaves(
            self._columns[Variable(True, group.anchor)],
            slot,
            len(group.leaves),
            group.outgoing,
            group.incoming,
            None if fits_all else candidates.rows[leaf],
            candidates.adjacencies[candidates.rows[group.anchor], group.relationships[0]],
            self._ends(group.taken),
        )

    def _ends(self, taken: Sequence[int]) -> tuple[tuple[int, int], ...]:
        found = [self.plan.core.relationships[each] for each in taken]
        return tuple(
            (self._columns[Variable(True, each.source)], self._columns[Variable(True, each.target)])
            for each in found
        )

    def _count_degrees(
        self, group: InterchangeableLeaves, leaves: Leaves, degrees: DeviceArray
    ) -> None:
        candidates, anchor = self._candidates, group.anchor
        nodes = candidates.listed(self._run, anchor)
        self._run.check_deadline()
        by_length = counts_lengths(group, self.plan, self._masks, self._run.graph.graph)
        if by_length and not self._run.placement.has_directory:
            lengths = lengths_on_host(group, self.plan, self._run.graph.graph)
            self._run.workspace.write(degrees, lengths, leaves.slot * len(lengths))
            return
        count = partial(
            self._kernels.count_matches,
            matrix=candidates.matrix,
            leaves=leaves,
            leaf_counts=degrees,
            by_length=by_length,
        )
        if by_length or self._views is None:
            arrays = candidates.arrays.reading(
                outgoing=group.outgoing,
                incoming=group.incoming,
                numbers=group.relationships[0] in self._masks.relationships,
                lengths=by_length,
            )
            count(arrays, nodes=nodes)
        else:
            used = {"outgoing": group.outgoing, "incoming": group.incoming}
            count_by_segment(self._run, candidates.arrays, self._views, used, nodes, count)


def _largest(plan: Eliminate, group: InterchangeableLeaves, graph: DataGraph) -> int:
    """Upper bound of a node's relationships that can match a leaf of the group."""
    types = plan.core.relationships[group.relationships[0]].types
    return max_list_length(graph, types, outgoing=group.outgoing, incoming=group.incoming)
