"""Renders names and values as Cypher text, and holds the table of writers by node class."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from gpugda.query.keywords import CLAUSE_STARTS, COMMANDS, FOLLOWS_OPERAND, words

if TYPE_CHECKING:
    from gpugda.query import ast

__all__ = ["WRITERS", "Writer", "joined", "name_text", "text_of", "value_text", "with_colons"]

Writer = Callable[[Any], str]

WRITERS: Final[dict[type, Writer]] = {}
"""Writer by node class, filled by the modules of labels, expressions, patterns and clauses, which
depend on one another."""

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED_WORDS: Final = (
    CLAUSE_STARTS
    | COMMANDS
    | {word for word in FOLLOWS_OPERAND if word.isalpha()}
    | words(
        "ALL ANY BOTH CASE COLLECT COUNT CYPHER DISTINCT EXISTS EXPLAIN FALSE FROM GROUP INF"
        " INFINITY LEADING NAN NONE NOT NULL PROFILE REDUCE SHORTEST SINGLE TRAILING TRUE TYPED"
    )
)
"""Words that have another meaning in some positions."""

_ESCAPES: Final = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_TO_ESCAPE: Final = re.compile(r"[\\'\x00-\x1f\x7f]")


def text_of(node: ast.Node) -> str:
    """A node of any kind as Cypher.

    Raises:
        KeyError: The node has no writer, such as a clause that writes.
    """
    return WRITERS[type(node)](node)


def joined(*pieces: str | None) -> str:
    """The non-empty pieces, joined by spaces."""
    return " ".join(piece for piece in pieces if piece)


def name_text(name: str) -> str:
    """A name, in backticks if it needs them."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in _QUOTED_WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def with_colons(names: Iterable[str]) -> str:
    """Labels or types for a message, each in Cypher syntax: ``:Person, :`odd name```."""
    return ", ".join(f":{name_text(name)}" for name in names)


def value_text(value: Any) -> str:
    """A literal; lists and tuples become list literals."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{_TO_ESCAPE.sub(_escaped, value)}'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"
