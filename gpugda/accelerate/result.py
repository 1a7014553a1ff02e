"""An accelerated result, used as ``neo4j.Result`` is."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

import neo4j

from gpugda.accelerate.summary import AcceleratedSummary
from gpugda.errors import ConfigurationError
from gpugda.garbage import collection_paused
from gpugda.result.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

__all__ = ["AcceleratedResult"]

_UNCHANGED = ("int64", "float64")
"""What pandas itself chooses for columns of such numbers without nulls."""


class AcceleratedResult(Result):
    """A `Result` that does as the driver's also where gpugda's own does otherwise.

    ``isinstance`` takes it for ``neo4j.Result``, and its summary is a ``neo4j.ResultSummary``.
    """

    _told: AcceleratedSummary | None = None

    @classmethod
    def of(cls, result: Result) -> AcceleratedResult:
        """The same rows and summary; nothing has been read of the result."""
        return cls(result._rows, result._summary)

    @property  # type: ignore[misc] # asked by isinstance
    def __class__(self) -> type:
        return neo4j.Result

    @property
    def summary(self) -> Any:
        """The `AcceleratedSummary`. Asking for it leaves the rows as they are."""
        # Times grow until the result is consumed.
        return self._told or AcceleratedSummary(self._summary, self.keys())

    def consume(self) -> Any:
        """Drops the rows that were not read, and gives the summary."""
        super().consume()
        self._told = self.summary
        return self._told

    def keys(self) -> Any:
        """The names of the columns: a list, as the driver gives it whatever its annotation says."""
        return list(self._rows.names)

    def to_df(self, expand: bool = False, parse_dates: bool = False) -> pd.DataFrame:
        """As the driver's: with pandas' own dtypes, so that integers beside nulls become floats.

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
        with self._timed(), collection_paused():
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
    """The dtype of numbers without nulls, which are an array; pandas chooses for the others."""
    return name if name in _UNCHANGED and not isinstance(values, list) else None


class _Rows:
    """What the driver's ``to_df`` asks of its result."""

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
