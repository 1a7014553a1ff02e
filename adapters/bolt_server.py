"""Facts about a database server, read once when connecting."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from neo4j.exceptions import Neo4jError

from gpugda.errors import SourceError
from gpugda.ports import DatabaseVersion, ServerFacts

from .bolt_bookmarks import version_of
from .bolt_plugin import find_plugin
from .bolt_privileges import restriction_in

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    import neo4j

    from .bolt_address import BoltAddress

__all__ = ["SYSTEM", "Greeting", "OpenSession", "accepts_cypher_5", "greet", "read_facts"]

_NEO4J = re.compile(r"Neo4j/(\d[^\s/]*)")
_OLDEST_MAJOR = 5
_KERNEL = "Neo4j Kernel"
# A clause only in Cypher 25: if it is accepted without a prefix, Cypher 25 is the default.
_ONLY_25 = "LET one = 1 RETURN one"


class OpenSession(Protocol):
    """Opens a session on the database for reading."""

    def __call__(self, *, impersonate: bool = True) -> AbstractContextManager[neo4j.Session]:
        """``impersonate`` False: as the user who is logged in."""


SYSTEM: Final = "system"
"""The database for administration commands; it holds no graph."""


@dataclass(frozen=True, slots=True)
class Greeting:
    """Facts in the server's first answer.

    Args:
        agent: The server's name for itself.
        protocol: Version of Bolt.
        host_port: Actual host and port.
        database: The database's name, as the server reports it.
        version: The newest state, None if the server has no bookmarks of the known format.
        info: The driver's ``neo4j.ServerInfo``.
    """

    agent: str
    protocol: tuple[int, int]
    host_port: str
    database: str
    version: DatabaseVersion | None
    info: Any = field(compare=False, repr=False)


def greet(open_session: OpenSession, *, of_graph: bool = True) -> Greeting:
    """Sends the first query, which proves that queries are possible.

    Args:
        open_session: Opens a session on the database.
        of_graph: False for the system database, which holds no graph.
    """
    with open_session() as session:
        summary = session.run("RETURN 1 AS one" if of_graph else "SHOW CURRENT USER").consume()
        version = version_of(session.last_bookmarks().raw_values)
    server = summary.server
    host, port = server.address[0], server.address[1]
    protocol = tuple(server.protocol_version)
    return Greeting(
        agent=server.agent,
        protocol=(protocol[0], protocol[1] if len(protocol) > 1 else 0),
        host_port=f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}",
        database=summary.database or "",
        version=version,
        info=server,
    )


def accepts_cypher_5(open_session: OpenSession) -> bool:
    """True if the server accepts the prefix ``CYPHER 5``."""
    return _is_accepted(open_session, "CYPHER 5 RETURN 1 AS one")


def read_facts(
    open_session: OpenSession, greeting: Greeting, address: BoltAddress, impersonated_user: str
) -> ServerFacts:
    """Reads the facts about the server.

    Raises:
        SourceError: The server is too old.
    """
    product, version = _product(greeting.agent)
    version, edition = _components(open_session, version)
    if product == "Neo4j":
        _check_version(address.shown, version)
    rows = _database_rows(open_session, greeting.database)
    user = _user(open_session)
    restriction = _restriction(open_session, product, edition, greeting.database, user, rows)
    plugin, advice = find_plugin(open_session, product)
    return ServerFacts(
        address=address.shown,
        product=product,
        version=version,
        edition=edition,
        database=greeting.database,
        database_id=greeting.version.database_id if greeting.version else "",
        default_cypher=_default_cypher(open_session, rows),
        user=user or "",
        impersonated_user=impersonated_user,
        has_bookmarks=greeting.version is not None,
        clustered=_clustered(rows, edition, routed=address.routed),
        sees_everything=not restriction,
        restriction=restriction,
        plugin=plugin,
        plugin_advice=advice,
        server_info=greeting.info,
    )


def _product(agent: str) -> tuple[str, str]:
    """Name and version; compatible servers claim to be compatible first, then state their name."""
    found = _NEO4J.fullmatch(agent)
    if found:
        return "Neo4j", found[1]
    _, dash, name = agent.rpartition(" - ")
    return (name if dash else agent.partition("/")[0]) or "unknown", agent.partition("/")[2]


def _check_version(shown: str, version: str) -> None:
    major = re.match(r"\d+", version)
    if major and int(major[0]) < _OLDEST_MAJOR:
        raise SourceError(
            f"{shown}: this is Neo4j {version}, but {_OLDEST_MAJOR}.0 or later is needed, as "
            "older ones have no element ids: upgrade the server."
        )


def _components(open_session: OpenSession, version: str) -> tuple[str, str]:
    query = "CALL dbms.components() YIELD name, versions, edition RETURN name, versions, edition"
    for row in _rows(open_session, query) or ():
        if row["name"] == _KERNEL and row["versions"]:
            return str(row["versions"][0]), str(row["edition"] or "").lower()
    return version, ""


def _database_rows(open_session: OpenSession, database: str) -> list[dict[str, Any]]:
    """One row per member that holds the database.

    YIELD *, as naming a column that a version does not have is an error there.
    """
    query = "SHOW DATABASES YIELD * WHERE name = $name"
    return _rows(open_session, query, name=database) or []


def _default_cypher(open_session: OpenSession, rows: list[dict[str, Any]]) -> int:
    if rows:
        # A server without this column has only Cypher 5.
        return 25 if "25" in str(rows[0].get("defaultLanguage") or "") else 5
    return 25 if _is_accepted(open_session, _ONLY_25) else 5


def _user(open_session: OpenSession) -> str | None:
    """The user who is logged in: empty without authentication, None if unknown."""
    rows = _rows(open_session, "SHOW CURRENT USER", impersonate=False)
    if rows is None:
        return None
    return str(rows[0]["user"]) if rows else ""


def _restriction(
    open_session: OpenSession,
    product: str,
    edition: str,
    database: str,
    user: str | None,
    rows: list[dict[str, Any]],
) -> str:
    if database == SYSTEM:
        return "the system database holds no graph"
    if any(row.get("type") == "composite" for row in rows):
        return f"{database!r} is a composite database, whose graphs lie in others"
    # Community has no privileges, and other products have their own: graphs are read as this user,
    # and so contain nothing that the user may not see.
    if product != "Neo4j" or edition == "community" or user == "":
        return ""
    privileges = _rows(open_session, "SHOW USER PRIVILEGES")
    if not privileges:
        return "the user's privileges cannot be read (SHOW USER PRIVILEGES)"
    return restriction_in(privileges, database)


def _clustered(rows: list[dict[str, Any]], edition: str, *, routed: bool) -> bool:
    """True if the database has several members.

    Any user may run SHOW DATABASES; SHOW SERVERS needs a privilege, and lists members that do not
    hold the database.
    """
    if edition == "community" or not (rows or routed):
        return False
    counts = [_count(row, "Primaries") + _count(row, "Secondaries") for row in rows]
    if not any(counts):
        return routed
    return len(rows) > 1 or max(counts) > 1


def _count(row: dict[str, Any], of: str) -> int:
    number = row.get(f"current{of}Count")
    return number if isinstance(number, int) else 0


def _rows(
    open_session: OpenSession, query: str, *, impersonate: bool = True, **parameters: object
) -> list[dict[str, Any]] | None:
    """The rows, None if the server does not know the query or the user may not run it."""
    with suppress(Neo4jError), open_session(impersonate=impersonate) as session:
        return [record.data() for record in session.run(query, parameters)]
    return None


def _is_accepted(open_session: OpenSession, query: str) -> bool:
    return _rows(open_session, query) is not None
