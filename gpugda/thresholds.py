"""From when on something pays, and how much is done at once: one table per kind of device.

Pairs are data relationships that a join would test; a GPU tests many more of them in the same time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = [
    "CPU",
    "GPU",
    "MOST_LINKS",
    "CountThresholds",
    "FilterLimits",
    "JoinLimits",
    "PathCosts",
    "SegmentLimits",
    "Thresholds",
]

MOST_LINKS = 8
"""Links that a kernel takes in one step."""

_FASTER_GPU = 64
"""So many times as many pairs in the same time, though pairs may be a thousand times as many."""


@dataclass(frozen=True, slots=True)
class CountThresholds:
    """When a count plan is looked for, and which one is taken.

    Args:
        tries_at_once: Is everything joined first where that needs no waiting?
        first_seconds: So long everything is joined before a plan is looked for: per query
            relationship to the third, which is how the time of a search grows.
        most_first_seconds: And in all. Estimates are easily a thousand times what there is, and a
            query may never come again.
        worth_searching_again: Seconds of a join from which on a plan is looked for when the query
            comes again.
        search_share: That search may take so many times as long as the join took.
        replan_rows: Runs that make fewer rows never ask for another plan.
        search_rows: Queries that could have fewer rows are not searched for more than degrees.
        search_pairs: Nor are joins that are expected to test fewer pairs.
        cyclic_growth: Degree messages must make rows of a core with a cycle so many times fewer:
            such a core may be counted by intersection.
        row_pairs: Joins of fewer pairs have no row messages.
        row_doubt: Row messages may be expected to cost so many times as much as joining, since
            rows are underestimated more often than they are.
        table_pairs: Joins of fewer pairs have no table messages.
        table_gain: A table message must leave at most this share of the cost.
        table_cost: Of a table message's own launches, in pairs.
        cell_cost: Of a cell of a table of two separators, in pairs: it is zeroed and read once.
        most_cells: Of such a table, 12 bytes each.
        most_paired: Each two nodes of a part with at most so many are tried as separators.
        pair_pairs: Joins of fewer pairs have no tables of two separators.
        pair_gain: Those must leave at most this share of the cost.
        separators: How many nodes a table may have as separator.
        part_pairs: Joins of fewer pairs are not counted in parts.
        part_cost: Of a query of its own, in pairs.
        part_gain: Parts must leave at most this share of the cost.
        most_nested: Parts of parts are planned, to know what these cost, so many levels deep.
        most_loosened: Pairs of relationships whose test is left out in a sum, at most.
        list_search: Entries that are gone through in the time of searching one in a list. Of lists
            that are intersected, the one of the node that came last is gone through, but where
            searching it for those of a shorter one takes less time: on a GPU, always.
        order_pairs: Of a join with a cycle, for each order of its query nodes: where it has more,
            all orders of a few nodes are compared.
        counts_cycles: Are short cycles counted without rows?
        most_orders: Orders of sets of query nodes that a search keeps: long paths have no end of
            sets.
    """

    tries_at_once: bool = True
    first_seconds: float = 12e-6
    most_first_seconds: float = 0.012
    worth_searching_again: float = 0.001
    search_share: float = 4
    replan_rows: float = 1 << 13
    search_rows: float = 1 << 14
    search_pairs: float = 1 << 14
    cyclic_growth: float = 32
    row_pairs: float = 1 << 14
    row_doubt: float = 2.0
    table_pairs: float = 1 << 21
    table_gain: float = 0.5
    table_cost: float = 1 << 18
    cell_cost: float = 1.0
    most_cells: int = 1 << 26
    most_paired: int = 64
    pair_pairs: float = 1 << 25
    pair_gain: float = 0.25
    separators: tuple[int, ...] = (1, 2)
    part_pairs: float = 1 << 20
    part_cost: float = 1 << 17
    part_gain: float = 0.5
    most_nested: int = 2
    most_loosened: int = 32
    list_search: float = 64.0
    order_pairs: float = 1 << 13
    counts_cycles: bool = True
    most_orders: int = 1 << 12


@dataclass(frozen=True, slots=True)
class FilterLimits:
    """When neighbours of candidates are looked at, and what one work item filters alone.

    Args:
        explores: Are neighbours looked at? None: where that pays.
        cheap_looks: Entries of neighbours that are looked at in the time of some launches.
        small_looks: Entries that one work item looks at in that time.
        given_up_looks: After so many it gives up: they are more than was expected.
        small_words: Of the matrix, for one work item: it goes through them some times.
        small_explored_words: The same where neighbours are looked at; by many items they are gone
            through more often, together with sums of twice their size.
        listed: Candidates of which it makes lists.
    """

    explores: bool | None = None
    cheap_looks: float = 1 << 16
    small_looks: int = 1 << 16
    given_up_looks: int = 1 << 17
    small_words: int = 1 << 17
    small_explored_words: int = 1 << 20
    listed: int = 1 << 16


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """How much of a join, and of what is done with its rows, is done at once.

    Args:
        first_window: Rows of the first window: a caller that takes few must not wait for many.
        first_count_window: The same where all are counted; each window waits for the device.
        smallest_window: Rows of windows that take too long.
        largest_window: Rows of windows that other steps extend.
        largest_last_window: Rows of windows of the last step.
        few_rows: So many new rows, at most, are made without measuring how many there could be.
        first_weighed: Rows of the first launch that counts what fits to them.
        first_looks: Entries that this launch looks at, at most, where that leaves:
        fewest_first: rows at least.
        listed_rows: From so many rows on, what fits to them along plain lists is counted pair by
            pair on a GPU, after measuring.
        most_at_once: Rows of a step that is done without waiting. No powers of two: the columns of
            a row would be in each other's way in the caches.
        looks_at_once: Entries that it looks at: one work item takes longer for more than the
            launches of all steps do, and on a GPU they take longer than waiting does.
        item_work: Neighbours per work item and launch where items take rows: some ten milliseconds.
        measures_pairs: Are pairs counted even where there cannot be many?
        share_for_pairs: The same where steps follow two links.
        share_for_messages: Of the free memory, for degrees and tables.
        share_for_sums: Of the free memory, for sums of groups.
        most_tuples: Groups of several nodes that are added up on the device: most of them are taken
            by no row, and all are fetched.
        first_summed: Rows of the first launch that adds to groups, whatever they cost.
        fetched_rows: Rows that are fetched together with their weights.
        most_queries: Queries that are kept.
    """

    first_window: int = 1 << 18
    first_count_window: int = 1 << 20
    smallest_window: int = 1 << 12
    largest_window: int = 1 << 25
    largest_last_window: int = 1 << 22
    few_rows: int = 1 << 16
    first_weighed: int = 1 << 14
    first_looks: int = 1 << 26
    fewest_first: int = 1 << 12
    listed_rows: int = 1 << 12
    most_at_once: int = 10_000
    looks_at_once: int = 1 << 16
    item_work: int = 1 << 23
    measures_pairs: bool = False
    share_for_messages: float = 0.25
    share_for_sums: float = 0.25
    most_tuples: int = 1 << 18
    first_summed: int = 1 << 17
    fetched_rows: int = 1 << 18
    most_queries: int = 128


@dataclass(frozen=True, slots=True)
class SegmentLimits:
    """How a data graph that is too large for the device is sent there in parts.

    Args:
        most_entries: Of a part; None for as many as fit. A number segments every graph.
        share_for_directory: Of the memory limit: what says where runs of relationships begin is on
            the device all the time where it takes no more, else it comes with the parts.
        share_for_parts: Of the free memory when a join begins, for parts.
        share_for_messages: Of the same, for what rows are multiplied with, where it is needed.
        most_segments: Smaller parts than this makes are not cut.
        share_for_rows: Of the host's memory, for rows that wait for the parts they need, where
            nothing else is asked for.
        rows_bytes: The same in bytes, for tests; None for the share.
        disk_cost: Bytes of the data graph that are sent in the time in which a byte of rows goes to
            disk and comes back: with fewer rows, sending it again takes longer. 0: rows go to disk
            however many there are.
        share_of_disk: Of what is free there, for rows.
        reduces: May entries between candidates be kept instead, where those have room?
        reduces_leaves: Also for leaves alone? A GPU counts them as soon as entries come; on a CPU
            the entries are gone through twice.
    """

    most_entries: int | None = None
    share_for_directory: float = 0.75
    share_for_parts: float = 0.75
    share_for_pairs: float = 0.38
    share_for_messages: float = 0.5
    most_segments: int = 256
    share_for_rows: float = 0.25
    rows_bytes: int | None = None
    disk_cost: float = 16.0
    share_of_disk: float = 0.5
    reduces: bool = True
    reduces_leaves: bool = False


@dataclass(frozen=True, slots=True)
class PathCosts:
    """What searches from many nodes cost on the device, measured: else the host searches.

    Args:
        begin_seconds: Of all launches, and of copying what they read and write.
        word_seconds: Of a word at which a level looks: 32 searches at a node or a step.
    """

    begin_seconds: float = 2e-3
    word_seconds: float = 2e-9


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What the strategy ``extend`` decides by, and searches of paths."""

    count: CountThresholds = CountThresholds()
    join: JoinLimits = JoinLimits()
    filter: FilterLimits = FilterLimits()
    paths: PathCosts = PathCosts()
    segments: SegmentLimits = SegmentLimits()


CPU = Thresholds()

GPU = Thresholds(
    CountThresholds(
        replan_rows=_FASTER_GPU << 13,
        search_pairs=_FASTER_GPU << 14,
        part_pairs=_FASTER_GPU << 20,
        part_cost=_FASTER_GPU << 17,
        list_search=1.0,
        order_pairs=math.inf,
        counts_cycles=False,
    ),
    JoinLimits(
        first_count_window=1 << 24,
        first_weighed=1 << 20,
        most_at_once=20_000,
        looks_at_once=1 << 20,
    ),
    FilterLimits(cheap_looks=1 << 24),
    PathCosts(begin_seconds=2e-3, word_seconds=5e-11),
    SegmentLimits(reduces_leaves=True),
)
