"""Lists and signatures of one data graph on its device, made when first needed and kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.gsi_join import ListArrays
from gpugda.device.memory.buffers import SMALLEST_BYTES, MemoryBudget, Workspace
from gpugda.errors import MemoryLimitError
from gpugda.match.gsi.pcsr import Partition, make_lists
from gpugda.match.gsi.signatures import make_signatures, signature_bytes

if TYPE_CHECKING:
    from collections.abc import Collection

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.launch.gsi_signatures import SignatureKernels, SignatureTable
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.gsi.options import GsiOptions
    from gpugda.match.run import Run

__all__ = ["GraphStore", "with_mask"]

_NO_LIMIT = 1 << 62


class GraphStore:
    """Lists per partition, and the table of signatures. Used under the lock of the device.

    What was asked for last stays longest. What is dropped is freed when no query uses it any more.

    Args:
        graph: The data graph on its device.
        options: How lists and signatures are laid out.
    """

    def __init__(self, graph: DeviceGraph, options: GsiOptions) -> None:
        self._graph = graph
        self._options = options
        self._lists: dict[Partition, ListArrays] = {}
        self._signatures: SignatureTable | None = None

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        arrays = {id(each): each for lists in self._lists.values() for each in _arrays(lists)}
        found = sum(each.nbytes for each in arrays.values())
        return found if self._signatures is None else found + self._signatures.values.nbytes

    def drop(self, kept: Collection[Partition] = ()) -> int:
        """Lets go of all but these; tells how many bytes that were."""
        before = self.nbytes
        self._lists = {key: lists for key, lists in self._lists.items() if key in kept}
        self._signatures = None
        return before - self.nbytes

    def counted(self, workspace: Workspace) -> Workspace:
        """The workspace of a run, where what is kept counts; if that is too much, it is dropped."""
        kept = self.nbytes
        if kept > workspace.budget.remaining:
            kept -= self.drop()
        workspace.count(kept, "lists and signatures kept from before")
        return workspace

    def lists(self, run: Run, wanted: Collection[Partition]) -> dict[Partition, ListArrays]:
        """The lists of some partitions; those that are new are counted by the run.

        Raises:
            MemoryLimitError: They do not fit beside each other.
        """
        for key in wanted:
            run.check_deadline()
            found = self._lists.pop(key, None)
            self._lists[key] = self._make_lists(run, key, wanted) if found is None else found
        if self._options.partitions:
            return {key: self._lists[key] for key in wanted}
        return {key: _checked(key, self._lists[key]) for key in wanted}

    def signatures(self, run: Run, kernels: SignatureKernels) -> SignatureTable | None:
        """The table of signatures; None where the memory limit leaves no room for it."""
        if self._signatures is None:
            size = signature_bytes(self._graph.graph, self._options)
            try:
                run.workspace.count(size, "vertex signatures")
            except MemoryLimitError:
                return None
            self._signatures = make_signatures(run, kernels, _workspace(self._graph), self._options)
        return self._signatures

    def _make_lists(self, run: Run, key: Partition, wanted: Collection[Partition]) -> ListArrays:
        if self._options.partitions:
            return self._upload(run, key, wanted)
        # Plain rows hold all types: which of them are asked for is a bitmap.
        base = Partition(None, key.outgoing, key.incoming)
        if base not in self._lists:
            self._lists[base] = self._upload(run, base, (*wanted, base))
        if key == base:
            return self._lists[base]
        bits = _bitmap(key, len(self._graph.graph.types))
        self._count(run, max(bits.nbytes, SMALLEST_BYTES), (*wanted, base))
        allowed = _workspace(self._graph).upload(bits, "types that are asked for")
        return replace(self._lists[base], allowed=allowed)

    def _upload(self, run: Run, key: Partition, wanted: Collection[Partition]) -> ListArrays:
        hashed = self._options.group_fill if self._options.partitions else None
        made = make_lists(self._graph.graph, key, hashed=hashed)
        host = (made.groups, made.neighbours, made.relationships, made.types)
        size = sum(max(each.nbytes, SMALLEST_BYTES) for each in host if each is not None)
        self._count(run, size, wanted)
        workspace = _workspace(self._graph)
        groups, neighbours, relationships = (
            workspace.upload(each, "lists of relationships") for each in host[:3]
        )
        types = None if made.types is None else workspace.upload(made.types, "types of entries")
        arrays = ListArrays(groups, made.group_count, neighbours, relationships, types)
        return replace(arrays, longest=made.longest)

    def _count(self, run: Run, size: int, wanted: Collection[Partition]) -> None:
        """Counts new lists; others that this query does not need make room."""
        what = "the lists of relationships of this query"
        try:
            run.workspace.count(size, what)
        except MemoryLimitError:
            run.workspace.uncount(self.drop(wanted))
            run.workspace.count(size, what)


def with_mask(lists: ListArrays, mask: DeviceArray | None) -> ListArrays:
    """The same lists, of the relationships that predicates leave."""
    return lists if mask is None else replace(lists, mask=mask)


def _checked(key: Partition, lists: ListArrays) -> ListArrays:
    """Plain rows look at types only where some are asked for."""
    return lists if key.types is not None else replace(lists, types=None)


def _arrays(lists: ListArrays) -> list[DeviceArray]:
    found = (lists.groups, lists.neighbours, lists.relationships, lists.types, lists.allowed)
    return [each for each in found if each is not None]


def _bitmap(key: Partition, type_count: int) -> np.ndarray:
    words = np.zeros(-(-type_count // 32), dtype=np.uint32)
    for number in key.types or ():
        words[number // 32] |= np.uint32(1 << number % 32)
    return words


def _workspace(graph: DeviceGraph) -> Workspace:
    """Arrays of their own: freed when nothing refers to them any more."""
    return Workspace(graph.context, MemoryBudget(_NO_LIMIT))
