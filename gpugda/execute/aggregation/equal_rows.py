"""Deduplicates rows by the columns that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.runs import offsets_of
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.deadline import checked
from gpugda.execute.entry_windows import entries_of
from gpugda.expressions.operands import Constant, Operand, used_codes
from gpugda.values import group_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch

__all__ = ["EqualRows", "distinguishing"]


class EqualRows:
    """Groups the rows of a batch that are bitwise equal in the given columns.

    Values that Cypher calls equal but that are represented differently stay distinct: 1 and 1.0,
    0.0 and -0.0, two NaNs.

    Args:
        batch: The rows.
        names: Columns that are compared.

    Attributes:
        firsts: ``int64``, position of one row of each group.
    """

    def __init__(self, batch: Batch, names: Iterable[str]) -> None:
        codes = np.zeros(batch.row_count, dtype=np.int64)
        for name in names:
            for part in _parts(batch.columns[name]):
                values = np.unique(part, return_inverse=True)[1].reshape(-1)
                codes = codes * (int(values.max(initial=0)) + 1) + values
                codes = np.unique(codes, return_inverse=True)[1].reshape(-1)
        self.firsts: NDArray[np.int64]
        self.firsts = np.unique(codes, return_index=True)[1].astype(np.int64)
        self._order = np.argsort(codes, kind="stable")
        self._bounds = offsets_of(codes, len(self.firsts))

    def rows_of(self, groups: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """For groups given by number: positions in ``groups``, and the rows of each."""
        places, entries = entries_of(self._bounds, groups)
        return places, self._order[entries]


def distinguishing(operand: Operand) -> Operand:
    """Values that differ where the operand's do, also where Cypher calls these equal: 1 and 1.0.

    For operands of expressions that show the difference, as `toString` does.
    """
    if isinstance(operand, Constant):
        return operand
    if operand.kind is ColumnKind.FLOAT:
        bits = np.ascontiguousarray(operand.values, dtype=np.float64).view(np.int64)
        return Column(ColumnKind.INTEGER, bits, operand.valid)
    if operand.kind is not ColumnKind.OBJECT or not operand.dictionary:
        return operand
    used, places = used_codes(operand.values, len(operand.dictionary))
    numbers: dict[Any, int] = {}
    values = operand.dictionary.values(used.astype(np.int32))
    codes = [numbers.setdefault(_form(value), len(numbers)) for value in checked(values)]
    return Column(ColumnKind.INTEGER, np.array(codes, dtype=np.int64)[places], operand.valid)


def _form(value: Any) -> Any:
    """A key that differs between an integer and a float, and between zeros, at any depth."""
    if isinstance(value, float):
        return "float", value.hex()
    if isinstance(value, list):
        return ("list", *map(_form, value))
    if isinstance(value, dict):
        return ("map", *((key, _form(each)) for key, each in value.items()))
    return type(value), group_key(value)


def _parts(operand: Operand) -> list[NDArray[np.int64]]:
    """Integer arrays that are equal exactly where the values are bitwise equal."""
    if isinstance(operand, Constant):
        return []
    values = operand.values
    if values.dtype.kind == "f":
        values = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    found = values.astype(np.int64)
    if operand.valid is None:
        return [found]
    return [np.where(operand.valid, found, 0), operand.valid.astype(np.int64)]
