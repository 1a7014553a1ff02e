import socket
import ssl

import neo4j.exceptions
import pytest
from gpugda_adapters.bolt_errors import is_broken_connection, is_timeout, source_error
from neo4j.exceptions import Neo4jError, ServiceUnavailable, SessionExpired

from gpugda.errors import ConfigurationError, SourceError


def server_error(code, message="what it says"):
    return Neo4jError._hydrate_neo4j(code=code, message=message)


def unavailable(text, cause=None):
    error = ServiceUnavailable(text)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        ("Neo.ClientError.Security.Unauthorized", "on the command line -u and -p"),
        ("Neo.ClientError.Security.TokenExpired", "Check auth="),
        ("Neo.ClientError.Security.AuthenticationRateLimit", "wait some seconds"),
        ("Neo.ClientError.Security.AuthenticationRateLimit", "on the command line -u and -p"),
        ("Neo.ClientError.Security.CredentialsExpired", "SET PASSWORD"),
        ("Neo.ClientError.Security.Forbidden", "privilege"),
        ("Neo.ClientError.Database.DatabaseNotFound", "SHOW DATABASES"),
        ("Neo.TransientError.Database.DatabaseUnavailable", "not started"),
        ("Neo.TransientError.General.MemoryPoolOutOfMemoryError", "dbms.memory.transaction"),
        ("Neo.ClientError.Statement.SyntaxError", "what it says"),
    ],
)
def test_server_errors_become_source_errors_with_advice(code, advice):
    found = source_error(server_error(code), "bolt://host:1", "reading")
    assert isinstance(found, SourceError)
    assert str(found).startswith("bolt://host:1: reading failed. ")
    assert advice in str(found)
    assert "what it says" in str(found)


@pytest.mark.parametrize(
    ("error", "address", "advice"),
    [
        (unavailable("x", socket.gaierror(-2, "unknown")), "bolt://h:1", "cannot be resolved"),
        (unavailable("reason [Errno 111] Connection refused"), "bolt://h:1", "Nothing listens"),
        (unavailable("no", ConnectionRefusedError()), "bolt://h:1", "Nothing listens"),
        (
            unavailable("routing", ExceptionGroup("all", [ConnectionRefusedError()])),
            "neo4j://h:1",
            "Nothing listens",
        ),
        (unavailable("(looks like HTTP)"), "bolt://h:1", "Bolt port"),
        (unavailable("Failed to read … handshake"), "bolt://h:1", "scheme with +s"),
        (unavailable("x", OSError("no encrypted connection")), "bolt+s://h:1", "without +s"),
        (
            unavailable("x", ssl.SSLCertVerificationError(1, "certificate")),
            "bolt+s://h:1",
            "not trusted",
        ),
        (unavailable("failed to obtain a connection from the pool"), "bolt://h:1", "in use"),
        (unavailable("something\nelse"), "bolt://h:1", "(something)"),
        (SessionExpired(""), "bolt://h:1", "(SessionExpired)"),
    ],
)
def test_connection_errors_become_source_errors_with_advice(error, address, advice):
    found = source_error(error, address, "connecting")
    assert isinstance(found, SourceError)
    assert advice in str(found)


def test_refused_settings_become_configuration_errors():
    error = neo4j.exceptions.ConfigurationError("no such option")
    assert isinstance(source_error(error, "bolt://h:1", "connecting"), ConfigurationError)


def test_cyclic_causes_of_an_error_end():
    one, other = ServiceUnavailable("one"), ServiceUnavailable("other")
    one.__cause__, other.__cause__ = other, one
    assert "not reached" in str(source_error(one, "bolt://h:1", "connecting"))


def test_every_error_of_the_driver_is_mapped():
    for name in dir(neo4j.exceptions):
        kind = getattr(neo4j.exceptions, name)
        if isinstance(kind, type) and issubclass(kind, neo4j.exceptions.DriverError):
            error = kind.__new__(kind)
            found = source_error(error, "bolt://h:1", "reading")
            assert isinstance(found, SourceError | ConfigurationError), name


def test_broken_connections_and_timeouts_are_recognised():
    assert is_broken_connection(ServiceUnavailable())
    assert is_broken_connection(SessionExpired())
    assert not is_broken_connection(server_error("Neo.ClientError.Statement.SyntaxError"))
    assert is_timeout(server_error("Neo.ClientError.Transaction.TransactionTimedOut"))
    assert not is_timeout(server_error("Neo.ClientError.Statement.SyntaxError"))
    assert not is_timeout(TimeoutError())
