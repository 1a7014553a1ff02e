"""Lists and signatures of one data graph on its device, made on first use and kept."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.entries import Partition
from gpugda_strategies.gsi.pcsr import make_lists
from gpugda_strategies.gsi.signatures import make_signatures, signature_bytes
from gpugda_strategies.launch.gsi_join import ListArrays

from gpugda.device.memory.buffers import SMALLEST_BYTES, MemoryBudget, Workspace
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.launch.gsi_signatures import SignatureKernels, SignatureTable

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run

__all__ = ["GraphStore", "with_mask"]

_NO_LIMIT = 1 << 62
_WHAT = "the lists of relationships of this query"


class GraphStore:
    """Lists per partition, and the table of signatures.

    They are made under the device's lock; other queries may meanwhile ask for their size, or drop
    them. What is dropped is freed when the last query has released it.

    Args:
        graph: The data graph on its device.
        options: The layout of lists and signatures.
    """

    def __init__(self, graph: DeviceGraph, options: GsiOptions) -> None:
        self._graph = graph
        self._options = options
        self._lists: dict[Partition, ListArrays] = {}
        self._signatures: SignatureTable | None = None

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return sum(self.sizes().values())

    def sizes(self) -> dict[int, int]:
        """Bytes of each array, by its identity: lists may share some."""
        table = self._signatures
        found = _sizes(list(self._lists.values()))
        return found if table is None else found | {id(table.values): table.values.nbytes}

    def drop(self, kept: Collection[Partition] = (), *, signatures: bool = True) -> int:
        """Drops everything but the lists in ``kept``. Returns the number of bytes dropped."""
        before = self.nbytes
        self._lists = {key: each for key, each in list(self._lists.items()) if key in kept}
        if signatures:
            self._signatures = None
        return before - self.nbytes

    def counted(self, workspace: Workspace) -> Workspace:
        """Counts what is kept in a run's workspace; drops it if it is too much."""
        kept = self.nbytes
        if kept > workspace.budget.remaining:
            kept -= self.drop()
        kept = max(0, min(kept, workspace.budget.remaining))  # others may add and drop meanwhile
        workspace.count(kept, "lists and signatures kept from before")
        workspace.free_cached = _FreeCached(self, workspace, workspace.free_cached, kept)
        return workspace

    def lists(self, run: Run, wanted: Collection[Partition]) -> dict[Partition, ListArrays]:
        """The lists of some partitions; the run counts new ones.

        Raises:
            MemoryLimitError: They do not fit together.
        """
        made: dict[Partition, ListArrays] = {}
        if isinstance(run.workspace.free_cached, _FreeCached):
            run.workspace.free_cached.used.update(wanted)
        for key in wanted:
            run.check_deadline()
            known = self._lists.pop(key, None)
            found = self._make_lists(run, key) if known is None else known
            self._lists[key] = found
            # Plain rows test types only if some are required.
            is_plain_of_all = not self._options.partitions and key.types is None
            made[key] = replace(found, types=None) if is_plain_of_all else found
            if isinstance(run.workspace.free_cached, _FreeCached):
                run.workspace.free_cached.held |= _sizes([found])
        return made

    def signatures(self, run: Run, kernels: SignatureKernels) -> SignatureTable | None:
        """The table of signatures; None if the memory limit leaves no room for it."""
        table = self._signatures
        if table is None:
            size = signature_bytes(self._graph.graph, self._options)
            try:
                _count(run, size, "node signatures")
            except MemoryLimitError:
                return None
            table = make_signatures(run, kernels, _workspace(self._graph), self._options)
            self._signatures = table
        return table

    def _make_lists(self, run: Run, key: Partition) -> ListArrays:
        if self._options.partitions:
            return self._upload(run, key)
        # Plain rows hold all types: a bitmap selects the required ones.
        base = Partition(None, key.outgoing, key.incoming)
        plain = self._lists.get(base)
        if plain is None:
            plain = self._upload(run, base)
            self._lists[base] = plain
        if key == base:
            return plain
        bits = _bitmap(key, len(self._graph.graph.types))
        _count(run, max(bits.nbytes, SMALLEST_BYTES), _WHAT)
        allowed = _workspace(self._graph).upload(bits, "types that are asked for")
        return replace(plain, allowed=allowed)

    def _upload(self, run: Run, key: Partition) -> ListArrays:
        hashed = self._options.group_fill if self._options.partitions else None
        with run.working():
            made = make_lists(self._graph.graph, key, hashed=hashed)
        host = (made.groups, made.neighbours, made.relationships, made.types)
        size = sum(max(each.nbytes, SMALLEST_BYTES) for each in host if each is not None)
        _count(run, size, _WHAT)
        workspace = _workspace(self._graph)
        groups, neighbours, relationships = (
            workspace.upload(each, "lists of relationships") for each in host[:3]
        )
        types = None if made.types is None else workspace.upload(made.types, "types of entries")
        arrays = ListArrays(groups, made.group_count, neighbours, relationships, types)
        return replace(arrays, longest=made.longest)


@dataclass(slots=True, eq=False)
class _FreeCached:
    """Frees memory for a run: lists that it does not use, and signatures after their use.

    Args:
        store: The store.
        workspace: The run's workspace.
        before: A previous callback that frees memory.
        counted: Bytes of lists and signatures that the run counts.
        used: Partitions that the run uses; none while candidates are filtered.
        held: Bytes of their arrays, by identity: others may drop them from the store.
    """

    store: GraphStore
    workspace: Workspace
    before: Callable[[], None] | None
    counted: int
    used: set[Partition] = field(default_factory=set)
    held: dict[int, int] = field(default_factory=dict)

    def __call__(self) -> None:
        if self.before is not None:
            self.before()
        # Lists with a type bitmap share the arrays of the lists of all types.
        shared = {each._replace(types=None) for each in self.used}
        self.store.drop(self.used | shared, signatures=bool(self.used))
        # Other queries drop lists, too: only what is still there counts.
        freed = max(0, self.counted - sum((self.store.sizes() | self.held).values()))
        self.counted -= freed
        self.workspace.uncount(freed)


def _count(run: Run, size: int, what: str) -> None:
    """Counts bytes before they are allocated; frees what this query does not use if needed."""
    try:
        run.workspace.count(size, what)
    except MemoryLimitError:
        run.workspace.make_room(size)
        run.workspace.count(size, what)
    if isinstance(run.workspace.free_cached, _FreeCached):
        run.workspace.free_cached.counted += size


def with_mask(lists: ListArrays, mask: DeviceArray | None) -> ListArrays:
    """The same lists with a mask of the relationships that pass the predicates."""
    return lists if mask is None else replace(lists, mask=mask)


def _sizes(found: Iterable[ListArrays]) -> dict[int, int]:
    arrays = [
        each
        for lists in found
        for each in (
            lists.groups,
            lists.neighbours,
            lists.relationships,
            lists.types,
            lists.allowed,
        )
    ]
    return {id(each): each.nbytes for each in arrays if each is not None}


def _bitmap(key: Partition, type_count: int) -> np.ndarray:
    words = np.zeros(-(-type_count // 32), dtype=np.uint32)
    for number in key.types or ():
        words[number // 32] |= np.uint32(1 << number % 32)
    return words


def _workspace(graph: DeviceGraph) -> Workspace:
    """A workspace whose arrays are freed when the last reference is gone."""
    return Workspace(graph.context, MemoryBudget(_NO_LIMIT))
