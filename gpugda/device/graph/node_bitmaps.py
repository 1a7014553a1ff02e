"""Bitmaps of nodes that queries ask for again and again: by label, and by degree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.device.launch.candidate_filter import Batch, CandidateFilter, FilterArrays
from gpugda.device.launch.query_words import Degree, QueryRow, write_query
from gpugda.device.memory.buffers import SMALLEST_BYTES, DeviceArray, MemoryBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import Workspace

__all__ = ["NodeBitmaps"]

_FEWEST_LOOKS = 1 << 15
_SHARE_OF_NODES = 0.5
_SHARE_OF_MEMORY = 1 / 256
_MOST_DEGREES = 256


class NodeBitmaps:
    """A matrix of bitmaps that grows, a row for each label or degree.

    A bitmap of a degree is made once as much was looked at without it as making it would take: no
    order of queries takes more than about twice the least possible.

    Args:
        context: The device.
        workspace: Owns the matrix.
        words: Words of a bitmap.
        node_count: Number of data nodes.
        label_bits: ``uint32[words]``, the nodes that have a label, on the host.
    """

    def __init__(
        self,
        context: DeviceContext,
        workspace: Workspace,
        words: int,
        node_count: int,
        label_bits: Callable[[int], Any],
    ) -> None:
        self._context = context
        self._workspace = workspace
        self._words = words
        self._node_count = node_count
        self._label_bits = label_bits
        self._looks: dict[Degree, float] = {}
        self.matrix: DeviceArray | None = None
        self.slots: dict[int | Degree, int] = {}

    def add_labels(self, labels: Sequence[int], most: int, budget: MemoryBudget) -> None:
        """Adds bitmaps of labels, and place for more up to ``most`` of them.

        Raises:
            MemoryLimitError: They fit the budget or the device no more.
        """
        first = self._grow(len(labels), most, budget)
        for slot, label in enumerate(labels, first):
            bits = self._label_bits(label)
            self._workspace.write(self._matrix(), bits, slot * self._words)
        self.slots.update((label, slot) for slot, label in enumerate(labels, first))

    def add_degrees(
        self, looks: Mapping[Degree, float], graph: list[Any], budget: MemoryBudget
    ) -> None:
        """Adds those that are worth it by now.

        Args:
            looks: How many nodes a query would look at for each degree.
            graph: Arguments for ``GRAPH_PARAMETERS``.
            budget: What they are counted against; without place for them there are none.
        """
        new = []
        for degree, count in looks.items():
            self._looks[degree] = self._looks.get(degree, 0.0) + count
            if degree not in self.slots and self._pays(degree):
                new.append(degree)
        known = sum(isinstance(each, Degree) for each in self.slots)
        size = (len(self.slots) + len(new)) * self._words * 4
        has_place = size <= budget.remaining * _SHARE_OF_MEMORY
        if new and has_place and known + len(new) <= _MOST_DEGREES:
            self._make(new, graph, budget)

    def _pays(self, degree: Degree) -> bool:
        return self._looks[degree] >= max(_FEWEST_LOOKS, self._node_count * _SHARE_OF_NODES)

    def _make(self, degrees: list[Degree], graph: list[Any], budget: MemoryBudget) -> None:
        workspace = self._workspace
        first = self._grow(len(degrees), 2 * len(self.slots), budget)
        rows = [QueryRow(0, (), None, (each,), ()) for each in degrees]
        query = workspace.upload(write_query(rows).words, "degrees")
        made = workspace.allocate(len(rows) * self._words, np.uint32, "bitmaps of degrees")
        arrays = FilterArrays(graph, query, None, None, None, self._words, 0, self._node_count)
        CandidateFilter(self._context).check_candidates(arrays, Batch(0, len(rows)), None, made)
        workspace.copy(made, self._matrix(), first * self._words)
        self._context.finish()
        workspace.release(query, made)
        workspace.trim()
        self.slots.update((degree, slot) for slot, degree in enumerate(degrees, first))

    def _matrix(self) -> DeviceArray:
        assert self.matrix is not None
        return self.matrix

    def _grow(self, more: int, most: int, budget: MemoryBudget) -> int:
        """Makes place for more rows; gives the first of them."""
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
            # What a kernel or a copy still reads must not be freed.
            self._context.finish()
        self.matrix = matrix
        if old is not None:
            before = self._workspace.budget.used
            self._workspace.release(old)
            self._workspace.trim()
            budget.release(before - self._workspace.budget.used)
        return known
