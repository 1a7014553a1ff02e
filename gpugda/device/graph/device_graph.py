"""A data graph's arrays on the device: uploaded when first needed, shared by all queries."""

from __future__ import annotations

import threading
import weakref
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.config import machine_bytes
from gpugda.data.patches.patched import whole
from gpugda.data.statistics.derived import Derived
from gpugda.deadline import check_time
from gpugda.device.graph.directory import (
    CSR_ARRAYS,
    GRAPH_ARGUMENTS,
    NEIGHBOURS,
    RUN_OFFSETS,
    RUN_STARTS,
    RUN_TYPES,
    csr_arrays,
    run_starts,
)
from gpugda.device.graph.node_bitmaps import NodeBitmaps
from gpugda.device.graph.sharing import (
    OutdatedArray,
    Rows,
    host_content,
    made_from_outdated,
    shared_or_outdated,
)
from gpugda.device.launch.derived_lists import make_hub_bitmaps
from gpugda.device.memory.buffers import (
    SMALLEST_BYTES,
    ArrayPool,
    DeviceArray,
    MemoryBudget,
    Workspace,
)
from gpugda.device.memory.uploads import PageLocked
from gpugda.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph
    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.derived_lists import HubBitmaps
    from gpugda.device.launch.query_words import Degree

__all__ = ["ANY_LABEL", "DeviceGraph"]

ANY_LABEL = -1
"""Label id that stands for "has at least one label"."""

_NO_LIMIT = 1 << 62
_ARRAYS = range(CSR_ARRAYS + 1)
"""Arrays of one direction: those of ``csr.h`` and the relationship indexes."""
_DIRECTORY = (RUN_OFFSETS, RUN_TYPES, RUN_STARTS)
"""The arrays of a direction that tell where runs begin."""
_NUMBERS = CSR_ARRAYS
_DIRECTIONS = ("outgoing", "incoming")
_PAGE_LOCKED_PART = 4
"""Page-locked memory takes at most this fraction (1/n) of the host's memory."""
_SPARE_SHARE = 8
"""Arrays are left to the next state if they take at most this fraction (1/n) of device memory."""
_POOLED_PART = 24
"""The pool of arrays between runs takes at most this fraction (1/n) of device memory."""


class DeviceGraph:
    """The arrays of a data graph on one device.

    Args:
        context: The device.
        graph: The data graph.
        like: Another data graph on the device. Arrays that both graphs share are reused; the two
            may be closed in any order.

    Attributes:
        pool: Arrays that runs leave to each other.
        page_locked: Page-locked copies from which entries that are not on the device are sent.
        derived: Values on the host that were derived from the graph for this device.
    """

    def __init__(
        self, context: DeviceContext, graph: DataGraph, like: DeviceGraph | None = None
    ) -> None:
        self.context = context = context.with_id_widths(
            wide_types=graph.outgoing.parts.run_types.dtype == np.uint32,
            wide_labels=graph.label_ids.dtype == np.uint32,
        )
        self.graph = graph
        self.words = -(-graph.node_count // 32)
        self.relationship_words = -(-graph.relationship_count // 32)
        # A graph may be larger than the host's memory: its snapshot is memory-mapped.
        page_locked = context.profile.page_locked_bytes
        if page_locked:
            page_locked = min(page_locked, machine_bytes() // _PAGE_LOCKED_PART)
        self.page_locked = PageLocked(context, page_locked)
        self.derived = Derived()
        memory = context.info.global_memory_bytes
        self.pool = ArrayPool(min(context.profile.pooled_bytes, memory // _POOLED_PART))
        self._workspace = Workspace(context, MemoryBudget(_NO_LIMIT))
        self._csrs: dict[tuple[str, int], DeviceArray | None] = {}
        self._hubs: HubBitmaps | None = None
        self._bitmaps: NodeBitmaps = NodeBitmaps(
            context,
            self._workspace,
            graph,
            partial(_label_bits, graph),
            None if like is None else like._bitmaps,
        )
        # Not the context's lock, which a long query holds for a while.
        self._users_lock = threading.Lock()
        self._users = 0
        self._closed = False
        self._shared: dict[tuple[str, int], DeviceArray | None] = {}
        self._outdated: dict[tuple[str, int], OutdatedArray] = {}
        # Held while outdated arrays are made: the next state's copy may read them meanwhile.
        self._outdated_lock = threading.Lock()
        self._heir: weakref.ref[DeviceGraph] | None = None
        self._spare: list[DeviceArray] = []
        if like is not None:
            self._share(like)

    @property
    def nbytes(self) -> int:
        """Bytes on the device."""
        return self._workspace.budget.used + sum(each.nbytes for each in self._spare)

    @contextmanager
    def use(self) -> Iterator[None]:
        """Keeps the arrays on the device, even if the graph is closed meanwhile."""
        self.hold()
        try:
            yield
        finally:
            self.release_hold()

    def hold(self) -> None:
        """Does the same as `use`, until `release_hold` is called as many times.

        Raises:
            DeviceError: The arrays have been freed.
        """
        with self._users_lock:
            # A closed graph keeps them for its users: a query may have several, one after another.
            if self._closed and self._users == 0:
                raise DeviceError("the data graph was taken from the device; run the query again")
            self._users += 1

    def release_hold(self) -> None:
        """Ends one `hold`."""
        with self._users_lock:
            self._users -= 1
            self._free_when_unused()

    def close(self) -> None:
        """Frees the arrays as soon as they have no users."""
        with self._users_lock:
            self._closed = True
            self._free_when_unused()

    def close_if_unused(self) -> int:
        """Frees the arrays unless they have users. Returns the number of bytes freed."""
        with self._users_lock:
            if self._users or self._closed:
                return 0
            freed, self._closed = self.nbytes, True
            self._free_when_unused()
            return freed

    def csr_arguments(self, budget: MemoryBudget, *, needed: bool = True) -> list[Any]:
        """The arguments for ``GRAPH_PARAMETERS``; all None if no relationships are ``needed``.

        Raises:
            MemoryLimitError: They do not fit the budget or the device.
        """
        return self._arguments(budget, _ARRAYS, needed=needed)

    def directory_arguments(self, budget: MemoryBudget, *, needed: bool = True) -> list[Any]:
        """As `csr_arguments`, without the entries, for kernels that only read lengths of runs.

        Raises:
            MemoryLimitError: The directory does not fit the budget or the device.
        """
        return self._arguments(budget, _DIRECTORY, needed=needed)

    def _arguments(self, budget: MemoryBudget, places: Sequence[int], *, needed: bool) -> list[Any]:
        if not needed:
            return [None] * GRAPH_ARGUMENTS
        outgoing, incoming = (self._csr(name, budget, places) for name in _DIRECTIONS)
        return [*outgoing[:CSR_ARRAYS], *incoming, None]

    def part_arguments(
        self, budget: MemoryBudget, *, outgoing: bool, incoming: bool, numbers: bool, lengths: bool
    ) -> list[Any]:
        """As `csr_arguments`, with the arrays alone that a kernel reads.

        Args:
            budget: Budget that new arrays are counted against.
            outgoing: True if outgoing rows are read.
            incoming: True if incoming rows are read.
            numbers: True if the relationship indexes of incoming entries are read.
            lengths: True if only lengths of runs are read, no entries.

        Raises:
            MemoryLimitError: They do not fit the budget or the device.
        """
        rows = _DIRECTORY if lengths else (*_DIRECTORY, NEIGHBOURS)
        behind = (_NUMBERS,) if numbers and not lengths else ()
        places = (rows if outgoing else (), (*rows, *behind) if incoming else ())
        found = [
            self._csr(name, budget, some) for name, some in zip(_DIRECTIONS, places, strict=True)
        ]
        return [*found[0][:CSR_ARRAYS], *found[1], None]

    def free_entries(
        self, *, directory: bool = False, before: Callable[[], None] | None = None
    ) -> bool:
        """Frees the entries and their bitmaps; returns False if others use them.

        Args:
            directory: True to free the arrays that tell where runs begin, too.
            before: Drops what refers to them; nobody begins to use the graph meanwhile.
        """
        kept = () if directory else _DIRECTORY
        with self._outdated_lock, self._users_lock:
            if self._users > 1:
                return False
            if before is not None:
                before()
            here = self._arrays()
            entries = [key for key in here if key[1] not in kept]
            dropped = [here[key] for key in entries]
            for key in entries:  # also those of an earlier state
                self._csrs.pop(key, None)
                self._shared.pop(key, None)
                self._outdated.pop(key, None)
            if self._hubs is not None:
                dropped += self._hubs.arrays()
                self._hubs = None
        self.context.finish()
        self._drop(dropped, MemoryBudget(_NO_LIMIT))
        return True

    def hub_bitmaps(self, budget: MemoryBudget) -> HubBitmaps:
        """Bitmaps of the longest lists, created at the first call, as many as fit then.

        Raises:
            MemoryLimitError: The relationships do not fit the budget or the device.
        """
        if self._hubs is None:
            arrays = [self._csr(name, budget, _ARRAYS) for name in _DIRECTIONS]
            starts = [self.starts_of(name) for name in _DIRECTIONS]
            most = int(budget.remaining * self.context.profile.hub_share)
            before = self._workspace.budget.used
            self._hubs = make_hub_bitmaps(self._workspace, starts, arrays, self.words, most)
            budget.reserve(self._workspace.budget.used - before, "bitmaps of long lists")
        return self._hubs

    def starts_of(self, direction: str) -> NDArray[np.uint32]:
        """Starts of the runs of ``outgoing`` or ``incoming`` rows, as on the device."""
        return run_starts(getattr(self.graph, direction), len(self.graph.types))

    def label_slots(
        self, label_ids: Iterable[int], budget: MemoryBudget
    ) -> tuple[DeviceArray | None, Mapping[int | Degree, int]]:
        """A matrix of label bitmaps, and the row of each label in it.

        Args:
            label_ids: Labels that will be looked up; may include `ANY_LABEL`.
            budget: Budget that new rows are counted against.
        """
        bitmaps = self._bitmaps
        missing = [each for each in dict.fromkeys(label_ids) if each not in bitmaps.slots]
        if missing:
            bitmaps.add_labels(missing, len(self.graph.labels) + 1, budget)
        return bitmaps.matrix, bitmaps.slots

    def degree_slots(
        self, looks: Mapping[Degree, float], budget: MemoryBudget
    ) -> tuple[DeviceArray | None, Mapping[int | Degree, int]]:
        """The same matrix and rows, with a bitmap for each degree that is worth one by now.

        Args:
            looks: Number of nodes that a query would look at, for each degree.
            budget: Budget that new rows are counted against.
        """
        if any(each not in self._bitmaps.slots for each in looks):
            self._bitmaps.add_degrees(looks, self.directory_arguments(budget), budget)
        return self._bitmaps.matrix, self._bitmaps.slots

    def host_degree_slots(
        self, looks: Collection[Degree], budget: MemoryBudget
    ) -> tuple[DeviceArray | None, Mapping[int | Degree, int]]:
        """As `degree_slots`, counted on the host, for all degrees that fit."""
        self._bitmaps.add_host_degrees(looks, budget)
        return self._bitmaps.matrix, self._bitmaps.slots

    # ------------------------------------------------------------------ uploads
    def _share(self, like: DeviceGraph) -> None:
        """Takes over arrays that the other graph shares, or from which new ones can be made."""
        with like._outdated_lock:
            with like._users_lock:
                rows = (
                    Rows({}, {}) if like._closed else Rows(like._made_here(), dict(like._outdated))
                )
                spare, like._spare = like._spare, []
                if not like._closed:
                    like._heir = weakref.ref(self)
            self._workspace.release(*[self._workspace.adopt(each) for each in spare])
            found = shared_or_outdated(self._workspace, like.graph, self.graph, rows)
        self._shared, self._outdated = found.made, found.outdated
        self._trim()
        self.pool.give(like.pool.take())

    def _trim(self) -> None:
        """Frees arrays of earlier states once no more outdated arrays are to be made."""
        if not self._outdated:
            self._workspace.trim()

    def _make_from_outdated(self, key: tuple[str, int], what: str) -> None:
        """Makes an array from that of an earlier state, if there is one."""
        with self._outdated_lock:
            outdated = self._outdated.pop(key, None)
            if outdated is None:
                return
            after = host_content(self.graph, *key)
            made = made_from_outdated(self._workspace, outdated, after, what)
            if made is not None:
                self._shared[key] = made
        self._trim()

    def _csr(
        self, name: str, budget: MemoryBudget, places: Sequence[int]
    ) -> list[DeviceArray | None]:
        """The requested arrays of a direction, uploaded if missing; None for the others."""
        missing = [place for place in places if (name, place) not in self._csrs]
        if missing:
            host, what = self._host(name), f"{name} relationships"
            uploaded: dict[tuple[str, int], DeviceArray | None] = {}
            try:
                for place in missing:
                    check_time()
                    self._make_from_outdated((name, place), what)
                    if (name, place) not in self._shared:
                        each = host[place]
                        uploaded[name, place] = (
                            None if each is None else self._upload(whole(each), what, budget)
                        )
            except BaseException:
                self._drop(list(uploaded.values()), budget)
                raise
            taken = {(name, place): self._shared.get((name, place)) for place in missing}
            self._csrs.update(taken | uploaded)
        return [self._csrs[name, each] if each in places else None for each in _ARRAYS]

    def _host(self, name: str) -> list[Any]:
        """The host arrays of a direction."""
        csr = self.direction(name)
        return [*csr_arrays(csr, len(self.graph.types)), csr.parts.relationship_indexes]

    def direction(self, name: str) -> Csr:
        """The ``outgoing`` or ``incoming`` rows on the host."""
        csr: Csr = getattr(self.graph, name)
        return csr

    def _upload(self, array: Any, what: str, budget: MemoryBudget) -> DeviceArray:
        before = self._workspace.budget.used
        # Reserved as the workspace will count it, before the allocation.
        budget.reserve(max(array.nbytes, SMALLEST_BYTES), what)
        uploaded = self._workspace.upload(array, what)
        budget.release(max(array.nbytes, SMALLEST_BYTES) - (self._workspace.budget.used - before))
        return uploaded

    def _drop(self, arrays: list[DeviceArray | None], budget: MemoryBudget) -> None:
        before = self._workspace.budget.used
        self._workspace.release(*arrays)
        self._workspace.trim()
        budget.release(before - self._workspace.budget.used)

    def label_bits(self, label_id: int) -> Any:
        """Bitmap ``uint32[words]`` on the host of the nodes that have a label, or `ANY_LABEL`."""
        return _label_bits(self.graph, label_id)

    def _arrays(self) -> dict[tuple[str, int], DeviceArray | None]:
        """Arrays on the device by direction and position, including those of earlier states."""
        return {key: outdated.array for key, outdated in self._outdated.items()} | self._made_here()

    def _made_here(self) -> dict[tuple[str, int], DeviceArray | None]:
        return self._shared | self._csrs

    def _leave(self) -> None:
        """Leaves arrays without other owners to the next state, for use by the state after it.

        Allocating new memory costs more than filling it.
        """
        heir = None if self._heir is None else self._heir()
        if heir is None:
            return
        found = self._arrays().values()
        arrays = [array for array in found if array is not None and array.has_one_owner]
        with heir._users_lock:
            size = sum(each.nbytes for each in arrays)
            if heir._closed or size > self.context.info.global_memory_bytes // _SPARE_SHARE:
                return
            heir._spare += self._workspace.detach(arrays)

    def _free_when_unused(self) -> None:
        if self._closed and self._users == 0:
            self._leave()
            for spare in self._spare:
                spare.free()
            self._spare = []
            self._csrs.clear()
            self._shared.clear()
            self._outdated.clear()
            self._hubs = None
            self._bitmaps.matrix = None
            self._bitmaps.slots = {}
            self._workspace.close()
            self.page_locked.close()
            self.pool.close()


def _label_bits(graph: DataGraph, label_id: int) -> Any:
    if label_id != ANY_LABEL:
        return graph.label_bits(label_id)
    has_any = np.diff(whole(graph.label_offsets)) > 0
    packed = np.packbits(has_any, bitorder="little")
    padded = np.zeros(-(-graph.node_count // 32) * 4, dtype=np.uint8)
    padded[: len(packed)] = packed
    return padded.view(np.uint32)
