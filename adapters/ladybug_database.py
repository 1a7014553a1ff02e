"""Databases of Ladybug and its predecessor Kùzu, exported as Arrow tables."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpugda.errors import ConfigurationError, SourceError

from .tables import TablesSource

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from gpugda.ports import GraphBatches, Progress

__all__ = ["LadybugSource"]

_ID, _SOURCE, _TARGET = "gpugda source id", "gpugda start id", "gpugda end id"


class LadybugSource:
    """All node and relationship tables of a database: a table's name is the label or the type.

    Args:
        database: A connection, a database, or the path of one.

    Raises:
        ConfigurationError: It is a path, and Ladybug is not installed.
        SourceError: The path does not exist.
    """

    def __init__(self, database: Any) -> None:
        self._connection = _connection(database)

    @property
    def name(self) -> str:
        """``Ladybug database``."""
        return "Ladybug database"

    @contextmanager
    def read(self, progress: Progress) -> Iterator[GraphBatches]:
        """Exports one table after the other.

        Raises:
            SourceError: A table cannot be read, or has a column that cannot be a property.
        """
        try:
            nodes, relationships = self._tables()
        except RuntimeError as error:
            raise SourceError(f"{self.name}: cannot be read: {error}") from error
        made = TablesSource(
            nodes, relationships, id=_ID, source=_SOURCE, target=_TARGET, keep_ids=False,
            labels=_ID + "s", type=_ID + " type",
        )  # fmt: skip
        with made.read(progress) as batches:
            yield batches

    def _tables(self) -> tuple[list[Any], list[Any]]:
        kinds = {row["name"]: row["type"] for row in self._rows("CALL show_tables() RETURN *")}
        nodes = [
            (name, self._arrow(f"MATCH (n:{_quoted(name)}) RETURN offset(id(n)) AS `{_ID}`, n.*"))
            for name, kind in kinds.items()
            if kind == "NODE"
        ]
        relationships = [
            pair for name, kind in kinds.items() if kind == "REL" for pair in self._ends(name)
        ]
        return nodes, relationships

    def _ends(self, name: str) -> Iterator[tuple[tuple[str, str, str], pa.Table]]:
        """The relationships of a table by start and end table."""
        text = name.replace("\\", "\\\\").replace("'", "\\'")
        for row in self._rows(f"CALL show_connection('{text}') RETURN *"):
            source, target = row["source table name"], row["destination table name"]
            found = self._arrow(
                f"MATCH (a:{_quoted(source)})-[r:{_quoted(name)}]->(b:{_quoted(target)}) RETURN "
                f"offset(id(a)) AS `{_SOURCE}`, offset(id(b)) AS `{_TARGET}`, r.*"
            )
            yield (source, name, target), found

    def _arrow(self, text: str) -> pa.Table:
        table = self._connection.execute(text).get_as_arrow()
        # The property "name" is returned as "n.name".
        return table.rename_columns(
            [
                name if name.startswith("gpugda ") else name.split(".", 1)[1]
                for name in table.column_names
            ]
        )

    def _rows(self, text: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._connection.execute(text).get_as_arrow().to_pylist()
        return rows


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _connection(database: Any) -> Any:
    if hasattr(database, "execute"):
        return database
    if not isinstance(database, str | Path):
        return importlib.import_module(type(database).__module__.partition(".")[0]).Connection(
            database
        )
    path = Path(database).expanduser()
    if not path.exists():
        raise SourceError(f"{path}: there is no such database")
    try:
        import ladybug
    except ImportError as error:
        raise ConfigurationError(
            "a Ladybug database is read by its own package: pip install ladybug"
        ) from error
    try:
        return ladybug.Connection(ladybug.Database(str(path), read_only=True))
    except RuntimeError as error:
        raise SourceError(f"{path}: cannot be opened: {error}") from error
