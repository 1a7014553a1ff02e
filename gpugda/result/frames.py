"""Results as pandas data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

__all__ = ["data_frame", "type_of_values"]


def data_frame(
    names: Sequence[str],
    types: Sequence[str | None],
    rows: list[list[Any]],
    *,
    expand: bool,
    parse_dates: bool,
) -> pd.DataFrame:
    """A data frame, see ``Result.to_df``.

    Args:
        names: Of the columns.
        types: A dtype per column, None where pandas shall choose.
        rows: The values.
        expand: As there.
        parse_dates: As there.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise ConfigurationError(
            "to_df() needs pandas, which is not installed: pip install gpugda[pandas]"
        ) from error
    frame = _expanded(names, rows, pandas) if expand else _plain(names, types, rows, pandas)
    if parse_dates:
        frame = _with_timestamps(frame, pandas)
    return frame


def type_of_values(values: Sequence[Any]) -> str | None:
    """A dtype that changes none of the values, None where pandas' own choice does not."""
    # Left to itself, pandas would make integers floats where a value is missing or a float is near.
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {int}:
        return "Int64" if None in values else "int64"
    if kinds == {float}:
        return "float64"
    return None if kinds <= {str} or kinds <= {bool} else "object"


def _plain(
    names: Sequence[str], types: Sequence[str | None], rows: list[list[Any]], pandas: Any
) -> pd.DataFrame:
    columns = [
        pandas.Series([row[place] for row in rows], dtype=each) for place, each in enumerate(types)
    ]
    frame: Any = pandas.concat(columns, axis=1) if columns else pandas.DataFrame()
    frame.columns = pandas.Index(names, dtype=object)
    return cast("pd.DataFrame", frame)


# ------------------------------------------------------------------ one column per part
def _expanded(names: Sequence[str], rows: list[list[Any]], pandas: Any) -> pd.DataFrame:
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
def _with_timestamps(frame: pd.DataFrame, pandas: Any) -> pd.DataFrame:
    for place, name in enumerate(frame.columns):
        values = list(frame.iloc[:, place])
        if pandas.api.types.is_object_dtype(frame.dtypes.iloc[place]) and _only_dates(values):
            frame = frame.assign(**{name: [_timestamp(value, pandas) for value in values]})
    return frame


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
