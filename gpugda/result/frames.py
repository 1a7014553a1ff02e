"""Results as pandas data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError
from gpugda.graph.columns import Column, ColumnKind

if TYPE_CHECKING:
    import pandas as pd

    from gpugda.result.result import Result

__all__ = ["data_frame"]


def data_frame(result: Result, *, expand: bool, parse_dates: bool) -> pd.DataFrame:
    """The rest of a result as a data frame, see ``Result.to_df``.

    Raises:
        ConfigurationError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise ConfigurationError(
            "to_df() needs pandas, which is not installed: pip install gpugda[pandas]"
        ) from error
    frame = _expanded(result, pd) if expand else _plain(result, pd)
    if parse_dates:
        frame = _with_timestamps(frame, pd)
    return frame


def _plain(result: Result, pd: Any) -> pd.DataFrame:
    table = result.table
    rows = result.values()
    start = table.row_count - len(rows)
    columns = [
        _series(column, start, [row[place] for row in rows], pd)
        for place, column in enumerate(table.columns)
    ]
    frame: pd.DataFrame = pd.concat(columns, axis=1) if columns else pd.DataFrame()
    frame.columns = pd.Index(table.names, dtype=object)
    return frame


def _series(column: Column, start: int, values: list[Any], pd: Any) -> Any:
    # Nullable integers: as floats, which pandas would choose, large ones would be other numbers.
    if column.kind is ColumnKind.INTEGER:
        return pd.Series(values, dtype="int64" if column.valid is None else "Int64")
    if column.kind is ColumnKind.FLOAT:
        return pd.Series(values, dtype="float64")
    if column.kind in (ColumnKind.STRING, ColumnKind.BOOLEAN):
        return pd.Series(values)
    return pd.Series(values, dtype=object)


# ------------------------------------------------------------------ one column per part
def _expanded(result: Result, pd: Any) -> pd.DataFrame:
    rows = []
    for record in result:
        row: dict[str, Any] = {}
        for key, value in zip(result.table.names, record, strict=True):
            _spread(value, _escaped(key), row)
        rows.append(row)
    if rows:
        return pd.DataFrame(rows)  # type: ignore[no-any-return]  # pandas comes in untyped, so that it stays optional
    return pd.DataFrame(columns=[_escaped(key) for key in result.table.names])  # type: ignore[no-any-return]  # as above


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
def _with_timestamps(frame: pd.DataFrame, pd: Any) -> pd.DataFrame:
    for place, name in enumerate(frame.columns):
        values = list(frame.iloc[:, place])
        if pd.api.types.is_object_dtype(frame.dtypes.iloc[place]) and _only_dates(values):
            frame = frame.assign(**{name: [_timestamp(value, pd) for value in values]})
    return frame


def _only_dates(values: list[Any]) -> bool:
    from neo4j.time import Date, DateTime

    some = [value for value in values if value is not None]
    return bool(some) and all(isinstance(value, DateTime | Date) for value in some)


def _timestamp(value: Any, pd: Any) -> Any:
    if value is None:
        return pd.NaT
    zone = getattr(value, "tzinfo", None)
    if zone is None:
        return pd.Timestamp(value.iso_format())
    from datetime import UTC

    return pd.Timestamp(value.astimezone(UTC).iso_format()).tz_convert(zone)
