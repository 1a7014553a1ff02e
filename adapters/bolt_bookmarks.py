"""Parses Neo4j's bookmarks: the database and its newest committed transaction.

A bookmark is ``FB:`` and the base64 of packed values (PackStream, as in Bolt): a list marker with
the number of databases, then for each its uuid (16 bytes) and a transaction number, then a list of
foreign databases, which is empty outside of composite databases. A read returns the newest
transaction that was committed when it began, so a read serves as a request for the version.

The format is undocumented. So any deviation, down to the last byte, counts as no version at all,
and then no snapshot is considered fresh.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from typing import TYPE_CHECKING
from uuid import UUID

from gpugda.ports import DatabaseVersion

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["bookmark_of", "parse_bookmark", "version_of"]

_PREFIX = "FB:"
# All servers have the same system database, and its transactions change no graph.
_SYSTEM = UUID(int=1)
_TINY_LIST, _BYTES_8, _UUID_BYTES, _EMPTY_LIST = 0x90, 0xCC, 16, b"\x90"
_INTEGER_BYTES = {0xC8: 1, 0xC9: 2, 0xCA: 4, 0xCB: 8}
_LARGEST_TINY = 0x7F


def version_of(bookmarks: Iterable[str]) -> DatabaseVersion | None:
    """The version in a session's bookmarks; None unless there is exactly one."""
    found = list(bookmarks)
    return parse_bookmark(found[0]) if len(found) == 1 else None


@lru_cache(maxsize=16)  # without writes, successive answers carry the same bookmark
def parse_bookmark(text: str) -> DatabaseVersion | None:
    """The version in a bookmark; None if the format is unknown or it has several databases."""
    if not text.startswith(_PREFIX):
        return None
    try:
        packed = base64.b64decode(text[len(_PREFIX) :], validate=True)
        states = _states(packed)
    except (binascii.Error, ValueError, IndexError):
        return None
    graphs = {uuid: number for uuid, number in states if uuid != _SYSTEM}
    if len(graphs) != 1 or len({uuid for uuid, _ in states}) != len(states):
        return None
    ((uuid, transaction),) = graphs.items()
    return DatabaseVersion(str(uuid), transaction, text)


def bookmark_of(database_id: str, transaction: int) -> str:
    """The inverse of `parse_bookmark`; for an id ``uuid@process`` the process is left out."""
    uuid = UUID(database_id.partition("@")[0]).bytes
    packed = bytes([_TINY_LIST | 1, _BYTES_8, _UUID_BYTES]) + uuid + _packed(transaction)
    return _PREFIX + base64.b64encode(packed + _EMPTY_LIST).decode()


def _packed(number: int) -> bytes:
    """The shortest encoding, like the server's."""
    if number <= _LARGEST_TINY:
        return bytes([number])
    for marker, width in list(_INTEGER_BYTES.items())[1:]:
        if number < 1 << (8 * width - 1):
            return bytes([marker]) + number.to_bytes(width, "big")
    raise ValueError(f"{number} is no number of a transaction")


def _states(packed: bytes) -> list[tuple[UUID, int]]:
    """Raises ValueError or IndexError if the bytes do not have the known format."""
    if packed[0] & 0xF0 != _TINY_LIST:
        raise ValueError("no list of databases")
    position, states = 1, []
    for _ in range(packed[0] & 0x0F):
        if packed[position] != _BYTES_8 or packed[position + 1] != _UUID_BYTES:
            raise ValueError("no uuid")
        position += 2
        uuid = UUID(bytes=packed[position : position + _UUID_BYTES])
        transaction, position = _integer(packed, position + _UUID_BYTES)
        states.append((uuid, transaction))
    if packed[position:] != _EMPTY_LIST:
        raise ValueError("more than databases of this server")
    return states


def _integer(packed: bytes, position: int) -> tuple[int, int]:
    marker = packed[position]
    if marker <= _LARGEST_TINY:
        return marker, position + 1
    end = position + 1 + _INTEGER_BYTES.get(marker, len(packed))
    if end > len(packed):
        raise ValueError("no integer")
    number = int.from_bytes(packed[position + 1 : end], "big", signed=True)
    if number < 0:
        raise ValueError("no number of a transaction")
    return number, end
