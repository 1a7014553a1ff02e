"""An accelerated result with the interface of ``neo4j.AsyncResult``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import neo4j

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from neo4j.graph import Graph

    from gpugda.result.result import Result

__all__ = ["AsyncAcceleratedResult"]


class AsyncAcceleratedResult:
    """The methods of a `Result` as coroutines; those that read all rows run in a thread.

    Args:
        result: The result.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    @property  # type: ignore[misc] # read by isinstance
    def __class__(self) -> type:
        return neo4j.AsyncResult

    @property
    def summary(self) -> Any:
        """See `Result.summary`."""
        return self._result.summary

    def keys(self) -> Any:
        """See `Result.keys`."""
        return self._result.keys()

    def closed(self) -> bool:
        """See `Result.closed`."""
        return self._result.closed()

    async def consume(self) -> Any:
        """See `Result.consume`."""
        return self._result.consume()

    async def __aiter__(self) -> AsyncIterator[neo4j.Record]:
        for record in self._result:
            yield record

    async def __anext__(self) -> neo4j.Record:
        try:
            return next(self._result)
        except StopIteration:
            raise StopAsyncIteration from None

    async def peek(self) -> neo4j.Record | None:
        """See `Result.peek`."""
        return self._result.peek()

    async def fetch(self, n: int) -> list[neo4j.Record]:
        """See `Result.fetch`."""
        return await asyncio.to_thread(self._result.fetch, n)

    async def single(self, strict: bool = False) -> neo4j.Record | None:
        """See `Result.single`."""
        return self._result.single(strict)

    async def value(self, key: int | str = 0, default: Any = None) -> list[Any]:
        """See `Result.value`."""
        return await asyncio.to_thread(self._result.value, key, default)

    async def values(self, *keys: int | str) -> list[list[Any]]:
        """See `Result.values`."""
        return await asyncio.to_thread(self._result.values, *keys)

    async def data(self, *keys: int | str) -> list[dict[str, Any]]:
        """See `Result.data`."""
        return await asyncio.to_thread(self._result.data, *keys)

    async def graph(self) -> Graph:
        """See `Result.graph`."""
        return await asyncio.to_thread(self._result.graph)

    async def to_df(self, expand: bool = False, parse_dates: bool = False) -> pd.DataFrame:
        """See `Result.to_df`."""
        return await asyncio.to_thread(self._result.to_df, expand, parse_dates)

    async def to_arrow(self, *args: Any, **kwargs: Any) -> pa.Table:
        """See `Result.to_arrow`."""
        return await asyncio.to_thread(self._result.to_arrow, *args, **kwargs)

    async def to_polars(self, *args: Any, **kwargs: Any) -> pl.DataFrame:
        """See `Result.to_polars`."""
        return await asyncio.to_thread(self._result.to_polars, *args, **kwargs)

    async def to_eager_result(self) -> neo4j.EagerResult:
        """See `Result.to_eager_result`."""
        return await asyncio.to_thread(self._result.to_eager_result)

    def __repr__(self) -> str:
        return repr(self._result)
