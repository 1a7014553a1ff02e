"""The server: accepts connections, shakes hands, and starts a conversation with each client."""

from __future__ import annotations

import asyncio
import errno
import inspect
import logging
import signal
import socket
import ssl
import stat
import time
from contextlib import suppress
from dataclasses import fields
from functools import partial
from ipaddress import ip_address
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

from gpugda.accelerator import Accelerator
from gpugda.api import connect
from gpugda.errors import ConfigurationError, SourceError
from gpugda.schema.procedures import DATABASE
from gpugda.serve import framing
from gpugda.serve.answers import Workers
from gpugda.serve.conversation import Link
from gpugda.serve.framing import Dechunker, FramingError
from gpugda.serve.front import Front, is_server
from gpugda.serve.inbox import Inbox
from gpugda.serve.inner_client import InnerClient
from gpugda.serve.journal import Journal
from gpugda.serve.session import Session
from gpugda.serve.settings import Settings
from gpugda.serve.streams import SocketStream, web_socket

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.serve.framing import Version
    from gpugda.serve.relay import Relay
    from gpugda.serve.streams import ByteStream
    from gpugda.serve.web import WebPort

__all__ = ["AsyncServer", "serve"]

logger = logging.getLogger(__name__)

_DEFAULT_PORT = 7687
_WEB_PORT = 7475
"""Neo4j itself has 7474."""
_TLS_RECORD = b"\x16\x03"
_BACKLOG = 512
_READ_AHEAD_BYTES = 1 << 16
_RETRY_SECONDS = 0.1
"""Time until the port is tried again while the process may open no more files."""
_LAST_SECONDS = 1.0
"""Time that clients have to take what was written when the server stops."""


class _Host(Protocol):
    """What a server stands for: an embedded graph, or a Neo4j."""

    async def versions(self) -> tuple[Version, ...]: ...
    async def conversation(self, link: Link) -> Session | Relay | None: ...
    async def problem(self) -> str: ...
    def status(self) -> dict[str, Any]: ...
    async def close(self) -> None: ...


class _Embedded:
    """An embedded graph.

    Args:
        source: See `AsyncServer`.
        workers: Threads for queries.
        settings: The server's settings.
        options: Options of `gpugda.connect`.
    """

    def __init__(
        self, source: object, workers: Workers, settings: Settings, options: dict[str, Any]
    ) -> None:
        if isinstance(source, Accelerator):
            self._accelerator, self._is_own = source, False
        else:
            self._accelerator, self._is_own = connect(source, **options), True
        self._workers = workers
        self._settings = settings

    async def versions(self) -> tuple[Version, ...]:
        return framing.VERSIONS

    async def conversation(self, link: Link) -> Session:
        return Session(link, self._accelerator, self._workers, self._settings)

    async def problem(self) -> str:
        return ""

    def status(self) -> dict[str, Any]:
        return {"databases": {DATABASE: self._accelerator.status()}, "passed": {}}

    async def close(self) -> None:
        if self._is_own:
            await asyncio.to_thread(self._accelerator.close)


class AsyncServer:
    """A Bolt server: before a Neo4j, whose reads it accelerates, or read-only for a graph.

    Example:
        async with AsyncServer("sample:wordnet", listen="localhost:7687") as server:
            await server.wait_closed()

    Args:
        source: The address of a Neo4j; or another source as for `gpugda.connect`, or an
            `Accelerator` of an embedded graph, which stays open.
        options: Fields of `Settings`, and options of `gpugda.connect`. For a Neo4j,
            ``reader`` is the account that reads snapshots, as ``auth`` of `gpugda.connect`.

    Raises:
        ConfigurationError: There is no such option.
    """

    def __init__(self, source: object, **options: Any) -> None:
        names = {each.name for each in fields(Settings)}
        given = {name: value for name, value in options.items() if name in names}
        self._settings = Settings(**given)
        self._source = source
        self._connecting = {name: value for name, value in options.items() if name not in names}
        if "reader" in self._connecting:
            self._connecting["auth"] = self._connecting.pop("reader")
        unknown = sorted(set(self._connecting) - set(inspect.signature(connect).parameters))
        if unknown:
            raise ConfigurationError(f"A server has no option {', '.join(unknown)}.")
        self._host: _Host | None = None
        self._workers = Workers(self._settings.most_queries)
        self._names = count()
        self._sessions: dict[asyncio.Task[Any], Session | Relay | None] = {}
        self._tls: ssl.SSLContext | None = None
        self._ports: list[socket.socket] = []
        self._web: WebPort | None = None
        self._web_ports: list[socket.socket] = []
        self.journal = Journal()
        self._closed = asyncio.Event()

    @property
    def address(self) -> str:
        """The address of the port, with the port's number if the system chose it."""
        return _shown(self._ports)

    @property
    def web_address(self) -> str:
        """The address of the port for HTTP."""
        return _shown(self._web_ports)

    @property
    def connections(self) -> tuple[Session | Relay | None, ...]:
        """The open connections; None for one before the hand-shake."""
        return tuple(self._sessions.values())

    @property
    def is_local(self) -> bool:
        """True if only programs on this machine can connect."""
        return _are_local(self._ports)

    @property
    def web_is_local(self) -> bool:
        """True if only programs on this machine can use the port for HTTP."""
        return _are_local(self._web_ports)

    async def start(self) -> None:
        """Opens the source and the port.

        Raises:
            ConfigurationError: A setting is invalid.
            SourceError: The source, the port or the certificate cannot be used.
        """
        settings = self._settings
        try:
            self._tls = _tls_of(settings)
            await self._open_source()
            self._ports = await _opened(settings.listen)
        except OSError as error:
            raise _unserved("--listen", settings.listen, error) from error
        if settings.http is not None:
            await self._open_web(settings.http)
        for port in self._ports:
            self._listen(port)
        logger.info("listening at %s", self.address)

    async def _open_web(self, address: str) -> None:
        try:
            from gpugda.serve.web import WebPort
        except ImportError as error:
            raise ConfigurationError("HTTP needs: pip install gpugda[serve]") from error
        try:
            self._web_ports = await _opened(address, _WEB_PORT)
        except OSError as error:
            raise _unserved("--http", address, error) from error
        account = self._settings.auth
        if is_server(self._source):
            account = self._connecting.get("auth")
        operator = account if isinstance(account, tuple) else None
        if operator is None and not self.web_is_local:
            raise ConfigurationError(
                f"{address}: a page beyond this machine needs an account: GPUGDA_SERVE_AUTH for a "
                "graph, the user and password that read the snapshots before a Neo4j."
            )
        self._web = WebPort(self, self._web_ports, self._tls, operator, self._settings)
        try:
            await self._web.start()
        except OSError as error:
            raise _unserved("--http", address, error) from error

    async def _open_source(self) -> None:
        arguments = (self._workers, self._settings, self._connecting)
        if is_server(self._source):
            self._host = Front(str(self._source), *arguments)
        else:
            self._host = await asyncio.to_thread(_Embedded, self._source, *arguments)

    def reload_certificate(self) -> None:
        """Reads the certificate's files again; connections that are open keep the old one.

        Raises:
            SourceError: The files cannot be used; new connections keep the old one, too.
        """
        if self._tls is None:
            return
        try:
            _tls_of(self._settings)  # both files fit together
            self._tls.load_cert_chain(str(self._settings.certificate), self._settings.key)
        except OSError as error:
            raise SourceError(f"the certificate cannot be read: {error}") from error

    async def problem(self) -> str:
        """Why clients cannot be served; empty if they can."""
        assert self._host is not None
        return await self._host.problem()

    def status(self) -> dict[str, Any]:
        """Facts for the page."""
        assert self._host is not None
        sessions = [each for each in self._sessions.values() if each is not None]
        return {
            "address": self.address,
            "seconds": time.time() - self.journal.started_at,
            "connections": [
                {
                    "name": each.name,
                    "user": each.user,
                    "agent": each.agent,
                    "busy": not each.is_idle,
                }
                for each in sessions
            ],
            "engines": {name: sum(each) for name, each in self.journal.classes.items()},
            "failures": self.journal.failures,
            "slowest": self.journal.slowest(),
            **self._host.status(),
        }

    async def inner_client(self) -> tuple[InnerClient, Version, Callable[[], Any]]:
        """A client in this process, its version of Bolt, and what closes it.

        Raises:
            OSError: The Neo4j behind cannot be reached, or there are too many clients.
            EOFError: It closed the connection.
        """
        assert self._host is not None
        if len(self._sessions) >= self._settings.most_connections:
            raise OSError(f"{len(self._sessions)} clients are connected")
        # The newest whose notifications have the form of the Query API.
        versions = await self._host.versions()
        version = max([each for each in versions if each < (5, 5)] or versions[:1], default=None)
        if version is None:
            raise OSError("the Neo4j behind speaks no version of Bolt that gpugda does")
        client = InnerClient()
        task = asyncio.create_task(self._guarded(f"http-{next(self._names)}", client, version))
        self._sessions[task] = None
        task.add_done_callback(self._sessions.pop)

        async def close() -> None:
            client.abort()
            await asyncio.wait({task})

        return client, version, close

    async def wait_closed(self) -> None:
        """Serves until the server is closed."""
        await self._closed.wait()

    async def close(self) -> None:
        """Accepts no more clients, lets running work end for a while, and closes the rest."""
        for port in self._ports:
            asyncio.get_running_loop().remove_reader(port)
            port.close()
        await asyncio.gather(self._drained(), *([self._web.close()] if self._web else []))
        for port in self._web_ports:
            port.close()
        tasks = list(self._sessions)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._workers.close()
        if self._host is not None:
            await self._host.close()
        self._closed.set()
        logger.info("closed")

    async def __aenter__(self) -> Self:
        try:
            await self.start()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    # ------------------------------------------------------------------ connections
    async def _drained(self) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._settings.drain_seconds
        while any(each and not each.is_idle for each in self.connections) and loop.time() < end:
            await asyncio.sleep(0.02)

    def _accept(self, port: socket.socket) -> None:
        """Accepts a client that waits at a port.

        By itself, as `asyncio.Server` does not tell which connections it has before the hand-shake
        of TLS ends: they count, too, and are closed with the others.
        """
        try:
            connection, _ = port.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return
        except OSError as error:
            logger.warning("no client can be accepted: %s", error)
            loop = asyncio.get_running_loop()
            loop.remove_reader(port)
            loop.call_later(_RETRY_SECONDS, self._listen, port)
            return
        if len(self._sessions) >= self._settings.most_connections:
            logger.warning("a client was refused: %d are connected", len(self._sessions))
            connection.close()
            return
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        task = asyncio.create_task(self._accepted(connection))
        self._sessions[task] = None
        task.add_done_callback(partial(self._forget, connection))

    def _listen(self, port: socket.socket) -> None:
        if port.fileno() >= 0:
            asyncio.get_running_loop().add_reader(port, self._accept, port)

    def _forget(self, connection: socket.socket, task: asyncio.Task[None]) -> None:
        del self._sessions[task]
        connection.close()  # if the task was cancelled before it began

    async def _accepted(self, connection: socket.socket) -> None:
        name = f"bolt-{next(self._names)}"
        stream: SocketStream | None = None
        patience = self._settings.slowest_seconds
        try:
            async with asyncio.timeout(self._settings.hello_seconds):
                reader, writer = await _streams(connection, self._tls)
            stream = SocketStream(reader, writer, patience)
            peer = writer.get_extra_info("peername")
            logger.info("%s: connected from %s", name, peer or "a socket")
            assert self._host is not None
            async with asyncio.timeout(self._settings.hello_seconds):
                bolt, version = await self._shaken_hands(stream, await self._host.versions())
            try:
                await self._converse(bolt, version, name, _local_address(writer))
            finally:
                if bolt is not stream:
                    await bolt.close(_LAST_SECONDS)
        except FramingError as error:
            logger.info("%s: refused: %s", name, error)
        except (OSError, EOFError, TimeoutError) as error:
            logger.info("%s: lost: %s", name, error or type(error).__name__)
        except asyncio.CancelledError:
            patience = _LAST_SECONDS  # the server closes
        except Exception:
            logger.exception("%s: a fault of gpugda", name)
        finally:
            if stream is not None:
                await stream.close(patience)
            logger.info("%s: closed", name)

    async def _guarded(self, name: str, client: InnerClient, version: Version) -> None:
        try:
            await self._converse(client, version, name, self.address)
        except (FramingError, OSError, EOFError) as error:
            logger.info("%s: lost: %s", name, error or type(error).__name__)
        finally:
            client.abort()

    async def _converse(
        self, stream: ByteStream, version: Version, name: str, own_address: str
    ) -> None:
        settings = self._settings
        assert self._host is not None
        inbox = Inbox(stream, Dechunker(settings.largest_message))
        link = Link(stream, inbox, version, name, own_address, self.journal)
        session = await self._host.conversation(link)
        if session is None:
            raise FramingError("the server behind refused the version of Bolt")
        task = asyncio.current_task()
        assert task is not None
        self._sessions[task] = session
        logger.debug("%s: Bolt %d.%d", name, *version)
        filling = asyncio.create_task(inbox.fill())
        timer = asyncio.get_running_loop().call_later(
            settings.hello_seconds, lambda: None if session.is_known else stream.abort()
        )
        try:
            await session.run()
        finally:
            timer.cancel()
            filling.cancel()

    async def _shaken_hands(
        self, socket: SocketStream, supported: tuple[Version, ...]
    ) -> tuple[ByteStream, Version]:
        """The stream and the version of Bolt.

        Raises:
            FramingError: The client speaks something else, or no common version.
        """
        stream: ByteStream = socket
        first = await socket.exactly(4)
        if first == b"GET ":
            socket.unread(first)
            stream = await web_socket(socket, self._settings.origins)
            socket = _Exact(stream)  # type: ignore[assignment]
            first = await socket.exactly(4)
        if first != framing.MAGIC:
            what = (
                "TLS, and this port has no certificate" if first[:2] == _TLS_RECORD else "no Bolt"
            )
            raise FramingError(f"the client speaks {what}")
        version = await _version_with(socket, stream, supported)
        if version is None:
            stream.write(framing.answer_of(None))
            await stream.drain()
            raise FramingError("there is no common version of Bolt")
        return stream, version


class _Exact:
    """Reads an exact number of bytes from any stream; puts back what is too much."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._found = b""

    async def exactly(self, size: int) -> bytes:
        """So many bytes.

        Raises:
            EOFError: The stream ended before.
        """
        while len(self._found) < size:
            data = await self._stream.read()
            if not data:
                raise EOFError("the stream ended within the hand-shake")
            self._found += data
        found, self._found = self._found[:size], self._found[size:]
        return found


async def _version_with(
    socket: Any, stream: ByteStream, supported: tuple[Version, ...]
) -> Version | None:
    for proposal in framing.proposals(await socket.exactly(16)):
        if framing.is_manifest(proposal):
            stream.write(framing.manifest(supported))
            chosen = await socket.exactly(4)
            capabilities = b""
            while not framing.ends_varint(capabilities):
                capabilities += await socket.exactly(1)
            return framing.newest(chosen, supported) if chosen[1] == 0 else None
        version = framing.newest(proposal, supported)
        if version is not None:
            stream.write(framing.answer_of(version))
            return version
    return None


async def _opened(address: str, default_port: int = _DEFAULT_PORT) -> list[socket.socket]:
    """Sockets that listen at an address: the path of a Unix socket, or host and port.

    Raises:
        OSError: They cannot be opened.
        ConfigurationError: It is no address, or the path of a file.
    """
    ports: list[socket.socket] = []
    try:
        if "/" in address:
            with suppress(FileNotFoundError):
                if not stat.S_ISSOCK(Path(address).lstat().st_mode):
                    raise ConfigurationError(f"{address} exists, and is no socket.")
                Path(address).unlink()
            ports.append(socket.socket(socket.AF_UNIX))
            ports[0].bind(address)
            ports[0].listen(_BACKLOG)
        else:
            found = await _resolved(*host_and_port(address, default_port))
            for family, *_, name in dict.fromkeys(found):
                ports.append(socket.create_server(name, family=family, backlog=_BACKLOG))
    except BaseException:
        for port in ports:
            port.close()
        raise
    for port in ports:
        port.setblocking(False)
    return ports


async def _resolved(host: str, port: int) -> list[tuple[Any, ...]]:
    try:
        return await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except UnicodeError as error:  # such as "a..b", which is no name at all
        raise socket.gaierror(socket.EAI_NONAME, str(error)) from error


async def _streams(
    connection: socket.socket, tls: ssl.SSLContext | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """The streams of an accepted connection, after the hand-shake of TLS.

    Raises:
        OSError: The hand-shake failed.
    """
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(_READ_AHEAD_BYTES)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_accepted_socket(lambda: protocol, connection, ssl=tls)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


def _unserved(option: str, address: str, error: OSError) -> SourceError:
    if isinstance(error, socket.gaierror):
        reason = "the host's name cannot be resolved; write HOST:PORT, as localhost:7687"
    elif error.errno == errno.EADDRINUSE:
        reason = f"another program listens there: end it, or choose another port with {option}"
    else:
        reason = str(error)
    return SourceError(f"{address} cannot be served: {reason}")


def host_and_port(text: str, default_port: int = _DEFAULT_PORT) -> tuple[str, int]:
    """Host and port of an address such as ``localhost:7687``, ``[::1]:7687`` or ``localhost``.

    Raises:
        ConfigurationError: It is none.
    """
    host, colon, port = text.rpartition(":")
    if not colon or text.endswith("]"):
        host, port = text, str(default_port)
    host = host.strip("[]")
    if not host or not port.isdigit() or int(port) > 0xFFFF:
        raise ConfigurationError(f"{text!r} is no address; write HOST:PORT, as localhost:7687.")
    return host, int(port)


def _shown(ports: list[socket.socket]) -> str:
    name = ports[0].getsockname()
    if isinstance(name, str):
        return name
    host = f"[{name[0]}]" if ":" in name[0] else name[0]
    return f"{host}:{name[1]}"


def _are_local(ports: list[socket.socket]) -> bool:
    names = [each.getsockname() for each in ports]
    return all(isinstance(name, str) or ip_address(name[0]).is_loopback for name in names)


def _local_address(writer: asyncio.StreamWriter) -> str:
    name = writer.get_extra_info("sockname")
    return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "localhost"


def _tls_of(settings: Settings) -> ssl.SSLContext | None:
    if settings.certificate is None:
        if settings.key is not None:
            raise ConfigurationError("A TLS key needs a certificate.")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(settings.certificate, settings.key)
    return context


def serve(
    source: object, *, started: Callable[[AsyncServer], object] | None = None, **options: Any
) -> None:
    """Serves a graph over Bolt until SIGTERM or Ctrl-C; SIGHUP reads the certificate again.

    Args:
        source: See `AsyncServer`.
        started: Called when the port is open.
        options: See `AsyncServer`.

    Raises:
        ConfigurationError: As `AsyncServer`.
        SourceError: The source, the port or the certificate cannot be used.
    """
    asyncio.run(_serve(AsyncServer(source, **options), started))


async def _serve(server: AsyncServer, started: Callable[[AsyncServer], object] | None) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, server.reload_certificate)
    async with server:
        if started is not None:
            started(server)
        await stop.wait()
