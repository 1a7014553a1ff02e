"""``text =~ pattern``: matches the whole string."""

from __future__ import annotations

import functools
from typing import Any, Final

import regex

from gpugda.errors import CypherTypeError, UnsupportedQueryError
from gpugda.expressions.regex.reader import translated
from gpugda.values import describe

__all__ = ["matches"]

_SECONDS: Final = 2.0
"""Time limit per string. Java has none and overflows its stack instead."""

_LONGEST: Final = 10_000


def matches(text: Any, pattern: Any) -> bool | None:
    """``text =~ pattern``; null if the left side is no string.

    Raises:
        CypherTypeError: The pattern is no string.
        UnsupportedQueryError: A construct may have another meaning in Java, the pattern is no
            regular expression, or matching takes too long.
    """
    if pattern is None or text is None:
        return None
    if not isinstance(pattern, str):
        raise CypherTypeError(f"a regular expression must be a string, not {describe(pattern)}")
    if not isinstance(text, str):
        return None
    compiled, ascii_only = _compiled(pattern)
    if ascii_only and not text.isascii():
        message = f"\\b in {pattern!r} is not supported by this engine for strings beyond ASCII"
        raise UnsupportedQueryError(message, construct="=~ with \\b beyond ASCII")
    try:
        return compiled.fullmatch(text, timeout=_SECONDS) is not None
    except (TimeoutError, MemoryError, RecursionError):
        message = f"the regular expression {pattern!r} takes too long"
        raise UnsupportedQueryError(message, construct="=~ that takes too long") from None


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> tuple[Any, bool]:
    if len(pattern) > _LONGEST:
        raise UnsupportedQueryError(
            "such a long regular expression is not supported by this engine"
        )
    translation = translated(pattern)
    try:
        return regex.compile(translation.pattern, regex.V0 | regex.ASCII), translation.ascii_only
    except (regex.error, OverflowError, RecursionError):
        message = f"the regular expression {pattern!r} is not supported by this engine"
        raise UnsupportedQueryError(message, construct="=~") from None
