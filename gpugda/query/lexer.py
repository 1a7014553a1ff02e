"""Tokeniser: Cypher text to plain tuples, with one regular expression.

A token is ``(kind, text, start, end)``. The kind of a symbol is the symbol itself, and the kind of
a word its upper-case spelling (Cypher has no reserved words: the parser decides whether ``MATCH``
is a keyword or a name). Other kinds are ``quoted``, ``name`` (a word that is not ASCII),
``string``, ``number``, ``arrow line``, ``arrow left``, ``arrow right``, ``end``.
"""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Final

from gpugda.errors import CypherSyntaxError
from gpugda.types import Span

__all__ = [
    "CLAUSE_STARTS",
    "COMMANDS",
    "FOLLOWS_OPERAND",
    "INTEGER",
    "KEYWORDS",
    "NOT_WORDS",
    "Token",
    "describe",
    "did_you_mean",
    "number_value",
    "string_value",
    "tokenise",
    "words",
]

Token = tuple[str, str, int, int]

_PAIRS: Final = ("<>", "<=", ">=", "=~", "==", "!=", "+=", "..", "::", "||")
_SINGLES: Final = ":<>=.|!+/"
_ALONE: Final = "()[]{},-;&%$*^?"
"""Matched first: most tokens are among these, and no longer token begins with one."""

# Unicode variants of - < > that Neo4j reads as arrows, so that word processor text works.
_LINES: Final = "\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\ufe58\ufe63\uff0d"
_LEFT_HEADS: Final = "\u27e8\u3008\ufe64\uff1c"
_RIGHT_HEADS: Final = "\u27e9\u3009\ufe65\uff1e"
_BLANKS: Final = (
    r" \t\n\x0b\f\r\x1c-\x1f\x85\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
)
# Characters that end a word; digits and $ are not included, as they only cannot begin one.
_NO_LETTERS: Final = rf"\x00-#%-/:-@\[-^`{{-\x7f{_BLANKS}{_LINES}{_LEFT_HEADS}{_RIGHT_HEADS}"

_TOKEN: Final = re.compile(
    rf"""(?P<alone>[{re.escape(_ALONE)}])
    |(?P<skip>[{_BLANKS}]++|//[^\n\r]*+|/\*.*?\*/)
    |(?P<word>[^{_NO_LETTERS}$0-9][^{_NO_LETTERS}]*+)
    |(?P<number>(?:[0-9][0-9_]*+)?\.[0-9][0-9_]*+(?:[eE][+-]?[0-9][0-9_]*+)?\w*+
        |[0-9][0-9_]*+[eE][+-]?[0-9][0-9_]*+\w*+
        |[0-9]\w*+)
    |(?P<quoted>`[^`]*+(?:``[^`]*+)*+`)
    |(?P<open>/\*)
    |(?P<symbol>{"|".join(map(re.escape, _PAIRS))}|[{re.escape(_SINGLES)}])
    |(?P<string>'[^'\\]*+(?:\\.[^'\\]*+)*+'|"[^"\\]*+(?:\\.[^"\\]*+)*+")
    |(?P<line>[{_LINES}])|(?P<left>[{_LEFT_HEADS}])|(?P<right>[{_RIGHT_HEADS}])
    |(?P<wrong>.)""",
    re.DOTALL | re.VERBOSE,
)

_PIECE: Final = re.compile(re.sub(r"\?P<\w+>", "?:", _TOKEN.pattern), _TOKEN.flags)
"""The same without groups, for `findall`; most pieces need no group to be classified."""
_SYMBOLS: Final = frozenset((*_PAIRS, *_SINGLES, *_ALONE))

_ARROWS: Final = {"line": "arrow line", "left": "arrow left", "right": "arrow right"}

_ESCAPE_OUTSIDE: Final = (
    "a \\u escape outside a string is not read: write the character itself"
    " (Cypher 5 and 25 differ here)"
)

NOT_WORDS: Final = _SYMBOLS | {
    "string",
    "number",
    "end",
    *_ARROWS.values(),
}
"""Token kinds that cannot be a name."""


def tokenise(text: str) -> list[Token]:
    """The tokens of a query, plus ``end`` tokens: one as terminator and two for look-ahead.

    Raises:
        CypherSyntaxError: A string, comment or backtick is not closed, or a character is invalid
            or has no meaning in Cypher.
    """
    if not text.isascii():
        _check_characters(text)
    tokens: list[Token] = []
    append = tokens.append
    end = 0
    for piece in _PIECE.findall(text):
        start = end
        end += len(piece)  # pieces are contiguous, as each character is part of one
        if piece in _SYMBOLS:
            append((piece, piece, start, end))
        elif piece.isidentifier() and piece.isascii():
            append((piece.upper(), piece, start, end))
        elif piece[0] == "`" and len(piece) > 1:
            append(("quoted", _unquote(piece, text, start, end), start, end))
        elif not piece.isspace():
            token = _other_token(piece, text, start, end)
            if token is not None:
                append(token)
    if "\\u" in text:
        _refuse_escapes_outside_strings(text, tokens)
    tokens.extend([("end", "", len(text), len(text))] * 3)
    return tokens


def describe(token: Token) -> str:
    """A token as named in error messages."""
    kind, piece, _, _ = token
    if kind == "end":
        return "the end of the query"
    if kind == "string" and len(piece) <= 40:
        return piece
    return f"'{piece}'" if len(piece) <= 40 else f"'{piece[:37]}...'"


def _name_kind(piece: str, text: str, start: int) -> str:
    # Checked by character: str.isidentifier() rejects currency signs, and invisible characters,
    # which Java accepts inside a name but not at its start.
    for offset, character in enumerate(piece):
        others = ("Sc", "Cf") if offset else ("Sc",)
        if not (("a" + character).isidentifier() or unicodedata.category(character) in others):
            place = Span(start + offset, start + offset + 1)
            raise CypherSyntaxError(_cannot_read(character), text, place)
    return "name"


def _check_characters(text: str) -> None:
    """Rejects a lone surrogate, which can neither be sent to a server nor stored."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = "the text has half a surrogate pair here: mend its encoding"
        raise CypherSyntaxError(message, text, Span(error.start, error.start + 1)) from None


def _other_token(piece: str, text: str, start: int, end: int) -> Token | None:
    """The token of a piece that is not a symbol, plain word or quoted name; None for a comment."""
    match = _TOKEN.match(text, start)
    group = "wrong" if match is None else match.lastgroup
    if group == "skip":
        return None
    if group == "word":
        kind = piece.upper() if piece.isascii() else _name_kind(piece, text, start)
        return kind, piece, start, end
    if group == "number" or group == "string":
        return group, piece, start, end
    if group in _ARROWS:
        return _ARROWS[group], piece, start, end
    if group == "open":
        message = "this comment is never closed: end it with */"
    elif piece in "'\"":
        message = f"this string is never closed: end it with {piece}"
    elif piece == "`":
        message = "this backtick is never closed: end the name with `"
    elif piece == "\\" and text.startswith("u", end):
        message = _ESCAPE_OUTSIDE
    else:
        message = _cannot_read(piece)
    raise CypherSyntaxError(message, text, Span(start, end))


def _cannot_read(character: str) -> str:
    if character in "\u2018\u2019\u201c\u201d\xb4":
        return "typographic quotes cannot be used: strings stand between ' or \""
    name = unicodedata.name(character, "no name")
    return (
        f"the character U+{ord(character):04X} ({name}) cannot be used here:"
        " a name with such characters goes between backticks"
    )


def _unquote(piece: str, text: str, start: int, end: int) -> str:
    name = piece[1:-1].replace("``", "`")
    if not name or "\0" in name:
        message = "a name in backticks must not be empty or contain a null character"
        raise CypherSyntaxError(message, text, Span(start, end))
    return name


def _refuse_escapes_outside_strings(text: str, tokens: list[Token]) -> None:
    # Cypher 5 replaces \uXXXX anywhere before tokenising, Cypher 25 in strings only. The version
    # may be the database's default, so a text whose meaning would differ is rejected.
    strings = {start: end for kind, _, start, end in tokens if kind == "string"}
    position = 0
    while (found := _ESCAPE.search(text, position)) is not None:
        position = strings.get(found.start(), found.end())
        if found[0].startswith("\\u"):
            raise CypherSyntaxError(_ESCAPE_OUTSIDE, text, Span(found.start(), found.end()))


_ESCAPE: Final = re.compile(r"""\\.|'|\"""", re.DOTALL)


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
_ESCAPED: Final = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\(u.{0,4}|.)", re.DOTALL)
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

    return _ESCAPED.sub(replace, piece[1:-1])


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


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


CLAUSE_STARTS: Final = words(
    "CALL CREATE DELETE DETACH FILTER FINISH FOR FOREACH INSERT LET LIMIT LOAD MATCH MERGE NEXT"
    " NODETACH OFFSET OPTIONAL ORDER REMOVE RETURN SET SKIP UNION UNWIND USE USING WHEN WHERE WITH"
)
"""Words that begin a clause or a part of one."""

COMMANDS: Final = words(
    "ALTER DEALLOCATE DENY DROP DRYRUN ENABLE GRANT REALLOCATE RENAME REVOKE SHOW START STOP"
    " TERMINATE"
)
"""First words of schema and administration commands (in addition to CREATE)."""

_OPERATORS: Final = words("AND AS CONTAINS ENDS IN IS OR STARTS XOR")
_INNER: Final = words("ASC ASCENDING BY DESC DESCENDING ELSE END THEN YIELD")

FOLLOWS_OPERAND: Final = (
    CLAUSE_STARTS
    | _OPERATORS
    | _INNER
    | words("end ) ] } , ; | = <> < > <= >= =~ .. . : :: * / % ^ ||")
)
"""Token kinds that cannot begin a value: a keyword before one of them is a name."""

KEYWORDS: Final = (
    CLAUSE_STARTS
    | COMMANDS
    | _OPERATORS
    | _INNER
    | words("CASE CYPHER DISTINCT EXISTS EXPLAIN NOT NULL PROFILE")
)
"""All of these words, and those that begin an expression or a text."""

_SQL: Final = words("LIKE ILIKE RLIKE REGEXP SIMILAR")


def did_you_mean(word: str) -> str:
    """A hint with the keyword most similar to a misspelt word; empty if there is none."""
    if word.upper() in _SQL:
        return "; Cypher has CONTAINS, STARTS WITH, ENDS WITH and =~ (a regular expression)"
    if word.upper() == "SELECT":
        return "; this is Cypher, where SELECT name FROM Person is MATCH (p:Person) RETURN p.name"
    if word.upper() in KEYWORDS:
        return ""
    # Imported on errors only: importing difflib takes longer than parsing a query.
    from difflib import get_close_matches

    near = get_close_matches(word.upper()[:40], sorted(KEYWORDS), n=1, cutoff=0.65)
    return f"; did you mean {near[0]}?" if near else ""
