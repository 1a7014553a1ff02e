"""A cursor as of Python's database API (PEP 249), for libraries that read from databases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.result.result import Result

__all__ = ["Cursor"]

_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "DOUBLE",
    pa.large_string(): "TEXT",
    pa.bool_(): "BOOLEAN",
}


class Cursor:
    """Runs queries and returns rows of plain values: nodes are dicts, as in `Result.to_arrow`.

    Polars needs it: ``polars.read_database(query, accelerator)``.

    Args:
        run: Runs a query with parameters.
    """

    arraysize = 1

    def __init__(self, run: Callable[[str, Mapping[str, Any] | None], Result]) -> None:
        self._run = run
        self._table: pa.Table = pa.table({})
        self._position = 0

    def execute(self, query: str, parameters: Mapping[str, Any] | None = None) -> Self:
        """Runs a query to completion.

        Raises:
            GpugdaError: What `Accelerator.run` raises.
        """
        self._table = self._run(query, parameters).to_arrow()
        self._position = 0
        return self

    @property
    def description(self) -> list[tuple[Any, ...]]:
        """Name and type of each column, then five times None."""
        return [
            (field.name, _TYPES.get(field.type), None, None, None, None, None)
            for field in self._table.schema
        ]

    @property
    def rowcount(self) -> int:
        """The number of rows of the last query."""
        return int(self._table.num_rows)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """The unread rows."""
        return self.fetchmany(self.rowcount)

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """The next rows, fewer at the end."""
        some = self._table.slice(self._position, self.arraysize if size is None else size)
        self._position += some.num_rows
        return list(zip(*(column.to_pylist() for column in some.columns), strict=True))

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None at the end."""
        return next(iter(self.fetchmany(1)), None)

    def close(self) -> None:
        """Forgets the rows."""
        self._table = pa.table({})
