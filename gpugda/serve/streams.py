"""Byte streams between a client and the server: a socket, or WebSocket messages over one.

Both kinds come at the same port. The first bytes tell them apart.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from gpugda.serve.framing import FramingError

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = [
    "LOCAL_HOSTS",
    "ByteStream",
    "SocketStream",
    "close_writer",
    "refused_origin",
    "web_socket",
]

_READ_BYTES = 1 << 16
_LARGEST_REQUEST = 16_384
_LARGEST_WEB_MESSAGE = 64 << 20
_BUFFERED_BYTES = 1 << 20
LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine."""


class ByteStream(Protocol):
    """A stream of bytes in both directions."""

    async def read(self) -> bytes:
        """Some bytes; none at the end."""

    def write(self, data: bytes) -> None:
        """Sends bytes; `drain` waits until there is room for more."""

    async def drain(self) -> None:
        """Waits while the client takes the bytes too slowly."""

    async def close(self, seconds: float) -> None:
        """Closes the connection: after what was written, but at the latest after these seconds."""

    def abort(self) -> None:
        """Closes the connection at once."""


async def close_writer(writer: asyncio.StreamWriter, seconds: float) -> None:
    """Closes a connection, and waits until it is closed; see `ByteStream.close`."""
    writer.close()
    try:
        async with asyncio.timeout(seconds):
            await writer.wait_closed()
    except (OSError, TimeoutError):
        pass  # it broke, or the other side takes nothing
    finally:
        writer.transport.abort()


class SocketStream:
    """A socket, with or without TLS.

    Args:
        reader: Its reading side.
        writer: Its writing side.
        slowest: Seconds after which a client that takes nothing is dropped.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, slowest: float
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._slowest = slowest
        self._unread = b""
        writer.transport.set_write_buffer_limits(high=_BUFFERED_BYTES)

    async def read(self) -> bytes:
        """See `ByteStream`."""
        if self._unread:
            found, self._unread = self._unread, b""
            return found
        return await self._reader.read(_READ_BYTES)

    async def exactly(self, count: int) -> bytes:
        """So many bytes.

        Raises:
            asyncio.IncompleteReadError: The stream ended before.
        """
        found, self._unread = self._unread[:count], self._unread[count:]
        return found + await self._reader.readexactly(count - len(found))

    def unread(self, data: bytes) -> None:
        """Puts bytes back, which are read next."""
        self._unread = data + self._unread

    def write(self, data: bytes) -> None:
        """See `ByteStream`."""
        self._writer.write(data)

    async def drain(self) -> None:
        """See `ByteStream`.

        Raises:
            FramingError: The client took nothing for too long.
        """
        try:
            async with asyncio.timeout(self._slowest):
                await self._writer.drain()
        except TimeoutError:
            self.abort()
            raise FramingError(f"the client took no bytes for {self._slowest:g} s") from None

    async def close(self, seconds: float) -> None:
        """See `ByteStream`."""
        await close_writer(self._writer, seconds)

    def abort(self) -> None:
        """See `ByteStream`."""
        self._writer.transport.abort()


# ------------------------------------------------------------------ WebSocket
async def web_socket(below: SocketStream, origins: Collection[str]) -> ByteStream:
    """Answers a request for a WebSocket.

    Args:
        below: The socket, at the request's first byte.
        origins: Pages that may connect, beside those of this machine: ``https://host``. A browser
            lets any page open a WebSocket, so a graph without password needs this check.

    Raises:
        FramingError: It was another request, or from a page that may not connect.
    """
    try:
        from websockets.server import ServerProtocol
    except ImportError:
        below.write(_refusal("501 Not Implemented", "WebSocket needs: pip install gpugda[serve]"))
        raise FramingError("WebSocket needs: pip install gpugda[serve]") from None
    stream = _WebSocketStream(below, ServerProtocol(max_size=_LARGEST_WEB_MESSAGE))
    await stream.accept(origins)
    return stream


class _WebSocketStream:
    """The bytes of a WebSocket's binary messages.

    Args:
        below: The socket.
        protocol: The state of the WebSocket.
    """

    def __init__(self, below: SocketStream, protocol: Any) -> None:
        self._below = below
        self._protocol = protocol
        self._found = bytearray()

    async def accept(self, origins: Collection[str]) -> None:
        """Answers the request; see `web_socket`."""
        seen = 0
        while True:
            data = await self._below.read()
            seen += len(data)
            if not data or seen > _LARGEST_REQUEST:
                raise FramingError("a request of HTTP that does not end")
            self._protocol.receive_data(data)
            requests = self._protocol.events_received()
            if requests:
                break
            if self._protocol.parser_exc or self._protocol.handshake_exc:
                raise FramingError("a request that is not HTTP")
        request = requests[0]
        try:
            refused = refused_origin(request.headers.get("Origin"), origins, LOCAL_HOSTS)
        except ValueError:
            refused = "a page without an address"
        if refused:
            response = self._protocol.reject(403, f"{refused} may not connect (--origin)\n")
        else:
            response = self._protocol.accept(request)
        self._protocol.send_response(response)
        self._flush()
        if response.status_code != 101:
            raise FramingError(refused or "a request of HTTP that asks for no WebSocket")

    async def read(self) -> bytes:
        """See `ByteStream`."""
        while not self._found:
            data = await self._below.read()
            if data:
                self._protocol.receive_data(data)
            else:
                self._protocol.receive_eof()
            for frame in self._protocol.events_received():
                if frame.opcode in (0, 1, 2):  # continued, text, binary
                    self._found += frame.data
            self._flush()
            if not self._found and (not data or self._protocol.close_expected()):
                return b""
        found = bytes(self._found)
        self._found.clear()
        return found

    def write(self, data: bytes) -> None:
        """See `ByteStream`."""
        self._protocol.send_binary(data)
        self._flush()

    async def drain(self) -> None:
        """See `ByteStream`."""
        await self._below.drain()

    async def close(self, seconds: float) -> None:
        """See `ByteStream`."""
        if self._protocol.state == 1:
            self._protocol.send_close()
            self._flush()
        await self._below.close(seconds)

    def abort(self) -> None:
        """See `ByteStream`."""
        self._below.abort()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._below.write(data)


def refused_origin(origin: str | None, origins: Collection[str], hosts: Collection[str]) -> str:
    """The page that asks if it may not; empty if it may, or if no page asks.

    Args:
        origin: Where the page is from, as the browser says.
        origins: Pages that may ask; ``*`` for all.
        hosts: Names of hosts whose pages may ask, too.

    Raises:
        ValueError: The browser says nonsense.
    """
    if origin is None or origin in origins or "*" in origins:
        return ""
    return "" if urlsplit(origin).hostname in hosts else f"the page {origin[:200]}"


def _refusal(status: str, text: str) -> bytes:
    body = f"{text}\n"
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
