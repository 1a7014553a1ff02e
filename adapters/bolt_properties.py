"""Reads properties of nodes or relationships, a column per key, by pages of ids."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.values.columns import Column, concatenate
from gpugda.errors import StaleSnapshotError

from .bolt_pages import IdList, Pace, cut
from .bolt_reading import Call, PageReader, Question
from .bolt_values import column_of
from .bolt_zones import resolve_zones
from .plugin_properties import plugin_properties

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import neo4j
    from numpy.typing import NDArray

    from gpugda.ports import DatabaseVersion, Progress

    from .bolt_connection import BoltConnection
    from .bolt_pages import Page

__all__ = ["PATTERNS", "page_rows", "read_properties"]

PATTERNS = {True: "(x)", False: "()-[x]->()"}
"""Pattern for nodes (True) and relationships (False)."""


def read_properties(
    connection: BoltConnection,
    keys: Sequence[str] | None,
    ids: NDArray[np.int64],
    version: DatabaseVersion | None,
    *,
    of_nodes: bool,
    progress: Progress,
) -> Mapping[str, Column]:
    """See `gpugda.ports.DatabaseServer.read_properties`."""
    what = "node" if of_nodes else "relationship"
    progress.phase(f"reading {what} properties", len(ids))
    reader = PageReader(connection, version, f"reading {what} properties", connection.sessions)
    order = np.argsort(ids, kind="stable")
    question: Question[_Answer] | Call[_Answer] = _question(keys, of_nodes)
    pace = Pace()
    if connection.facts.plugin:
        question = plugin_properties(_all_keys(reader) if keys is None else keys, of_nodes)
        pace = Pace(width=8_192, largest=131_072)
    found = _Pieces()
    with closing(reader.answers(question, cut(ids[order], pace), pace)) as answers:
        for count, columns in answers:
            found.add(count, columns)
            progress.advance(count)
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    columns = resolve_zones(reader, PATTERNS[of_nodes], ids[order], found.columns())
    return {key: column.take(places) for key, column in columns.items()}


_Answer = tuple[int, dict[str, Column]]


def _all_keys(reader: PageReader) -> list[str]:
    rows = reader.rows("CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey AS key")
    return [str(row["key"]) for row in rows]


def _question(keys: Sequence[str] | None, of_nodes: bool) -> Question[_Answer]:
    if keys is None:
        text = "RETURN collect(id(x)) AS ids, collect(properties(x)) AS maps"
        return Question(PATTERNS[of_nodes], "x", text, _decode_maps)
    # collect() drops nulls; as no property is a map, an empty map can represent null.
    lists = [
        f"collect(coalesce(x.`{key.replace('`', '``')}`, {{}})) AS values{place}"
        for place, key in enumerate(keys)
    ]
    text = f"RETURN {', '.join(['collect(id(x)) AS ids', *lists])}"
    return Question(PATTERNS[of_nodes], "x", text, _ListDecoder(tuple(keys)))


def page_rows(page: Page, ids: Sequence[int]) -> list[int] | None:
    """Positions of a page's ids in the answer; None if the answer has just these, in order.

    Raises:
        StaleSnapshotError: An id is missing in the answer.
    """
    assert isinstance(page, IdList)
    came = np.fromiter(ids, dtype=np.int64, count=len(ids))
    if np.array_equal(came, page.numbers):
        return None
    order = np.argsort(came, kind="stable")
    places = np.searchsorted(came, page.numbers, sorter=order)
    if len(came) == 0 or places[-1] == len(came):
        raise StaleSnapshotError(_GONE)
    rows = order[places]
    if not np.array_equal(came[rows], page.numbers):
        raise StaleSnapshotError(_GONE)
    return [int(row) for row in rows]


_GONE = "The database changed while properties were read: nodes or relationships are gone."


@dataclass(frozen=True, slots=True)
class _ListDecoder:
    """Decodes columns of the requested keys."""

    keys: tuple[str, ...]

    def __call__(self, page: Page, records: list[neo4j.Record]) -> _Answer:
        (record,) = records
        rows = page_rows(page, record["ids"])
        columns = {}
        for place, key in enumerate(self.keys):
            values: list[Any] = record[f"values{place}"]
            if len(values) != len(record["ids"]):
                raise StaleSnapshotError(_GONE)
            if rows is not None:
                values = [values[row] for row in rows]
            if dict in set(map(type, values)):
                values = [None if type(value) is dict else value for value in values]
            columns[key] = column_of(key, values)
        return len(page), columns


def _decode_maps(page: Page, records: list[neo4j.Record]) -> _Answer:
    """Decodes columns of all keys that occur."""
    (record,) = records
    maps: list[dict[str, Any]] = record["maps"]
    rows = page_rows(page, record["ids"])
    if rows is not None:
        maps = [maps[row] for row in rows]
    keys = dict.fromkeys(key for each in maps for key in each)
    return len(page), {key: column_of(key, [each.get(key) for each in maps]) for key in keys}


@dataclass(slots=True)
class _Pieces:
    """Concatenates the pages' columns."""

    counts: list[int] = field(default_factory=list[int])
    pieces: dict[str, list[Column | None]] = field(default_factory=dict[str, "list[Column | None]"])

    def add(self, count: int, columns: Mapping[str, Column]) -> None:
        for key, column in columns.items():
            earlier = self.pieces.setdefault(key, [])
            earlier.extend([None] * (len(self.counts) - len(earlier)))
            earlier.append(column)
        self.counts.append(count)

    def columns(self) -> dict[str, Column]:
        for pieces in self.pieces.values():
            pieces.extend([None] * (len(self.counts) - len(pieces)))
        return {key: concatenate(pieces, self.counts) for key, pieces in self.pieces.items()}
