"""Runs queries in threads, and holds their results while clients read them."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from gpugda.deadline import FAR_SECONDS, cancelled_by
from gpugda.serve.messages import facts_of_gpugda, told
from gpugda.serve.records import RecordWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gpugda.accelerator import Accelerator
    from gpugda.deadline import Cancellation
    from gpugda.result.result import Result
    from gpugda.serve.framing import Version
    from gpugda.serve.messages import NoticeFilter
    from gpugda.types import Engine

__all__ = ["Answer", "Workers", "answer_on_graph"]

_FIRST_ROWS = 250
_BLOCK_BYTES = 1 << 20
_MOST_ROWS = 16_000


class Workers:
    """Threads for queries.

    Args:
        count: Number of queries that run at a time; more wait.
    """

    def __init__(self, count: int) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix="gpugda-serve")

    def start(
        self, work: Cancellation, function: Callable[..., Any], *arguments: Any
    ) -> asyncio.Future[Any]:
        """Calls a function in a thread. A cancelled call ends at its next check of the time."""

        def call() -> Any:
            with cancelled_by(lambda: work.cancelled):
                return function(*arguments)

        return asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        """Starts no more work."""
        self._pool.shutdown(wait=False, cancel_futures=True)


class Answer:
    """A result while a client reads it.

    Args:
        result: The rows.
        version: The client's version of Bolt.
        utc: See `Packer`.
        wanted: The client's choice of notifications.
        plan: ``{"plan": …}`` or ``{"profile": …}``, if the query asked for it.
    """

    def __init__(
        self,
        result: Result,
        version: Version,
        *,
        utc: bool,
        wanted: NoticeFilter,
        plan: Mapping[str, Any],
    ) -> None:
        self.summary = result.summary
        self._version = version
        self._wanted = wanted
        self._plan = plan
        self._writer = RecordWriter(result.table, utc=utc, element_ids=version >= (5, 0))
        self._position = 0
        self._row_count = result.row_count
        self._block_rows = _FIRST_ROWS
        self._seconds = 0.0
        self.fields = list(result.keys())
        self.qid = 0

    @property
    def has_more(self) -> bool:
        """True if there are unread rows."""
        return self._position < self._row_count

    @property
    def milliseconds(self) -> int:
        """Time until the first row could be read."""
        return round(self.summary.timings.get("total", 0.0) * 1000)

    def skip(self, count: int) -> None:
        """Skips so many rows; all if that is negative."""
        self._position = self._end(count)

    def block(self, end: int) -> bytes:
        """The next records up to a row, as many as make a block."""
        started = time.perf_counter()
        stop = min(end, self._position + self._block_rows)
        data = self._writer.block(self._position, stop)
        rows = max(1, stop - self._position)
        per_row = max(1, len(data) // rows)
        self._block_rows = min(_MOST_ROWS, 4 * self._block_rows, 1 + _BLOCK_BYTES // per_row)
        self._position = stop
        self._seconds += time.perf_counter() - started
        return data

    def end_of(self, count: int) -> int:
        """The row after the next ``count`` rows; the last for a negative number."""
        return self._end(count)

    def is_before(self, row: int) -> bool:
        """True if rows before this one are unread."""
        return self._position < row

    def metadata(self) -> dict[str, Any]:
        """The metadata after the last row."""
        return {
            "type": "r",
            "t_last": round(self._seconds * 1000),
            **told(self.summary, self._version, self._wanted, ran="plan" not in self._plan),
            **self._plan,
            "gpugda": facts_of_gpugda(self.summary),
        }

    def _end(self, count: int) -> int:
        if count < 0:
            return self._row_count
        return min(self._row_count, self._position + count)


def answer_on_graph(
    accelerator: Accelerator,
    text: str,
    parameters: Mapping[str, Any],
    timeout: float | None,
    engine: Engine,
) -> tuple[Result, dict[str, Any]]:
    """Runs a query on an embedded graph: the result, and the plan if the query asks for it."""
    result = accelerator.run(text, parameters, engine=engine, timeout=timeout or FAR_SECONDS)
    return result, result.summary.plans
