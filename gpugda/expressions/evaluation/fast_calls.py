"""Functions of lists of entities and of paths, from their arrays; and of relationships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, ColumnKind
from gpugda.expressions.lists import EntityLists, PathRows
from gpugda.expressions.operands import Evaluated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["fast_call"]


def fast_call(name: str, arguments: Sequence[Evaluated]) -> Evaluated | None:
    """The value of a call that needs no values made; None where there is no such way."""
    if len(arguments) != 1 or not isinstance(arguments[0].operand, Column):
        return None
    column, faults = arguments[0].operand, arguments[0].faults
    make = _WAYS.get((name, type(column.dictionary)))
    return None if make is None else Evaluated(make(column, column.dictionary), faults)


def _relationships(column: Column, paths: PathRows) -> Column:
    lists = EntityLists(paths.offsets, paths.indexes, of_nodes=False)
    return Column(ColumnKind.OBJECT, column.values, column.valid, lists)


def _lengths(column: Column, lists: EntityLists | PathRows) -> Column:
    if not len(lists):
        return Column(ColumnKind.INTEGER, np.zeros(len(column), np.int64), column.valid)
    return Column(ColumnKind.INTEGER, np.diff(lists.offsets)[column.values], column.valid)


_WAYS: dict[tuple[str, type], Callable[[Column, Any], Column]] = {
    ("size", EntityLists): _lengths,
    ("length", PathRows): _lengths,
    ("relationships", PathRows): _relationships,
}
