"""A question whose answer is waited for later.

`neo4j.Session.run` sends a query and waits until it has begun to be answered, so whoever has work
of their own meanwhile needs a second thread, which the interpreter's lock makes slower than
waiting. The driver's connection can do both apart: it queues messages, sends them, and receives the
answers when it is told to. It is no public part of the driver; where it looks otherwise the
question is put in the usual way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import neo4j

__all__ = ["SentProbe", "send_probe"]


class SentProbe:
    """A query that was sent.

    Args:
        link: The connection by which the answer comes.
    """

    def __init__(self, link: Any) -> None:
        self.link = link
        self._bookmarks: list[str] = []

    def note(self, summary: dict[str, Any]) -> None:
        """Takes the bookmark of the answer's end."""
        bookmark = summary.get("bookmark")
        if isinstance(bookmark, str):
            self._bookmarks.append(bookmark)

    def receive(self) -> list[str]:
        """Waits for the answer; its bookmarks.

        Raises:
            neo4j.exceptions.Neo4jError, neo4j.exceptions.DriverError: As the driver raises them.
        """
        self.link.fetch_all()
        return self._bookmarks


def send_probe(
    session: neo4j.Session, database: str | None, impersonated_user: str | None
) -> SentProbe | None:
    """Sends the smallest read; None where this driver's connections cannot do that alone.

    Args:
        session: A fresh one: its connection is taken from the pool, and given back when it closes.
        database: Its database.
        impersonated_user: As whom it acts.

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
