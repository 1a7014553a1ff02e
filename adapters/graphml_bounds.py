"""How much of a GraphML file is held at a time: a file from elsewhere may not fill the memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

__all__ = ["MOST_BATCH_CELLS", "MOST_BYTES", "MOST_DEPTH", "BoundError", "cells_allowed", "feed"]

MOST_BYTES = 64 << 20
"""Of one tag, comment, or text."""

MOST_DEPTH = 64
MOST_BATCH_CELLS = 1 << 22
"""Rows times properties of elements that wait to become a batch."""

_FREE_CELLS = 1 << 27
_CELLS_PER_BYTE = 16
_BLOCK_BYTES = 1 << 20


class BoundError(Exception):
    """More lies in one piece than is held at a time."""


def feed(parser: Any, stream: BinaryIO) -> Iterator[int]:
    """Parses a stream block by block; gives the bytes parsed until now.

    Raises:
        BoundError: There is a tag or comment without an end.
    """
    read = 0
    while block := stream.read(_BLOCK_BYTES):
        read += len(block)
        parser.Parse(block, False)
        if read - parser.CurrentByteIndex > MOST_BYTES:
            raise BoundError(f"a tag or comment of more than {MOST_BYTES >> 20} MiB")
        yield read
    parser.Parse(b"", True)


def cells_allowed(read: int) -> int:
    """How many places for values a graph may have, nodes times keys, by the bytes of its file.

    Each takes memory whether there is a value or not, and a default fills them all.
    """
    return max(_FREE_CELLS, _CELLS_PER_BYTE * read)
