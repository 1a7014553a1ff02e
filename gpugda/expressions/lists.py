"""Lists of entities, lists in columns, and paths as arrays; values are created when read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind, Dictionary
from gpugda.data.runs import places_in_runs
from gpugda.expressions.operands import distinct_values, used_codes
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = [
    "ColumnLists",
    "EntityLists",
    "PathRows",
    "joined_lists",
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
        of_nodes: True for nodes, False for relationships.
    """

    offsets: NDArray[np.int64]
    indexes: NDArray[np.uint32]
    of_nodes: bool

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def value(self, code: int) -> list[Entity]:
        """A single list."""
        first, last = int(self.offsets[code]), int(self.offsets[code + 1])
        return [Entity(self.of_nodes, index) for index in self.indexes[first:last].tolist()]

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """The lists of these codes."""
        return [self.value(code) for code in codes.tolist()]

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """As `values`."""
        return self.values(codes)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnLists:
    """A dictionary of lists whose elements are concatenated in a column.

    Args:
        offsets: ``int64[lists + 1]``: list i is ``elements[offsets[i]:offsets[i+1]]``.
        elements: The elements, without nulls.
    """

    offsets: NDArray[np.int64]
    elements: Column

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def value(self, code: int) -> list[Any]:
        """A single list."""
        found: list[Any] = self.values(np.array([code], dtype=np.int32))[0]
        return found

    def values(self, codes: NDArray[np.int32]) -> list[Any]:
        """The lists of these codes; decodes each distinct element once."""
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
        """As `values`."""
        return self.values(codes)


@dataclass(frozen=True, slots=True, eq=False)
class PathRows:
    """A dictionary of paths, one per row.

    Args:
        graph: Graph of the nodes and relationships.
        starts: First node of each path, ``uint32``.
        offsets: ``int64[paths + 1]`` into ``indexes``.
        indexes: Relationship indexes in walking order, ``uint32``.
    """

    graph: DataGraph
    starts: NDArray[np.uint32]
    offsets: NDArray[np.int64]
    indexes: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.starts)

    def value(self, code: int) -> Path:
        """A single path."""
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
        """The paths of these codes."""
        return [self.value(code) for code in codes.tolist()]

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """As `values`."""
        return self.values(codes)


def nodes_of_paths(paths: PathRows) -> EntityLists:
    """The nodes of each path, in walking order."""
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
    """A column with one list of entities per row."""
    codes = np.arange(len(offsets) - 1, dtype=np.int32)
    return Column(ColumnKind.OBJECT, codes, None, EntityLists(offsets, indexes, of_nodes))


def joined_lists(columns: Sequence[Column]) -> Column | None:
    """Concatenates columns of entity lists or of paths; None if a column holds anything else.

    Drops lists that no row uses.
    """
    there = [each.valid is None or bool(each.valid.any()) for each in columns]
    kinds = {_kind_of(each.dictionary) for each, holds in zip(columns, there, strict=True) if holds}
    if len(kinds) != 1 or None in kinds:
        return None
    made: list[EntityLists | PathRows] = []
    codes: list[NDArray[np.int32]] = []
    count = 0
    for column, holds in zip(columns, there, strict=True):
        if not holds:
            codes.append(np.zeros(len(column), dtype=np.int32))
            continue
        lists, places = _used_lists(column)
        made.append(lists)
        codes.append((places + count).astype(np.int32))
        count += len(lists)
    valid = None
    if any(each.valid is not None for each in columns):
        valid = np.concatenate([_validity(each) for each in columns])
    return Column(ColumnKind.OBJECT, np.concatenate(codes), valid, _concatenated(made))


def _validity(column: Column) -> NDArray[np.bool_]:
    return np.ones(len(column), dtype=np.bool_) if column.valid is None else column.valid


def _kind_of(dictionary: Dictionary | None) -> object:
    """A key equal for lists that can share a dictionary; None for other dictionaries."""
    if isinstance(dictionary, EntityLists):
        return dictionary.of_nodes
    return dictionary.graph if isinstance(dictionary, PathRows) else None


def _used_lists(column: Column) -> tuple[EntityLists | PathRows, NDArray[np.int64]]:
    """The lists used by rows, and each row's position among them."""
    lists = column.dictionary
    assert isinstance(lists, EntityLists | PathRows)
    used, places = used_codes(column.values, len(lists))
    lengths = np.diff(lists.offsets)[used]
    inside = np.repeat(lists.offsets[used], lengths) + places_in_runs(lengths)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    if isinstance(lists, PathRows):
        made = PathRows(lists.graph, lists.starts[used], offsets, lists.indexes[inside])
        return made, places
    return EntityLists(offsets, lists.indexes[inside], lists.of_nodes), places


def _concatenated(parts: Sequence[EntityLists | PathRows]) -> EntityLists | PathRows:
    lengths = np.concatenate([np.diff(each.offsets) for each in parts])
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    indexes = np.concatenate([each.indexes for each in parts])
    first = parts[0]
    if isinstance(first, EntityLists):
        return EntityLists(offsets, indexes, first.of_nodes)
    starts = np.concatenate([each.starts for each in parts if isinstance(each, PathRows)])
    return PathRows(first.graph, starts, offsets, indexes)


def path_column(
    graph: DataGraph,
    starts: NDArray[np.uint32],
    steps: Sequence[Column],
    valid: NDArray[np.bool_] | None,
) -> Column:
    """A column of paths.

    Args:
        graph: Graph of the nodes and relationships.
        starts: First node of each path.
        steps: Columns of relationships or of `EntityLists` of them, in path order.
        valid: Mask of rows with a path; None for all.
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
    """Number of relationships per row of a step column."""
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
