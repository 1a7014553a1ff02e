"""Where the rows of a result come from: columns of ours, or the driver's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import neo4j
    import pyarrow as pa
    from neo4j.graph import Graph

    from gpugda.execute.result_table import ResultTable
    from gpugda.result.arrow_values import EntityForm

__all__ = ["RowSource"]


class RowSource(Protocol):
    """All rows of an answer, any of them as often as asked for."""

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""

    @property
    def row_count(self) -> int:
        """Number of rows; counts also where there are no columns."""

    @property
    def table(self) -> ResultTable:
        """The rows as columns of ours."""

    def block(self, start: int) -> Sequence[tuple[Any, ...]]:
        """Rows from ``start`` on, at least that one, as users shall see their values."""

    def record_maker(self) -> Callable[[tuple[Any, ...]], neo4j.Record]:
        """What makes a record of a row of a block."""

    def graph(self) -> Graph:
        """All nodes and relationships in the rows: those that the blocks hold."""

    def plain_blocks(self, start: int, stop: int) -> Iterator[list[tuple[Any, ...]]]:
        """Rows with `NodeValue`, `RelationshipValue` and `PathValue` instead of neo4j's classes."""

    def arrow(self, start: int, form: EntityForm, dictionary_strings: bool) -> pa.Table:
        """The rows from ``start`` on; see ``Result.to_arrow``."""

    def pandas_types(self, start: int) -> list[str | None]:
        """The dtype of each column from row ``start`` on; None where pandas shall choose."""
