"""Lists of nodes or relationships, and paths, as arrays: made into values when they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.data.runs import places_in_runs
from gpugda.expressions.operands import distinct_values
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = [
    "ColumnLists",
    "EntityLists",
    "PathRows",
    "list_column",
    "nodes_of_paths",
    "path_column",
    "step_lengths",
]


@dataclass(frozen=True, slots=True, eq=False)
class EntityLists:
    """A dictionary of lists of entities.

    Args:
        offsets: ``int64[lists + 1]``: list i is ``indexes[offsets[i]:offsets[i+1]]``.
        indexes: ``uint32`` node or relationship indexes.
        of_nodes: Which of both.
    """

    offsets: NDArray[np.int64]
    indexes: NDArray[np.uint32]
    of_nodes: bool

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def value(self, code: int) -> list[Entity]:
        """One list."""
        first, last = int(self.offsets[code]), int(self.offsets[code + 1])
        return [Entity(self.of_nodes, index) for index in self.indexes[first:last].tolist()]

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """Many lists."""
        return [self.value(code) for code in codes.tolist()]

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """The same."""
        return self.values(codes)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnLists:
    """A dictionary of lists whose elements lie one after the other in a column.

    Args:
        offsets: ``int64[lists + 1]``: list i holds the elements from ``offsets[i]`` on.
        elements: Their values; none is null.
    """

    offsets: NDArray[np.int64]
    elements: Column

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def value(self, code: int) -> list[Any]:
        """One list."""
        found: list[Any] = self.values(np.array([code], dtype=np.int32))[0]
        return found

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """Many lists, each element decoded once."""
        first, last = self.offsets[codes], self.offsets[codes + 1]
        lengths = last - first
        inside = places_in_runs(lengths)
        rows = np.repeat(first, lengths) + inside
        places, distinct = distinct_values(self.elements.take(rows), len(rows))
        items = [distinct[place] for place in places.tolist()]
        ends = np.cumsum(lengths).tolist()
        starts = [0, *ends[:-1]] if ends else []
        return [items[start:end] for start, end in zip(starts, ends, strict=True)]

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """The same."""
        return self.values(codes)


@dataclass(frozen=True, slots=True, eq=False)
class PathRows:
    """A dictionary of paths, one a row.

    Args:
        graph: Whose nodes they visit.
        starts: ``uint32`` per path: its first node.
        offsets: ``int64[paths + 1]`` into ``indexes``.
        indexes: ``uint32`` relationship indexes as walked.
    """

    graph: DataGraph
    starts: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    indexes: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.starts)

    def value(self, code: int) -> Path:
        """One path."""
        first, last = int(self.offsets[code]), int(self.offsets[code + 1])
        sources, targets = self.graph.start_nodes(), self.graph.outgoing.neighbours
        node = int(self.starts[code])
        nodes, walked = [Entity(True, node)], []
        for index in self.indexes[first:last].tolist():
            source, target = int(sources[index]), int(targets[index])
            node = target if node == source else source
            nodes.append(Entity(True, node))
            walked.append(Entity(False, index))
        return Path(tuple(nodes), tuple(walked))

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """Many paths."""
        return [self.value(code) for code in codes.tolist()]

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """The same."""
        return self.values(codes)


def nodes_of_paths(paths: PathRows) -> EntityLists:
    """The nodes of each path, in the order in which it visits them."""
    graph, lengths = paths.graph, np.diff(paths.offsets)
    sources, targets = graph.start_nodes(), graph.outgoing.neighbours
    offsets = paths.offsets + np.arange(len(paths.offsets))
    indexes = np.zeros(int(offsets[-1]), dtype=np.uint32)
    current = paths.starts
    indexes[offsets[:-1]] = current
    rows = np.arange(len(paths))
    for step in range(int(lengths.max(initial=0))):
        going = lengths[rows] > step
        rows, current = rows[going], current[going]
        walked = paths.indexes[paths.offsets[rows] + step]
        source, target = sources[walked], targets[walked]
        current = np.where(current == source, target, source).astype(np.uint32)
        indexes[offsets[rows] + step + 1] = current
    return EntityLists(offsets, indexes, of_nodes=True)


def list_column(
    offsets: NDArray[np.int64], indexes: NDArray[np.uint32], *, of_nodes: bool
) -> Column:
    """A column of lists of entities, one a row."""
    codes = np.arange(len(offsets) - 1, dtype=np.int32)
    return Column(ColumnKind.OBJECT, codes, None, EntityLists(offsets, indexes, of_nodes))


def path_column(
    graph: DataGraph,
    starts: NDArray[np.uint32],
    steps: Sequence[Column],
    valid: NDArray[np.bool_] | None,
) -> Column:
    """A column of paths.

    Args:
        graph: Whose nodes they visit.
        starts: Their first nodes.
        steps: Columns of relationships, or of `EntityLists` of them, in the order of the paths.
        valid: Rows that have a path; None for all.
    """
    count = len(starts)
    lengths = [step_lengths(step) for step in steps]
    total = np.sum(lengths, axis=0, dtype=np.int64) if steps else np.zeros(count, dtype=np.int64)
    if valid is not None:
        total = np.where(valid, total, 0)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(total)])
    indexes = np.zeros(int(offsets[-1]), dtype=np.uint32)
    place = offsets[:-1].copy()
    for step, length in zip(steps, lengths, strict=True):
        rows = np.flatnonzero(length if valid is None else length * valid)
        _write(step, rows, length[rows], place[rows], indexes)
        place += length
    codes = np.arange(count, dtype=np.int32)
    return Column(ColumnKind.OBJECT, codes, valid, PathRows(graph, starts, offsets, indexes))


def step_lengths(step: Column) -> NDArray[np.int64]:
    """How many relationships each row of such a column holds."""
    if step.kind is ColumnKind.RELATIONSHIP:
        return np.ones(len(step), dtype=np.int64)
    if isinstance(step.dictionary, EntityLists):
        counts: NDArray[np.int64] = np.diff(step.dictionary.offsets)[step.values]
        return counts
    return np.array([len(each or ()) for each in _decoded(step)], dtype=np.int64)


def _write(
    step: Column,
    rows: NDArray[np.int64],
    lengths: NDArray[np.int64],
    places: NDArray[np.int64],
    indexes: NDArray[np.uint32],
) -> None:
    if step.kind is ColumnKind.RELATIONSHIP:
        indexes[places] = step.values[rows]
        return
    inside = places_in_runs(lengths)
    targets = np.repeat(places, lengths) + inside
    if isinstance(step.dictionary, EntityLists):
        firsts = step.dictionary.offsets[:-1][step.values[rows]]
        indexes[targets] = step.dictionary.indexes[np.repeat(firsts, lengths) + inside]
        return
    values = _decoded(step)
    indexes[targets] = [each.index for row in rows.tolist() for each in values[row]]


def _decoded(step: Column) -> list[Any]:
    assert step.dictionary is not None
    values = step.dictionary.values(step.values)
    if step.valid is not None:
        for row in np.flatnonzero(~step.valid).tolist():
            values[row] = None
    return values
