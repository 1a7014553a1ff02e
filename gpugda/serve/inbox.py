"""A client's messages, read ahead of their handling."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from gpugda.serve.framing import FramingError
from gpugda.serve.messages import Tag
from gpugda.serve.packstream import PackStreamError, Structure, unpack

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.serve.framing import Dechunker
    from gpugda.serve.streams import ByteStream

__all__ = ["Inbox", "read_message"]

logger = logging.getLogger(__name__)

_RESET = bytes((0xB0, Tag.RESET))
_READ_AHEAD_BYTES = 1 << 20


def read_message(data: bytes) -> Structure:
    """The message in these bytes.

    Raises:
        PackStreamError: They are none.
    """
    if len(data) < 2 or data[0] & 0xF0 != 0xB0:
        raise PackStreamError("a message is not a structure")
    found = unpack(data)
    if not isinstance(found, Structure):
        raise PackStreamError("a message is a value")
    return found


class Inbox:
    """A client's messages in their order, read ahead of their handling.

    So a RESET and the end of the connection are noticed while a query runs. What waits here is
    bounded: then no more is read, and the client has to wait.

    Args:
        stream: The connection.
        dechunker: Joins chunks to messages.
    """

    def __init__(self, stream: ByteStream, dechunker: Dechunker) -> None:
        self._stream = stream
        self._dechunker = dechunker
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self.resets = 0
        self.ended = False
        self.fault: FramingError | None = None
        self.on_interrupt: Callable[[], None] = lambda: None

    @property
    def is_empty(self) -> bool:
        """True if no message waits."""
        return not self._waiting

    async def fill(self) -> None:
        """Reads messages until the connection ends."""
        try:
            while data := await self._stream.read():
                for message in self._dechunker.feed(data):
                    self._put(message)
                if self._bytes > _READ_AHEAD_BYTES:
                    self._room.clear()
                    await self._room.wait()
        except FramingError as error:
            self.fault = error
        except (OSError, EOFError) as error:
            logger.debug("a connection broke: %s", error)
        finally:
            self.ended = True
            self._changed.set()
            self.on_interrupt()

    async def get(self) -> bytes | None:
        """The next message; None at the end."""
        while not self._waiting:
            if self.ended:
                return None
            self._changed.clear()
            await self._changed.wait()
        message = self._waiting.popleft()
        self._bytes -= len(message)
        if self._bytes <= _READ_AHEAD_BYTES:
            self._room.set()
        return message

    def _put(self, message: bytes) -> None:
        self._waiting.append(message)
        self._bytes += len(message)
        if message == _RESET:
            self.resets += 1
            self.on_interrupt()
        self._changed.set()
