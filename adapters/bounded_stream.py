"""Bounds the size of decompressed files.

A few megabytes of zeros can decompress to terabytes: an untrusted archive must not fill the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from gpugda.errors import SourceError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["BoundedStream"]

_FREE_BYTES = 1 << 30
_MAX_TIMES = 200
"""Maximum ratio. Tables compress 5 to 30 times, those that repeat one line 100 times."""


class BoundedStream:
    """A stream of decompressed bytes that raises if there are far too many.

    Args:
        stream: The stream to read.
        packed_bytes: Compressed size.
        name: Name of the file, for the error.
    """

    def __init__(self, stream: BinaryIO, packed_bytes: int, name: str) -> None:
        self._stream = stream
        self._limit = max(_FREE_BYTES, _MAX_TIMES * packed_bytes)
        self._packed_bytes = packed_bytes
        self._name = name
        self._done = 0

    def read(self, size: int = -1) -> bytes:
        """Reads like any stream, never beyond the limit.

        Raises:
            SourceError: There is more than a file of this size plausibly holds.
        """
        wanted = self._limit + 1 - self._done
        found = self._stream.read(wanted if size < 0 else min(size, wanted))
        self._done += len(found)
        if self._done > self._limit:
            raise SourceError(
                f"{self._name}: {self._packed_bytes:,} compressed bytes unpack to more than "
                f"{self._limit:,}, like a file made to fill the memory; if it is genuine, unpack "
                "it and read the unpacked file"
            )
        return found

    def close(self) -> None:
        """Closes the underlying stream."""
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
