"""An accelerated result with the interface of ``neo4j.Result``."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import neo4j

from gpugda.errors import ConfigurationError
from gpugda.garbage import collections_rare
from gpugda.result.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

    from gpugda.result.summary import Summary


__all__ = ["AcceleratedResult", "AcceleratedSummary"]


class AcceleratedSummary(neo4j.ResultSummary):
    """A ``neo4j.ResultSummary``; attributes that it lacks come from `Summary`.

    Args:
        ours: The summary of the run on the device.
        keys: Names of the columns.
    """

    def __init__(self, ours: Summary, keys: list[str]) -> None:
        theirs = ours.for_driver
        theirs.metadata["fields"] = keys
        make: Callable[..., None] = super().__init__  # its types are those of a server's answer
        make(None, theirs._had_key, theirs._had_record, theirs.metadata)
        self._ours = ours

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # the driver checks for cached values
            raise AttributeError(name)
        return getattr(self._ours, name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(n for n in dir(self._ours) if not n.startswith("_"))})

    def __str__(self) -> str:
        return str(self._ours)


_UNCHANGED = ("int64", "float64")
"""The dtypes that pandas itself chooses for columns of numbers without nulls."""


class AcceleratedResult(Result):
    """A `Result` that behaves like the driver's wherever gpugda's own differs.

    For ``isinstance``, it is a ``neo4j.Result``, and its summary is a ``neo4j.ResultSummary``.
    """

    _final_summary: AcceleratedSummary | None = None

    @classmethod
    def of(cls, result: Result) -> AcceleratedResult:
        """Makes a result with the same rows and summary; no rows of ``result`` may be read yet."""
        return cls(result._rows, result._summary)

    @property  # type: ignore[misc] # read by isinstance
    def __class__(self) -> type:
        return neo4j.Result

    @property
    def summary(self) -> Any:
        """The `AcceleratedSummary`. Reading it does not consume the rows."""
        # Times grow until the result is consumed, so it is only stored then.
        return self._final_summary or AcceleratedSummary(self._summary, self.keys())

    def consume(self) -> Any:
        """Drops the unread rows and returns the summary."""
        super().consume()
        self._final_summary = self.summary
        return self._final_summary

    def keys(self) -> Any:
        """The names of the columns: a list, as from the driver, despite its annotation."""
        return list(self._rows.names)

    def to_df(self, expand: bool = False, parse_dates: bool = False) -> pd.DataFrame:
        """Like the driver's method: with pandas' own dtypes, so integers with nulls become floats.

        Raises:
            ConfigurationError: pandas is not installed.
        """
        self._check_open()
        try:
            import pandas
        except ImportError as error:
            raise ConfigurationError(
                "to_df() needs pandas, which is not installed: pip install gpugda[pandas]"
            ) from error
        if expand or parse_dates or self._position == self._row_count:
            return _frame_by_driver(self, expand, parse_dates)
        with self._timed(), collections_rare():
            columns = self._rows.frame_columns(self._position)
        self._take_rest()
        series = [
            pandas.Series(each, dtype=_dtype(each, name), copy=True) for each, name in columns
        ]
        frame: Any = pandas.concat(series, axis=1)
        frame.columns = pandas.Index(self.keys())
        made: pd.DataFrame = frame
        return made


def _dtype(values: Any, name: str | None) -> Any:
    """The dtype of an array of numbers without nulls; None for others, so that pandas chooses."""
    return name if name in _UNCHANGED and not isinstance(values, list) else None


class _Rows:
    """The interface that the driver's ``to_df`` needs of a result."""

    def __init__(self, result: Result) -> None:
        self._keys = result.keys()
        self._result = result

    def values(self) -> list[list[Any]]:
        return self._result.values()

    def __iter__(self) -> Iterator[neo4j.Record]:
        return iter(self._result)


def _frame_by_driver(result: Result, expand: bool, parse_dates: bool) -> pd.DataFrame:
    to_df: Callable[..., pd.DataFrame] = inspect.unwrap(neo4j.Result.to_df)
    return to_df(_Rows(result), expand, parse_dates)
