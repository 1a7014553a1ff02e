"""A query whose answer is received later.

`neo4j.Session.run` sends a query and waits for the start of its answer. A caller with other work
to do meanwhile would need a second thread, which the interpreter lock makes slower than waiting.
The driver's connection separates both: it queues messages, sends them, and receives the answers on
request. It is not part of the driver's public interface; where it differs, the query is sent the
usual way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import neo4j

__all__ = ["SentProbe", "send_probe"]


class SentProbe:
    """A query that was sent.

    Args:
        link: The connection on which the answer arrives.
    """

    def __init__(self, link: Any) -> None:
        self.link = link
        self._bookmarks: list[str] = []

    def note(self, summary: dict[str, Any]) -> None:
        """Stores the bookmark in the answer's summary."""
        bookmark = summary.get("bookmark")
        if isinstance(bookmark, str):
            self._bookmarks.append(bookmark)

    def receive(self) -> list[str]:
        """Waits for the answer; returns its bookmarks.

        Raises:
            neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError: As the driver raises them.
        """
        self.link.fetch_all()
        return self._bookmarks


def send_probe(
    session: neo4j.Session, database: str | None, impersonated_user: str | None
) -> SentProbe | None:
    """Sends the smallest read; None if this driver's connections do not support it.

    Args:
        session: A fresh session: it takes a connection from the pool and returns it when closed.
        database: The session's database.
        impersonated_user: The session's impersonated user.

    Raises:
        neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError: As the driver raises them.
    """
    inner: Any = session
    try:
        inner._connect("READ")
        link = inner._connection
        sent = SentProbe(link)
        link.run("RETURN 1", mode="READ", db=database, imp_user=impersonated_user)
        link.pull(n=-1, on_success=sent.note)
        link.send_all()
    except (AttributeError, TypeError):  # another version of the driver
        return None
    return sent
