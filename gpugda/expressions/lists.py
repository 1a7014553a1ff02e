"""Lists and paths as arrays: offsets into a column of elements. Values are created when read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.runs import places_in_runs
from gpugda.data.values.columns import Column, ColumnKind, concatenate
from gpugda.data.values.driver_values import as_driver_gives
from gpugda.expressions.operands import distinct_values, used_codes
from gpugda.types import value
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph

__all__ = [
    "ColumnLists",
    "PathRows",
    "joined_lists",
    "list_column",
    "nodes_of_paths",
    "only_used",
    "path_column",
    "relationships_of_paths",
    "step_lengths",
]


@value(frozen=True, slots=True, eq=False)
class ColumnLists:
    """A dictionary of lists whose elements are concatenated in a column.

    Args:
        offsets: ``int64[lists + 1]``: list i is ``elements[offsets[i]:offsets[i+1]]``.
        elements: The elements: numbers, nodes, paths, further lists, and nulls.
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
        return self._lists(codes)

    def _lists(
        self, codes: NDArray[np.int32], convert: Callable[[Any], Any] | None = None
    ) -> list[Any]:
        first, last = self.offsets[codes], self.offsets[codes + 1]
        lengths = last - first
        inside = places_in_runs(lengths)
        rows = np.repeat(first, lengths) + inside
        places, distinct = distinct_values(self.elements.take(rows), len(rows))
        if convert is not None:
            distinct = list(map(convert, distinct))
        items = [distinct[place] for place in places.tolist()]
        ends = np.cumsum(lengths).tolist()
        starts = [0, *ends[:-1]] if ends else []
        return [items[start:end] for start, end in zip(starts, ends, strict=True)]

    def shown(self, codes: NDArray[np.int32]) -> list[Any]:
        """As `values`, elements in the driver's form."""
        is_plain = self.elements.kind is not ColumnKind.OBJECT
        return self._lists(codes, None if is_plain else as_driver_gives)


@value(frozen=True, slots=True, eq=False)
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


def relationships_of_paths(paths: PathRows) -> ColumnLists:
    """The relationships of each path, in walking order."""
    return ColumnLists(paths.offsets, Column(ColumnKind.RELATIONSHIP, paths.indexes))


def nodes_of_paths(paths: PathRows) -> ColumnLists:
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
    return ColumnLists(offsets, Column(ColumnKind.NODE, indexes))


def list_column(
    offsets: NDArray[np.int64], indexes: NDArray[np.uint32], *, of_nodes: bool
) -> Column:
    """A column with one list of entities per row."""
    codes = np.arange(len(offsets) - 1, dtype=np.int32)
    elements = Column(ColumnKind.NODE if of_nodes else ColumnKind.RELATIONSHIP, indexes)
    return Column(ColumnKind.OBJECT, codes, None, ColumnLists(offsets, elements))


def joined_lists(columns: Sequence[Column]) -> Column | None:
    """Concatenates columns of lists, or of paths; None if their values have no common column.

    Drops lists that no row uses.
    """
    pieces = [None if each.has_only_nulls else only_used(each) for each in columns]
    lists = [each[0] for each in pieces if each is not None]
    joined = _joined(lists) if None not in lists and lists else None
    if joined is None:
        return None
    codes: list[NDArray[np.int32]] = []
    count = 0
    for column, piece in zip(columns, pieces, strict=True):
        if piece is None:
            codes.append(np.zeros(len(column), dtype=np.int32))
            continue
        codes.append((piece[1] + count).astype(np.int32))
        count += 0 if piece[0] is None else len(piece[0])
    valid = None
    if any(each.valid is not None for each in columns):
        valid = np.concatenate([_validity(each) for each in columns])
    return Column(ColumnKind.OBJECT, np.concatenate(codes), valid, joined)


def only_used(column: Column) -> tuple[ColumnLists | PathRows | None, NDArray[np.int64]]:
    """The lists or paths that rows have, and each row's position among them; None for others."""
    lists = column.dictionary
    if not isinstance(lists, ColumnLists | PathRows):
        return None, column.values
    used, places = used_codes(column.values, len(lists))
    if len(used) == len(lists):
        return lists, places
    lengths = np.diff(lists.offsets)[used]
    inside = np.repeat(lists.offsets[used], lengths) + places_in_runs(lengths)
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    if isinstance(lists, PathRows):
        return PathRows(lists.graph, lists.starts[used], offsets, lists.indexes[inside]), places
    return ColumnLists(offsets, lists.elements.take(inside)), places


def _joined(parts: Sequence[ColumnLists | PathRows | None]) -> ColumnLists | PathRows | None:
    """One dictionary with the lists of all parts; None if they are of several kinds."""
    paths = [each for each in parts if isinstance(each, PathRows)]
    lists = [each for each in parts if isinstance(each, ColumnLists)]
    if paths and (lists or len({id(each.graph) for each in paths}) > 1):
        return None
    lengths = [np.diff(each.offsets) for each in paths or lists]
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(np.concatenate(lengths))])
    if paths:
        starts = np.concatenate([each.starts for each in paths])
        indexes = np.concatenate([each.indexes for each in paths])
        return PathRows(paths[0].graph, starts, offsets, indexes)
    bounds = [(each.elements, int(each.offsets[0]), int(each.offsets[-1])) for each in lists]
    elements = _joined_elements([_part(*each) for each in bounds])
    return None if elements is None else ColumnLists(offsets, elements)


def _joined_elements(columns: Sequence[Column]) -> Column | None:
    some = [each for each in columns if len(each)] or columns[:1]
    if len({each.kind for each in some}) > 1:
        return None
    if len({id(each.dictionary) for each in some}) > 1 and some[0].kind is ColumnKind.OBJECT:
        return joined_lists(some)
    if some[0].kind is not ColumnKind.OBJECT:
        return concatenate(some, [len(each) for each in some])
    valid = None
    if any(each.valid is not None for each in some):
        valid = np.concatenate([_validity(each) for each in some])
    values = np.concatenate([each.values for each in some])
    return Column(ColumnKind.OBJECT, values, valid, some[0].dictionary)


def _part(column: Column, first: int, last: int) -> Column:
    if (first, last) == (0, len(column)):
        return column
    return column.take(np.arange(first, last))


def _validity(column: Column) -> NDArray[np.bool_]:
    return np.ones(len(column), dtype=np.bool_) if column.valid is None else column.valid


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
        steps: Columns of relationships or of lists of them, in path order.
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
    if isinstance(step.dictionary, ColumnLists):
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
    if isinstance(step.dictionary, ColumnLists):
        firsts = step.dictionary.offsets[:-1][step.values[rows]]
        indexes[targets] = step.dictionary.elements.values[np.repeat(firsts, lengths) + inside]
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
