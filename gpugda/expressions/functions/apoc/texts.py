"""``apoc.text.*``."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from gpugda.expressions.checks import whole
from gpugda.expressions.functions.apoc.plain import apoc, plain_list, plain_text, refuse

__all__ = ["FUNCTIONS"]

_LONGEST = 10_000
_LATIN_END: Final = "\u0250"
"""Below this character, letters and digits were compared with Java's one by one."""
_SPELT_OUT: Final = str.maketrans(
    {"Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}
)


def _join(name: str, items: Any, delimiter: Any) -> str:
    return plain_text(name, delimiter).join(plain_list(name, items, ("string",)))


def _capitalize(name: str, text: Any) -> str:
    if not plain_text(name, text).isascii() or not text:
        refuse(name)
    return str(text[0].upper() + text[1:])


def _decapitalize(name: str, text: Any) -> str:
    return _capitalize(name, text)[0].lower() + str(text[1:])


def _padding(name: str, text: Any, count: Any, delimiter: Any) -> str:
    missing = whole(name, count) - len(plain_text(name, text))
    if len(plain_text(name, delimiter)) != 1 or not 0 <= missing <= _LONGEST:
        refuse(name)
    return str(delimiter) * missing


def _left_pad(name: str, text: Any, count: Any, delimiter: Any = " ") -> str:
    return _padding(name, text, count, delimiter) + str(text)


def _right_pad(name: str, text: Any, count: Any, delimiter: Any = " ") -> str:
    return str(text) + _padding(name, text, count, delimiter)


def _repeat(name: str, text: Any, count: Any) -> str:
    if not 0 <= whole(name, count) * len(plain_text(name, text)) <= _LONGEST:
        refuse(name)
    return str(text) * whole(name, count)


def _distance(name: str, first: Any, second: Any) -> int:
    """Levenshtein distance, row by row."""
    a, b = plain_text(name, first), plain_text(name, second)
    if len(a) * len(b) > _LONGEST**2 // 100:
        refuse(name)
    row = list(range(len(b) + 1))
    for place, x in enumerate(a, 1):
        above, row[0] = row[0], place
        for column, y in enumerate(b, 1):
            best = min(row[column] + 1, row[column - 1] + 1, above + (x != y))
            above, row[column] = row[column], best
    return row[-1]


def _clean(name: str, text: Any) -> str:
    """Letters and digits only, in lower case without accents; German umlauts are spelt out."""
    if max(plain_text(name, text), default="") >= _LATIN_END:
        refuse(name)
    parts = unicodedata.normalize("NFD", text.translate(_SPELT_OUT))
    return "".join(each for each in parts if unicodedata.category(each)[0] in "LN").lower()


def _same_when_clean(name: str, first: Any, second: Any) -> bool:
    return _clean(name, first) == _clean(name, second)


def _index_of(name: str, text: Any, sought: Any) -> int:
    return plain_text(name, text).find(plain_text(name, sought))


FUNCTIONS = (
    apoc("apoc.text.join", "list, string -> string", _join),
    apoc("apoc.text.capitalize", "string -> string", _capitalize),
    apoc("apoc.text.decapitalize", "string -> string", _decapitalize),
    apoc("apoc.text.lpad", "string, integer, string -> string", _left_pad, 1),
    apoc("apoc.text.rpad", "string, integer, string -> string", _right_pad, 1),
    apoc("apoc.text.repeat", "string, integer -> string", _repeat),
    apoc("apoc.text.distance", "string, string -> integer", _distance),
    apoc("apoc.text.clean", "string -> string", _clean),
    apoc("apoc.text.compareCleaned", "string, string -> boolean", _same_when_clean),
    apoc("apoc.text.indexOf", "string, string -> integer", _index_of),
    apoc("apoc.text.levenshteinDistance", "string, string -> integer", _distance),
)
