"""Properties of nodes or relationships, a column per key, by pages of ids."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.columns import Column, column_from_values, concatenate, constant_null
from gpugda.errors import StaleSnapshotError

from .bolt_pages import PageQuery, in_pages, lists_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import neo4j
    from numpy.typing import NDArray

    from gpugda.ports import DatabaseVersion, Progress

    from .bolt_connection import BoltConnection
    from .bolt_pages import Page

__all__ = ["PATTERNS", "read_properties"]

PATTERNS = {
    True: "MATCH (x) WHERE id(x) IN {ids}",
    False: "MATCH ()-[x]->() WHERE id(x) IN {ids}",
}
"""By whether nodes are meant."""

_PAGE = 20_000


def read_properties(
    connection: BoltConnection,
    keys: Sequence[str] | None,
    ids: NDArray[np.int64],
    version: DatabaseVersion | None,
    *,
    of_nodes: bool,
    progress: Progress | None,
) -> Mapping[str, Column]:
    """See `gpugda.ports.DatabaseServer.read_properties`."""
    if progress is not None:
        progress.phase("reading properties", len(ids))
    if keys is not None:
        keys = _existing(connection, keys, version)
        if not keys:
            return {}
    order = np.argsort(ids, kind="stable")
    reader = _Reader(keys)
    query = PageQuery(connection, version, f"{PATTERNS[of_nodes]} {_returned(keys)}", {})
    pages = in_pages(lists_of(ids[order], _PAGE), query.records, connection.sessions)
    with connection.check("reading properties"), closing(pages):
        for page, records in pages:
            reader.add(page, records)
            if progress is not None:
                progress.advance(len(page))
    columns = reader.columns()
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    return {key: column.take(places) for key, column in columns.items()}


def _existing(
    connection: BoltConnection, keys: Sequence[str], version: DatabaseVersion | None
) -> list[str]:
    """Those of the keys that the database has ever used: the others nothing has."""
    from neo4j.exceptions import ClientError, DatabaseError

    text: Any = "CALL db.propertyKeys() YIELD propertyKey RETURN collect(propertyKey) AS known"
    try:
        with connection.session(bookmarks=version) as session:
            known = set(session.run(text).single(strict=True)["known"])
    except (ClientError, DatabaseError):
        return list(keys)  # a server that has no such procedure, or does not let us call it
    return [key for key in keys if key in known]


def _returned(keys: Sequence[str] | None) -> str:
    if keys is None:
        return "RETURN collect(id(x)) AS ids, collect(properties(x)) AS rows"
    # collect() leaves nulls out; a map can be no property, so it can stand for null.
    lists = [
        f"collect(coalesce(x.`{key.replace('`', '``')}`, {{}})) AS `{place}`"
        for place, key in enumerate(keys)
    ]
    return f"RETURN collect(id(x)) AS ids, {', '.join(lists)}"


class _Reader:
    """Puts the pages together."""

    def __init__(self, keys: Sequence[str] | None) -> None:
        self._keys = keys
        self._counts: list[int] = []
        self._pieces: dict[str, list[Column | None]] = {key: [] for key in keys or ()}

    def add(self, page: Page, records: Sequence[neo4j.Record]) -> None:
        """Takes the answer of a page, whose ids rise.

        Raises:
            StaleSnapshotError: An id of it is of nothing any more.
        """
        ids = np.array([number for record in records for number in record["ids"]], dtype=np.int64)
        if len(ids) != len(page):
            raise StaleSnapshotError("The database changed while its properties were read.")
        order = np.argsort(ids, kind="stable").tolist()
        for key, values in self._values(records).items():
            pieces = self._pieces.setdefault(key, [])
            pieces.extend([None] * (len(self._counts) - len(pieces)))
            pieces.append(column_from_values([values[place] for place in order]))
        self._counts.append(len(ids))

    def columns(self) -> dict[str, Column]:
        """The columns of all pages."""
        found = {}
        for key, pieces in self._pieces.items():
            pieces.extend([None] * (len(self._counts) - len(pieces)))
            found[key] = concatenate(pieces, self._counts) if pieces else constant_null(0)
        return found

    def _values(self, records: Sequence[neo4j.Record]) -> dict[str, list[Any]]:
        if self._keys is not None:
            return {
                key: [
                    None if type(value) is dict else value
                    for record in records
                    for value in record[place + 1]
                ]
                for place, key in enumerate(self._keys)
            }
        rows = [row for record in records for row in record["rows"]]
        keys = dict.fromkeys(key for row in rows for key in row)
        return {key: [row.get(key) for row in rows] for key in keys}
