"""Makes a result table from rows of plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.execute.result_table import ResultTable
from gpugda.expressions.computed_columns import column_of, object_column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph

__all__ = ["column_of", "object_column", "table_from_rows"]


def table_from_rows(
    names: Sequence[str], rows: Sequence[Sequence[Any]], graph: DataGraph
) -> ResultTable:
    """The rows as a table of columns.

    Args:
        names: Names of the columns.
        rows: Python values with None for null; nodes and relationships are ``Entity``.
        graph: The data graph of the entities.
    """
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    return ResultTable(
        tuple(names), tuple(column_of(list(column)) for column in columns), len(rows), graph
    )
