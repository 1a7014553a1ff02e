"""Where the rows of a result come from: columns of ours, or the driver's records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import neo4j
    import pyarrow as pa
    from neo4j.graph import Graph

    from gpugda.execute.result_table import ResultTable
    from gpugda.result.arrow_values import EntityForm
    from gpugda.result.frames import FrameColumn

__all__ = ["RowSource"]


class RowSource(Protocol):
    """All rows of an answer, any of them as often as asked for.

    ``start`` and ``stop`` are rows that there are, ``places`` positions of columns, or None for a
    column that there is not.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""

    @property
    def row_count(self) -> int:
        """Number of rows; counts also where there are no columns."""

    @property
    def table(self) -> ResultTable:
        """The rows as columns of ours."""

    def records(self, start: int, stop: int) -> Sequence[neo4j.Record]:
        """The rows as records."""

    def column(self, place: int, start: int, stop: int) -> list[Any]:
        """One value a row, as users shall see it."""

    def values(self, places: Sequence[int | None], start: int, stop: int) -> list[list[Any]]:
        """The rows as lists of some columns."""

    def data(
        self, names: Sequence[str], places: Sequence[int | None], start: int, stop: int
    ) -> list[dict[str, Any]]:
        """The rows as ``neo4j.Record.data`` gives them, with these names for the columns."""

    def graph(self) -> Graph:
        """All nodes and relationships in the rows: those that the records hold."""

    def plain_blocks(self, start: int, stop: int) -> Iterator[list[tuple[Any, ...]]]:
        """Rows with `NodeValue`, `RelationshipValue` and `PathValue` instead of neo4j's classes."""

    def arrow(self, start: int, form: EntityForm, dictionary_strings: bool) -> pa.Table:
        """The rows from ``start`` on; see ``Result.to_arrow``."""

    def frame_columns(self, start: int) -> list[FrameColumn]:
        """The rows from ``start`` on, as pandas shall get them."""
