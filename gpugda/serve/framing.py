"""Bolt's framing: messages in chunks of at most 65,535 bytes, and the hand-shake on a version."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "LARGEST_CHUNK",
    "MAGIC",
    "MANIFEST",
    "NOOP",
    "VERSIONS",
    "Dechunker",
    "FramingError",
    "Version",
    "answer_of",
    "chunked",
    "ends_varint",
    "is_manifest",
    "manifest",
    "newest",
    "proposals",
]

Version = tuple[int, int]

MAGIC = b"\x60\x60\xb0\x17"
NOOP = b"\0\0"
"""An empty chunk between messages, which tells that the connection is alive."""
LARGEST_CHUNK = 0xFFFF

VERSIONS: tuple[Version, ...] = ((4, 4), *((5, minor) for minor in range(9)), (6, 0))
MANIFEST = b"\0\0\x01\xff"
_MOST_VARINT_BYTES = 8


class FramingError(Exception):
    """A client sent something that is not Bolt, or more than it may."""


class Dechunker:
    """Joins chunks to messages.

    Args:
        largest: Most bytes of a message.
    """

    def __init__(self, largest: int) -> None:
        self.largest = largest
        self._data = bytearray()
        self._message = bytearray()

    @property
    def in_message(self) -> bool:
        """True if a message has begun and not ended."""
        return bool(self._data or self._message)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yields the messages that these bytes complete.

        Raises:
            FramingError: A message is too long.
        """
        self._data += data
        place, end = 0, len(self._data)
        try:
            while place + 2 <= end:
                size = self._data[place] << 8 | self._data[place + 1]
                if size == 0:
                    place += 2
                    if self._message:
                        message = bytes(self._message)
                        self._message.clear()
                        yield message
                    continue
                if len(self._message) + size > self.largest:
                    raise FramingError(f"a message has more than {self.largest:,} bytes")
                if place + 2 + size > end:
                    return
                self._message += self._data[place + 2 : place + 2 + size]
                place += 2 + size
        finally:
            del self._data[:place]


def chunked(message: bytes) -> bytes:
    """The chunks of a message, with the end mark."""
    if len(message) <= LARGEST_CHUNK:
        return len(message).to_bytes(2, "big") + message + NOOP
    parts: list[bytes] = []
    for low in range(0, len(message), LARGEST_CHUNK):
        part = message[low : low + LARGEST_CHUNK]
        parts += (len(part).to_bytes(2, "big"), part)
    return b"".join([*parts, NOOP])


# ------------------------------------------------------------------ versions
def proposals(data: bytes) -> list[bytes]:
    """The four proposals of a client's hand-shake, in its order."""
    return [data[low : low + 4] for low in range(0, 16, 4)]


def is_manifest(proposal: bytes) -> bool:
    """True if the client asks for the list of versions."""
    return proposal == MANIFEST


def newest(proposal: bytes, supported: tuple[Version, ...] = VERSIONS) -> Version | None:
    """The newest supported version in the range of a proposal."""
    _, width, minor, major = proposal
    fitting = [each for each in supported if each[0] == major and minor - width <= each[1] <= minor]
    return max(fitting, default=None)


def manifest(supported: tuple[Version, ...] = VERSIONS) -> bytes:
    """The answer to a client that asks for the list: versions as ranges, and no capabilities."""
    majors = sorted({major for major, _ in supported})
    ranges = []
    for major in majors:
        minors = sorted(minor for each, minor in supported if each == major)
        ranges += [(major, high, high - low) for low, high in _runs(minors)]
    entries = b"".join(bytes((0, width, minor, major)) for major, minor, width in ranges)
    return MANIFEST + bytes((len(ranges),)) + entries + b"\0"


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def ends_varint(data: bytes) -> bool:
    """True if these bytes are a whole number of variable length.

    Raises:
        FramingError: It is too long.
    """
    if len(data) > _MOST_VARINT_BYTES:
        raise FramingError("the capabilities of the hand-shake are too long")
    return bool(data) and data[-1] < 0x80


def answer_of(version: Version | None) -> bytes:
    """The server's choice; four zeros for none."""
    return bytes(4) if version is None else bytes((0, 0, version[1], version[0]))
