"""Neo4j's two orders of texts, which differ for characters from U+10000 on.

Neo4j compares two texts by code point if it keeps both as UTF-8: literals, properties, and some
results computed from these alone. It compares other texts, such as parameters, by UTF-16 units, in
which U+10000 and above sort before U+E000. A text known to be kept as UTF-8 is a `StoredText`; for
any other text the form is unknown, and comparisons are rejected if the orders differ.
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

_FIRST_DIFFERENT = "\ue000"


class StoredText(str):
    """A literal or property with characters whose position differs between the orders."""

    __slots__ = ()


def as_stored(value: object) -> object:
    """Marks a literal or property as `StoredText` if it may be ordered differently."""
    return StoredText(value) if type(value) is str and may_differ(value) else value


def may_differ(text: str) -> bool:
    """True if some text exists against which the two orders differ."""
    return not text.isascii() and max(text) >= _FIRST_DIFFERENT


def _units(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")


def refuse_if_orders_differ(a: str, b: str) -> None:
    """Checks two texts that are compared or sorted.

    Raises:
        UnsupportedQueryError: The result depends on Neo4j's internal form, which is unknown.
    """
    if not (isinstance(a, StoredText) and isinstance(b, StoredText)):
        refuse_texts((a, b))


def refuse_texts(texts: Iterable[str]) -> None:
    """Checks texts that are sorted, if Neo4j's internal form of some is unknown.

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
    """The sort key of a text."""
    return _Key(text) if may_differ(text) else text


@functools.total_ordering
class _Key:
    """Sorts by code point, also against plain texts; raises if the other order would differ."""

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
