"""Reads what a compressed file unpacks to, but not much more than files of its size hold.

A few megabytes of zeros can stand for terabytes: an archive from elsewhere may not fill the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from gpugda.errors import SourceError

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

__all__ = ["BoundedStream"]

_FREE_BYTES = 1 << 30
_MOST_TIMES = 200
"""Tables become 5 to 30 times smaller, those that repeat one line 100 times."""


class BoundedStream:
    """A stream of unpacked bytes that ends with an error where they are far too many.

    Args:
        stream: What to read.
        packed_bytes: Size of what it is unpacked from.
        name: Of the file, for the error.
    """

    def __init__(self, stream: BinaryIO, packed_bytes: int, name: str) -> None:
        self._stream = stream
        self._limit = max(_FREE_BYTES, _MOST_TIMES * packed_bytes)
        self._packed_bytes = packed_bytes
        self._name = name
        self._done = 0

    def read(self, size: int = -1) -> bytes:
        """As of any stream; never more than the limit at a time.

        Raises:
            SourceError: There is more than a file of this size holds.
        """
        wanted = self._limit + 1 - self._done
        found = self._stream.read(wanted if size < 0 else min(size, wanted))
        self._done += len(found)
        if self._done > self._limit:
            raise SourceError(
                f"{self._name}: {self._packed_bytes:,} compressed bytes unpack to more than "
                f"{self._limit:,}, as of a file made to fill the memory; if it is right, unpack "
                "it and read the unpacked file"
            )
        return found

    def close(self) -> None:
        """Closes what it reads."""
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
