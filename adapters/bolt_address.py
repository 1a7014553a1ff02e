"""Parses the address of a database server before it is passed to the driver."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from gpugda.errors import ConfigurationError

__all__ = ["SCHEMES", "BoltAddress", "parse_address"]

SCHEMES = ("bolt", "bolt+s", "bolt+ssc", "neo4j", "neo4j+s", "neo4j+ssc")
_DEFAULT_PORT = 7687


@dataclass(frozen=True, slots=True)
class BoltAddress:
    """The address of a server.

    Args:
        scheme: One of `SCHEMES`.
        shown: Scheme, host and port, for display.
        url: The driver's argument: also has the routing context, if there is one.
    """

    scheme: str
    shown: str
    url: str

    @property
    def routed(self) -> bool:
        """True if the driver asks the server for the members of its cluster."""
        return self.scheme.startswith("neo4j")


def parse_address(text: str) -> BoltAddress:
    """The address, normalised.

    Raises:
        ConfigurationError: It cannot be used. The message never repeats a text that may contain a
            password.
    """
    text = text.strip()
    if "@" in text:
        raise ConfigurationError(
            "The address contains an '@': credentials do not belong in it, as addresses end up "
            "in logs. Give auth=(user, password), on the command line -u and -p, or set "
            "NEO4J_USERNAME and NEO4J_PASSWORD."
        )
    scheme = text.partition(":")[0].lower()
    if scheme not in SCHEMES:
        raise ConfigurationError(
            f"{text!r} has no known scheme; an address begins with one of "
            f"{', '.join(f'{name}://' for name in SCHEMES)}."
        )
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ConfigurationError(
            f"{text!r} is no address ({error}); write scheme://host:port, such as "
            "bolt://localhost:7687, and an IPv6 host in brackets."
        ) from error
    _check_parts(text, scheme, parts)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    shown = f"{scheme}://{host}:{_DEFAULT_PORT if port is None else port}"
    return BoltAddress(scheme, shown, f"{shown}?{parts.query}" if parts.query else shown)


def _check_parts(text: str, scheme: str, parts: SplitResult) -> None:
    if not parts.hostname or parts.port == 0:
        raise ConfigurationError(
            f"{text!r} names no host or port; write {scheme}://host:port, such as "
            f"{scheme}://localhost:7687."
        )
    if parts.path.strip("/") or parts.fragment:
        raise ConfigurationError(
            f"{text!r} has something after the port; a database is named by database=, on the "
            "command line -d, or by NEO4J_DATABASE."
        )
    if parts.query and not scheme.startswith("neo4j"):
        raise ConfigurationError(
            f"{text!r} has a routing context ('?…'), which only neo4j:// addresses can have."
        )
