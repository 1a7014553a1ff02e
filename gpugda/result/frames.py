"""Results as pandas data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, cast

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["FrameColumn", "data_frame", "expanded_frame", "type_of_values", "with_timestamps"]


FrameColumn: TypeAlias = "tuple[Sequence[Any] | NDArray[Any], str | None]"
"""Values and their dtype; None lets pandas choose."""


def data_frame(names: Sequence[str], columns: Sequence[FrameColumn]) -> pd.DataFrame:
    """A data frame of the columns; their arrays are copied, so that users may change it.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    pandas = _import_pandas()
    series = [pandas.Series(values, dtype=dtype, copy=True) for values, dtype in columns]
    frame: Any = pandas.concat(series, axis=1) if series else pandas.DataFrame()
    frame.columns = pandas.Index(names, dtype=object)
    return cast("pd.DataFrame", frame)


def expanded_frame(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> pd.DataFrame:
    """A data frame with one column per part of nodes, relationships, lists and maps.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    pandas = _import_pandas()
    spread = []
    for row in rows:
        parts: dict[str, Any] = {}
        for key, value in zip(names, row, strict=True):
            _spread(value, _escaped(key), parts)
        spread.append(parts)
    found = list(dict.fromkeys(name for parts in spread for name in parts))
    columns = {}
    for name in found:
        values = [parts.get(name) for parts in spread]
        columns[name] = pandas.Series(values, dtype=type_of_values(values))
    empty = [] if rows else [_escaped(key) for key in names]
    return cast("pd.DataFrame", pandas.DataFrame(columns or {name: [] for name in empty}))


def with_timestamps(frame: pd.DataFrame) -> pd.DataFrame:
    """The frame with pandas timestamps in its columns of dates or datetimes."""
    pandas = _import_pandas()
    for place, name in enumerate(frame.columns):
        values = list(frame.iloc[:, place])
        if pandas.api.types.is_object_dtype(frame.dtypes.iloc[place]) and _only_dates(values):
            frame = frame.assign(**{name: [_timestamp(value, pandas) for value in values]})
    return frame


def type_of_values(values: Sequence[Any]) -> str | None:
    """A dtype that changes none of the values; None if the dtype that pandas chooses does not."""
    # By default pandas converts integers to floats if a value is missing or the column has a float.
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int}:
        return "Int64" if None in values else "int64"
    if kinds == {float}:
        return "float64"
    return None if kinds <= {str} or kinds <= {bool} else "object"


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ConfigurationError(
            "to_df() needs pandas, which is not installed: pip install gpugda[pandas]"
        ) from error
    return pandas


# ------------------------------------------------------------------ one column per part
def _escaped(key: str) -> str:
    return key.replace("\\", "\\\\").replace(".", "\\.")


def _spread(value: Any, name: str, row: dict[str, Any]) -> None:
    from neo4j.graph import Node, Relationship

    if isinstance(value, Node):
        row[f"{name}().element_id"] = value.element_id
        row[f"{name}().labels"] = value.labels
        row.update((f"{name}().prop.{key}", each) for key, each in value.items())
    elif isinstance(value, Relationship):
        row[f"{name}->.element_id"] = value.element_id
        for end, node in zip(("start", "end"), value.nodes, strict=True):
            row[f"{name}->.{end}.element_id"] = None if node is None else node.element_id
        row[f"{name}->.type"] = value.type
        row.update((f"{name}->.prop.{key}", each) for key, each in value.items())
    elif isinstance(value, list):
        for place, each in enumerate(value):
            _spread(each, f"{name}[].{place}", row)
    elif isinstance(value, dict):
        for key, each in value.items():
            _spread(each, f"{name}{{}}.{_escaped(key)}", row)
    else:
        row[name] = value


# ------------------------------------------------------------------ dates
def _only_dates(values: list[Any]) -> bool:
    from neo4j.time import Date, DateTime

    some = [value for value in values if value is not None]
    return bool(some) and all(isinstance(value, DateTime | Date) for value in some)


def _timestamp(value: Any, pandas: Any) -> Any:
    if value is None:
        return pandas.NaT
    zone = getattr(value, "tzinfo", None)
    if zone is None:
        return pandas.Timestamp(value.iso_format())
    from datetime import UTC

    return pandas.Timestamp(value.astimezone(UTC).iso_format()).tz_convert(zone)
