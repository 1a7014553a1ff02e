"""Interface to the rows of a result: columns of gpugda, or records of the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import neo4j
    import pyarrow as pa
    from neo4j.graph import Graph

    from gpugda.execute.result_table import ResultTable
    from gpugda.result.arrow import EntityForm
    from gpugda.result.frames import FrameColumn

__all__ = ["RowSource"]


class RowSource(Protocol):
    """All rows of a result; each may be read any number of times.

    ``start`` and ``stop`` are within the rows; ``places`` are positions of columns, with None for a
    column that does not exist.
    """

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def row_count(self) -> int:
        """Number of rows, also if there are no columns."""

    @property
    def table(self) -> ResultTable:
        """The rows as columns of gpugda."""

    def records(self, start: int, stop: int) -> Sequence[neo4j.Record]:
        """The rows as records."""

    def column(self, place: int, start: int, stop: int) -> list[Any]:
        """One value per row, as users get it."""

    def values(self, places: Sequence[int | None], start: int, stop: int) -> list[list[Any]]:
        """The rows as lists with the values of these columns."""

    def data(
        self, names: Sequence[str], places: Sequence[int | None], start: int, stop: int
    ) -> list[dict[str, Any]]:
        """The rows as ``neo4j.Record.data`` gives them, with these names for the columns."""

    def graph(self) -> Graph:
        """All nodes and relationships of the rows, the same objects as in the records."""

    def plain_blocks(self, start: int, stop: int) -> Iterator[list[tuple[Any, ...]]]:
        """Rows with `NodeValue`, `RelationshipValue` and `PathValue` instead of neo4j's classes."""

    def arrow(self, start: int, form: EntityForm, dictionary_strings: bool) -> pa.Table:
        """The rows from ``start`` on; see ``Result.to_arrow``."""

    def frame_columns(self, start: int) -> list[FrameColumn]:
        """The rows from ``start`` on, as columns for pandas."""
