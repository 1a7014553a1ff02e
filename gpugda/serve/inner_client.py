"""A client within this process: it speaks Bolt with a conversation as any other client does."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from gpugda.serve.conversation import INVALID
from gpugda.serve.framing import Dechunker, chunked
from gpugda.serve.messages import RefusedError, Tag
from gpugda.serve.packstream import Packer, unpack

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from gpugda.serve.framing import Version
    from gpugda.serve.packstream import Structure

__all__ = ["InnerClient"]

_MOST_WAITING = 2000
"""Messages; a conversation waits while so many are unread."""
_ROWS = 1000
_LARGEST_MESSAGE = 1 << 30


class InnerClient:
    """The client, and the stream of bytes that the server has in its place; see `ByteStream`."""

    def __init__(self) -> None:
        self._requests: asyncio.Queue[bytes] = asyncio.Queue()
        self._answers: asyncio.Queue[Structure | None] = asyncio.Queue()
        self._dechunker = Dechunker(_LARGEST_MESSAGE)
        self._read = asyncio.Event()
        self._packer = Packer()
        self._is_open = True

    # ------------------------------------------------------------------ the server's side
    async def read(self) -> bytes:
        """See `ByteStream`."""
        return await self._requests.get() if self._is_open else b""

    def write(self, data: bytes) -> None:
        """See `ByteStream`."""
        for message in self._dechunker.feed(data):
            self._answers.put_nowait(unpack(message))

    async def drain(self) -> None:
        """See `ByteStream`."""
        while self._answers.qsize() > _MOST_WAITING and self._is_open:
            self._read.clear()
            await self._read.wait()

    async def close(self, seconds: float) -> None:
        """See `ByteStream`."""
        self.abort()

    def abort(self) -> None:
        """See `ByteStream`."""
        self._is_open = False
        self._read.set()
        self._answers.put_nowait(None)
        self._requests.put_nowait(b"")

    # ------------------------------------------------------------------ the client's side
    async def ask(self, tag: Tag, *fields: Any) -> dict[str, Any]:
        """Sends a message, and returns the metadata of its answer.

        Raises:
            RefusedError: It failed.
            EOFError: The server closed the connection.
        """
        return await self.ask_packed(self._packer.message(tag, *fields))

    async def ask_packed(self, message: bytes) -> dict[str, Any]:
        """Sends the bytes of a message; see `ask`."""
        self._requests.put_nowait(chunked(message))
        return self._succeeded(await self._receive())

    async def log_on(self, version: Version, token: Mapping[str, Any], agent: str) -> None:
        """Says who it is; see `ask`."""
        hello = {"user_agent": agent, "bolt_agent": {"product": agent}, "patch_bolt": ["utc"]}
        if version < (5, 1):
            await self.ask(Tag.HELLO, {**hello, **token})
            return
        await self.ask(Tag.HELLO, hello)
        await self.ask(Tag.LOGON, dict(token))

    async def rows(self, metadata: dict[str, Any]) -> AsyncIterator[list[Any]]:
        """The rows of the open result; ``metadata`` becomes that of its end; see `ask`."""
        while True:
            self._requests.put_nowait(chunked(self._packer.message(Tag.PULL, {"n": _ROWS})))
            while (found := await self._receive()).tag == Tag.RECORD:
                yield found.fields[0]
            last = self._succeeded(found)
            if not last.get("has_more"):
                metadata.update(last)
                return

    async def _receive(self) -> Structure:
        found = await self._answers.get()
        if self._answers.qsize() <= _MOST_WAITING:
            self._read.set()
        if found is None:
            raise EOFError("the server closed the connection")
        return found

    def _succeeded(self, answer: Structure) -> dict[str, Any]:
        found: dict[str, Any] = answer.fields[0] if answer.fields else {}
        if answer.tag == Tag.SUCCESS:
            return found
        code = found.get("code") or found.get("neo4j_code") or INVALID
        raise RefusedError(code, found.get("message", "the request was ignored"))
