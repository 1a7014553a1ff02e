"""Converts text columns to typed Arrow columns, by Neo4j's rules for import files.

Arrow converts whole columns; if Arrow rejects a text, or its result could differ from Neo4j's, the
column is parsed text by text.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import pyarrow as pa

from gpugda.data.values import arrow_compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BadValueError",
    "float_from_text",
    "integer_from_text",
    "parse_booleans",
    "parse_floats",
    "parse_integers",
]

_INTEGER = re.compile(r"-?[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?)"
)
_LARGEST = 2**63 - 1


class BadValueError(ValueError):
    """A text that is not a value of the type.

    Args:
        row: 0-based position in the column.
        text: The text.
        reason: Completes "'text' is …".
    """

    def __init__(self, row: int, text: str, reason: str) -> None:
        super().__init__(f"{text!r} is {reason}")
        self.row = row
        self.text = text
        self.reason = reason


def parse_integers(texts: pa.Array, bits: int = 64) -> pa.Array:
    """``int64``: decimal digits with an optional ``-``, blanks around; an empty text is null.

    Raises:
        BadValueError: A text is something else, or does not fit the bits.
    """
    texts = _trimmed(texts)
    # Arrow parses 0x10 as 16, Neo4j rejects it.
    if pc.any(pc.match_substring_regex(texts, "[xX]")).as_py():
        return _one_by_one(texts, pa.int64(), lambda text: integer_from_text(text, bits))
    try:
        values = pc.cast(texts, pa.int64())
    except pa.ArrowInvalid:
        return _one_by_one(texts, pa.int64(), lambda text: integer_from_text(text, bits))
    if bits < 64 and _outside(values, bits):
        return _one_by_one(texts, pa.int64(), lambda text: integer_from_text(text, bits))
    return values


def parse_floats(texts: pa.Array) -> pa.Array:
    """``float64``: numbers in Java's notation, ``NaN``, ``Infinity``; an empty text is null.

    Raises:
        BadValueError: A text is something else.
    """
    texts = _trimmed(texts)
    try:
        values = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        return _one_by_one(texts, pa.float64(), float_from_text)
    # Arrow also accepts nan, inf and INFINITY, Neo4j does not: check columns with such values.
    if pc.any(pc.invert(pc.is_finite(values))).as_py():
        return _one_by_one(texts, pa.float64(), float_from_text)
    return values


def parse_booleans(texts: pa.Array) -> pa.Array:
    """``bool``: the text ``true``, with blanks around it or not, is true, every other text false.

    That is Neo4j's rule for import files; an empty text is null.
    """
    return pc.equal(_trimmed(texts), "true")


def _trimmed(texts: pa.Array) -> pa.Array:
    # Only an empty text is null; blanks alone are not a number.
    empty = pc.equal(texts, "")
    if pc.any(empty).as_py():
        texts = pc.if_else(empty, pa.scalar(None, texts.type), texts)
    return pc.ascii_trim_whitespace(texts)


def _outside(values: pa.Array, bits: int) -> bool:
    bounds = pc.min_max(values).as_py()
    limit = 1 << (bits - 1)
    return bounds["max"] is not None and not (-limit <= bounds["min"] and bounds["max"] < limit)


def _one_by_one(texts: pa.Array, kind: pa.DataType, parse: Callable[[str], object]) -> pa.Array:
    values = []
    for row, text in enumerate(texts.to_pylist()):
        try:
            values.append(None if text is None else parse(text))
        except ValueError as error:
            raise BadValueError(row, text, str(error)) from None
    return pa.array(values, kind)


def integer_from_text(text: str, bits: int = 64) -> int:
    """Parses one integer. Raises ValueError that says what the text is instead."""
    if not _INTEGER.fullmatch(text):
        raise ValueError("no int")
    value = int(text) if len(text) < 4000 else _LARGEST + 1  # Python rejects longer ones
    limit = 1 << (bits - 1)
    if not -limit <= value < limit:
        raise ValueError(f"outside the range of {bits} bit integers")
    return value


def float_from_text(text: str) -> float:
    """Parses one float. Raises ValueError that says what the text is instead."""
    if not _FLOAT.fullmatch(text):
        raise ValueError("no float")
    if text.lstrip("+-") == "NaN":
        return math.nan
    return float(text.rstrip("fFdD"))
