"""All properties of a few nodes or relationships, by id."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from gpugda.errors import StaleSnapshotError

from .bolt_pages import PageQuery, in_pages, lists_of
from .bolt_properties import PATTERNS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpugda.ports import DatabaseVersion

    from .bolt_connection import BoltConnection

__all__ = ["read_entities"]

_PAGE = 5_000
_SESSIONS = 2


def read_entities(
    connection: BoltConnection,
    ids: NDArray[np.int64],
    version: DatabaseVersion | None,
    *,
    of_nodes: bool,
) -> list[dict[str, Any]]:
    """See `gpugda.ports.DatabaseServer.read_entities`."""
    text = f"{PATTERNS[of_nodes]} RETURN collect(id(x)) AS ids, collect(properties(x)) AS rows"
    query = PageQuery(connection, version, text, {})
    found: dict[int, dict[str, Any]] = {}
    pages = in_pages(lists_of(ids, _PAGE), query.records, min(_SESSIONS, 1 + len(ids) // _PAGE))
    with connection.check("reading properties"), closing(pages):
        for _, records in pages:
            for record in records:
                found.update(zip(record["ids"], record["rows"], strict=True))
    try:
        return [found[number] for number in ids.tolist()]
    except KeyError:
        raise StaleSnapshotError("The database changed while properties were read.") from None
