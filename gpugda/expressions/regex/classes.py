"""Character sets as ranges of code points, and Java's named sets."""

from __future__ import annotations

from typing import Final

__all__ = [
    "ANY_BUT_LINE_ENDS",
    "ESCAPES",
    "POSIX",
    "Ranges",
    "complement",
    "either_case",
    "in_brackets",
    "union",
]

Ranges = tuple[tuple[int, int], ...]
"""First and last code points, ascending, disjoint and not adjacent."""

_LAST = 0x10FFFF


def union(*sets: Ranges) -> Ranges:
    """Union of character sets."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(each for ranges in sets for each in ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return tuple(found)


def complement(ranges: Ranges) -> Ranges:
    """Complement of a character set."""
    found, place = [], 0
    for first, last in ranges:
        if place < first:
            found.append((place, first - 1))
        place = last + 1
    return (*found, (place, _LAST)) if place <= _LAST else tuple(found)


def either_case(ranges: Ranges) -> Ranges:
    """The set with both cases of the letters A to Z; by default Java folds no others."""
    found = []
    for upper in range(ord("A"), ord("Z") + 1):
        pair = (upper, upper + 32)
        if any(first <= code <= last for code in pair for first, last in ranges):
            found += [(code, code) for code in pair]
    return union(ranges, tuple(found))


def in_brackets(ranges: Ranges) -> str:
    """The set as a pattern for the library ``regex``."""
    if not ranges:
        return "(?!)"
    return "[" + "".join(f"{_escaped(a)}-{_escaped(b)}" for a, b in ranges) + "]"


def _escaped(code: int) -> str:
    return f"\\U{code:08x}"


def _of(*parts: str | tuple[int, int]) -> Ranges:
    ranges = [(ord(part[0]), ord(part[-1])) if isinstance(part, str) else part for part in parts]
    return union(tuple(ranges))


_DIGITS = _of("0-9")
_LOWER, _UPPER = _of("a-z"), _of("A-Z")
_WORD = union(_DIGITS, _LOWER, _UPPER, _of("_"))
_SPACE = _of((9, 13), " ")
_HORIZONTAL = _of(
    "\t", " ", "\xa0", "\u1680", "\u180e", "\u2000-\u200a", "\u202f", "\u205f", "\u3000"
)
_VERTICAL = _of((10, 13), "\x85", "\u2028-\u2029")
_PUNCTUATION = _of("!-/", ":-@", "[-`", "{-~")

ANY_BUT_LINE_ENDS: Final = complement(_of("\n", "\r", "\x85", "\u2028-\u2029"))

ESCAPES: Final[dict[str, Ranges]] = {
    "d": _DIGITS,
    "w": _WORD,
    "s": _SPACE,
    "h": _HORIZONTAL,
    "v": _VERTICAL,
    **{
        letter.upper(): complement(each)
        for letter, each in (
            ("d", _DIGITS),
            ("w", _WORD),
            ("s", _SPACE),
            ("h", _HORIZONTAL),
            ("v", _VERTICAL),
        )
    },
}

POSIX: Final[dict[str, Ranges]] = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": _of((0, 127)),
    "Alpha": union(_LOWER, _UPPER),
    "Digit": _DIGITS,
    "Alnum": union(_LOWER, _UPPER, _DIGITS),
    "Punct": _PUNCTUATION,
    "Graph": _of("!-~"),
    "Print": _of(" -~"),
    "Blank": _of(" ", "\t"),
    "Cntrl": _of((0, 31), (127, 127)),
    "XDigit": _of("0-9", "a-f", "A-F"),
    "Space": _SPACE,
}
