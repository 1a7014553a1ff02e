"""Partitions and their lists, kept on the host as long as their data graph lives."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

from gpugda_strategies.pbe.host_rows import make_host_rows, partition_lists
from gpugda_strategies.pbe.partitions import PartitionPlan, make_partitions

from gpugda.data.adjacency import Adjacency

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence

    from gpugda_strategies.gsi.entries import Partition
    from gpugda_strategies.gsi.pcsr import HostLists

    from gpugda.data.data_graph import DataGraph

__all__ = ["KeptParts", "kept_of"]

_UNKNOWN_MEMORY = 1 << 33
_Value: TypeAlias = "Adjacency | PartitionPlan | Sequence[HostLists]"
_Made = TypeVar("_Made", "Adjacency", "PartitionPlan", "Sequence[HostLists]")


class KeptParts:
    """Partitions and lists of one data graph; the most recent ones are kept within a limit.

    Args:
        fill: Average number of nodes per hash group of lists.
    """

    def __init__(self, fill: int) -> None:
        self._fill = fill
        self._lock = threading.RLock()
        self._values: OrderedDict[Hashable, _Value] = OrderedDict()

    @property
    def nbytes(self) -> int:
        """Bytes on the host."""
        with self._lock:
            return sum(_nbytes(each) for each in self._values.values())

    def partitions(self, graph: DataGraph, count: int, deadline: float | None) -> PartitionPlan:
        """A division into ``count`` partitions, see `make_partitions`."""
        return self._get(count, lambda: make_partitions(graph, count, deadline))

    def rows(self, graph: DataGraph, key: Partition) -> Adjacency:
        """The lists of all nodes for some types and directions."""
        return self._get(key, lambda: make_host_rows(graph, key))

    def lists(self, graph: DataGraph, plan: PartitionPlan, key: Partition) -> Sequence[HostLists]:
        """For each partition, the lists of the relationships within it."""
        return self._get(
            (plan.count, key),
            lambda: partition_lists(self.rows(graph, key), plan, self._fill),
        )

    def trim(self, share: float) -> None:
        """Evicts the least recently used values, down to a share of the host's memory."""
        most = share * _host_bytes()
        with self._lock:
            total = self.nbytes
            while total > most and len(self._values) > 1:
                _, value = self._values.popitem(last=False)
                total -= _nbytes(value)

    def _get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        with self._lock:  # held while a value is made, so that it is made once
            if key not in self._values:
                self._values[key] = make()
            self._values.move_to_end(key)
            return self._values[key]  # type: ignore[return-value]  # each key has one kind of value


_KEPT: WeakKeyDictionary[DataGraph, KeptParts] = WeakKeyDictionary()
_LOCK = threading.Lock()


def kept_of(graph: DataGraph, fill: int) -> KeptParts:
    """What is kept of a data graph, shared by all callers; it is freed with the graph."""
    with _LOCK:
        if graph not in _KEPT:
            _KEPT[graph] = KeptParts(fill)
        return _KEPT[graph]


def _nbytes(value: _Value) -> int:
    if isinstance(value, PartitionPlan | Adjacency):
        return value.nbytes
    return sum(each.nbytes for each in value)


def _host_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MEMORY
