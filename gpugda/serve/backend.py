"""A connection to the Neo4j behind this server: requests out, answers back as they come.

The answers' bytes go to the client unchanged. Only the chunks' lengths and the messages' tags are
read, so that it is known which requests are answered, and only the answer after a result's last
record is decoded, to learn from it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gpugda.serve.framing import MAGIC, NOOP, answer_of, chunked
from gpugda.serve.inbox import read_message
from gpugda.serve.messages import Tag
from gpugda.serve.packstream import Packer, PackStreamError
from gpugda.serve.streams import close_writer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    from gpugda.serve.framing import Version
    from gpugda.serve.packstream import Structure

__all__ = ["Backend", "Reply"]

_READ_BYTES = 1 << 18
_LARGEST_KEPT = 16 << 20
"""An answer longer than this is passed on, but not decoded."""
_MOST_UNSENT_BYTES = 1 << 16
_CONNECT_SECONDS = 30.0
_CLOSE_SECONDS = 10.0


class Reply(NamedTuple):
    """The answer to a request: its tag and its metadata, and the records before it if kept."""

    tag: int
    metadata: dict[str, Any]
    rows: list[list[Any]]

    @property
    def succeeded(self) -> bool:
        """True for SUCCESS."""
        return self.tag == Tag.SUCCESS


class _Request:
    """A request that is not answered yet.

    Args:
        on_reply: Called with the answer; may return a message for the client in its place.
        is_own: True if the client did not ask, and gets no answer.
        replaces: True if ``on_reply`` decides what the client gets.
        reads: False if ``on_reply`` needs no metadata of a success.
    """

    __slots__ = ("is_own", "on_reply", "reads", "replaces", "rows")

    def __init__(
        self,
        on_reply: Callable[[Reply], bytes | None] | None,
        *,
        is_own: bool = False,
        replaces: bool = False,
        reads: bool = True,
    ) -> None:
        self.on_reply = on_reply
        self.is_own = is_own
        self.replaces = replaces
        self.reads = reads
        self.rows: list[list[Any]] = []


class Backend:
    """A client's own connection to the Neo4j behind.

    Args:
        reader: Its reading side.
        writer: Its writing side.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: deque[_Request] = deque()
        self._unsent = bytearray()
        self._settled = asyncio.Event()
        self._settled.set()
        self._unread = bytearray()
        self._message = bytearray()
        self._message_bytes = 0
        self._tag = -1

    @classmethod
    async def connect(
        cls, host: str, port: int, tls: ssl.SSLContext | None, proposals: bytes
    ) -> tuple[Backend, bytes]:
        """Connects and proposes versions; returns the first four bytes of the answer, too.

        Raises:
            OSError: There is no server, or it does not answer.
            EOFError: It closed the connection.
        """
        async with asyncio.timeout(_CONNECT_SECONDS):
            reader, writer = await asyncio.open_connection(
                host, port, ssl=tls, server_hostname=host if tls else None, limit=_READ_BYTES
            )
            backend = cls(reader, writer)
            try:
                writer.write(MAGIC + proposals.ljust(16, b"\0"))
                return backend, await reader.readexactly(4)
            except BaseException:
                backend.abort()
                raise

    @classmethod
    async def connect_as(
        cls, host: str, port: int, tls: ssl.SSLContext | None, version: Version
    ) -> Backend | None:
        """Connects with a version of Bolt; None if the server refuses it.

        Raises:
            OSError: There is no server, or it does not answer.
            EOFError: It closed the connection.
        """
        backend, answer = await cls.connect(host, port, tls, answer_of(version))
        if answer == answer_of(version):
            return backend
        await backend.close()
        return None

    async def exactly(self, count: int) -> bytes:
        """So many bytes of the hand-shake."""
        return await self._reader.readexactly(count)

    # ------------------------------------------------------------------ requests
    @property
    def is_settled(self) -> bool:
        """True if all requests are answered."""
        return not self._waiting

    async def settle(self) -> None:
        """Sends all requests, and waits until they are answered."""
        await self.flush()
        await self._settled.wait()

    async def flush(self) -> None:
        """Sends the requests that were passed on."""
        if self._unsent:
            data, self._unsent = self._unsent, bytearray()
            self._writer.write(data)
            await self._writer.drain()

    async def pass_on(
        self,
        message: bytes,
        on_reply: Callable[[Reply], bytes | None] | None = None,
        *,
        replaces: bool = False,
        reads: bool = True,
    ) -> None:
        """Sends a client's message, at the latest with the next `flush`. GOODBYE has no answer.

        Clients send RUN and PULL together: so Neo4j gets them together, too.
        """
        if message[1:2] != bytes((Tag.GOODBYE,)):
            self._expect(_Request(on_reply, replaces=replaces, reads=reads))
        self._unsent += chunked(message)
        if len(self._unsent) > _MOST_UNSENT_BYTES:
            await self.flush()

    async def ask(self, query: str, database: str | None) -> tuple[Reply, Reply]:
        """Runs a query of this server's own in the client's session, which has to be idle.

        Returns:
            The answers to RUN and to PULL, the latter with the rows.
        """
        packer, replies = Packer(), list[Reply]()
        extra = {"mode": "r", **({"db": database} if database else {})}
        requests = [
            packer.message(Tag.RUN, query, {}, extra),
            packer.message(Tag.PULL, {"n": -1}),
        ]
        await self._ask(requests, replies)
        if not replies[0].succeeded:
            await self._ask([packer.message(Tag.RESET)], [])
        return replies[0], replies[1]

    async def _ask(self, messages: list[bytes], replies: list[Reply]) -> None:
        for message in messages:
            self._expect(_Request(lambda reply: replies.append(reply), is_own=True))
            self._unsent += chunked(message)
        await self.settle()

    def _expect(self, request: _Request) -> None:
        self._waiting.append(request)
        self._settled.clear()

    # ------------------------------------------------------------------ answers
    async def read(self) -> bytes | None:
        """The next bytes for the client; None at the end."""
        data = await self._reader.read(_READ_BYTES)
        if not data:
            return None
        return b"".join(self._parts(data))

    def _parts(self, data: bytes) -> Iterator[bytes]:
        """What the client gets of these bytes: whole chunks, as they came."""
        self._unread += data
        buffer, end = self._unread, len(self._unread)
        place = passed = 0
        while (place := self._after_records(place)) + 2 <= end:
            size = buffer[place] << 8 | buffer[place + 1]
            stop = place + 2 + size
            if stop > end:
                break
            if size and not self._message_bytes:
                self._tag = buffer[place + 3] if size > 1 else -1
            is_kept = self._is_kept
            if is_kept and passed < place:
                yield bytes(buffer[passed:place])
            if size:
                self._note(buffer[place + 2 : stop], is_kept=is_kept)
            elif self._message_bytes:
                instead = self._ended()
                if instead is not None:
                    yield instead
            place = stop
            if is_kept:
                passed = place
        yield bytes(buffer[passed:place])
        del buffer[:place]

    def _after_records(self, place: int) -> int:
        """The place after the records of one chunk that the client gets: nearly all messages."""
        if self._message_bytes or self._is_kept:
            return place
        buffer, end = self._unread, len(self._unread)
        while place + 4 <= end:
            stop = place + 2 + (buffer[place] << 8 | buffer[place + 1])
            if stop + 2 > end or buffer[place + 3] != Tag.RECORD or buffer[stop : stop + 2] != NOOP:
                return place
            place = stop + 2
        return place

    def _note(self, chunk: bytearray, *, is_kept: bool) -> None:
        self._message_bytes += len(chunk)
        if self._tag != Tag.RECORD or is_kept:
            self._message += chunk
        if self._message_bytes > _LARGEST_KEPT:
            self._message.clear()

    def _ended(self) -> bytes | None:
        """Ends a message; returns what the client gets if it does not get it as it is."""
        whole, self._message_bytes = bytes(self._message), 0
        self._message.clear()
        if not self._waiting or (self._tag == Tag.RECORD and not self._is_kept):
            return None
        return self._answered(whole)

    @property
    def _is_kept(self) -> bool:
        """True if the client does not get the next answer as it is."""
        return bool(self._waiting) and (self._waiting[0].is_own or self._waiting[0].replaces)

    def _answered(self, data: bytes) -> bytes | None:
        """Notes a whole message; returns what the client gets if it does not get it as it is."""
        request = self._waiting[0]
        message = _decoded(data) if request.reads or self._tag != Tag.SUCCESS else None
        if self._tag == Tag.RECORD:
            if message is not None:
                request.rows.append(message.fields[0])
            return b""
        self._waiting.popleft()
        metadata = message.fields[0] if message is not None and message.fields else {}
        instead = None
        if request.on_reply is not None:
            instead = request.on_reply(Reply(self._tag, metadata, request.rows))
        if not self._waiting:
            self._settled.set()
        if request.is_own:
            return b""
        return chunked(data if instead is None else instead) if request.replaces else None

    async def close(self) -> None:
        """Closes the connection, after what was written."""
        await close_writer(self._writer, _CLOSE_SECONDS)

    def abort(self) -> None:
        """Closes the connection at once."""
        self._writer.transport.abort()


def _decoded(data: bytes) -> Structure | None:
    with suppress(PackStreamError):
        return read_message(data)
    return None
