"""The two orders of texts in Neo4j, which differ where there are characters from U+10000 on.

Neo4j compares two texts by code point where it keeps both as UTF-8: literals, properties, and some
of what is computed of these alone. Others, parameters among them, it compares by units of UTF-16,
where U+10000 and all after it stand before U+E000. A text that is known to be kept as UTF-8 is a
`StoredText`; of any other nothing is known, and where the orders differ it is refused.
"""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import TYPE_CHECKING

from gpugda.errors import UnsupportedQueryError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "StoredText",
    "as_stored",
    "may_differ",
    "refuse_if_orders_differ",
    "refuse_texts",
    "text_key",
]

_FIRST_THAT_DIFFERS = "\ue000"


class StoredText(str):
    """A literal or a property with characters whose place differs between the orders."""

    __slots__ = ()


def as_stored(value: object) -> object:
    """A literal or property; a text of which another's order may hang says that it is stored."""
    return StoredText(value) if type(value) is str and may_differ(value) else value


def may_differ(text: str) -> bool:
    """Is there a text against which the orders differ?"""
    return not text.isascii() and max(text) >= _FIRST_THAT_DIFFERS


def _units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def refuse_if_orders_differ(a: str, b: str) -> None:
    """Of two texts that are compared or sorted.

    Raises:
        UnsupportedQueryError: Neo4j's answer hangs on how it keeps them, which is not known.
    """
    if not (isinstance(a, StoredText) and isinstance(b, StoredText)):
        refuse_texts((a, b))


def refuse_texts(texts: Iterable[str]) -> None:
    """Of texts that are sorted, of some of which it is not known how Neo4j keeps them.

    Raises:
        UnsupportedQueryError: The orders differ for two of them.
    """
    units = [_units(text) for text in sorted(filter(may_differ, texts))]
    if all(before <= after for before, after in pairwise(units)):
        return
    message = (
        "texts with characters from U+10000 on are not ordered here against others from U+E000 on"
        " unless both are properties or literals"
    )
    raise UnsupportedQueryError(message, construct="order of computed texts")


def text_key(text: str) -> str | _Key:
    """What texts are sorted by."""
    return _Key(text) if may_differ(text) else text


@functools.total_ordering
class _Key:
    """Sorts by code point, among texts too, and refuses what another order would sort otherwise."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __eq__(self, other: object) -> bool:
        return self._text == (other._text if isinstance(other, _Key) else other)

    def __lt__(self, other: object) -> bool:
        if isinstance(other, _Key):
            refuse_if_orders_differ(self._text, other._text)
            return self._text < other._text
        return self._text < other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)
