"""Tests of a step, each brought to one column whose value the added one must equal, or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gpugda.match.host_table import HostTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ColumnTest", "StepTest", "column_tests", "passing"]

StepTest: TypeAlias = "tuple[int, int, bool, int | None, int | None]"
_NONE = np.uint32(0xFFFFFFFF)
"""No node and no relationship."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTest:
    """The added node, or relationship, equals a column's value, or differs from it.

    Args:
        of_node: Which is added?
        equal: Must it be equal?
        values: The column, of all rows.
        column: Its number, if it is one of the table.
    """

    of_node: bool
    equal: bool
    values: NDArray[np.uint32]
    column: int | None = None


def passing(tests: Sequence[StepTest], table: HostTable) -> HostTable:
    """The rows that pass those tests which ask nothing of what is added."""
    found = np.ones(table.row_count, dtype=np.bool_)
    for test in tests:
        added, known = _parts(test, table)
        if not added:
            found &= known == test[2]
    if found.all():
        return table
    return HostTable(tuple(each[found] for each in table.columns), int(found.sum()))


def column_tests(tests: Sequence[StepTest], table: HostTable) -> list[ColumnTest]:
    """What entries have to pass beside.

    Of two pairs that must not both be equal, one is known for each row, or both ask for what is
    added: then it can be both only where these columns are equal.
    """
    found = []
    for test in tests:
        added, known = _parts(test, table)
        if added:
            found.append(_column_test(test[2], added, known, table))
    return found


def _column_test(
    equal: bool, added: list[tuple[bool, int]], known: NDArray[np.bool_], table: HostTable
) -> ColumnTest:
    of_node, number = added[0]
    values = table.columns[number]
    if len(added) == 1 and known.all():
        return ColumnTest(of_node, equal, values, number)
    for _, other in added[1:]:
        known = known & (values == table.columns[other])
    return ColumnTest(of_node, equal, np.where(known, values, _NONE))


def _parts(test: StepTest, table: HostTable) -> tuple[list[tuple[bool, int]], NDArray[np.bool_]]:
    """Columns that pairs compare with what is added, a node or not; and if others are equal."""
    width = len(table.columns)
    left, right, _, third, fourth = test
    pairs = [(left, right)]
    if third is not None and fourth is not None:
        pairs.append((third, fourth))
    added: list[tuple[bool, int]] = []
    known = np.ones(table.row_count, dtype=np.bool_)
    for low, high in (sorted(pair) for pair in pairs):
        if high < width:
            known &= table.columns[low] == table.columns[high]
        elif low < width:
            added.append((high == width, low))
    return added, known
