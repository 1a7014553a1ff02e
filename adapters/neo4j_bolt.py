"""A live Neo4j, or another server that speaks Bolt, as a source."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import neo4j

from gpugda.deadline import Cancellation
from gpugda.errors import ConfigurationError
from gpugda.ports import DatabaseVersion, NativeAnswer, Projection, SilentProgress

from .bolt_address import BoltAddress, parse_address
from .bolt_auth import check_name, choose_auth, choose_database
from .bolt_connection import BoltConnection, open_driver
from .bolt_native import run_native
from .bolt_privileges import restriction_in
from .change_sources import ChangeSources
from .plugin_jar import JAR_NAME, read_plugin_jar
from .projection_names import warn_of_unknown_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.values.column import Column
    from gpugda.ports import ChangeSource, EntityRows, GraphBatches, Progress, ServerFacts

__all__ = ["BoltSource"]


class BoltSource:
    """One database of a server; implements `gpugda.ports.DatabaseServer`.

    Args:
        source: ``bolt://host:port`` or ``neo4j://host:port``, each also with ``+s`` (encrypted) or
            ``+ssc`` (encrypted, self-signed certificate), or a ``neo4j.Driver``, which stays open
            when this is closed.
        auth: ``(user, password)``, a ``neo4j.Auth``, an auth manager; None for ``NEO4J_USERNAME``
            and ``NEO4J_PASSWORD`` if set, else no authentication.
        database: Name; None for ``NEO4J_DATABASE``, else the user's home database.
        impersonated_user: The user to impersonate.
        labels: Only nodes with one of these; None for all.
        types: Only relationships of these types; None for all.
        sessions: Maximum number of concurrent sessions of a large read.
        environment: Environment variables; by default those of the process. Not used for a driver,
            which has its own user and, unless another is named, its own home database.

    Raises:
        ConfigurationError: An argument is invalid.
        SourceError: The server is not reached, refuses, or is too old.
    """

    restriction_in = staticmethod(restriction_in)

    plugin_name = JAR_NAME
    """File name of gpugda's plugin for Neo4j."""

    plugin_jar = staticmethod(read_plugin_jar)
    """Returns the bytes of that file."""

    def __init__(
        self,
        source: str | neo4j.Driver,
        *,
        auth: object = None,
        database: str | None = None,
        impersonated_user: str | None = None,
        labels: Iterable[str] | None = None,
        types: Iterable[str] | None = None,
        sessions: int = 3,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        variables = os.environ if environment is None else environment
        self._projection = Projection(_names("labels", labels), _names("types", types))
        driver, address = _driver_of(source, auth, variables)
        try:
            database = choose_database(database, variables if address else {})
            check_name("impersonated_user", impersonated_user)
            _check_sessions(sessions)
        except ConfigurationError:
            if address:
                driver.close()
            raise
        self._connection = BoltConnection(
            driver,
            address,
            database=database,
            impersonated_user=impersonated_user,
            sessions=sessions,
        )
        warn_of_unknown_names(self._connection, self._projection)
        self._changes = ChangeSources(self._connection)

    def __repr__(self) -> str:
        return f"BoltSource({self.name!r})"

    @property
    def name(self) -> str:
        """Address and database."""
        return f"{self.facts.address}/{self.facts.database}"

    @property
    def facts(self) -> ServerFacts:
        """Facts about the server, as of connecting or later: `read` renews them, among others."""
        return self._connection.facts

    @property
    def projection(self) -> Projection:
        """The part of the database that `read` returns."""
        return self._projection

    def probe(self, timeout: float | None = None) -> DatabaseVersion | None:
        """The newest committed state, in one round trip; None if the server cannot report it."""
        return self._connection.probe(timeout)

    def asking(
        self, timeout: float | None = None
    ) -> AbstractContextManager[Callable[[], DatabaseVersion | None]]:
        """Like `probe`, sent on entering; the yielded function waits for the answer."""
        return self._connection.asking(timeout)

    def version_in(self, bookmark: str) -> DatabaseVersion | None:
        """The state that a bookmark names; None for another database or an unknown format."""
        return self._connection.version_of([bookmark])

    def read(
        self, progress: Progress, *, gentle: bool = False, moving: bool = False
    ) -> AbstractContextManager[GraphBatches]:
        """The graph in columns, at the newest state; if ``moving``, of several states."""
        from .bolt_export import export

        self._connection.recheck()
        return export(
            self._connection,
            self.probe(),
            progress,
            labels=self._projection.labels,
            types=self._projection.types,
            sessions=1 if gentle else None,
            moving=moving,
        )

    def listed_labels(self, labels: Collection[str]) -> tuple[str, ...]:
        """The labels of some node that has all of these, in the server's order."""
        from .bolt_nodes import listed_labels

        return listed_labels(self._connection, labels)

    def read_properties(
        self,
        keys: Sequence[str] | None,
        ids: NDArray[np.int64],
        version: DatabaseVersion | None,
        *,
        of_nodes: bool,
        progress: Progress | None = None,
    ) -> Mapping[str, Column]:
        """Property columns of all nodes or relationships."""
        from .bolt_properties import read_properties

        return read_properties(
            self._connection,
            keys,
            ids,
            version,
            of_nodes=of_nodes,
            progress=progress or SilentProgress(),
        )

    def read_entities(
        self, ids: NDArray[np.int64], version: DatabaseVersion | None, *, of_nodes: bool
    ) -> EntityRows:
        """All properties of some nodes or relationships."""
        from .bolt_entities import read_entities

        return read_entities(self._connection, ids, version, of_nodes=of_nodes)

    def run_native(
        self,
        text: str,
        parameters: Mapping[str, Any],
        *,
        timeout: float | None = None,
        read_only: bool = False,
        progress: Progress | None = None,
        metadata: Mapping[str, Any] | None = None,
        cancellation: Cancellation | None = None,
    ) -> NativeAnswer:
        """The user's query, unchanged, answered by the server.

        With a timeout, an unresponsive server is abandoned some seconds after it; without one, the
        wait ends when the operating system finds the connection dead.
        """
        return run_native(
            self._connection,
            text,
            parameters,
            timeout=timeout,
            read_only=read_only,
            progress=progress,
            metadata=metadata,
            cancellation=cancellation or Cancellation(),
        )

    def change_source(self) -> ChangeSource | None:
        """The change source: gpugda's plugin, or else change data capture; None without either."""
        return self._changes.source()

    def close(self) -> None:
        """Closes an owned driver; a driver that was passed in stays open."""
        self._connection.close()


def _driver_of(
    source: object, auth: object, variables: Mapping[str, str]
) -> tuple[neo4j.Driver, BoltAddress | None]:
    """A driver, and its address if it is owned."""
    if isinstance(source, str):
        address = parse_address(source)
        return open_driver(address, choose_auth(auth, variables)), address
    if not isinstance(source, neo4j.Driver):
        raise ConfigurationError(
            f"A {type(source).__name__} is neither an address nor a neo4j.Driver; an asynchronous "
            "driver cannot be used here."
        )
    if auth is not None:
        raise ConfigurationError("auth goes with an address: a driver is logged in already.")
    return source, None


def _names(argument: str, names: Iterable[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    found = () if isinstance(names, str) else tuple(names)
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in found):
        raise ConfigurationError(f"{argument} is {names!r}; give a list of names, or None for all.")
    return tuple(dict.fromkeys(found))


def _check_sessions(sessions: int) -> None:
    if isinstance(sessions, bool) or not isinstance(sessions, int) or sessions < 1:
        raise ConfigurationError(f"sessions is {sessions!r}; give a number of at least 1.")
