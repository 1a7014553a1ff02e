"""``gpugda serve`` and ``gpugda mcp``: a Bolt server, an MCP server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gpugda.cli.failures import say
from gpugda.cli.options import device_arguments, make_source
from gpugda.cli.run import open_accelerator
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from gpugda.cli.options import SourceOptions
    from gpugda.serve.server import AsyncServer


__all__ = ["ServeOptions", "serve_graph", "serve_tools"]


def serve_tools(
    source: SourceOptions,
    rows: int,
    seconds: float,
    device: str | None,
    memory_limit: str | None,
) -> None:
    """Serves until standard input ends.

    Raises:
        ConfigurationError: The package ``mcp`` is not installed.
        GpugdaError: As `gpugda.connect` does.
    """
    if find_spec("mcp") is None:
        raise ConfigurationError("gpugda mcp needs the package mcp: pip install 'gpugda[mcp]'.")
    from gpugda.mcp.server import Limits, make_server

    with open_accelerator(source, device, memory_limit) as accelerator:
        make_server(accelerator, Limits(rows, seconds)).run("stdio")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Values of the options for the port."""

    listen: str
    http: str | None
    advertise: str | None
    tls_cert: str | None
    tls_key: str | None
    origins: tuple[str, ...]
    max_connections: int
    max_queries: int


def serve_graph(
    source: SourceOptions,
    options: ServeOptions,
    device: str | None,
    memory_limit: str | None,
) -> None:
    """Serves until the program is told to end.

    Raises:
        ConfigurationError: An option is invalid.
        SourceError: The source, the port or the certificate cannot be used.
    """
    from gpugda.serve.front import is_server
    from gpugda.serve.server import serve

    auth = _auth()
    address = make_source(source)
    settings: dict[str, Any] = {
        "listen": options.listen,
        "http": options.http,
        "advertise": options.advertise,
        "certificate": options.tls_cert,
        "key": options.tls_key,
        "origins": options.origins,
        "most_connections": options.max_connections,
        "most_queries": options.max_queries,
    }
    if is_server(address):
        if auth is not None:
            raise ConfigurationError("GPUGDA_SERVE_AUTH: Neo4j itself checks its users.")
        serve(
            address,
            started=lambda server: _tell(server, options, open_to_all=False),
            **settings,
            **_of_server(source, device, memory_limit),
        )
        return
    with open_accelerator(source, device, memory_limit) as accelerator:
        serve(
            accelerator,
            started=lambda server: _tell(server, options, open_to_all=auth is None),
            auth=auth,
            **settings,
        )


def _of_server(
    source: SourceOptions, device: str | None, memory_limit: str | None
) -> dict[str, Any]:
    """Options for the snapshots of a Neo4j's databases; ``reader`` is the account that reads them.

    Raises:
        ConfigurationError: A database was named.
    """
    given = source.server.connect_arguments()
    if "database" in given:
        raise ConfigurationError("--database: all databases of the server are served.")
    found = {**given, **device_arguments(device, memory_limit)}
    if "auth" in found:
        found["reader"] = found.pop("auth")
    return found


def _auth() -> tuple[str, str] | None:
    """User and password that clients have to give, from the environment only.

    Raises:
        ConfigurationError: The variable is malformed.
    """
    text = os.environ.get("GPUGDA_SERVE_AUTH", "")
    if text in ("", "none"):
        return None
    user, slash, password = text.partition("/")
    if not (user and slash and password):
        raise ConfigurationError("GPUGDA_SERVE_AUTH has to be USER/PASSWORD, or none.")
    return user, password


def _tell(server: AsyncServer, options: ServeOptions, *, open_to_all: bool) -> None:
    scheme = "bolt" if options.tls_cert is None else "bolt+s"
    say(f"serving at {scheme}://{server.address} (Ctrl-C ends it)")
    if options.http is not None:
        web = "http" if options.tls_cert is None else "https"
        say(f"its page is at {web}://{server.web_address}/")
    if open_to_all and not server.is_local:
        say("warning: anyone who reaches this port can read the graph: set GPUGDA_SERVE_AUTH")
