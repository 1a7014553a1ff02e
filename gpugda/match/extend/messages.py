"""Messages of a count plan on the device, and the products of core rows with them."""

from __future__ import annotations

import math
from functools import cache, cached_property, partial
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.leaf_products import (
    SUM_WORDS,
    BranchSums,
    CountsPlace,
    Factor,
    GroupKey,
    Leaves,
    ProductArrays,
    common_columns,
    product_words,
)
from gpugda.match.extend.segments.degrees import (
    count_by_segment,
    counts_lengths,
    lengths_on_host,
    share_no_entries,
    shared_loops,
)
from gpugda.plan.cardinality import max_list_length
from gpugda.plan.counting.row_messages import max_matches
from gpugda.plan.variables import Variable
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.segment_views import SegmentViews
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.join import Table
    from gpugda.device.launch.leaf_products import CommonColumn, ProductKernels
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import (
        DegreeMessage,
        Eliminate,
        InterchangeableLeaves,
        TableMessage,
    )


__all__ = [
    "CandidateRanks",
    "DegreeCounts",
    "DegreePlaces",
    "Messages",
    "bytes_of",
    "degree_places",
    "falling_prime",
    "has_room",
    "max_degree",
]


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


_BELOW = 1 << 31


@cache
def falling_prime(number: int) -> int:
    """The primes below 2**31 in descending order: moduli that kernels can multiply in."""
    below = falling_prime(number - 1) if number else _BELOW + 1
    return next(each for each in range(below - 2, 0, -2) if _is_prime(each))


def _is_prime(number: int) -> bool:
    return all(number % each for each in range(3, math.isqrt(number) + 1, 2))


_WIDTH, _RANK_BYTES = 4, 8
_ALIGNED = 128
_KEPT_BYTES = 1 << 24
"""Bytes of degrees that a query's candidates keep on the host: counting these takes longest."""
_TYPES = {1: np.uint8, 2: np.uint16, 4: np.uint32}


def max_degree(plan: Eliminate, group: InterchangeableLeaves, graph: DataGraph) -> int:
    """Upper bound of a node's relationships that can match a leaf of the group."""
    types = plan.core.relationships[group.relationships[0]].types
    return max_list_length(graph, types, outgoing=group.outgoing, incoming=group.incoming)


@value(frozen=True, slots=True)
class DegreePlaces:
    """Where the degrees of a plan's groups are.

    Args:
        groups: The place of each group's degrees.
        size: Bytes of all degrees.
        rank_rows: Rows of the candidate matrix whose ranks are needed, in their order.
        ranks: Number of ranks per row.
    """

    groups: tuple[CountsPlace, ...]
    size: int
    rank_rows: tuple[int, ...]
    ranks: int

    @property
    def nbytes(self) -> int:
        """Bytes of degrees and ranks; ranks are made one row after the other."""
        return self.size + _RANK_BYTES * self.ranks * _rows_at_once(len(self.rank_rows))


def _rows_at_once(rows: int) -> int:
    return rows if rows < 2 else rows + 1


def degree_places(
    plan: Eliminate, graph: DataGraph, candidates: Candidates, *, packs: bool
) -> DegreePlaces:
    """The places of a plan's degrees; ``packs``: True to use as little memory as possible."""
    nodes, ranks = graph.node_count, candidates.arrays.words + 1
    places: list[CountsPlace] = []
    rows: list[int] = []
    size = 0
    for group in plan.groups:
        width = _width(max_degree(plan, group, graph)) if packs else _WIDTH
        row = candidates.rows[group.anchor]
        count = candidates.count(group.anchor)
        new = 0 if row in rows else _RANK_BYTES * ranks
        if packs and width * count + new < width * nodes:
            if row not in rows:
                rows.append(row)
            places.append(CountsPlace(size, width, rows.index(row) * ranks, row))
        else:
            count = nodes
            places.append(CountsPlace(size, width, None, row))
        size += -(-width * count // _ALIGNED) * _ALIGNED
    return DegreePlaces(tuple(places), size, tuple(rows), ranks)


def _width(most: int) -> int:
    """Bytes of a number up to ``most``."""
    return next((width for width in (1, 2) if most < 1 << 8 * width), _WIDTH)


class DegreeCounts:
    """Counts the degrees of a plan's anchors, group by group.

    Args:
        run: The query's run.
        kernels: The strategy's kernels.
        plan: The plan, which has the groups.
        candidates: Candidates of the query nodes.
        masks: The nodes and relationships that pass the predicates.
        views: The segments of the data graph on the device; None if all entries that the query
            reads are there.
        packs: True if degrees are packed.

    Attributes:
        places: Where the degrees are.
        counts: The degrees, in bytes.
        ranks: Ranks of the candidates of anchors by which degrees are indexed; `counts` if none
            are.
    """

    def __init__(
        self,
        run: Run,
        kernels: ProductKernels,
        plan: Eliminate,
        candidates: Candidates,
        masks: Masks,
        views: SegmentViews | None,
        *,
        packs: bool,
    ) -> None:
        self._run, self._kernels = run, kernels
        self._plan, self._candidates, self._masks = plan, candidates, masks
        self._views, self._packs = views, packs
        self.places = degree_places(plan, run.graph.graph, candidates, packs=packs)
        size = max(1, self.places.size)
        self.counts = run.workspace.allocate(size, np.uint8, "degrees of anchors")
        self.ranks = self._ranks_of(self.places.rank_rows) if self.places.rank_rows else self.counts

    def count(self, group: InterchangeableLeaves, leaves: Leaves) -> None:
        """Counts the degrees of a group's anchor; ``leaves``: the group as kernels read it."""
        run, graph = self._run, self._run.graph.graph
        run.check_deadline()
        by_length = counts_lengths(group, self._plan, self._masks, graph)
        if by_length and not run.placement.has_directory:
            degrees = self._on_host(group, leaves.counts)
            self._run.workspace.write(self.counts, degrees.view(np.uint8), leaves.counts.first_byte)
            return
        matrix, arrays = self._candidates.matrix, self._candidates.arrays
        views = None if by_length else self._views
        if views is None:
            arrays = arrays.reading(
                outgoing=group.outgoing,
                incoming=group.incoming,
                numbers=group.relationships[0] in self._masks.relationships,
                lengths=by_length,
            )
            if not self._packs and self._candidates.fits_list(run, group.anchor):
                nodes, counts = self._candidates.listed(run, group.anchor), self.counts
                count_matches = self._kernels.count_matches
                count_matches(arrays, matrix, leaves, nodes, counts, by_length=by_length)
                return
        count = partial(
            self._kernels.count_packed,
            matrix=matrix,
            leaves=leaves,
            leaf_counts=self.counts,
            anchor_ranks=self.ranks,
            by_length=by_length,
        )
        if views is None:
            count(arrays, nodes=(0, graph.node_count))
            return
        used = {"outgoing": group.outgoing, "incoming": group.incoming}
        anchors = self._bits(leaves.counts)
        count_by_segment(run, arrays, views, used, anchors, count)

    def _on_host(self, group: InterchangeableLeaves, place: CountsPlace) -> np.ndarray:
        """Degrees that the host counts; short arrays are kept as long as the candidates."""
        types = self._plan.core.relationships[group.relationships[0]].types
        anchors = None if place.ranks is None else place.anchor_row
        known = self._candidates.degrees
        key = types, group.outgoing, group.incoming, anchors, place.width
        if key in known:
            return known[key]
        bits = None if anchors is None else self._bits(place)
        graph, dtype = self._run.graph.graph, _TYPES[place.width]
        found = lengths_on_host(group, self._plan, graph, dtype, bits)
        if found.nbytes + sum(each.nbytes for each in tuple(known.values())) <= _KEPT_BYTES:
            known[key] = found
        return found

    def _bits(self, place: CountsPlace) -> np.ndarray:
        """The words of the anchor's row of the candidate matrix."""
        words = self._candidates.arrays.words
        matrix = self._candidates.matrix
        found: np.ndarray = self._run.workspace.download(matrix, place.anchor_row * words, words)
        return found

    def _ranks_of(self, rows: Sequence[int]) -> DeviceArray:
        workspace, matrix = self._run.workspace, self._candidates.matrix
        words, count = self._candidates.arrays.words, self.places.ranks
        prefix_sum = self._run.kernels.prefix_sum
        if len(rows) == 1:
            return prefix_sum.run(workspace, matrix, rows[0] * words, words, of_bits=True)
        ranks = workspace.allocate(count * len(rows), np.uint64, "ranks of anchors")
        for number, row in enumerate(rows):
            found = prefix_sum.run(workspace, matrix, row * words, words, of_bits=True)
            workspace.copy_part(found, 0, ranks, number * count, count)
            workspace.release(found)
        return ranks


_WORD = 1 << 64


def has_room(
    run: Run,
    plan: Eliminate,
    kernels: ProductKernels,
    candidates: Candidates,
    share: float,
    *,
    packs: bool,
) -> bool:
    """True if a share of the free memory holds the plan's messages.

    Args:
        run: The query's run.
        plan: The plan.
        kernels: The strategy's kernels.
        candidates: Candidates of the query nodes.
        share: The part of the free memory that the messages may use.
        packs: True if degrees are packed.
    """
    needed, longest = bytes_of(run, plan, kernels, candidates, packs=packs)
    return (
        longest <= run.graph.context.info.max_allocation_bytes
        and needed <= run.workspace.available * share
    )


def bytes_of(
    run: Run, plan: Eliminate, kernels: ProductKernels, candidates: Candidates, *, packs: bool
) -> tuple[int, int]:
    """Bytes of all messages of a plan, and bytes of the longest array among them."""
    needed, longest = 0, 0
    waiting = [plan]
    while waiting:
        each = waiting.pop()
        degrees = degree_places(each, run.graph.graph, candidates, packs=packs)
        tables = 4 * sum(_table_words(table, candidates) for table in each.tables)
        needed += degrees.nbytes + tables + 8 * kernels.group_count
        longest = max(longest, degrees.size, tables)
        waiting.extend(table.plan for table in each.tables)
    return needed, longest


def _table_words(table: TableMessage, candidates: Candidates) -> int:
    return SUM_WORDS * math.prod(candidates.count(each) for each in table.separator)


@value(frozen=True, slots=True, eq=False)
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
        packs: True if degrees are packed.

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
        *,
        packs: bool,
    ) -> None:
        self._run = run
        self._views = views
        self._packs = packs
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
        workspace = self._run.workspace
        degrees = DegreeCounts(
            self._run,
            self._kernels,
            self.plan,
            self._candidates,
            self._masks,
            self._views,
            packs=self._packs,
        )
        factors: list[Factor] = []
        slot = 0
        for message in self.plan.degrees:
            shared = sum(each.common is not None for each in factors)
            places = degrees.places.groups[slot : slot + len(message.groups)]
            factors += self._factors(message, places, len(self._columns) + shared)
            slot += len(message.groups)
        groups = [each for factor in factors for each in factor.groups]
        for group, leaves in zip(self.plan.groups, groups, strict=True):
            degrees.count(group, leaves)
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
            self._looked_at(factors),
            self._candidates.matrix,
            words,
            degrees.counts,
            degrees.ranks,
            ranks,
            sums,
        )
        totals = workspace.allocate(self._kernels.group_count, np.uint64, "totals")
        return _OnDevice(arrays, totals)

    def _looked_at(self, factors: Sequence[Factor]) -> FilterArrays:
        """The arrays that multiplication reads; rows only if groups share entries."""
        # A relationship in common is looked up in the rows of the first group's anchor.
        first = [
            each.groups[0]
            for each in factors
            if len(each.groups) > 1 and each.common is None and each.loops is None
        ]
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
            most *= max_degree(self.plan, group, graph) ** len(group.leaves)
        for each in self.plan.rows:
            most *= max_matches(self.plan.core, graph, each[0]) ** len(each)
        return most

    def _factors(
        self, message: DegreeMessage, places: Sequence[CountsPlace], column: int
    ) -> list[Factor]:
        """The factors of one message; ``column``: the next one after those of the core."""
        groups = tuple(map(self._leaves, message.groups, places))
        graph, taken = self._run.graph.graph, self._ends(message.taken)
        if share_no_entries(message, self.plan, graph):
            return [Factor((each,), ()) for each in groups]
        if len(groups) < 2 or self._run.placement.is_whole:
            return [Factor(groups, taken)]
        loops = shared_loops(message, self.plan, graph)
        looks_up = loops is not None or self._views is None
        return [Factor(groups, taken, None if looks_up else column, loops)]

    def _leaves(self, group: InterchangeableLeaves, place: CountsPlace) -> Leaves:
        candidates, leaf = self._candidates, group.leaves[0]
        fits_all = not self.plan.core.nodes[leaf].labels and leaf not in self._masks.nodes
        return Leaves(
            self._columns[Variable(True, group.anchor)],
            place,
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
