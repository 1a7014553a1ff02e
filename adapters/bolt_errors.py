"""Translates the driver's errors: what failed, where, and what to do."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

from neo4j.exceptions import (
    AuthConfigurationError,
    AuthError,
    DriverError,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    UnsupportedServerProduct,
)
from neo4j.exceptions import ConfigurationError as DriverConfigurationError

from gpugda.errors import ConfigurationError, GpugdaError, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["is_broken_connection", "is_timeout", "source_error"]

_TIMEOUTS = (
    "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration",
    "Neo.ClientError.Transaction.TransactionTimedOut",
)
# By the last part of the code; the parts before it differ between versions.
_ADVICE = {
    "DatabaseNotFound": "There is no such database, or this user may not enter it: check "
    "database= (on the command line -d) and NEO4J_DATABASE against SHOW DATABASES.",
    "DatabaseUnavailable": "The database is not started: see SHOW DATABASES.",
    "AuthenticationRateLimit": "Too many wrong passwords: wait some seconds, and check auth= (on "
    "the command line -u and -p) or NEO4J_USERNAME and NEO4J_PASSWORD.",
    "CredentialsExpired": "The password has to be changed first: ALTER CURRENT USER SET PASSWORD.",
    "Unauthorized": "Check auth= (on the command line -u and -p) or NEO4J_USERNAME and "
    "NEO4J_PASSWORD.",
    "Forbidden": "The user lacks the privilege: grant it, or use another user.",
    "MemoryPoolOutOfMemoryError": "The transaction needed more memory than the server allows "
    "(dbms.memory.transaction.total.max, db.memory.transaction.max): raise that, or wait until "
    "other transactions are done.",
    "OutOfMemoryError": "The server has too little heap memory: raise server.memory.heap.max_size.",
    "TransactionTimedOut": "The server's own limit db.transaction.timeout is too short for this: "
    "raise it.",
}


def is_broken_connection(error: BaseException) -> bool:
    """True if a retry on another connection may succeed."""
    return isinstance(error, ServiceUnavailable | SessionExpired)


def is_timeout(error: BaseException) -> bool:
    """True if the server ended a transaction because of its time limit."""
    return isinstance(error, Neo4jError) and error.code in _TIMEOUTS


def source_error(error: Neo4jError | DriverError, address: str, doing: str) -> GpugdaError:
    """Our error for an error of the driver.

    Args:
        error: The driver's error; the caller makes it the cause.
        address: Scheme, host and port, without credentials.
        doing: The failed activity, such as ``connecting``.
    """
    start = f"{address}: {doing} failed. "
    if isinstance(error, Neo4jError):
        return SourceError(f"{start}{_advice_of(error)}(The server said: {_server_message(error)})")
    if isinstance(error, DriverConfigurationError | AuthConfigurationError):
        return ConfigurationError(f"{start}The driver refuses the settings: {error}")
    return SourceError(start + _connection_advice(error, address))


def _advice_of(error: Neo4jError) -> str:
    name = (error.code or "").rpartition(".")[2]
    if name in _ADVICE:
        return f"{_ADVICE[name]} "
    if isinstance(error, AuthError):
        return f"{_ADVICE['Unauthorized']} "
    return ""


def _server_message(error: Neo4jError) -> str:
    return f"{error.message or error.code or type(error).__name__}"


def _connection_advice(error: DriverError, address: str) -> str:
    causes = list(_causes(error))
    text = " ".join(str(cause) for cause in causes)
    if any(isinstance(cause, UnsupportedServerProduct) for cause in causes):
        return f"The program there speaks no known version of Bolt: {error}"
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "The host's name cannot be resolved: check its spelling and the network."
    if "looks like HTTP" in text:
        return "An HTTP server answers there: give the Bolt port, usually 7687."
    if certificate := next(
        (c for c in causes if isinstance(c, ssl.SSLCertVerificationError)), None
    ):
        return (
            f"The server's certificate is not trusted ({certificate}): have it "
            "signed by a known authority, or use +ssc instead of +s if it is a self-signed one."
        )
    return _by_encryption(causes, text, address)


def _by_encryption(causes: list[BaseException], text: str, address: str) -> str:
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes) or "refused" in text:
        return "Nothing listens there: start the server, or check host and port."
    if "obtain a connection from the pool" in text:  # only new drivers have an own error class
        return "All connections stayed in use for too long: close sessions that are not needed."
    encrypted = "+s" in address
    if encrypted and any("encrypted" in str(cause) for cause in causes):
        return (
            "An encrypted connection could not be made: the server may offer none on this port "
            "(then use the scheme without +s or +ssc), or does not answer."
        )
    if "handshake" in text and not encrypted:
        return (
            "The program there does not answer in Bolt: it may require encryption (then use the "
            "scheme with +s, or +ssc for a self-signed certificate), or be another program."
        )
    return f"The server is not reached: check that it runs and the network. ({_first_line(causes)})"


def _first_line(causes: list[BaseException]) -> str:
    deepest = str(causes[-1]) or str(causes[0]) or type(causes[0]).__name__
    return deepest.splitlines()[0]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all its causes, including those within groups."""
    seen: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        found = waiting.pop(0)
        if found is None or any(found is other for other in seen):
            continue
        seen.append(found)
        yield found
        waiting += [found.__cause__, found.__context__]
        if isinstance(found, BaseExceptionGroup):
            waiting += found.exceptions
