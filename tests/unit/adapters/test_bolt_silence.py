"""Connecting to a port without Neo4j: a clear error in time, and no thread is left."""

import socket
import threading
from contextlib import closing, suppress
from time import monotonic

import pytest
from gpugda_adapters import bolt_connection
from gpugda_adapters.neo4j_bolt import BoltSource
from soon import GENEROUS_SECONDS

from gpugda.errors import SourceError

SCHEMES = ("bolt", "neo4j", "bolt+s", "bolt+ssc", "neo4j+s", "neo4j+ssc")
LIMIT = 1.0


@pytest.fixture
def port():
    """A port that accepts connections and calls ``port.treat`` with each."""
    kept = []

    def accept():
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                kept.append(connection)
                made.treat(connection)

    class Port:
        def treat(self, connection):
            pass  # never answers

    made = Port()
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        made.number = listener.getsockname()[1]
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield made
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(5)
    for connection in kept:
        connection.close()


def refused(monkeypatch, scheme, number):
    monkeypatch.setattr(bolt_connection, "CONNECT_SECONDS", LIMIT)
    started = monotonic()
    with pytest.raises(SourceError) as found:
        BoltSource(f"{scheme}://127.0.0.1:{number}", environment={})
    assert not [t for t in threading.enumerate() if t.name.startswith("gpugda")]
    return str(found.value), monotonic() - started


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_silent_port_is_refused_within_the_time_limit(port, monkeypatch, scheme):
    refused(monkeypatch, scheme, 1)  # loads imports and caches
    message, seconds = refused(monkeypatch, scheme, port.number)
    assert LIMIT / 2 < seconds < GENEROUS_SECONDS
    assert ("without +s or +ssc" if "+" in scheme else "scheme with +s") in message


@pytest.mark.parametrize("scheme", ["bolt+s", "bolt+ssc", "neo4j+s"])
@pytest.mark.parametrize("said", [b"", b"\0\0\5\4", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_the_error_of_a_port_without_tls_advises_another_scheme(port, monkeypatch, scheme, said):
    port.treat = lambda connection: (connection.sendall(said), connection.close())
    message, seconds = refused(monkeypatch, scheme, port.number)
    assert "without +s or +ssc" in message
    assert seconds < GENEROUS_SECONDS
