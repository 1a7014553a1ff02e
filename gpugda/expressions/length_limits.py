"""Limits on the length of a value, checked before it exhausts the machine's memory."""

from __future__ import annotations

from typing import Final

from gpugda.errors import MemoryLimitError

__all__ = ["check_items", "check_text"]

_MAX_ITEMS: Final = 1 << 26
_MAX_CHARACTERS: Final = 1 << 30


def check_items(count: int) -> None:
    """Checks that a list of ``count`` elements may be created.

    Raises:
        MemoryLimitError: It exceeds the length limit.
    """
    if count > _MAX_ITEMS:
        _refuse("list", "elements", count, _MAX_ITEMS)


def check_text(count: int) -> None:
    """Checks that a text of ``count`` characters may be created.

    Raises:
        MemoryLimitError: It exceeds the length limit.
    """
    if count > _MAX_CHARACTERS:
        _refuse("text", "characters", count, _MAX_CHARACTERS)


def _refuse(what: str, parts: str, count: int, most: int) -> None:
    raise MemoryLimitError(
        f"a {what} of {count} {parts} exceeds the limit of {most}: use a part of it, or UNWIND"
        " its source"
    )
