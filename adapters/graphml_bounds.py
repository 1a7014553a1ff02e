"""Memory limits for reading GraphML: an untrusted file must not fill the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

__all__ = ["MAX_BATCH_CELLS", "MAX_BYTES", "MAX_DEPTH", "BoundError", "cells_allowed", "feed"]

MAX_BYTES = 64 << 20
"""Maximum size of one tag, comment, or text."""

MAX_DEPTH = 64
MAX_BATCH_CELLS = 1 << 22
"""Maximum cells (rows times properties) of elements that wait for a batch."""

_FREE_CELLS = 1 << 27
_CELLS_PER_BYTE = 16
_BLOCK_BYTES = 1 << 20


class BoundError(Exception):
    """A piece of the file exceeds the limits."""


def feed(parser: Any, stream: BinaryIO) -> Iterator[int]:
    """Parses a stream block by block; yields the number of bytes parsed so far.

    Raises:
        BoundError: A tag or comment has no end.
    """
    read = 0
    while block := stream.read(_BLOCK_BYTES):
        read += len(block)
        parser.Parse(block, False)
        if read - parser.CurrentByteIndex > MAX_BYTES:
            raise BoundError(f"a tag or comment of more than {MAX_BYTES >> 20} MiB")
        yield read
    parser.Parse(b"", True)


def cells_allowed(read: int) -> int:
    """Maximum number of cells of a graph (nodes times keys), by the size of its file.

    A cell takes memory whether it has a value or not, and a default fills all of them.
    """
    return max(_FREE_CELLS, _CELLS_PER_BYTE * read)
