"""Text functions on mostly distinct texts, with Arrow's kernels over all dictionary entries.

Arrow slices, trims, replaces and reverses by code point, as Neo4j does. Its case conversion agrees
with that of single values for ASCII only, so other texts are converted one by one.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from gpugda.data.values import arrow_compute as pc
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.data.values.dictionaries import StringDictionary, encode_strings
from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.functions import find_function
from gpugda.expressions.functions.text import BLANKS, lower_case, upper_case
from gpugda.expressions.operands import Constant

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gpugda.expressions.operands import Evaluated

__all__ = ["text_call"]

_FEW = 4
"""Ratio of rows to entries, either way, from which on another method processes fewer texts."""
_LARGEST_PLACE = 2**31 - 1


def text_call(name: str, arguments: Sequence[Evaluated]) -> Column | None:
    """The result of a call, its name in lower case; None if it has no vectorised form."""
    make, function = _VECTORISED.get(name), find_function(name)
    column = arguments[0].operand
    if make is None or function is None or not isinstance(column, Column):
        return None
    texts = column.dictionary
    if not isinstance(texts, StringDictionary) or not len(texts):
        return None
    if len(texts) * _FEW <= len(column) or len(texts) > len(column) * _FEW:
        return None
    if function.signature.refusal([None] * len(arguments)) is not None:
        return None
    if any(each.faults or not isinstance(each.operand, Constant) for each in arguments[1:]):
        return None
    further = [each.operand.value for each in arguments[1:] if isinstance(each.operand, Constant)]
    found = make(texts.array, *further)
    if found is None:
        return None
    codes, dictionary = encode_strings(found)
    return Column(ColumnKind.STRING, codes[column.values], column.valid, dictionary)


# ------------------------------------------------------------------ upper and lower case
def _cased(texts: Any, of_ascii: str, of_others: Callable[[str], str]) -> Any:
    is_ascii = pc.string_is_ascii(texts)
    found = pc.call_function(of_ascii, [texts])
    if pc.all(is_ascii).as_py():
        return found
    others = pc.invert(is_ascii)
    try:
        made = [of_others(text) for text in texts.filter(others).to_pylist()]
    except UnsupportedQueryError:
        return None  # the failing text may belong to no row
    return pc.replace_with_mask(found, others, pa.array(made, type=texts.type))


def _upper(texts: Any) -> Any:
    return _cased(texts, "ascii_upper", upper_case)


def _lower(texts: Any) -> Any:
    return _cased(texts, "ascii_lower", lower_case)


# ------------------------------------------------------------------ pieces
def _is_place(value: Any) -> bool:
    """True for a plain position; other values are refused, or null, value by value."""
    return type(value) is int and 0 <= value <= _LARGEST_PLACE


def _substring(texts: Any, start: Any, length: Any = _LARGEST_PLACE) -> Any:
    if not (_is_place(start) and _is_place(length)):
        return None
    return pc.utf8_slice_codeunits(texts, start, start + length)


def _left(texts: Any, length: Any) -> Any:
    return _substring(texts, 0, length)


def _right(texts: Any, length: Any) -> Any:
    if not _is_place(length) or not length:
        return None
    return pc.utf8_slice_codeunits(texts, -length, _LARGEST_PLACE)


def _trimmed(trim: Callable[..., Any], texts: Any, characters: Any = BLANKS) -> Any:
    return trim(texts, characters=characters) if type(characters) is str and characters else None


def _replace(texts: Any, search: Any, replacement: Any) -> Any:
    if not (type(search) is str and type(replacement) is str and search):
        return None
    if len(replacement) > len(search):  # results might exceed the length limit
        return None
    return pc.replace_substring(texts, search, replacement)


_VECTORISED: dict[str, Callable[..., Any]] = {
    "toupper": _upper,
    "upper": _upper,
    "tolower": _lower,
    "lower": _lower,
    "substring": _substring,
    "left": _left,
    "right": _right,
    "replace": _replace,
    "reverse": pc.utf8_reverse,
    "trim": partial(_trimmed, pc.utf8_trim),
    "btrim": partial(_trimmed, pc.utf8_trim),
    "ltrim": partial(_trimmed, pc.utf8_ltrim),
    "rtrim": partial(_trimmed, pc.utf8_rtrim),
}
