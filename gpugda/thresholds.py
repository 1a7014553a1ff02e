"""Thresholds and limits of the planner and the join, one table per kind of device.

A pair is a data relationship that a join tests for one row; a GPU tests far more pairs per second.
"""

from __future__ import annotations

import math

from gpugda.types import value

__all__ = [
    "CPU",
    "GPU",
    "MAX_LINKS",
    "CountThresholds",
    "FilterLimits",
    "JoinLimits",
    "PathCosts",
    "SegmentLimits",
    "Thresholds",
]

MAX_LINKS = 8
"""Maximum number of links that a kernel evaluates in one step."""

_GPU_SPEEDUP = 64
"""Speed of a GPU over a CPU that the thresholds assume; the measured ratio can reach 1,000."""


@value(frozen=True, slots=True)
class CountThresholds:
    """When a count plan is searched for, and which plan is taken.

    Args:
        joins_first: True if the plain join is tried first where this needs no waiting.
        max_pairs_at_once: If the join is expected to test more pairs, it is not tried at once.
        first_seconds: Budget of the plain join before a plan is searched for, in seconds:
            multiplied by the third power of the number of query relationships, which is how the
            time of a search grows.
        max_first_seconds: Upper bound of that budget, in seconds. Estimates are easily 1,000 times
            too high, and a query may never come again.
        max_first_pairs: Pairs per second of that budget beyond which no join is tried: several
            times as many as the device tests.
        search_again_seconds: Seconds of a join above which a plan is searched for when the query
            comes again.
        search_share: Budget of that search, as a multiple of the join's time.
        replan_rows: A run that makes fewer rows never asks for another plan.
        search_rows: If the upper bound of rows is lower, only degree messages are searched for.
        search_pairs: The same if the join is expected to test fewer pairs.
        cyclic_growth: Factor by which degree messages must reduce the rows of a core with a cycle,
            since such a core may be counted by intersection.
        row_pairs: Joins of fewer pairs have no row messages.
        row_uncertainty: Row messages may have this many times the estimated cost of the join, since
            row counts are underestimated more often than overestimated.
        table_pairs: Joins of fewer pairs have no table messages.
        table_gain: A table message must reduce the cost to at most this share.
        table_cost: Cost of the launches of a table message, in pairs.
        cell_cost: Cost of a cell of a table with two separators, in pairs: it is zeroed and read
            once.
        max_cells: Maximum number of cells of such a table, 12 bytes each.
        max_pair_nodes: In a part with at most this many nodes, every pair of nodes is tried as
            separators.
        pair_pairs: Joins of fewer pairs have no tables with two separators.
        pair_gain: Such tables must reduce the cost to at most this share.
        separators: Permitted numbers of separator nodes of a table.
        part_pairs: Joins of fewer pairs are not split into parts.
        part_cost: Fixed cost of a part that runs as a query of its own, in pairs.
        part_gain: Parts must reduce the cost to at most this share.
        max_nested: Maximum nesting depth to which parts of parts are planned to find their cost.
        max_dropped_tests: Maximum number of relationship pairs whose distinctness test a sum
            leaves out.
        list_search: Entries scanned in the time of one search in a list. An intersection scans the
            list of the node bound last, unless it takes less time to search that list for the
            entries of a shorter one; a GPU always searches.
        order_pairs: A join with a cycle compares all orders of a few query nodes if it has more
            pairs than this per order.
        counts_cycles: True if short cycles are counted without making rows.
        min_witness_rows: Where only distinct nodes are needed, a join of this many rows first
            searches for embeddings among the nodes of most relationships.
        max_orders: Maximum number of orders (of sets of query nodes) that a search keeps, since
            the number of sets on long paths has no useful bound.
    """

    joins_first: bool = True
    max_pairs_at_once: float = 1 << 24
    first_seconds: float = 12e-6
    max_first_seconds: float = 0.012
    max_first_pairs: float = 1 << 32
    search_again_seconds: float = 0.001
    search_share: float = 4
    replan_rows: float = 1 << 13
    search_rows: float = 1 << 14
    search_pairs: float = 1 << 14
    cyclic_growth: float = 32
    row_pairs: float = 1 << 14
    row_uncertainty: float = 2.0
    table_pairs: float = 1 << 21
    table_gain: float = 0.5
    table_cost: float = 1 << 18
    cell_cost: float = 1.0
    max_cells: int = 1 << 26
    max_pair_nodes: int = 64
    pair_pairs: float = 1 << 25
    pair_gain: float = 0.25
    separators: tuple[int, ...] = (1, 2)
    part_pairs: float = 1 << 20
    part_cost: float = 1 << 17
    part_gain: float = 0.5
    max_nested: int = 2
    max_dropped_tests: int = 32
    list_search: float = 64.0
    order_pairs: float = 1 << 13
    counts_cycles: bool = True
    min_witness_rows: float = 1 << 20
    max_orders: int = 1 << 12


@value(frozen=True, slots=True)
class FilterLimits:
    """When the neighbours of candidates are explored, and when one work item does the whole filter.

    Args:
        explores: True if neighbours are explored; None to explore where it pays off.
        cheap_entries: Neighbour entries read in the time of a few launches.
        small_entries: Neighbour entries that one work item reads in that time.
        abandon_entries: Entries after which the work item gives up, as there are more than
            expected.
        small_words: Maximum words of the matrix for one work item, which passes over them a few
            times.
        small_explored_words: The same if neighbours are explored: many work items would make more
            passes, and also pass over sums of twice the size.
        listed: Maximum number of candidates that the work item writes to lists.
    """

    explores: bool | None = None
    cheap_entries: float = 1 << 16
    small_entries: int = 1 << 16
    abandon_entries: int = 1 << 17
    small_words: int = 1 << 17
    small_explored_words: int = 1 << 20
    listed: int = 1 << 16


@value(frozen=True, slots=True)
class JoinLimits:
    """Sizes of the windows and launches of a join and of the operators that read its rows.

    Args:
        walked_pairs: Pairs up to which the host finds a pattern, in less time than a launch takes.
        first_window: Rows of the first window: a caller that takes few rows must not wait for many.
        first_count_window: The same if all rows are counted; each window waits for the device.
        smallest_window: Lower bound of rows to which a window that takes too long shrinks.
        largest_window: Maximum rows of a window that further steps extend.
        largest_last_window: Maximum rows of a window of the last step.
        few_rows: Maximum number of new rows that a step makes without counting pairs first.
        first_counted_rows: Rows of the first launch that counts the matches of each row.
        first_entries: Maximum number of entries that this launch reads, but see
            ``min_first_rows``.
        min_first_rows: Minimum rows of this launch.
        listed_rows: From this many rows on, a GPU counts matches along plain lists pair by pair,
            after counting the pairs.
        max_at_once: Maximum rows of a step that runs without waiting. Not a power of two: the
            columns of a row would compete for the same cache lines.
        entries_at_once: Maximum number of entries that such a step reads: beyond it, one work item
            takes longer than the launches of all steps (CPU) or than waiting (GPU).
        item_work: Neighbours per work item and launch where each item takes rows: about 10 ms.
        measures_pairs: True if pairs are counted even where their upper bound is low.
        share_for_messages: Share of the free memory for degree and table messages.
        share_for_sums: Share of the free memory for sums of groups.
        max_tuple_groups: Maximum number of groups of several nodes that are added up on the
            device: no row belongs to most of them, but all are fetched.
        first_group_rows: Rows of the first launch that adds rows to groups.
        fetched_rows: Rows that are fetched together with their weights.
        max_queries: Maximum number of queries in the cache.
    """

    walked_pairs: int = 1 << 14
    first_window: int = 1 << 18
    first_count_window: int = 1 << 20
    smallest_window: int = 1 << 12
    largest_window: int = 1 << 25
    largest_last_window: int = 1 << 22
    few_rows: int = 1 << 16
    first_counted_rows: int = 1 << 14
    first_entries: int = 1 << 26
    min_first_rows: int = 1 << 12
    listed_rows: int = 1 << 12
    max_at_once: int = 10_000
    entries_at_once: int = 1 << 16
    item_work: int = 1 << 23
    measures_pairs: bool = False
    share_for_messages: float = 0.25
    share_for_sums: float = 0.25
    max_tuple_groups: int = 1 << 18
    first_group_rows: int = 1 << 17
    fetched_rows: int = 1 << 18
    max_queries: int = 128


_ROW_COPIES = 6
"""Sorting holds rows twice, and half of the memory is for results; the rest is for safety."""


@value(frozen=True, slots=True)
class SegmentLimits:
    """How a data graph that exceeds the device's memory is sent to it in segments.

    Args:
        max_entries: Maximum entries of a segment; None for as many as fit. A number makes every
            graph run in segments.
        share_for_directory: Share of the memory limit up to which the row offsets of a graph with
            one type stay on the device; larger ones are sent with the segments.
        share_for_runs: The same for a graph with several types, whose run offsets, types and starts
            of runs stay; for parts, the starts are rewritten to a copy.
        share_for_parts: Share of the memory that is free when a join begins, for segments.
        share_for_pairs: The same where steps follow two links: there, larger windows of rows send
            the second link's segments less often.
        share_beside_rows: The same if all rows fit into what is left: the number of segments counts
            by its square.
        max_segments: Maximum number of segments; it bounds their size from below.
        share_for_rows: Share of the host's memory for rows that wait for their segments, unless the
            caller sets a limit.
        rows_bytes: The same in bytes, for tests; None to use the share.
        disk_cost: Bytes of the data graph that are sent in the time in which one byte of rows is
            written to disk and read back: with fewer rows, sending the graph again takes longer. 0
            spills rows to disk however many there are.
        share_of_disk: Share of the free disk space for rows.
        reduces: True if the entries between candidates may stay on the device instead, where they
            fit.
        reduces_leaves: True if this is also done for leaves alone. A GPU counts leaves as soon as
            their entries arrive; a CPU would pass over the entries twice.
    """

    max_entries: int | None = None
    share_for_directory: float = 0.4
    share_for_runs: float = 0.15
    share_for_parts: float = 0.75
    share_for_pairs: float = 0.38
    share_beside_rows: float = 0.85
    max_segments: int = 256
    share_for_rows: float = 0.25
    rows_bytes: int | None = None
    disk_cost: float = 16.0
    share_of_disk: float = 0.5
    reduces: bool = True
    reduces_leaves: bool = False

    def directory_share(self, *, is_one_type: bool) -> float:
        """Share of the memory limit up to which a graph's directory stays on the device."""
        share = self.share_for_directory
        return share if is_one_type else min(share, self.share_for_runs)

    def share_of_pairs(self, rows: float) -> float:
        """Share of the free memory for segments if steps follow two links.

        Args:
            rows: Bytes of the rows that these steps take, as a share of the same memory.
        """
        return max(self.share_for_pairs, min(self.share_beside_rows, 1.0 - _ROW_COPIES * rows))


@value(frozen=True, slots=True)
class PathCosts:
    """Cost of path searches from many nodes on the device, measured; otherwise the host searches.

    Args:
        begin_seconds: Seconds of all launches and of copying their input and output.
        word_seconds: Seconds per word that a level reads: 32 searches at a node or a step.
    """

    begin_seconds: float = 2e-3
    word_seconds: float = 2e-9


@value(frozen=True, slots=True)
class Thresholds:
    """Thresholds of the strategy ``extend`` and of path searches."""

    count: CountThresholds = CountThresholds()
    join: JoinLimits = JoinLimits()
    filter: FilterLimits = FilterLimits()
    paths: PathCosts = PathCosts()
    segments: SegmentLimits = SegmentLimits()


CPU = Thresholds()

GPU = Thresholds(
    CountThresholds(
        max_pairs_at_once=_GPU_SPEEDUP << 24,
        max_first_pairs=_GPU_SPEEDUP << 32,
        replan_rows=_GPU_SPEEDUP << 13,
        search_pairs=_GPU_SPEEDUP << 14,
        part_pairs=_GPU_SPEEDUP << 20,
        part_cost=_GPU_SPEEDUP << 17,
        list_search=1.0,
        order_pairs=math.inf,
        counts_cycles=False,
        min_witness_rows=_GPU_SPEEDUP << 20,
    ),
    JoinLimits(
        walked_pairs=1 << 12,
        first_count_window=1 << 24,
        first_counted_rows=1 << 20,
        max_at_once=20_000,
        entries_at_once=1 << 20,
    ),
    FilterLimits(cheap_entries=1 << 24),
    PathCosts(begin_seconds=2e-3, word_seconds=5e-11),
    SegmentLimits(reduces_leaves=True),
)
