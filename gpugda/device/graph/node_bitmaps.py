"""Bitmaps of nodes that queries use repeatedly: by label and by degree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.data.increments.searching import run_bounds
from gpugda.data.statistics.node_changes import with_bits
from gpugda.deadline import check_time
from gpugda.device.launch.candidate_filter import Batch, CandidateFilter, FilterArrays
from gpugda.device.launch.query_words import Degree, QueryRow, write_query
from gpugda.device.memory.buffers import SMALLEST_BYTES, DeviceArray, MemoryBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.statistics.node_changes import NodeChanges
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import Workspace

__all__ = ["NodeBitmaps", "degrees_of"]

_MIN_LOOKS = 1 << 15
_SHARE_OF_NODES = 0.5
_SHARE_OF_MEMORY = 1 / 256
_SHARE_FOR_HOST_DEGREES = 1 / 16
_MAX_DEGREES = 256
_FEW_CHANGED = 16
"""A bitmap of an earlier state is updated if at most 1/n of the nodes have changed since."""


class _HostBits(NamedTuple):
    """Bitmap of a degree on the host, and the state of the graph that it belongs to."""

    bits: NDArray[np.uint32]
    state: NodeChanges


class NodeBitmaps:
    """A growing matrix of bitmaps, one row per label or degree.

    A bitmap of a degree is made once the lookups without it have cost as much as making it: no
    order of queries costs more than about twice the minimum. For a graph that changes, the host
    keeps copies from which the next state's bitmaps are made.

    Args:
        context: The device.
        workspace: Owner of the matrix.
        graph: The data graph.
        label_bits: Function that returns ``uint32[words]`` on the host: the nodes that have a
            label.
        like: Bitmaps of an earlier state.
    """

    def __init__(
        self,
        context: DeviceContext,
        workspace: Workspace,
        graph: DataGraph,
        label_bits: Callable[[int], Any],
        like: NodeBitmaps | None = None,
    ) -> None:
        self._context = context
        self._workspace = workspace
        self._graph = graph
        self._words = -(-graph.node_count // 32)
        self._node_count = graph.node_count
        self._label_bits = label_bits
        # Copies, as queries on the earlier state may go on.
        self._looks: dict[Degree, float] = {} if like is None else dict(like._looks)
        known: dict[Degree, _HostBits] = {} if like is None else dict(like._on_host)
        changes = graph.node_changes()
        self._on_host: dict[Degree, _HostBits] = {
            degree: each for degree, each in known.items() if changes.knows(each.state)
        }
        self.matrix: DeviceArray | None = None
        self.slots: dict[int | Degree, int] = {}

    def add_labels(self, labels: Sequence[int], most: int, budget: MemoryBudget) -> None:
        """Adds bitmaps of labels, and reserves space for up to ``most`` of them.

        Raises:
            MemoryLimitError: They do not fit the budget or the device.
        """
        found: dict[int, NDArray[np.uint32]] = {}
        for label in labels:
            check_time()
            found[label] = self._label_bits(label)
        self._write(found, most, budget)

    def _write(
        self, rows: Mapping[Any, NDArray[np.uint32]], most: int, budget: MemoryBudget
    ) -> None:
        if not rows:
            return
        first = self._grow(len(rows), most, budget)
        for slot, bits in enumerate(rows.values(), first):
            self._workspace.write(self._matrix(), bits, slot * self._words)
        self.slots.update((key, slot) for slot, key in enumerate(rows, first))

    def add_degrees(
        self, looks: Mapping[Degree, float], graph: list[Any], budget: MemoryBudget
    ) -> None:
        """Adds the bitmaps of degrees that are worth it by now.

        Args:
            looks: Number of nodes that a query would look at, for each degree.
            graph: Arguments for ``GRAPH_PARAMETERS``.
            budget: Budget that the bitmaps are counted against; without space, none are added.
        """
        new = []
        for degree, count in looks.items():
            self._looks[degree] = self._looks.get(degree, 0.0) + count
            if degree not in self.slots and self._pays(degree):
                new.append(degree)
        known = sum(isinstance(each, Degree) for each in self.slots)
        size = (len(self.slots) + len(new)) * self._words * 4
        has_place = size <= budget.remaining * _SHARE_OF_MEMORY
        if new and has_place and known + len(new) <= _MAX_DEGREES:
            changed = {each: self._changed_bits(each) for each in new}
            self._make([each for each in new if changed[each] is None], graph, budget)
            there = {each: bits for each, bits in changed.items() if bits is not None}
            self._write(there, 2 * len(self.slots), budget)

    def add_host_degrees(self, degrees: Collection[Degree], budget: MemoryBudget) -> None:
        """Adds bitmaps of degrees that fit; the host counts, as the device may lack runs."""
        new = [each for each in degrees if each not in self.slots]
        size = int(budget.remaining * _SHARE_FOR_HOST_DEGREES)
        room = size // (4 * self._words) if size >= SMALLEST_BYTES else 0
        known = sum(isinstance(each, Degree) for each in self.slots)
        for degree in new[: max(0, min(room - 2 * len(self.slots), _MAX_DEGREES - known))]:
            bits = self._changed_bits(degree)
            if bits is None:
                bits = self._counted_bits(degree)
            self._write({degree: bits}, 2 * len(self.slots), budget)

    def _counted_bits(self, degree: Degree) -> NDArray[np.uint32]:
        counts = np.zeros(self._node_count, dtype=np.int64)
        for csr, wanted in (
            (self._graph.outgoing, degree.outgoing),
            (self._graph.incoming, degree.incoming),
        ):
            if wanted:
                counts += csr.degrees(degree.types)
        packed = np.packbits(counts >= degree.at_least, bitorder="little")
        bits = np.zeros(4 * self._words, dtype=np.uint8)
        bits[: len(packed)] = packed
        found: NDArray[np.uint32] = bits.view(np.uint32)
        return found

    def _pays(self, degree: Degree) -> bool:
        return self._looks[degree] >= max(_MIN_LOOKS, self._node_count * _SHARE_OF_NODES)

    def _make(self, degrees: list[Degree], graph: list[Any], budget: MemoryBudget) -> None:
        if not degrees:
            return
        workspace = self._workspace
        first = self._grow(len(degrees), 2 * len(self.slots), budget)
        rows = [QueryRow(0, (), None, (each,), ()) for each in degrees]
        query = workspace.upload(write_query(rows).words, "degrees")
        made = workspace.allocate(len(rows) * self._words, np.uint32, "bitmaps of degrees")
        arrays = FilterArrays(graph, query, None, None, None, self._words, 0, self._node_count)
        CandidateFilter(self._context).check_candidates(arrays, Batch(0, len(rows)), None, made)
        workspace.copy(made, self._matrix(), first * self._words)
        self._context.finish()
        if self._graph.external_ids is not None:  # the graph may change
            host = workspace.download(made).reshape(len(rows), -1)
            for degree, bits in zip(degrees, host, strict=True):
                self._on_host[degree] = _HostBits(bits, self._graph.node_changes())
        workspace.release(query, made)
        workspace.trim()
        self.slots.update((degree, slot) for slot, degree in enumerate(degrees, first))

    def _changed_bits(self, degree: Degree) -> NDArray[np.uint32] | None:
        """Bitmap of an earlier state, updated for changed nodes; None if it must be made anew."""
        kept, state = self._on_host.get(degree), self._graph.node_changes()
        if kept is None:
            return None
        nodes = state.since(kept.state)
        if nodes is None or len(nodes) * _FEW_CHANGED > self._node_count:
            return None
        have = nodes[degrees_of(self._graph, degree, nodes) >= degree.at_least]
        bits = with_bits(kept.bits, self._node_count, nodes, have)
        self._on_host[degree] = _HostBits(bits, state)
        return bits

    def _matrix(self) -> DeviceArray:
        assert self.matrix is not None
        return self.matrix

    def _grow(self, more: int, most: int, budget: MemoryBudget) -> int:
        """Makes space for more rows; returns the first of them."""
        known = len(self.slots)
        if self.matrix is not None and (known + more) * self._words <= self.matrix.count:
            return known
        rows = max(known + more, min(2 * known, most))
        size = rows * self._words
        budget.reserve(max(size * 4, SMALLEST_BYTES), "label bitmaps")
        try:
            matrix = self._workspace.allocate(size, np.uint32, "label bitmaps")
        except BaseException:
            budget.release(max(size * 4, SMALLEST_BYTES))
            raise
        old = self.matrix
        if old is not None:
            self._workspace.copy(old, matrix, 0)
            # Memory that a kernel or a copy still reads must not be freed.
            self._context.finish()
        self.matrix = matrix
        if old is not None:
            before = self._workspace.budget.used
            self._workspace.release(old)
            self._workspace.trim()
            budget.release(before - self._workspace.budget.used)
        return known


def degrees_of(graph: DataGraph, degree: Degree, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of relationships of the given kind of each node."""
    found = np.zeros(len(nodes), dtype=np.int64)
    for csr, wanted in (
        (graph.outgoing.parts, degree.outgoing),
        (graph.incoming.parts, degree.incoming),
    ):
        if not wanted:
            continue
        if degree.types is None:
            found += csr.row_offsets[nodes + 1].astype(np.int64) - csr.row_offsets[nodes]
            continue
        for kind in degree.types:
            _, low, high = run_bounds(csr, nodes, np.full(len(nodes), kind))
            found += high - low
    return found
