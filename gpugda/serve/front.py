"""This server before a Neo4j: what is shared by all clients."""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gpugda.accelerate.accelerators import Accelerators, open_accelerator
from gpugda.accelerate.gate import Gate
from gpugda.config import parse_freshness
from gpugda.errors import ConfigurationError
from gpugda.serve import framing
from gpugda.serve.backend import Backend
from gpugda.serve.framing import VERSIONS
from gpugda.serve.relay import Relay

if TYPE_CHECKING:
    from gpugda.answer.declined import Declined
    from gpugda.serve.answers import Workers
    from gpugda.serve.conversation import Link
    from gpugda.serve.framing import Version
    from gpugda.serve.settings import Settings

__all__ = ["Front", "is_server"]

logger = logging.getLogger(__name__)

_ADDRESS = re.compile(r"(bolt|neo4j)(\+s|\+ssc)?://", re.IGNORECASE)
_DEFAULT_PORT = 7687
_MOST_DECLINED = 10_000
_MOST_CHARACTERS = 2000
_REFUSED_SECONDS = 60.0
"""For a text that the device cannot answer, whatever the cost."""
_DECLINED_SECONDS = 1.0
"""For one that Neo4j is expected to answer sooner."""
_HEALTH_SECONDS = 5.0


def is_server(source: object) -> bool:
    """True for the address of a Neo4j."""
    return isinstance(source, str) and _ADDRESS.match(source.strip()) is not None


class Front:
    """A server before a Neo4j, whose reads it accelerates.

    Args:
        address: The address of the Neo4j.
        workers: Threads for queries.
        settings: The server's settings.
        options: Options of `gpugda.connect`; ``auth`` is the account that reads snapshots.

    Raises:
        ConfigurationError: An option is invalid.
    """

    def __init__(
        self, address: str, workers: Workers, settings: Settings, options: dict[str, Any]
    ) -> None:
        self.address = address.strip()
        parts = urlsplit(self.address)
        if not parts.hostname:
            raise ConfigurationError(f"{address!r} names no host.")
        self._host, self._port = parts.hostname, parts.port or _DEFAULT_PORT
        self._tls = _tls_of(parts.scheme.lower())
        self._workers = workers
        self._settings = settings
        freshness = parse_freshness(options.get("freshness", "strict"))
        self._accelerators = Accelerators(
            None, lambda name: open_accelerator(self.address, name, options)
        )
        self.gate = Gate(self._accelerators, strict=freshness.policy == "strict")
        self._versions: tuple[Version, ...] = ()
        self._declined: OrderedDict[int, tuple[float, str]] = OrderedDict()  # by the text's hash

    async def versions(self) -> tuple[Version, ...]:
        """The versions of Bolt that both the Neo4j and this server speak.

        Raises:
            OSError: The Neo4j cannot be reached.
            EOFError: It closed the connection.
        """
        if not self._versions:
            try:
                self._versions = await self._asked_versions()
            except (OSError, EOFError, TimeoutError):
                logger.warning("%s cannot be reached", self.address)
                raise
            logger.info("%s speaks %s", self.address, ", ".join(map(_shown, self._versions)))
        return self._versions

    async def conversation(self, link: Link) -> Relay | None:
        """A client's conversation, on a connection of its own; None if the Neo4j refused it.

        Raises:
            OSError: The Neo4j cannot be reached.
            EOFError: It closed the connection.
        """
        backend = await Backend.connect_as(self._host, self._port, self._tls, link.version)
        if backend is None:
            self._versions = ()  # another Neo4j answers at this address now
            return None
        return Relay(link, backend, self, self._workers, self._settings)

    def why_declined(self, text: str) -> str:
        """Why the device is not asked again for this text; empty if it is."""
        until, reason = self._declined.get(hash(text), (0.0, ""))
        return reason if time.monotonic() < until else ""

    def note_declined(self, text: str, declined: Declined) -> None:
        """Notes for a while that the device should not answer a text.

        Parameters or data may matter, and a decision costs a forwarded query more than its relay.
        """
        seconds = _DECLINED_SECONDS if declined.can_run else _REFUSED_SECONDS
        key, reason = hash(text), declined.reason[:_MOST_CHARACTERS]
        self._declined[key] = time.monotonic() + seconds, reason
        self._declined.move_to_end(key)
        if len(self._declined) > _MOST_DECLINED:
            self._declined.popitem(last=False)

    def accelerator(self, database: str) -> Any:
        """The accelerator of a database, or a sentence why there is none."""
        return self._accelerators.get(database)

    async def problem(self) -> str:
        """Why clients cannot be served; empty if they can."""
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                await self._asked_versions()
        except (OSError, EOFError, TimeoutError):
            return f"{self.address} cannot be reached\n"
        return ""

    def status(self) -> dict[str, Any]:
        """Facts for the page: the databases' snapshots, and why queries went to Neo4j."""
        tally = self.gate.tally
        return {"databases": self.gate.status(), "passed": tally.passed_through}

    async def close(self) -> None:
        """Closes the accelerators."""
        await asyncio.to_thread(self.gate.close)

    async def _asked_versions(self) -> tuple[Version, ...]:
        backend, answer = await Backend.connect(self._host, self._port, self._tls, framing.MANIFEST)
        try:
            offered = await self._offered(backend) if answer == framing.MANIFEST else []
        finally:
            await backend.close()
        found = tuple(each for each in VERSIONS if any(framing.newest(o, (each,)) for o in offered))
        if found:
            return found
        # An old server, which answers with one version at a time.
        return tuple([each for each in VERSIONS if await self._speaks(each)])

    async def _speaks(self, version: Version) -> bool:
        backend = await Backend.connect_as(self._host, self._port, self._tls, version)
        if backend is not None:
            await backend.close()
        return backend is not None

    async def _offered(self, backend: Backend) -> list[bytes]:
        (count,) = await backend.exactly(1)
        return [await backend.exactly(4) for _ in range(count)]


def _shown(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


def _tls_of(scheme: str) -> ssl.SSLContext | None:
    if scheme.endswith("+s"):
        return ssl.create_default_context()
    if not scheme.endswith("+ssc"):
        return None
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # what +ssc asks for
    return context
