"""Values of number and string tokens, with Neo4j's checks."""

from __future__ import annotations

import math
import re
from typing import Final

from gpugda.errors import CypherSyntaxError
from gpugda.types import Span

__all__ = ["INTEGER", "number_value", "string_value"]

INTEGER: Final = re.compile(r"0|[1-9][0-9]*(?:_[0-9]+)*")
"""A decimal integer without a sign."""

_HEXADECIMAL: Final = re.compile(r"0x(?:_?[0-9a-fA-F]+)+")
_OCTAL: Final = re.compile(r"0o(?:_?[0-7]+)+")
_DIGITS: Final = r"[0-9]+(?:_[0-9]+)*"
_FLOAT: Final = re.compile(
    rf"(?:(?:{_DIGITS})?\.{_DIGITS}(?:[eE][+-]?{_DIGITS})?|{_DIGITS}[eE][+-]?{_DIGITS})([fFdD]?)"
)
_OLD_OCTAL: Final = re.compile(r"0[0-7]+")

_SIMPLE_ESCAPES: Final = {
    "'": "'",
    '"': '"',
    "\\": "\\",
    "n": "\n",
    "t": "\t",
    "b": "\b",
    "r": "\r",
    "f": "\f",
}
_ESCAPE: Final = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\(u.{0,4}|.)", re.DOTALL)
_CODE_UNIT: Final = re.compile(r"\\u([0-9a-fA-F]{4})")


def number_value(piece: str, text: str, span: Span, *, negative: bool = False) -> int | float:
    """The value of a number token, negated on request.

    Args:
        piece: The token without a sign.
        text: The whole query text, for error messages.
        span: The span of the token including its sign.
        negative: True if a minus precedes it, which makes 2^63 valid.

    Raises:
        CypherSyntaxError: It is not a number, exceeds 64 bits as an integer, or the largest float.
    """
    sign = -1 if negative else 1
    if INTEGER.fullmatch(piece):
        return _integer(sign, piece, 10, text, span)
    if found := _FLOAT.fullmatch(piece):
        return _float(sign, piece[: found.start(1)], text, span)
    if _HEXADECIMAL.fullmatch(piece):
        return _integer(sign, piece[2:], 16, text, span)
    if _OCTAL.fullmatch(piece):
        return _integer(sign, piece[2:], 8, text, span)
    raise CypherSyntaxError(_why_not_a_number(piece), text, span)


def _integer(sign: int, digits: str, base: int, text: str, span: Span) -> int:
    # Check the length first: Python refuses to convert more than 4,300 digits.
    significant = digits.replace("_", "").lstrip("0")
    value = sign * int(significant or "0", base) if len(significant) <= 64 else 2**64
    if not -(2**63) <= value < 2**63:
        message = "integer is too large: integers have 64 bits; write it as a float, such as 1e20"
        raise CypherSyntaxError(message, text, span)
    return value


def _float(sign: int, digits: str, text: str, span: Span) -> float:
    value = sign * float(digits)
    if math.isinf(value):
        message = "floating point number is too large: the largest is about 1.8e308"
        raise CypherSyntaxError(message, text, span)
    return value


def _why_not_a_number(piece: str) -> str:
    if _OLD_OCTAL.fullmatch(piece):
        return f"'{piece}' looks octal: write 0o{piece[1:]} (or leave out the leading zero)"
    if piece[:2] in ("0X", "0O"):
        return f"'{piece}' is not a number: write the prefix in lower case, {piece[:2].lower()}"
    if not piece[0].isdigit() or not piece.isalnum() or piece[:2] in ("0x", "0o"):
        return f"'{piece}' is not a number"
    return f"'{piece}' is not a number (a name that starts with a digit goes between backticks)"


def string_value(piece: str, text: str, start: int) -> str:
    r"""The value of a string token, quotes included, that starts at ``start``.

    A backslash before any other letter is kept, as in Neo4j.

    Raises:
        CypherSyntaxError: A ``\u`` escape lacks four hexadecimal digits, is a lone surrogate, or
            is a quote or backslash (which Cypher 5 and 25 read differently).
    """
    if "\\" not in piece:
        return piece[1:-1]

    def replace(match: re.Match[str]) -> str:
        span = Span(start + 1 + match.start(), start + 1 + match.end())
        if match[1]:
            return _code_units(match[1], text, span)
        if match[2][0] == "u":
            message = "four hexadecimal digits must follow \\u (a backslash itself is \\\\)"
            raise CypherSyntaxError(message, text, span)
        return _SIMPLE_ESCAPES.get(match[2], match[0])

    return _ESCAPE.sub(replace, piece[1:-1])


def _code_units(escapes: str, text: str, span: Span) -> str:
    units = b"".join(int(h, 16).to_bytes(2, "little") for h in _CODE_UNIT.findall(escapes))
    try:
        decoded = units.decode("utf-16-le")
    except UnicodeDecodeError as error:
        message = "this \\u escape is half of a surrogate pair: write both halves"
        raise CypherSyntaxError(message, text, span) from error
    if any(character in "'\"\\" for character in decoded):
        message = "write quotes and backslashes as \\' \\\" \\\\ (Cypher 5 and 25 differ on \\u)"
        raise CypherSyntaxError(message, text, span)
    return decoded
