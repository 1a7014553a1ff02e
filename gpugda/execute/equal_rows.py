"""Deduplicates rows by the columns that are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.runs import offsets_of
from gpugda.execute.entry_windows import entries_of
from gpugda.expressions.operands import Constant, Operand

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch

__all__ = ["EqualRows"]


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
