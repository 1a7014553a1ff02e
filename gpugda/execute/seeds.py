"""Seeds: rows that are joined to embeddings by their common nodes and relationships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.data.runs import places_in_runs
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.execute.entry_windows import windows_of
from gpugda.expressions.operands import Operand, as_column, distinct_values
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch

__all__ = ["Seeds", "entity_column"]

_MAX_ROWS = 1 << 20


def entity_column(operand: Operand, row_count: int, *, is_node: bool) -> Column:
    """Node or relationship indexes of an operand; null where the value is not such an entity."""
    kind = ColumnKind.NODE if is_node else ColumnKind.RELATIONSHIP
    column = as_column(operand, row_count)
    if column.kind is kind:
        return column
    places, values = distinct_values(operand, row_count)
    indexes = [v.index if isinstance(v, Entity) and v.is_node is is_node else -1 for v in values]
    found = np.array(indexes or [-1], dtype=np.int64)[places]
    return Column(kind, np.maximum(found, 0).astype(np.uint32), found >= 0)


class Seeds:
    """The distinct tuples of some columns of a batch, and the rows that hold each.

    Equal tuples are matched once. Rows with a null in these columns match nothing.

    Args:
        batch: The rows.
        nodes: Names of node columns.
        relationships: Names of relationship columns.
    """

    def __init__(
        self, batch: Batch, nodes: Sequence[str], relationships: Sequence[str] = ()
    ) -> None:
        columns = {
            name: entity_column(batch.columns[name], batch.row_count, is_node=name in nodes)
            for name in (*nodes, *relationships)
        }
        usable = np.ones(batch.row_count, dtype=np.bool_)
        for column in columns.values():
            if column.valid is not None:
                usable &= column.valid
        self.rows = np.flatnonzero(usable)
        self.names = tuple(columns)
        self._indexes = {name: column.values[self.rows] for name, column in columns.items()}
        self._steps: list[NDArray[np.uint64]] = []
        codes = np.zeros(len(self.rows), dtype=np.uint64)
        for name in self.names:
            keys = codes << np.uint64(32) | self._indexes[name].astype(np.uint64)
            step, places = np.unique(keys, return_inverse=True)
            self._steps.append(step)
            codes = places.reshape(-1).astype(np.uint64)
        groups = len(self._steps[-1]) if self._steps else min(len(self.rows), 1)
        self._order = np.argsort(codes, kind="stable")
        self._counts = np.bincount(codes.astype(np.int64), minlength=groups)
        self._starts = np.cumsum(self._counts) - self._counts

    def distinct(self, name: str) -> NDArray[np.uint32]:
        """The distinct indexes in a column, ascending."""
        found: NDArray[np.uint32] = unique_values(self._indexes[name])
        return found

    def bitmap(self, name: str, count: int) -> NDArray[np.uint32]:
        """The same as a bitmap over ``count`` nodes or relationships."""
        words = np.zeros((count + 31) // 32, dtype=np.uint32)
        indexes = self.distinct(name)
        np.bitwise_or.at(words, indexes >> 5, np.uint32(1) << (indexes & 31))
        return words

    def joined(
        self, columns: Mapping[str, NDArray[np.uint32]], row_count: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Joins embeddings to rows, in windows.

        Args:
            columns: Indexes of the embeddings, by the column names of these seeds.
            row_count: Number of embeddings.

        Yields:
            Positions of rows in the batch, and positions of embeddings.
        """
        codes = np.zeros(row_count, dtype=np.uint64)
        known = np.ones(row_count, dtype=np.bool_)
        for name, step in zip(self.names, self._steps, strict=True):
            keys = codes << np.uint64(32) | columns[name].astype(np.uint64)
            places = np.searchsorted(step, keys)
            places[places == len(step)] = 0
            known &= step[places] == keys if len(step) else False
            codes = places.astype(np.uint64)
        if not len(self.rows):
            return
        found = np.flatnonzero(known)
        groups = codes[found].astype(np.int64)
        yield from self._pieces(found, groups)

    def _pieces(self, found: NDArray[np.int64], groups: NDArray[np.int64]) -> Iterator[Any]:
        counts = self._counts[groups]
        for start, stop in windows_of(counts, _MAX_ROWS):
            piece = counts[start:stop]
            embeddings = np.repeat(found[start:stop], piece)
            inside = places_in_runs(piece)
            firsts = np.repeat(self._starts[groups[start:stop]], piece)
            yield self.rows[self._order[firsts + inside]], embeddings
