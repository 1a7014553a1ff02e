"""Chooses the number of partitions, and divides the memory between lists and rows."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gpugda_strategies.gsi.entries import Partition
from gpugda_strategies.pbe.device_lists import min_load_bytes
from gpugda_strategies.pbe.host_rows import list_bytes
from gpugda_strategies.pbe.partitions import MAX_PARTITIONS

from gpugda.errors import MemoryLimitError
from gpugda.match.limits import SufficientLimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gpugda_strategies.gsi.pcsr import HostLists
    from gpugda_strategies.gsi.steps import NodeStep
    from gpugda_strategies.pbe.kept import KeptParts
    from gpugda_strategies.pbe.options import PbeOptions
    from gpugda_strategies.pbe.partitions import PartitionPlan

    from gpugda.data.adjacency import Adjacency
    from gpugda.data.data_graph import DataGraph
    from gpugda.match.run import Run
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundQuery

__all__ = [
    "MemoryShares",
    "Placed",
    "enough_bytes",
    "place_parts",
    "whole_bytes",
    "with_sufficient_limit",
]

_MIN_LEVEL_BYTES = 1 << 13
"""A level's smallest arrays: some twenty of 256 bytes, and those of a window of few rows."""
_BYTES_PER_PLACE = 12
"""Bytes per entry of the longest list: four in each third of a level's memory."""
_REUSE_FACTOR = 2
"""A reused array may be twice as long as requested."""
_SMALL_ARRAYS = 1 << 16


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """A division of the memory.

    Args:
        lists: Bytes for the lists of a partition, or of all levels.
        level: Bytes for the rows of each level; a single row may exceed it if memory is free.
        load: Bytes for the lists of each level that loads some; a single row may exceed it, too.
        enough: A memory limit that suffices in any case.
    """

    lists: int
    level: int
    load: int
    enough: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Partitions that fit.

    Args:
        plan: The partitions.
        lists: Lists of each partition, by types and directions.
        rows_of: Lists of all nodes, by types and directions.
        room: The division of the memory.
    """

    plan: PartitionPlan
    lists: Mapping[Partition, Sequence[HostLists]]
    rows_of: Mapping[Partition, Adjacency]
    room: MemoryShares


def whole_bytes(graph: DataGraph, keys: Iterable[Partition], fill: int) -> int:
    """Estimated bytes of the lists of the whole graph, from its statistics."""
    counts = graph.statistics.type_counts
    total = 0
    for key in keys:
        kinds = range(len(graph.types)) if key.types is None else key.types
        entries = sum(counts[kind] for kind in kinds) * (key.outgoing + key.incoming)
        total += list_bytes(entries, min(entries, graph.node_count), fill)
    return total


@contextmanager
def with_sufficient_limit(
    run: Run, bound: BoundQuery, masks: Masks, options: PbeOptions, fill: int
) -> Iterator[None]:
    """Makes memory errors of a block name a memory limit that is enough."""
    try:
        yield
    except SufficientLimitError:
        raise
    except MemoryLimitError as error:
        enough = enough_bytes(run.graph.graph, bound, masks, options, fill)
        if run.workspace.budget.limit_bytes >= enough:
            raise  # the device itself has no more memory
        raise SufficientLimitError(f"{error}; {enough:,} bytes are enough") from error


def enough_bytes(
    graph: DataGraph, bound: BoundQuery, masks: Masks, options: PbeOptions, fill: int
) -> int:
    """A limit that suffices even if all nodes are candidates and the graph is one partition."""
    words, rows = -(-graph.node_count // 32), len(bound.nodes)
    bitmaps = sum(each.nbytes for each in (*masks.nodes.values(), *masks.relationships.values()))
    bitmaps += 2 * 4 * words * (len(graph.labels) + 1)
    candidates = _REUSE_FACTOR * rows * (12 * words + 4 * graph.node_count)
    keys = [Partition(each.types, True, True) for each in bound.relationships]
    degrees = [int(each.degrees().max(initial=0)) for each in (graph.outgoing, graph.incoming)]
    level = _MIN_LEVEL_BYTES + _BYTES_PER_PLACE * sum(degrees)
    levels = rows + len(bound.relationships)
    lists = _REUSE_FACTOR * whole_bytes(graph, keys, fill) / (1 - options.rows_share)
    shared = max(lists, level * levels / options.rows_share)
    return int(bitmaps + candidates + shared) + _SMALL_ARRAYS


def place_parts(
    run: Run,
    kept: KeptParts,
    steps: Sequence[Sequence[NodeStep]],
    keys: Sequence[Partition],
    options: PbeOptions,
    fill: int,
) -> Placed:
    """The fewest partitions that fit one at a time; more if their sizes are unequal.

    Args:
        run: The query's run.
        kept: What is kept of the data graph on the host.
        steps: The steps of each search.
        keys: Types and directions of the lists that a search within a partition reads.
        options: The number of partitions, if given, and the shares of memory.
        fill: Average number of nodes per hash group.

    Raises:
        MemoryLimitError: There is no such division; the error names a limit that suffices.
    """
    graph, levels = run.graph.graph, max(len(each) for each in steps)
    every = {link.partition for each in steps for step in each for link in step.links}
    with run.working():
        rows_of = {key: kept.rows(graph, key) for key in sorted(every, key=str)}
    free = run.workspace.available
    rows = int(free * options.rows_share)
    loading = max(sum(bool(step.links) for step in each) for each in steps)
    room = MemoryShares(free - rows, rows // levels, (free - rows) // max(loading, 1))
    total = sum(_bytes(rows_of[key], fill) for key in keys)
    most = min(MAX_PARTITIONS, max(2, graph.node_count))
    count = min(options.partitions or max(2, -(-total // max(room.lists, 1))), most)
    while True:
        run.check_deadline()
        plan = kept.partitions(graph, count, run.deadline)
        with run.working():
            lists = {key: kept.lists(graph, plan, key) for key in keys}
        kept.trim(options.host_share)
        largest = max(sum(each[at].nbytes for each in lists.values()) for at in range(plan.count))
        if largest <= room.lists or count == most:
            break
        count = min(2 * count, most)
    loads = [min_load_bytes(step, rows_of, fill) for each in steps for step in each]
    longest = max([each.longest for each in rows_of.values()], default=0)
    needed = max(largest, max(loads) * loading) / (1 - options.rows_share)
    level = _MIN_LEVEL_BYTES + _BYTES_PER_PLACE * longest
    needed = max(needed, level * levels / options.rows_share)
    enough = run.workspace.budget.limit_bytes - free + int(needed) + levels
    if largest > room.lists:
        raise SufficientLimitError(
            f"not enough memory for the smallest partition of the graph: its lists take "
            f"{largest:,} bytes, and {room.lists:,} are left for them: raise memory_limit; "
            f"{enough:,} bytes are enough"
        )
    return Placed(plan, lists, rows_of, replace(room, enough=enough))


def _bytes(rows: Adjacency, fill: int) -> int:
    return list_bytes(len(rows.neighbours), rows.owner_count, fill)
