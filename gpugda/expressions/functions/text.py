"""String functions. Lengths and positions count code points, as in Neo4j, not UTF-16 units."""

from __future__ import annotations

import re
import unicodedata
import uuid
from typing import TYPE_CHECKING, Any

from gpugda.errors import CypherArgumentError, UnsupportedQueryError
from gpugda.expressions.checks import (
    LARGEST_POSITION,
    check_text,
    position,
    string,
    type_error,
    whole,
)
from gpugda.expressions.functions.registry import Function, signature

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.expressions.context import Context

__all__ = ["BLANKS", "FUNCTIONS", "lower_case", "normal_form", "trimmed", "upper_case"]

BLANKS = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2008\u2009"
    "\u200a\u2028\u2029\u205f\u3000"
)
"""Java's Character.isWhitespace; no-break spaces are not included."""

_SIGMA = "\u03a3"
_LETTERS = (
    r"A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u017f"
    r"\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03ce\u1f00-\u1fbc"
)
_PLAIN_SIGMA = re.compile(
    rf"(?:\A|(?<=[ \t\n\r{_LETTERS}])){_SIGMA}"
    rf"(?=\Z|[ \t\n\r{_LETTERS},;!?()/]|[.'](?:\Z|[ \t\n\r{_LETTERS}]))"
)
"""A sigma between letters, blanks and this punctuation has an undisputed lower-case form."""
_NEW_LETTERS = re.compile(
    "[\u019b\u0264\u1c89\u1c8a\u2c2f\u2c5f\ua7c0\ua7c1\ua7cb-\ua7dc"
    "\U00010570-\U000105bc\U00010d50-\U00010d85]"
)
"""Letters whose case mapping came with Unicode 14 to 16; versions of Java and Python differ."""


def _of_string(name: str, evaluate: Callable[[str], Any], result: str = "string") -> Function:
    def evaluated(text: Any) -> Any:
        return evaluate(string(f"{name}()", text))

    return Function(name, signature(f"string -> {result}"), evaluated)


# ------------------------------------------------------------------ upper and lower case
def upper_case(text: str) -> str:
    """``toUpper(text)``.

    Raises:
        UnsupportedQueryError: A letter's case mapping is unknown to some versions of Java.
    """
    _check_letters("toUpper()", text)
    return text.upper()


def lower_case(text: str) -> str:
    """``toLower(text)``.

    Raises:
        UnsupportedQueryError: As `upper_case`. Also if the form of a sigma depends on whether it
            ends a word: Java's word rules differ from Unicode's for a sigma before a hyphen and
            after a digit.
    """
    _check_letters("toLower()", text)
    if _SIGMA in text and text.count(_SIGMA) > len(_PLAIN_SIGMA.findall(text)):
        message = "toLower() of a sigma next to a non-letter is not supported by this engine"
        raise UnsupportedQueryError(message, construct="toLower()")
    return text.lower()


def _check_letters(function: str, text: str) -> None:
    if not text.isascii() and _NEW_LETTERS.search(text):
        message = f"{function} of letters newer than Unicode 13 is not supported by this engine"
        raise UnsupportedQueryError(message, construct=function)


# ------------------------------------------------------------------ trimming
def _trim(name: str, strip: Callable[[str, str], str]) -> Function:
    def evaluated(text: Any, characters: Any = BLANKS) -> str:
        return strip(string(f"{name}()", text), string(f"{name}()", characters))

    return Function(name, signature("string, string -> string", 1), evaluated)


_STRIPS: dict[str, Callable[[str, str], str]] = {
    "BOTH": str.strip,
    "LEADING": str.lstrip,
    "TRAILING": str.rstrip,
}


def trimmed(side: str, characters: Any, text: Any) -> str | None:
    """``trim(side characters FROM text)``: removes a single character repeatedly.

    Args:
        side: ``BOTH``, ``LEADING`` or ``TRAILING``.
        characters: The character to remove; ``...`` for blanks if none is written.
        text: The text to trim.

    Raises:
        CypherArgumentError: ``characters`` is not exactly one character.
    """
    if characters is None or text is None:
        return None
    if characters is ...:
        return _STRIPS[side](string("trim()", text), BLANKS)
    if len(string("trim()", characters)) != 1:
        raise CypherArgumentError(f"trim() removes a single character, not {characters!r}")
    return _STRIPS[side](string("trim()", text), characters)


# ------------------------------------------------------------------ pieces
def _substring(text: Any, start: Any, length: Any = ...) -> str:
    string("substring()", text)
    first = _place("substring()", start, is_open=not text)
    if length is ...:
        return str(text[first:])
    return str(text[first : first + _place("substring()", length, is_open=not text)])


def _left(text: Any, length: Any) -> str:
    is_long = whole("left()", length) > LARGEST_POSITION
    return string("left()", text)[: _place("left()", length, is_open=is_long or not text)]


def _right(text: Any, length: Any) -> str:
    is_long = whole("right()", length) > LARGEST_POSITION
    count = _place("right()", length, is_open=is_long)
    return string("right()", text)[-count:] if count else string("right()", text)[:0]


def _place(function: str, given: Any, *, is_open: bool) -> int:
    """As `position`. ``is_open``: True if Neo4j 5.26 accepts positions that later ones refuse."""
    if is_open and not 0 <= whole(function, given) <= LARGEST_POSITION:
        message = f"{function} with such a length is not supported: versions of Neo4j differ"
        raise UnsupportedQueryError(message, construct=function)
    return position(function, given)


def _replace(text: Any, search: Any, replacement: Any) -> str:
    for given in (text, search, replacement):
        string("replace()", given)
    if not search and replacement and _is_beyond_units(text):
        message = "replace() of an empty text in such a string is not supported by this engine"
        raise UnsupportedQueryError(message, construct="replace()")
    more = len(replacement) - len(search)
    check_text(len(text) + (text.count(search) * more if more > 0 else 0))
    return str(text.replace(search, replacement))


def _split(text: Any, delimiters: Any) -> list[str] | None:
    string("split()", text)
    given = delimiters if isinstance(delimiters, list) else [delimiters]
    if any(each is None for each in given):
        return None
    pieces = [string("split()", each) for each in given]
    if not text or not pieces:
        return [text]
    if "" in pieces:
        return _characters(text, pieces)
    return re.split("|".join(map(re.escape, pieces)), text)


def _is_beyond_units(text: str) -> bool:
    """True for characters beyond U+FFFF, which Neo4j splits into surrogate halves."""
    return not text.isascii() and max(text) > "\uffff"


def _characters(text: str, delimiters: list[str]) -> list[str]:
    if len(delimiters) > 1 or _is_beyond_units(text):
        message = "split() by an empty delimiter is not supported by this engine for such a string"
        raise UnsupportedQueryError(message, construct="split()")
    return list(text)


# ------------------------------------------------------------------ normal forms
def normal_form(text: Any, form: Any = "NFC") -> str:
    """``normalize(text, form)``."""
    if form not in ("NFC", "NFD", "NFKC", "NFKD"):
        raise CypherArgumentError(f"normalize(): unknown form {form!r}")
    return unicodedata.normalize(form, string("normalize()", text))


# ------------------------------------------------------------------ both strings and lists
def _reverse(given: Any) -> Any:
    if isinstance(given, str | list):
        return given[::-1]
    raise type_error("reverse()", "a string or a list", given)


def _size(given: Any) -> int:
    if isinstance(given, str | list):
        return len(given)
    raise type_error("size()", "a string or a list", given)


def _is_empty(given: Any) -> bool:
    if isinstance(given, str | list | dict):
        return not given
    raise type_error("isEmpty()", "a string, a list or a map", given)


def _random_uuid(context: Context) -> str:
    number = int.from_bytes(bytes(int(context.random() * 256) for _ in range(16)))
    return str(uuid.UUID(int=number, version=4))


FUNCTIONS: tuple[Function, ...] = (
    _of_string("toUpper", upper_case),
    _of_string("upper", upper_case),
    _of_string("toLower", lower_case),
    _of_string("lower", lower_case),
    _of_string("char_length", len, "integer"),
    _of_string("character_length", len, "integer"),
    _trim("trim", str.strip),
    _trim("btrim", str.strip),
    _trim("ltrim", str.lstrip),
    _trim("rtrim", str.rstrip),
    Function("substring", signature("string, integer, integer -> string", 1), _substring),
    Function("left", signature("string, integer -> string"), _left),
    Function("right", signature("string, integer -> string"), _right),
    Function("replace", signature("string, string, string -> string"), _replace),
    Function("split", signature("string, string list -> list"), _split),
    Function("normalize", signature("string, string -> string", 1), normal_form),
    Function("reverse", signature("string list -> string list"), _reverse),
    Function("size", signature("string list -> integer"), _size),
    Function("isEmpty", signature("string list map -> boolean"), _is_empty),
    Function(
        "randomUUID",
        signature("-> string"),
        _random_uuid,
        deterministic=False,
        contextual=True,
    ),
)
