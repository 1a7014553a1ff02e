"""Settings of a server."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a server.

    Args:
        listen: Address of the port for Bolt: host and port, or the path of a Unix socket.
        http: Address of the port for HTTP; None for none.
        advertise: The address that ROUTE names; by default the one that the client asked for.
        certificate: File of the TLS certificate (PEM); without it, connections are not encrypted.
        key: File of its private key.
        origins: Pages that may connect by WebSocket and HTTP, beside those of this machine.
        auth: User and password that clients have to give, for an embedded graph.
        most_connections: Further connections are refused.
        most_queries: Queries that run at a time; more wait.
        largest_message: Bytes of a client's message.
        hello_seconds: Time for a client to say who it is.
        slowest_seconds: Time after which a client that takes no bytes is dropped.
        alive_seconds: Time after which a client that waits is told that its query still runs.
        drain_seconds: Time that running queries have to end when the server stops.
    """

    listen: str = "localhost:7687"
    http: str | None = None
    advertise: str | None = None
    certificate: str | None = None
    key: str | None = None
    origins: tuple[str, ...] = ()
    auth: tuple[str, str] | None = None
    most_connections: int = 1000
    most_queries: int = 8
    largest_message: int = 64 << 20
    hello_seconds: float = 30.0
    slowest_seconds: float = 120.0
    alive_seconds: float = 30.0
    drain_seconds: float = 10.0
