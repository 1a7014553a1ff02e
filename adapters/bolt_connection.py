"""A connection to one database of a Bolt server: sessions, probes, and error translation."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

import neo4j
from neo4j.exceptions import ClientError, DriverError, Neo4jError

from gpugda.errors import ConfigurationError, SourceError

from .bolt_address import BoltAddress, parse_address
from .bolt_bookmarks import version_of
from .bolt_epoch import START_TIME, ServerEpoch
from .bolt_errors import is_broken_connection, source_error
from .bolt_pipelined import send_probe
from .bolt_server import SYSTEM, accepts_cypher_5, greet, read_facts
from .bolt_watch import Watch, abandon

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from gpugda.ports import DatabaseVersion, ServerFacts

    from .bolt_pipelined import SentProbe

__all__ = ["CONNECT_SECONDS", "BoltConnection", "open_driver"]

Access = Literal["READ", "WRITE"]

CONNECT_SECONDS = 15.0
# Also bounds the handshake, which the connection timeout does not.
_ACQUIRE_SECONDS = 20.0
# A pooled connection that was idle for longer is tested before use: firewalls drop such silently.
_IDLE_SECONDS = 60.0
_PROBE_SECONDS = 30.0
_MIN_SECONDS = 0.001
# Connecting takes about six queries.
_FACTS_SECONDS = 60.0
_FACTS_LAST_SECONDS = 60.0
_ALL_AT_ONCE = -1
_FILTERS_NOTIFICATIONS = (5, 2)


def open_driver(address: BoltAddress, auth: Any) -> neo4j.Driver:
    """A driver owned by this connection; nothing is sent yet.

    Raises:
        ConfigurationError: The driver rejects the address or the credentials.
    """
    try:
        return neo4j.GraphDatabase.driver(
            address.url,
            auth=auth,
            user_agent=f"gpugda/{_own_version()} neo4j-python/{neo4j.__version__}",
            connection_timeout=CONNECT_SECONDS,
            connection_acquisition_timeout=_ACQUIRE_SECONDS,
            liveness_check_timeout=_IDLE_SECONDS,
            # Saves a message per query; users who want telemetry pass their own driver.
            telemetry_disabled=True,
        )
    except (Neo4jError, DriverError, ValueError) as error:
        raise ConfigurationError(f"{address.shown}: the driver refuses it: {error}") from error


class BoltConnection:
    """One database, through one driver. Created by `connect` or `adopt`; thread-safe.

    Attributes:
        driver: The driver; `close` closes it if this connection owns it.
        database: The database's name, used for all sessions.
        facts: Facts about the server, as of connecting or the last `recheck`.
        sessions: Maximum number of concurrent sessions of a large read.
    """

    def __init__(
        self,
        driver: neo4j.Driver,
        address: BoltAddress | None,
        *,
        database: str | None = None,
        impersonated_user: str | None = None,
        sessions: int = 3,
    ) -> None:
        """Reads the server's facts; on failure closes the driver if this connection owns it.

        Args:
            driver: A driver.
            address: Address of an owned driver; None for a driver that belongs to the caller.
            database: A name, None for the user's home database.
            impersonated_user: The user to impersonate.
            sessions: Maximum number of concurrent sessions of a large read.
        """
        self.driver = driver
        self.database = database
        self.sessions = sessions
        self._owned = address is not None
        self._address = address or _address_of(driver, None)
        self._impersonated_user = impersonated_user
        self._watch = Watch()
        self._epoch = ServerEpoch()
        self._protocol = (0, 0)
        self._accepts_prefix = False
        self._closed = False
        try:
            with self.check("connecting"):
                self.facts = self._find_facts()
        except BaseException:
            self.close()
            raise
        self._known_ids: set[str] = set()
        self._facts_found = monotonic()

    def __repr__(self) -> str:
        return f"<BoltConnection {self._address.shown} database={self.database!r}>"

    @contextmanager
    def session(
        self,
        *,
        bookmarks: Iterable[str] | DatabaseVersion | None = None,
        access: Access = "READ",
        bulk: bool = False,
        fetch_size: int | None = None,
        quiet: bool = True,
        impersonate: bool = True,
        connect_seconds: float | None = None,
    ) -> Iterator[neo4j.Session]:
        """A session; its connection is cut if an error other than the driver's leaves the block.

        Args:
            bookmarks: States that the server must have reached: raw texts, or a version.
            access: ``READ``, unless a user's query may write.
            bulk: True if the server sends all rows without waiting for requests. Only for results
                of bounded size: unread rows fill the server's heap memory.
            fetch_size: Number of rows that the server sends per request.
            quiet: True if the server sends no notifications: for internal queries.
            impersonate: False to act as the user who is logged in.
            connect_seconds: Maximum time to get a connection, if less than the default.
        """
        config: dict[str, Any] = {
            "database": self.database,
            "default_access_mode": access,
            "bookmarks": _bookmarks(bookmarks),
            "impersonated_user": self._impersonated_user if impersonate else None,
        }
        if connect_seconds is not None:
            config["connection_acquisition_timeout"] = min(connect_seconds, _ACQUIRE_SECONDS)
        if bulk or fetch_size is not None:
            config["fetch_size"] = _ALL_AT_ONCE if bulk else fetch_size
        if quiet and self._protocol >= _FILTERS_NOTIFICATIONS:
            config["notifications_min_severity"] = "OFF"
        session = self.driver.session(**config)
        try:
            yield session
        except (Neo4jError, DriverError):
            raise
        except BaseException:
            # Also when a generator is closed early, or on Ctrl-C.
            abandon(session)
            raise
        finally:
            session.close()

    @contextmanager
    def check(self, doing: str) -> Iterator[None]:
        """A block in which errors of server and driver become `SourceError` with advice.

        Args:
            doing: The current activity, such as ``reading nodes``.
        """
        try:
            yield
        except (Neo4jError, DriverError) as error:
            raise source_error(error, self._address.shown, doing) from error

    def prefix(self, text: str) -> str:
        """An internal query, marked as Cypher 5 where the server supports such marks."""
        return f"CYPHER 5 {text}" if self._accepts_prefix else text

    def watch(self, session: neo4j.Session, seconds: float | None) -> AbstractContextManager[Any]:
        """A block in which the session's connection is cut after that time; yields a `Guard`."""
        return self._watch.over(session, seconds)

    def probe(self, timeout: float | None = None) -> DatabaseVersion | None:
        """The newest committed state, in one round trip; None if the server cannot report it.

        Raises:
            SourceError: The server cannot be reached, refuses, or does not answer in time.
        """
        if not self.facts.has_bookmarks:
            return None
        deadline = monotonic() + (_PROBE_SECONDS if timeout is None else timeout)
        with self.check("asking for the newest transaction"):
            try:
                found = self._ask(deadline)
            except (Neo4jError, DriverError) as error:
                # Pooled connections do not survive a restart of the server; the first failure
                # clears them all from the pool.
                if not is_broken_connection(error):
                    raise
                found = self._ask(deadline)
            if self.facts_may_be_old:
                self.recheck()
        if found is not None:
            self._known_ids.add(found.database_id)
        return found

    @contextmanager
    def asking(
        self, timeout: float | None = None
    ) -> Iterator[Callable[[], DatabaseVersion | None]]:
        """Like `probe`, sent on entering; the yielded function waits for the answer, once.

        If anything fails on the way, the function falls back to `probe`.
        """
        with ExitStack() as stack:
            receive = self._sent(stack, timeout)

            def answer() -> DatabaseVersion | None:
                found = None if receive is None else receive()
                stack.close()  # so that a retry gets the same connection
                if found is None:
                    return self.probe(timeout)
                self._known_ids.add(found.database_id)
                return found

            yield answer

    def recheck(self) -> None:
        """Reads the facts again: privileges and the default Cypher version change no bookmark."""
        with self.check("asking what the server is"):
            self.facts = self._find_facts()
        self._facts_found = monotonic()

    def version_of(self, bookmarks: Iterable[str]) -> DatabaseVersion | None:
        """The state in a session's bookmarks; None if it belongs to another database."""
        found = version_of(bookmarks)
        if found is None or not self._epoch.name:
            return None
        found = _of_process(found, self._epoch.name)
        return found if found.database_id in self._known_ids else None

    @staticmethod
    def link_of(session: neo4j.Session) -> Any:
        """The connection used by a session, None if the driver does not expose it."""
        return getattr(session, "_connection", None)

    def version_after(self, session: neo4j.Session, link: Any) -> DatabaseVersion | None:
        """The newest state when the session's query ended, without a further request.

        None if it is unknown, or if the name of the server process at ``link`` is unknown.
        """
        epoch = self._epoch.known_for(link)
        found = version_of(session.last_bookmarks().raw_values) if epoch else None
        return None if found is None else _of_process(found, epoch)

    def version_in_answer(self, session: neo4j.Session, link: Any) -> DatabaseVersion | None:
        """Like `version_after`, but asks the server process for its name if necessary."""
        found = version_of(session.last_bookmarks().raw_values)
        if found is None:
            return None
        found = _of_process(found, self._epoch.name_for(link, lambda: _start_time(session)))
        self._known_ids.add(found.database_id)
        return found

    def close(self) -> None:
        """Closes an owned driver, and stops the watchdog thread."""
        if self._closed:
            return
        self._closed = True
        self._watch.close()
        if self._owned:
            try:
                self.driver.close()
            except BufferError:
                # A cancelled query's thread was sending on its connection at this moment. The
                # driver has let go of all connections by then; that one ends with its thread.
                self.driver.close()

    def _ask(self, deadline: float) -> DatabaseVersion | None:
        left = max(deadline - monotonic(), _MIN_SECONDS)
        # A fresh session without bookmarks: with one the server would wait for that state, while
        # the current one is wanted. In a cluster only the leader knows the newest state, and write
        # access routes the query there; the query itself only reads.
        access: Access = "WRITE" if self.facts.clustered else "READ"
        with (
            self.session(access=access, connect_seconds=left) as session,
            self.watch(session, left) as guard,
        ):
            try:
                result = session.run("RETURN 1")
                link = self.link_of(session)
                result.consume()
                found = version_of(session.last_bookmarks().raw_values)
                if found is None:
                    return None
                epoch = self._epoch.name_for(link, lambda: _start_time(session))
            except (Neo4jError, DriverError) as error:
                if guard.fired:
                    raise self._silent() from error
                raise
            return _of_process(found, epoch)

    def _sent(
        self, stack: ExitStack, timeout: float | None
    ) -> Callable[[], DatabaseVersion | None] | None:
        """Sends a probe in a session that the stack closes; None if only `probe` applies."""
        if not self.facts.has_bookmarks or self.facts.clustered or self.facts_may_be_old:
            return None
        seconds = _PROBE_SECONDS if timeout is None else timeout
        try:
            session = stack.enter_context(self.session(connect_seconds=seconds))
            stack.enter_context(self.watch(session, seconds))
            sent = send_probe(session, self.database, self._impersonated_user)
        except (Neo4jError, DriverError):
            return None
        return None if sent is None else partial(self._received, sent)

    def _received(self, sent: SentProbe) -> DatabaseVersion | None:
        """The state in the answer; None if it has none, or the server process is unknown."""
        try:
            bookmarks = sent.receive()
        except (Neo4jError, DriverError):
            return None
        epoch = self._epoch.known_for(sent.link)
        found = version_of(bookmarks) if epoch else None
        return None if found is None else _of_process(found, epoch)

    @property
    def facts_may_be_old(self) -> bool:
        """True if the facts are older than a minute and privileges may have changed."""
        judged = self.facts.product == "Neo4j" and self.facts.edition != "community"
        return judged and monotonic() - self._facts_found > _FACTS_LAST_SECONDS

    def _silent(self) -> SourceError:
        return SourceError(
            f"{self._address.shown}: the server did not answer in time: see whether it is "
            "overloaded, or give a longer timeout."
        )

    def _find_facts(self) -> ServerFacts:
        of_graph = (self.database or "").lower() != SYSTEM
        greeting = greet(self._first_session, of_graph=of_graph)
        self.database = greeting.database or self.database
        self._protocol = greeting.protocol
        if not self._owned:
            self._address = _address_of(self.driver, greeting.host_port)
        self._accepts_prefix = accepts_cypher_5(self._first_session)
        return read_facts(
            self._first_session, greeting, self._address, self._impersonated_user or ""
        )

    @contextmanager
    def _first_session(self, *, impersonate: bool = True) -> Iterator[neo4j.Session]:
        with (
            # The peer may never answer, in the handshake of TLS or in that of Bolt.
            self.session(impersonate=impersonate, connect_seconds=CONNECT_SECONDS) as session,
            self.watch(session, _FACTS_SECONDS) as guard,
        ):
            try:
                yield session
            except (Neo4jError, DriverError) as error:
                if guard.fired:
                    raise self._silent() from error
                raise


def _of_process(version: DatabaseVersion, epoch: str) -> DatabaseVersion:
    """The state, with the server's process as part of the database id."""
    return replace(version, database_id=f"{version.database_id}@{epoch}")


def _start_time(session: neo4j.Session) -> str | None:
    try:
        record = session.run(START_TIME).single()
    except ClientError:  # the procedure is absent, or this user may not call it
        return None
    return None if record is None else str(record["started"])


def _bookmarks(given: Iterable[str] | DatabaseVersion | None) -> neo4j.Bookmarks | None:
    if given is None:
        return None
    texts = [given.bookmark] if hasattr(given, "bookmark") else list(given)
    return neo4j.Bookmarks.from_raw_values([text for text in texts if text])


def _address_of(driver: neo4j.Driver, host_port: str | None) -> BoltAddress:
    """The address to display for a caller's driver, which does not expose its own."""
    scheme = "neo4j" if isinstance(driver, neo4j.Neo4jDriver) else "bolt"
    scheme += "+s" if driver.encrypted else ""
    if host_port is None:
        return BoltAddress(scheme, f"{scheme} driver", "")
    return parse_address(f"{scheme}://{host_port}")


def _own_version() -> str:
    try:
        return version("gpugda")
    except PackageNotFoundError:  # run from a source tree without installation
        return "0"
