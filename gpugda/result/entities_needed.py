"""Which nodes and relationships a table shows whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import ColumnKind
from gpugda.values import Entity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from gpugda.execute.result_table import ResultTable

__all__ = ["entities_in"]


def entities_in(table: ResultTable) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Distinct node indexes and relationship indexes in the table, also those within lists."""
    nodes, relationships = [np.zeros(0, np.uint32)], [np.zeros(0, np.uint32)]
    for column in table.columns:
        if column.kind is ColumnKind.NODE or column.kind is ColumnKind.RELATIONSHIP:
            found = column.values if column.valid is None else column.values[column.valid]
            (nodes if column.kind is ColumnKind.NODE else relationships).append(np.unique(found))
        elif column.kind is ColumnKind.OBJECT and column.dictionary is not None:
            used = np.unique(column.values).astype(np.int32)
            values = column.dictionary.values(used) if len(column.dictionary) else []
            for entity in _entities(values):
                index = np.array([entity.index], dtype=np.uint32)
                (nodes if entity.is_node else relationships).append(index)
    return np.unique(np.concatenate(nodes)), np.unique(np.concatenate(relationships))


def _entities(value: Any) -> Iterator[Entity]:
    if isinstance(value, Entity):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _entities(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _entities(item)
