"""All properties of a few nodes or relationships, by id."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.ports import EntityRows

from .bolt_pages import IdList, Pace, cut
from .bolt_properties import PATTERNS, page_rows
from .bolt_reading import PageReader, Question

if TYPE_CHECKING:
    import neo4j
    from numpy.typing import NDArray

    from gpugda.ports import DatabaseVersion

    from .bolt_connection import BoltConnection
    from .bolt_pages import Page

__all__ = ["read_entities"]

_PAGE = 2_000


def read_entities(
    connection: BoltConnection,
    ids: NDArray[np.int64],
    version: DatabaseVersion | None,
    *,
    of_nodes: bool,
) -> EntityRows:
    """See `gpugda.ports.DatabaseServer.read_entities`."""
    numbers, places = np.unique(np.asarray(ids, dtype=np.int64), return_inverse=True)
    what = "nodes" if of_nodes else "relationships"
    sessions = min(connection.sessions, 1 + len(numbers) // _PAGE)
    reader = PageReader(connection, version, f"reading {what} by id", sessions)
    text = "RETURN collect(id(x)) AS ids, collect(properties(x)) AS maps"
    question = Question(PATTERNS[of_nodes], "x", text, _decode)
    found: list[dict[str, Any]] = []
    if 0 < len(numbers) <= _PAGE:
        for maps in reader.answer(question, IdList(numbers)):
            found += maps
    else:
        pace = Pace(_PAGE)
        with closing(reader.answers(question, cut(numbers, pace), pace)) as answers:
            for maps in answers:
                found += maps
    # Copied, as an id may occur twice, and each caller owns its maps.
    return EntityRows([dict(found[place]) for place in places.tolist()], reader.newest)


def _decode(page: Page, records: list[neo4j.Record]) -> list[dict[str, Any]]:
    (record,) = records
    rows = page_rows(page, record["ids"])
    maps: list[dict[str, Any]] = record["maps"]
    return maps if rows is None else [maps[row] for row in rows]
