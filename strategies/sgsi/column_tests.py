"""Reduces each test of a step to one column that the added value must equal, or differ from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gpugda.match.fetching import HostTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ColumnTest", "StepTest", "column_tests", "passing"]

StepTest: TypeAlias = "tuple[int, int, bool, int | None, int | None]"
_NONE = np.uint32(0xFFFFFFFF)
"""No node and no relationship."""


@dataclass(frozen=True, slots=True, eq=False)
class ColumnTest:
    """A test that the added node or relationship equals a column's value, or differs from it.

    Args:
        of_node: True if a node is added, False for a relationship.
        equal: True if the values must be equal.
        values: The column, for all rows.
        column: Its number, if it is a column of the table.
    """

    of_node: bool
    equal: bool
    values: NDArray[np.uint32]
    column: int | None = None


def passing(tests: Sequence[StepTest], table: HostTable) -> HostTable:
    """The rows that pass the tests that do not involve the added value."""
    found = np.ones(table.row_count, dtype=np.bool_)
    for test in tests:
        added, known = _parts(test, table)
        if not added:
            found &= known == test[2]
    if found.all():
        return table
    return HostTable(tuple(each[found] for each in table.columns), int(found.sum()))


def column_tests(tests: Sequence[StepTest], table: HostTable) -> list[ColumnTest]:
    """The remaining tests, which entries must pass.

    For a test that two pairs are not both equal, either one pair is known for each row, or both
    involve the added value: then both can only be equal where their columns are equal.
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
    """Columns compared with the added value (True: a node), and whether other pairs are equal."""
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
