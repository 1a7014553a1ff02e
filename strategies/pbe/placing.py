"""Chooses the number of partitions, and divides the memory between lists and rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.pbe.host_rows import list_bytes
from gpugda_strategies.pbe.partitions import MAX_PARTITIONS

from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpugda_strategies.gsi.entries import Partition
    from gpugda_strategies.gsi.pcsr import HostLists
    from gpugda_strategies.gsi.steps import NodeStep
    from gpugda_strategies.pbe.kept import KeptParts
    from gpugda_strategies.pbe.options import PbeOptions
    from gpugda_strategies.pbe.partitions import PartitionPlan

    from gpugda.data.adjacency import Adjacency
    from gpugda.data.data_graph import DataGraph
    from gpugda.match.run import Run

__all__ = [
    "MemoryShares",
    "Placed",
    "place_parts",
    "whole_bytes",
]


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """A division of the memory.

    Args:
        lists: Bytes for the lists of a partition, or of all levels.
        level: Bytes for the rows of each level; a single row may exceed it if memory is free.
        load: Bytes for the lists of each level that loads some; a single row may exceed it, too.
    """

    lists: int
    level: int
    load: int


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
        MemoryLimitError: There is no such division.
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
    if largest > room.lists:
        raise MemoryLimitError(
            f"not enough memory for the smallest partition of the graph: its lists take "
            f"{largest:,} bytes, and {room.lists:,} are left for them: raise memory_limit"
        )
    return Placed(plan, lists, rows_of, room)


def _bytes(rows: Adjacency, fill: int) -> int:
    return list_bytes(len(rows.neighbours), rows.owner_count, fill)
