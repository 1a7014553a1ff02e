"""The data graph: an exported property multigraph in arrays, frozen."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from gpugda.data.labels import distinct_label_sets, label_bitmap

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from gpugda.data.column import Column
    from gpugda.data.csr import Csr
    from gpugda.data.identifiers import NameTable
    from gpugda.data.statistics import GraphStatistics

__all__ = ["DataGraph"]

_Value = TypeVar("_Value")


class _Derived:
    """What is computed from the arrays when first asked for, once, whichever thread asks."""

    __slots__ = ("_lock", "_values")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._values: dict[Any, Any] = {}

    def get(self, key: Any, compute: Callable[[], _Value]) -> _Value:
        # Reading a dict needs no lock: the value is there, or it is computed behind the lock.
        if key not in self._values:
            with self._lock:
                if key not in self._values:
                    self._values[key] = compute()
        return cast("_Value", self._values[key])

    def nbytes(self) -> int:
        with self._lock:
            values = list(self._values.values())
        return sum(int(getattr(value, "nbytes", 0)) for value in values)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class DataGraph:
    """Nodes 0…n-1 and relationships 0…m-1 with labels, types and property columns.

    Args:
        node_count: n.
        relationship_count: m.
        labels: Label names and their ids.
        types: Relationship type names and their ids.
        label_offsets: ``uint32[n+1]``: node v has the labels
            ``label_ids[label_offsets[v]:label_offsets[v+1]]``.
        label_ids: ``uint16`` label ids, in the order in which the source gave them, none twice for
            one node.
        outgoing: By start node. Position in its arrays = relationship index.
        incoming: By end node, with the relationship index of each entry.
        node_properties: Column of n values per property key.
        relationship_properties: Column of m values per property key, by relationship index.
        statistics: What the planner may look at.
        element_id_prefix: Text before ``n<index>`` and ``r<index>`` in element ids.
    """

    node_count: int
    relationship_count: int
    labels: NameTable
    types: NameTable
    label_offsets: NDArray[np.uint32]
    label_ids: NDArray[np.uint16]
    outgoing: Csr
    incoming: Csr
    node_properties: Mapping[str, Column]
    relationship_properties: Mapping[str, Column]
    statistics: GraphStatistics
    element_id_prefix: str = ""
    _derived: _Derived = field(default_factory=_Derived, repr=False)

    def label_bits(self, label_id: int) -> NDArray[np.uint32]:
        """``uint32[ceil(n/32)]``: bit ``v % 32`` of word ``v // 32`` is set if v has the label."""
        return self._derived.get(
            ("label bits", label_id),
            lambda: label_bitmap(self.label_offsets, self.label_ids, label_id),
        )

    def label_codes(self) -> tuple[NDArray[np.int32], tuple[tuple[str, ...], ...]]:
        """Code of each node's label set (``int32[n]``), and the distinct label sets as names."""
        codes = self._derived.get("label codes", self._label_codes)
        return codes, self._derived.get("label sets", self._label_sets)

    def start_nodes(self) -> NDArray[np.uint32]:
        """``uint32[m]``: start node of each relationship. Its end node is in ``outgoing``."""
        return self._derived.get("start nodes", self.outgoing.entry_nodes)

    def relationship_types(self) -> NDArray[np.uint16]:
        """``uint16[m]``: type id of each relationship."""
        return self._derived.get("relationship types", self.outgoing.entry_types)

    def parallel_counts(self) -> tuple[int, ...]:
        """Per type id, the most relationships of the type that have the same start and end."""
        if not any(self.statistics.parallel_types):
            return (1,) * len(self.types)
        return self._derived.get("parallel counts", self._parallel_counts)

    def node_labels(self, node: int) -> tuple[str, ...]:
        """Label names of one node."""
        start, end = int(self.label_offsets[node]), int(self.label_offsets[node + 1])
        return tuple(self.labels.names[label] for label in self.label_ids[start:end].tolist())

    def element_id_of_node(self, node: int) -> str:
        """Stable text that names the node: the answer of ``elementId()``."""
        return f"{self.element_id_prefix}n{node}"

    def element_id_of_relationship(self, relationship: int) -> str:
        """Stable text that names the relationship: the answer of ``elementId()``."""
        return f"{self.element_id_prefix}r{relationship}"

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays, property columns and what was derived from them until now."""
        columns = [*self.node_properties.values(), *self.relationship_properties.values()]
        dictionaries = {id(column.dictionary): column.dictionary for column in columns}
        return (
            self.label_offsets.nbytes
            + self.label_ids.nbytes
            + self.outgoing.nbytes
            + self.incoming.nbytes
            + sum(column.nbytes for column in columns)
            + sum(int(getattr(each, "nbytes", 0)) for each in dictionaries.values())
            + self._derived.nbytes()
        )

    def _parallel_counts(self) -> tuple[int, ...]:
        csr = self.outgoing
        is_first = np.ones(csr.relationship_count, dtype=np.bool_)
        np.not_equal(csr.neighbours[1:], csr.neighbours[:-1], out=is_first[1:])
        is_first[csr.run_starts[:-1]] = True
        firsts = np.flatnonzero(is_first)
        lengths = np.diff(firsts, append=csr.relationship_count)
        counts = np.ones(len(self.types), dtype=np.int64)
        several = lengths > 1
        np.maximum.at(counts, self.relationship_types()[firsts[several]], lengths[several])
        return tuple(counts.tolist())

    def _label_codes(self) -> NDArray[np.int32]:
        return distinct_label_sets(self.label_offsets, self.label_ids, len(self.labels))

    def _label_sets(self) -> tuple[tuple[str, ...], ...]:
        codes = self._derived.get("label codes", self._label_codes)
        examples = np.unique(codes, return_index=True)[1].tolist()
        return tuple(self.node_labels(node) for node in examples)
