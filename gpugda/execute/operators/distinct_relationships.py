"""Enforces relationship isomorphism between parts of a MATCH that were found separately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.data.runs import places_in_runs
from gpugda.data.unique_values import unique_values
from gpugda.execute.operator import Operator
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import as_column, distinct_values
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch
    from gpugda.execute.context import ExecutionContext

__all__ = ["DistinctRelationships"]

_MAX_COMPARED = 32
"""Up to this many pairs of positions are compared directly; beyond, values are sorted."""

_NONE_LEFT, _NONE_RIGHT = -1, -2


class DistinctRelationships(Operator):
    """Returns the rows in which no relationship occurs in both columns of a pair.

    Args:
        child: Input rows.
        pairs: Pairs of columns of relationships or lists of relationships.
    """

    def __init__(self, child: Operator, pairs: tuple[tuple[str, str], ...]) -> None:
        self.children = (child,)
        self.columns = child.columns
        self.pairs = pairs

    def _batches(self, context: ExecutionContext) -> Iterator[Batch]:
        count = context.graph.relationship_count
        for batch in self.children[0].batches(context):
            for one, two in self.pairs:
                shared = _sharing(batch, one, two, count)
                if len(shared):
                    apart = np.ones(batch.row_count, dtype=np.bool_)
                    apart[shared] = False
                    batch = batch.kept(np.flatnonzero(apart))
            yield batch

    def describe(self) -> str:
        """Describes the number of pairs."""
        return f"different relationships in {len(self.pairs)} pairs of columns"


def _sharing(batch: Batch, one: str, two: str, count: int) -> NDArray[np.int64]:
    """Rows in which two columns share a relationship."""
    left, right = (_lists(as_column(batch.columns[n], batch.row_count)) for n in (one, two))
    if left.longest * right.longest <= _MAX_COMPARED:
        found = np.zeros(batch.row_count, dtype=np.bool_)
        others = [right.at(place, _NONE_RIGHT) for place in range(right.longest)]
        for place in range(left.longest):
            own = left.at(place, _NONE_LEFT)
            for other in others:
                found |= own == other
        return np.flatnonzero(found)
    # Encode row and relationship as one number.
    own, other = (each.rows() * count + each.every() for each in (left, right))
    shared: NDArray[np.int64] = unique_values(np.intersect1d(own, other) // count)
    return shared


@dataclass(frozen=True, slots=True, eq=False)
class _Lists:
    """The relationships of each row.

    Args:
        firsts: ``int64`` per row: offset of its first relationship.
        counts: ``int64`` per row: number of relationships.
        indexes: Relationship indexes, ``uint32``.
        longest: Largest count.
    """

    firsts: NDArray[np.int64]
    counts: NDArray[np.int64]
    indexes: NDArray[np.uint32]
    longest: int

    def at(self, place: int, none: int) -> NDArray[np.int64]:
        """The relationship at a position of each row; ``none`` in rows with fewer."""
        found = np.full(len(self.firsts), none, dtype=np.int64)
        rows = np.flatnonzero(self.counts > place)
        found[rows] = self.indexes[self.firsts[rows] + place]
        return found

    def rows(self) -> NDArray[np.int64]:
        """The row of each relationship."""
        found: NDArray[np.int64] = np.repeat(np.arange(len(self.counts)), self.counts)
        return found

    def every(self) -> NDArray[np.int64]:
        """All relationships, row by row."""
        places = np.repeat(self.firsts, self.counts) + places_in_runs(self.counts)
        found: NDArray[np.int64] = self.indexes[places].astype(np.int64)
        return found


def _lists(column: Column) -> _Lists:
    if column.kind is ColumnKind.RELATIONSHIP:
        rows = np.arange(len(column))
        return _Lists(rows, np.ones(len(column), dtype=np.int64), column.values, 1)
    lists = column.dictionary
    if isinstance(lists, ColumnLists) and lists.elements.kind is ColumnKind.RELATIONSHIP:
        offsets, indexes, codes = lists.offsets, lists.elements.values, column.values
    else:
        codes, values = distinct_values(column, len(column))
        found = [[e.index for e in v if isinstance(e, Entity)] if v else [] for v in values]
        offsets = np.cumsum([0, *map(len, found)])
        indexes = np.array([index for each in found for index in each], dtype=np.uint32)
    firsts = offsets[codes]
    counts = offsets[codes + 1] - firsts
    return _Lists(firsts, counts, indexes, int(counts.max(initial=0)))
