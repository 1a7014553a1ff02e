"""Relationships of each row, as arrays, and tests whether two parts of a pattern share one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.data.runs import places_in_runs
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.lists import ColumnLists
from gpugda.expressions.operands import distinct_values
from gpugda.types import value
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Avoids: TypeAlias = Callable[[NDArray[np.int64], NDArray[Any]], NDArray[np.bool_]]

__all__ = ["RelationshipLists", "avoiding", "lists_of", "sharing"]

_MAX_COMPARED: Final = 32
"""Up to this many pairs of positions are compared directly; beyond, values are sorted."""

_NONE_LEFT, _NONE_RIGHT = -1, -2


@value(frozen=True, slots=True, eq=False)
class RelationshipLists:
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


def lists_of(column: Column) -> RelationshipLists:
    """The relationships in a column of relationships or of lists of relationships."""
    if column.kind is ColumnKind.RELATIONSHIP:
        rows = np.arange(len(column))
        return RelationshipLists(rows, np.ones(len(column), dtype=np.int64), column.values, 1)
    lists = column.dictionary
    if isinstance(lists, ColumnLists) and lists.elements.kind is ColumnKind.RELATIONSHIP:
        offsets, indexes, codes = lists.offsets, lists.elements.values, column.values
    else:
        codes, values = distinct_values(column, len(column))
        found = [[e.index for e in _listed(v) if isinstance(e, Entity)] for v in values]
        offsets = np.cumsum([0, *map(len, found)])
        indexes = np.array([index for each in found for index in each], dtype=np.uint32)
    firsts = offsets[codes]
    counts = offsets[codes + 1] - firsts
    return RelationshipLists(firsts, counts, indexes, int(counts.max(initial=0)))


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def sharing(left: RelationshipLists, right: RelationshipLists, count: int) -> NDArray[np.int64]:
    """Rows in which both share a relationship.

    Args:
        left: Relationships of each row.
        right: Relationships of the same rows.
        count: Number of relationships of the graph.
    """
    if left.longest * right.longest <= _MAX_COMPARED:
        found = np.zeros(len(left.counts), dtype=np.bool_)
        others = [right.at(place, _NONE_RIGHT) for place in range(right.longest)]
        for place in range(left.longest):
            own = left.at(place, _NONE_LEFT)
            for other in others:
                found |= own == other
        return np.flatnonzero(found)
    is_shared = avoiding([left], count)(right.rows(), right.every())
    return unique_values(right.rows()[~is_shared])


def avoiding(lists: Sequence[RelationshipLists], count: int) -> Avoids:
    """A test of rows and relationships: true where none of the lists of the row has it.

    Args:
        lists: Relationships of each row.
        count: Number of relationships of the graph.
    """
    # Row and relationship are one number.
    keys = [each.rows() * count + each.every() for each in lists]
    known = unique_values(np.concatenate(keys)) if keys else np.zeros(0, dtype=np.int64)

    def fresh(rows: NDArray[np.int64], relationships: NDArray[Any]) -> NDArray[np.bool_]:
        if not len(known):
            return np.ones(len(rows), dtype=np.bool_)
        asked = rows * count + relationships
        places = np.minimum(np.searchsorted(known, asked), len(known) - 1)
        is_fresh: NDArray[np.bool_] = known[places] != asked
        return is_fresh

    return fresh
