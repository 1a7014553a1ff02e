"""Programs of vectors on a GPU, for batches of pinned nodes whose vectors fit the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from gpugda.device.launch.vector_batches import (
    FILTER_SLOTS,
    REGISTER_WORDS,
    BatchArrays,
    VectorBatchKernels,
)
from gpugda.device.launch.vector_sums import VectorSumKernels
from gpugda.match.special.tasks import groups_with_scratch, scratch_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.launch.vector_batches import Tables
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.count.program import VectorProgram
    from gpugda.match.run import Run

__all__ = ["Totals", "counted_in_batches"]

Totals: TypeAlias = "tuple[list[int], list[int]]"
"""The sums of each term, per group or item: the words below and above 2**64."""

_BATCH_WORDS = 1 << 28
"""Words of a batch: enough to keep a large device busy."""
_MAX_PINS = 1 << 16
_BATCHES_TOGETHER = 16
"""Batches launched between two checks of the deadline."""
_CHUNKS_TOGETHER = 1 << 15
"""Chunks of a summed list between two checks."""


class _Batch(NamedTuple):
    """Pinned nodes that are processed together.

    Args:
        pins: Their ranks.
        chunks: The chunks of each list.
        bases: Where the slots of each list begin.
        words: Words of all slots.
    """

    pins: range
    chunks: tuple[range, ...]
    bases: tuple[int, ...]
    words: int

    @property
    def has_work(self) -> bool:
        """True if any of its pinned nodes has nodes in a list."""
        return any(map(len, self.chunks))


def counted_in_batches(
    run: Run,
    lists: RankedLists,
    program: VectorProgram,
    made: DeviceArray,
    weights: DeviceArray,
    longest: int,
) -> Totals | None:
    """The totals of each term and group; None without room for the vectors of one node.

    Args:
        run: The query's run.
        lists: Lists of the type of all relationships.
        program: The program.
        made: Its words on the device.
        weights: ``uint64[weights][nodes]``.
        longest: Upper bound of the entries of a node in both directions.

    Raises:
        MemoryLimitError: Arrays that every program needs do not fit.
        QueryTimeoutError: The deadline passed.
    """
    workspace, shape, context = run.workspace, program.shape, run.graph.context
    kernels, sums = VectorBatchKernels(context), VectorSumKernels(context)
    groups = groups_with_scratch(run, lists.nodes, sums.max_groups) if program.summed else 0
    if program.summed and not groups:
        return None
    marks = workspace.allocate(max(1, groups * lists.nodes), np.uint32, "marks of nodes")
    tables = kernels.tables(workspace, lists, program.lists, longest, run.share)
    room = scratch_words(run)
    batches = list(_batches(tables, program, min(room, _BATCH_WORDS)))
    most = max(each.words for each in batches)
    if most > room:
        tables.release(workspace)
        workspace.release(marks)
        return None
    pins = max(len(each.pins) for each in batches)
    totals = kernels.groups * shape.terms
    bases = [each.bases for each in batches]
    arrays = BatchArrays(
        made,
        weights,
        tables,
        workspace.upload(np.array(bases, dtype=np.uint64), "places of lists"),
        workspace.allocate(max(1, most), np.uint32, "vectors"),
        workspace.allocate(pins * REGISTER_WORDS, np.uint32, "sums of vectors"),
        workspace.allocate(totals, np.uint64, "sums"),
        workspace.allocate(totals, np.uint32, "carried sums"),
        marks,
        workspace.allocate(1, np.uint32, "chunks taken"),
    )
    for each in arrays[4:]:
        workspace.fill(each, 0)
    for number, batch in enumerate(batches):
        if number % _BATCHES_TOGETHER == 0:
            context.finish()
            run.check_deadline()
        if batch.has_work:
            _run_steps(kernels, lists, program, batch, number, arrays)
            _run_sums(run, sums, lists, program, batch, arrays)
        if batch.has_work or not shape.below_only:
            kernels.finish(lists.nodes, batch.pins, run.share, batch.words, shape, arrays)
    low = workspace.download(arrays.totals).tolist()
    high = workspace.download(arrays.highs).tolist()
    tables.release(workspace)
    workspace.release(*arrays[3:])
    return low, high


def _run_steps(
    kernels: VectorBatchKernels,
    lists: RankedLists,
    program: VectorProgram,
    batch: _Batch,
    number: int,
    arrays: BatchArrays,
) -> None:
    for place, of_list in program.steps:
        chunks = None if of_list is None else batch.chunks[of_list]
        if chunks is None or chunks:
            kernels.run(lists, place, chunks, batch.pins, number, program.shape, arrays)


def _run_sums(
    run: Run,
    kernels: VectorSumKernels,
    lists: RankedLists,
    program: VectorProgram,
    batch: _Batch,
    arrays: BatchArrays,
) -> None:
    for each in program.direct:
        kernels.direct(lists, each, batch.pins, run.share, arrays)
    for summed in program.summed:
        chunks = batch.chunks[summed.list]
        for begin in range(chunks.start, chunks.stop, _CHUNKS_TOGETHER):
            run.graph.context.finish()
            run.check_deadline()
            some = range(begin, min(begin + _CHUNKS_TOGETHER, chunks.stop))
            kernels.run(run.workspace, lists, summed, batch.pins.start, some, arrays)


def _batches(tables: Tables, program: VectorProgram, most: int) -> Iterator[_Batch]:
    """Yields the batches; one between two places may have more than ``most`` words."""
    per_slot = [FILTER_SLOTS * (1 + each.vectors) + 1 for each in program.lists] or [0]
    words = np.array(per_slot, dtype=np.uint64) @ tables.slots // np.uint64(FILTER_SLOTS)
    first, last = 0, len(words) - 1
    while first < last:
        stop = int(np.searchsorted(words, words[first] + np.uint64(most), side="right")) - 1
        reach = np.searchsorted(tables.places, tables.places[first] + _MAX_PINS, side="right")
        stop = max(first + 1, min(stop, int(reach) - 1))
        slots = (tables.slots[:, stop] - tables.slots[:, first]).tolist()
        sizes = [per * own // FILTER_SLOTS for per, own in zip(per_slot, slots, strict=True)]
        bases = tuple(sum(sizes[:place]) for place in range(len(sizes)))
        ends = zip(tables.chunks[:, first].tolist(), tables.chunks[:, stop].tolist(), strict=True)
        chunks = tuple(range(begin, end) for begin, end in ends)
        pins = range(int(tables.places[first]), int(tables.places[stop]))
        yield _Batch(pins, chunks, bases, sum(sizes))
        first = stop
