"""Runs programs of sparse vectors for batches of nodes; launcher of ``vector_batches.cl``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.device.launch.primitives import PrefixSum
from gpugda.device.launch.ranked_lists import RANKED
from gpugda.device.launch.vector_steps import MAX_REGISTERS, TERM_WORDS, ListUse
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.device.launch.vector_steps import ListBase, ProgramShape
    from gpugda.device.memory.buffers import DeviceArray, Workspace

__all__ = ["FILTER_SLOTS", "REGISTER_WORDS", "BatchArrays", "Tables", "VectorBatchKernels"]

REGISTER_WORDS = 2 * MAX_REGISTERS
"""Words of the sums of a pinned node."""

FILTER_SLOTS = 4
"""Slots of a table whose filter takes a word."""

_FILE = "vector_batches.cl"
_GROUPS_PER_UNIT, _MEASURING_GROUPS_PER_UNIT = 4, 16
_HUBS, _PLACE_NODES = 1 << 12, 1 << 6
"""A batch begins at any of so many nodes of high degree, and at each so-manieth of the others: the
host reads sums at these places only."""


class Tables(NamedTuple):
    """The tables of all pinned nodes; sums are of those before a pinned node.

    Args:
        places: ``int64``: pinned nodes at which a batch may begin, and the number of nodes.
        slots: ``uint64[lists][places]``: sums of slots.
        chunks: ``uint64[lists][places]``: sums of chunks, of this and earlier lists.
        before: ``uint64[lists][nodes + 1]``: the sums of slots, on the device.
        all_chunks: ``uint32[chunks][2]``, on the device: pinned node, and first slot.
        bounds: Of each list that is only summed, ``uint32[nodes]`` on the device: upper bounds of
            the two-paths of each pinned node.
    """

    places: NDArray[np.int64]
    slots: NDArray[np.uint64]
    chunks: NDArray[np.uint64]
    before: DeviceArray
    all_chunks: DeviceArray
    bounds: Mapping[int, DeviceArray]

    def release(self, workspace: Workspace) -> None:
        """Releases its arrays on the device."""
        workspace.release(self.before, self.all_chunks, *self.bounds.values())


class BatchArrays(NamedTuple):
    """Arrays of a program and its batches.

    Args:
        program: ``uint32``, the instructions.
        weights: ``uint64[weights][nodes]``.
        tables: The tables of all pinned nodes.
        bases: ``uint64[batches][lists]``: where the slots of a list begin.
        words: ``uint32``: the slots of a batch, zero before and after.
        registers: ``uint32``, `REGISTER_WORDS` for each pinned node of a batch, zero likewise.
        totals: ``uint64``, per group and term.
        highs: ``uint32``, one per total: multiples of 2**64 that belong to it.
        marks: ``uint32[groups][nodes]``, zero before and after: scratch of groups that sum vectors.
        taken: ``uint32[1]``: counts the chunks that groups have taken.
    """

    program: DeviceArray
    weights: DeviceArray
    tables: Tables
    bases: DeviceArray
    words: DeviceArray
    registers: DeviceArray
    totals: DeviceArray
    highs: DeviceArray
    marks: DeviceArray
    taken: DeviceArray


def _places(nodes: int) -> NDArray[np.int64]:
    """As ``pick_sums`` has them."""
    hubs = min(_HUBS, nodes)
    others = np.arange(hubs, nodes, _PLACE_NODES)
    return np.concatenate([np.arange(hubs), others, [nodes]])


class VectorBatchKernels:
    """Runs one instruction after another for all pinned nodes of a batch.

    Args:
        context: The device.
    """

    def __init__(self, context: DeviceContext) -> None:
        self._context = context
        self._sums = PrefixSum(context)
        self._measure = get_kernel(context, _FILE, "measure_lists", f"{RANKED}IIIIIbIIbbb")
        self._measure_pushes = get_kernel(context, _FILE, "measure_pushes", f"{RANKED}IIIIIIIIbbb")
        self._pick = get_kernel(context, _FILE, "pick_sums", "bIIIIb")
        self._write_chunks = get_kernel(context, _FILE, "write_chunks", "bIQbQ")
        self._step = get_kernel(context, _FILE, "run_step", f"{RANKED}IIIIIIIbbQbQbbbb")
        self._finish = get_kernel(context, _FILE, "finish_pins", "IIIIIIIbbbbb")
        self._clear = get_kernel(context, _FILE, "clear_words", "bQ")

    @property
    def groups(self) -> int:
        """The number of work groups that add to totals."""
        return int(self._context.info.compute_units * _GROUPS_PER_UNIT)

    def tables(
        self,
        workspace: Workspace,
        lists: RankedLists,
        bases: Sequence[ListBase],
        longest: int,
        share: tuple[int, int],
    ) -> Tables:
        """The tables for the lists of each pinned node.

        Args:
            workspace: Owner of the arrays.
            lists: Lists of the type of all relationships.
            bases: How the nodes of each list are found.
            longest: Upper bound of the entries of a node in both directions.
            share: A number, and of how many: of so many pinned nodes the one with this number.

        Raises:
            MemoryLimitError: They do not fit.
        """
        nodes, count = lists.nodes, max(1, len(bases))
        places = _places(nodes)
        slots, chunks = np.zeros((2, count, len(places)), dtype=np.uint64)
        before = workspace.allocate(count * (nodes + 1), np.uint64, "slots of lists")
        sizes = [workspace.allocate(nodes, np.uint32, "slots of lists") for _ in range(2)]
        bounds: list[DeviceArray] = []
        sums_of_chunks: list[DeviceArray] = []
        for number in range(len(bases)):
            bounds.append(workspace.allocate(nodes, np.uint32, "bounds of lists"))
            self._measured(lists, bases, number, longest, share, bounds, sizes)
            sums, sums_of = (self._sums.run(workspace, each, 0, nodes) for each in sizes)
            workspace.copy(sums, before, number * (nodes + 1))
            if bases[number].use is not ListUse.SIZE:
                slots[number] = self._picked(workspace, sums, len(places))
            chunks[number] = self._picked(workspace, sums_of, len(places))
            workspace.release(sums)
            sums_of_chunks.append(sums_of)
        counts = chunks[:, -1].tolist()
        all_chunks = workspace.allocate(max(1, 2 * sum(counts)), np.uint32, "chunks of lists")
        for number, sums_of in enumerate(sums_of_chunks):
            done = sum(counts[:number])
            self._write_chunks(counts[number], sums_of, nodes, counts[number], all_chunks, done)
            chunks[number] += np.uint64(done)
        summed = {n: bounds[n] for n, base in enumerate(bases) if base.use is ListUse.SUMS}
        others = (each for n, each in enumerate(bounds) if n not in summed)
        workspace.release(*sizes, *others, *sums_of_chunks)
        return Tables(places, slots, chunks, before, all_chunks, summed)

    def _picked(self, workspace: Workspace, sums: DeviceArray, count: int) -> NDArray[np.uint64]:
        picked = workspace.allocate(count, np.uint64, "sums of slots")
        self._pick(count, sums, sums.count - 1, _HUBS, _PLACE_NODES, count, picked)
        found = workspace.download(picked)
        workspace.release(picked)
        return found

    def _measured(
        self,
        lists: RankedLists,
        bases: Sequence[ListBase],
        number: int,
        longest: int,
        share: tuple[int, int],
        bounds: Sequence[DeviceArray],
        sizes: Sequence[DeviceArray],
    ) -> None:
        own, to = bases[number], (bounds[number], *sizes)
        source = None if own.source is None else bases[own.source]
        if source is not None and source.source is None:
            edges = source.sides, int(source.below), own.sides, int(own.below)
            groups = self._context.info.compute_units * _MEASURING_GROUPS_PER_UNIT
            is_summed = int(own.use is ListUse.SUMS)
            self._measure_pushes.launch_groups(
                groups, *lists.arguments, lists.nodes, *share, *edges, is_summed, *to
            )
            return
        # A node below the pinned one has no longer lists, unless self-loops count for its rank.
        below = own.below and (source is None or (source.below and lists.loops is None))
        of_source = bounds[number if own.source is None else own.source]
        how = own.sides, int(below), of_source, int(source is not None), longest
        self._measure(lists.nodes, *lists.arguments, lists.nodes, *share, *how, *to)

    def run(
        self,
        lists: RankedLists,
        step: int,
        chunks: range | None,
        pins: range,
        batch: int,
        shape: ProgramShape,
        arrays: BatchArrays,
    ) -> None:
        """Runs an instruction.

        Args:
            lists: Lists of the type of all relationships.
            step: Its position in the program.
            chunks: Those of the list that it reads; None for the pinned nodes themselves.
            pins: The pinned nodes.
            batch: Number of the batch.
            shape: The sizes of the program.
            arrays: Its arrays.
        """
        trailer = arrays.program.count - 2 * shape.vectors
        of_program = shape.vectors, trailer, shape.pulled_lists, step
        what = lists.nodes, pins.start, pins.stop, *of_program
        of_batch = arrays.tables.before, arrays.bases, batch * shape.lists
        of_chunks = arrays.tables.all_chunks, 0 if chunks is None else chunks.start
        more = *of_chunks, arrays.program, arrays.weights, arrays.words, arrays.registers
        groups = len(pins if chunks is None else chunks)
        self._step.launch_groups(groups, *lists.arguments, *what, *of_batch, *more)

    def finish(
        self,
        nodes: int,
        pins: range,
        share: tuple[int, int],
        words: int,
        shape: ProgramShape,
        arrays: BatchArrays,
    ) -> None:
        """Adds the products of a batch to the totals, and clears what it used.

        Args:
            nodes: The number of nodes of the data graph.
            pins: The pinned nodes, of which those of the share count.
            share: As of `tables`.
            words: Words of the batch's slots.
            shape: The sizes of the program.
            arrays: Its arrays.
        """
        terms_at = arrays.program.count - 2 * shape.vectors - shape.terms * TERM_WORDS
        what = (nodes, pins.start, pins.stop, *share, shape.terms, terms_at)
        more = arrays.program, arrays.weights, arrays.registers, arrays.totals, arrays.highs
        groups = min(self.groups, -(-len(pins) // self._context.group_size))
        self._finish.launch_groups(groups, *what, *more)
        self._clear(words, arrays.words, words)
