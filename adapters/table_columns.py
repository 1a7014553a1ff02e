"""Tables of any library as columns by name, without importing that library."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa

from gpugda.data.values.arrow_numbers import arrow_numbers
from gpugda.data.values.columns import Column, column_from_arrow, column_from_values
from gpugda.data.values.temporal import neo4j_time, zone_name
from gpugda.errors import SourceError
from gpugda.types import value

__all__ = ["TableColumns", "columns_of_rows", "one_array", "open_table"]


@value(frozen=True, slots=True)
class TableColumns:
    """The columns of one table.

    Args:
        origin: Name of the table in messages.
        columns: An Arrow array, or a list of Python values with None for null, per name. Texts may
            be encoded in a dictionary; see `plain`.
        count: The number of rows.
        changeable: True if the caller may change the columns in place, such as NumPy arrays.
        is_text: True if it was read from text, and its columns have no types yet.
    """

    origin: str
    columns: Mapping[str, Any]
    count: int
    changeable: bool = False
    is_text: bool = False

    def required(self, name: str) -> Any:
        """A required column.

        Raises:
            SourceError: It is missing.
        """
        if name in self.columns:
            return self.plain(name)
        lower = {key.lower(): key for key in self.columns}
        close = difflib.get_close_matches(name, lower, n=1)
        hint = f"; did you mean {lower[close[0]]!r}?" if close else ""
        there = ", ".join(map(repr, self.columns)) or "none"
        raise SourceError(f"{self.origin}: has no column {name!r}{hint}; its columns: {there}")

    def plain(self, name: str) -> Any:
        """A column that is there, without a dictionary."""
        raw = self.columns[name]
        return _without_dictionary(raw) if _is_encoded(raw) else raw

    def encoded(self, name: str) -> pa.Array | None:
        """A column of texts that is encoded in one dictionary, without nulls; None for others."""
        raw: Any = self.columns.get(name)
        if not _is_encoded(raw):
            return None
        if isinstance(raw, pa.ChunkedArray):
            raw = one_array(raw.unify_dictionaries())
        return None if raw.null_count or raw.dictionary.null_count else raw

    def property_column(self, name: str) -> Column:
        """A column as a property column.

        Shares the column's memory if that cannot change; see `kept_column`.

        Raises:
            SourceError: Its values cannot be properties.
        """
        try:
            raw = _without_decimals(self.plain(name))
            return column_from_values(raw) if isinstance(raw, list) else column_from_arrow(raw)
        except SourceError as error:
            raise SourceError(f"{self.origin}, column {name!r}: {error}") from error
        except RecursionError:
            raise SourceError(
                f"{self.origin}, column {name!r}: a list within lists cannot be a property"
            ) from None

    def kept_column(self, name: str) -> Column:
        """A column as a property column that is independent of later changes to the table.

        Raises:
            SourceError: Its values cannot be properties.
        """
        column = self.property_column(name)
        if not self.changeable or column.dictionary is not None:
            return column
        return replace(column, values=column.values.copy())

    def with_floats(self) -> TableColumns:
        """The table with floats in place of decimal numbers that are no integers of 64 bits."""
        columns = {name: _without_decimals(raw, floats=True) for name, raw in self.columns.items()}
        return replace(self, columns=columns)


def open_table(table: Any, origin: str) -> TableColumns:
    """The columns of a data frame, an Arrow table, or a mapping of columns.

    Raises:
        SourceError: It is none of these, or a column's name or length is wrong.
    """
    columns = _columns(table, origin)
    for name, _ in columns:
        if not isinstance(name, str):
            raise SourceError(f"{origin}: the column name {name!r} is no text; rename it")
    for name, count in Counter(name for name, _ in columns).items():
        if count > 1:
            raise SourceError(f"{origin}: {count} columns are named {name!r}; rename or drop one")
    lengths = {name: len(values) for name, values in columns}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise SourceError(f"{origin}: the columns have different lengths: {shown}")
    changeable = isinstance(table, Mapping) or _is_pandas(table, "DataFrame")
    return TableColumns(origin, dict(columns), next(iter(lengths.values()), 0), changeable)


def columns_of_rows(rows: Sequence[Mapping[Any, Any]]) -> dict[Any, list[Any]]:
    """A list per name in rows, in order of first appearance, with None for missing values."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def _columns(table: Any, origin: str) -> list[tuple[Any, Any]]:
    if isinstance(table, Mapping):
        return [(name, _column(values, origin, name)) for name, values in table.items()]
    if _is_pandas(table, "DataFrame"):
        series = [table.iloc[:, place] for place in range(table.shape[1])]
        return [
            (name, _pandas_column(column, origin, name))
            for name, column in zip(table.columns, series, strict=True)
        ]
    if isinstance(table, (pa.Table, pa.RecordBatch)):
        return _arrow_columns(table)
    for name in _LOADING:
        if not hasattr(table, "__arrow_c_stream__") and hasattr(table, name):
            return _columns(getattr(table, name)(), origin)
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "__arrow_c_array__"):
        try:
            return _arrow_columns(pa.table(table))
        except (pa.ArrowException, NotImplementedError, TypeError, ValueError) as error:
            raise SourceError(f"{origin}: cannot be read as Arrow columns: {error}") from error
        except BaseException as error:
            # For types that Arrow lacks (objects), Polars panics, which is no Exception.
            if type(error).__name__ != "PanicException":
                raise
            raise SourceError(f"{origin}: has a column of a type that Arrow lacks") from error
    raise SourceError(
        f"{origin}: a {type(table).__module__}.{type(table).__qualname__} is no table; give a data "
        "frame of pandas or Polars, an Arrow table, a dict of columns, or a list of dicts"
    )


_LOADING = ("to_table", "to_pyarrow", "toArrow", "collect")
"""Methods that load a table which is not in memory: of Arrow, Ibis, Spark and Polars."""


def _arrow_columns(table: Any) -> list[tuple[Any, Any]]:
    columns = zip(table.schema.names, table.columns, strict=True)
    return [(name, _plain_arrow(column)) for name, column in columns]


def _plain_arrow(column: Any) -> Any:
    """Converts views, and dictionaries of other values than texts, to their plain type."""
    kind = column.type
    if pa.types.is_dictionary(kind) and pa.types.is_string_view(kind.value_type):
        return _without_views(column)  # Polars' categories
    if pa.types.is_dictionary(kind) and not _is_encoded(column):
        column = column.cast(kind.value_type)
        kind = column.type
    if pa.types.is_string_view(kind):
        column = column.cast(pa.large_string())
    return column


def _without_views(column: Any) -> Any:
    if isinstance(column, pa.ChunkedArray):
        chunks = [_without_views(chunk) for chunk in column.chunks]
        kind = pa.dictionary(column.type.index_type, pa.large_string())
        return pa.chunked_array(chunks, kind)
    texts = column.dictionary.cast(pa.large_string())
    return pa.DictionaryArray.from_arrays(column.indices, texts)


def _without_decimals(column: Any, *, floats: bool = False) -> Any:
    """Decimal numbers as integers if each is one of 64 bits, or as floats if these are asked for.

    Neo4j has no decimal numbers. Databases also return them for sums of integers.

    Raises:
        SourceError: They are no such integers, and floats are not asked for.
    """
    if isinstance(column, list) and Decimal in set(map(type, column)):
        column = _arrow_decimals(column)
    kind = getattr(column, "type", None)
    if kind is None or not pa.types.is_decimal(kind):
        return column
    if floats and kind.scale > 0:
        return column.cast(pa.float64())
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        if floats:
            return column.cast(pa.float64())
    raise SourceError(
        f"has decimal numbers ({kind}), which Neo4j lacks, and not all of them are integers of 64 "
        "bits: cast the column, or take the nearest floats: gpugda.graph(…, decimals='float'), on "
        "the command line --decimals float"
    )


def _arrow_decimals(column: list[Any]) -> Any:
    try:
        return pa.array(column)
    except (pa.ArrowException, TypeError):  # values of other types are among them
        return column


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """The chunks of a column as one array, copied only if necessary."""
    if column.num_chunks == 1:  # Arrow would copy it
        return column.chunk(0)
    whole = column.combine_chunks()
    return pa.concat_arrays(whole.chunks) if isinstance(whole, pa.ChunkedArray) else whole


def _is_encoded(column: Any) -> bool:
    """True for texts in a dictionary, which may take far less memory than the texts."""
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        return False
    kind = column.type
    if not pa.types.is_dictionary(kind):
        return False
    return bool(pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type))


def _without_dictionary(column: Any) -> Any:
    """The texts, which together may be longer than the 2 GB that a ``string`` array can hold."""
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    wide = [
        pa.DictionaryArray.from_arrays(each.indices, each.dictionary.cast(pa.large_string()))
        for each in chunks
    ]
    plain = [each.cast(pa.large_string()) for each in wide]
    return pa.chunked_array(plain, pa.large_string())


def _column(values: Any, origin: str, name: object) -> Any:
    """A column of a mapping."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return _plain_arrow(values)
    if isinstance(values, np.ndarray):
        return _numpy_column(values, origin, name)
    if _is_pandas(values, "Series") or _is_pandas(values, "Index"):
        return _pandas_column(values, origin, name)
    if _is_pandas(values, "api.extensions.ExtensionArray"):
        return _pandas_column(sys.modules["pandas"].Series(values), origin, name)
    if hasattr(values, "__arrow_c_stream__"):
        return _plain_arrow(pa.chunked_array(values))
    if hasattr(values, "__arrow_c_array__"):
        return _plain_arrow(pa.array(values))
    if isinstance(values, (list, tuple, range)):
        return list(values)
    raise SourceError(
        f"{origin}, column {name!r}: a {type(values).__name__} is no column; give a list or an "
        "array with one value a row (rows as dicts: pandas.DataFrame(rows))"
    )


_COARSE_UNITS = ("Y", "M", "W", "D", "h", "m")


def _numpy_column(values: Any, origin: str, name: object) -> Any:
    if values.ndim == 2:
        # NumPy would make other values of times than the driver.
        return list(values) if values.dtype.kind in "mM" else [row.tolist() for row in values]
    if values.ndim != 1:
        raise SourceError(f"{origin}, column {name!r}: has {values.ndim} dimensions instead of 1")
    if values.dtype.kind in "OVS":
        return values.tolist()
    if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] in _COARSE_UNITS:
        values = values.astype("datetime64[s]")  # the driver sends them as local date-times
    if values.dtype.kind == "m":
        return _durations(values)
    if values.dtype.kind in "iu" and values.dtype.isnative:
        return arrow_numbers(values)
    try:
        return pa.array(values)
    except pa.ArrowException:
        return values.tolist()


def _durations(values: Any) -> list[Any]:
    """Seconds and nanoseconds, as the driver sends those of pandas."""
    if np.datetime_data(values.dtype)[0] in ("generic", "Y", "M"):
        return list(values)  # refused: they have no length in seconds
    elapsed = values.astype("timedelta64[ns]")
    missing = np.isnat(values).tolist()
    if not np.all((elapsed.astype(values.dtype) == values) | missing):
        return list(values)  # refused: nanoseconds do not hold them
    make = neo4j_time().Duration
    return [
        None if gone else make(nanoseconds=ticks)
        for ticks, gone in zip(elapsed.astype(np.int64).tolist(), missing, strict=True)
    ]


# ------------------------------------------------------------------ pandas
def _is_pandas(value: Any, name: str) -> bool:
    pandas = sys.modules.get("pandas")  # a pandas value exists only if pandas was imported
    return pandas is not None and isinstance(value, attrgetter(name)(pandas))


def _pandas_column(series: Any, origin: str, name: object) -> Any:
    """A pandas column, with NaN as null where the column's type has no other missing value."""
    if type(series.dtype).__name__ == "SparseDtype":
        series = sys.modules["pandas"].Series(series).sparse.to_dense()
    if _kind_of(series.dtype) == "m":
        return series.tolist()  # Arrow would make days of seconds
    if series.dtype == object:
        missing = series.isna().to_numpy()
        values = series.tolist()
        return [
            None if gone else value for value, gone in zip(values, missing.tolist(), strict=True)
        ]
    try:
        column = pa.Array.from_pandas(series)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise SourceError(f"{origin}, column {name!r}: {series.dtype}: {error}") from error
    return _with_offset(_plain_arrow(column), series.dtype)


def _kind_of(dtype: Any) -> str | None:
    """NumPy's letter for a column's values, or for the values of its categories."""
    return getattr(getattr(getattr(dtype, "categories", None), "dtype", dtype), "kind", None)


def _with_offset(column: Any, dtype: Any) -> Any:
    """Arrow has only zones; this restores the offset 0 for pandas' ``datetime.timezone.utc``."""
    zone = getattr(getattr(dtype, "categories", None), "dtype", dtype)
    zone = getattr(zone, "tz", None)
    if zone is None or zone_name(zone) is not None or column.type.tz != "UTC":
        return column
    return column.cast(pa.timestamp(column.type.unit, "+00:00"))
