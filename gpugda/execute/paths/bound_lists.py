"""Paths that follow lists of relationships already bound in the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.expressions.operands import distinct_values
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.execute.batch import Batch
    from gpugda.execute.paths.trails import Level

__all__ = ["follows_bound_list"]

_NONE = -1


def follows_bound_list(batch: Batch, name: str) -> Callable[[Level], NDArray[np.bool_]]:
    """A test that keeps the paths that are a prefix of their row's list of relationships.

    Args:
        batch: The rows.
        name: Name of the list column.
    """
    places, values = distinct_values(batch.columns[name], batch.row_count)
    lists = [_indexes(each) for each in values]
    longest = max((len(each) for each in lists), default=0)
    expected = np.full((len(lists), longest + 1), _NONE, dtype=np.int64)
    for number, indexes in enumerate(lists):
        expected[number, : len(indexes)] = indexes

    def keeps(level: Level) -> NDArray[np.bool_]:
        length = level.relationships.shape[1]
        if length == 0 or length > longest:
            return np.full(len(level.rows), length == 0)
        found: NDArray[np.bool_] = (
            expected[places[level.rows], length - 1] == level.relationships[:, length - 1]
        )
        return found

    return keeps


def _indexes(value: Any) -> list[int]:
    """Relationship indexes of a list; other values match no path."""
    if not isinstance(value, list):
        return []
    return [
        each.index if isinstance(each, Entity) and not each.is_node else _NONE for each in value
    ]
