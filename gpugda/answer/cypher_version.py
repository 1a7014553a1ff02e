"""``CYPHER 25``: a query in a version of Cypher that the connected server does not have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gpugda.errors import UnsupportedQueryError

if TYPE_CHECKING:
    from gpugda.ports import ServerFacts
    from gpugda.query.query_graph import Query
    from gpugda.query.statement import Statement

__all__ = ["refuse_unknown_version"]

_FIRST_WITH_25: Final = (2025, 6)
"""The first release of Neo4j that has Cypher 25."""


def refuse_unknown_version(query: Query | Statement, facts: ServerFacts) -> None:
    """Checks that the server has the Cypher version that the query names.

    Only releases of Neo4j are judged; of other products nothing is known.

    Raises:
        UnsupportedQueryError: The server has no Cypher 25, so its answer is an error.
    """
    if query.version != 25 or facts.product != "Neo4j":
        return
    release = re.match(r"(\d+)\.(\d+)", facts.version)
    if release is None or (int(release[1]), int(release[2])) >= _FIRST_WITH_25:
        return
    message = f"Neo4j {facts.version} does not have Cypher 25"
    raise UnsupportedQueryError(message, query.text, construct="CYPHER 25")
