"""A cursor over the tokens of a query: look-ahead, stepping, and errors for unexpected tokens.

The parser is sets of functions that get a cursor: ``parse_types``, ``parse_expressions``,
``parse_patterns`` and ``parse_clauses``, each of which calls the ones before it. What an earlier
one needs of a later one it finds in the cursor's `Grammar`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.errors import CypherSyntaxError, UnsupportedQueryError
from gpugda.query.lexer import (
    INTEGER,
    NOT_WORDS,
    Token,
    describe,
    did_you_mean,
    number_value,
    tokenise,
)
from gpugda.types import Span, value

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.query import ast

__all__ = [
    "DASHES",
    "LEFT",
    "MAXIMUM_NESTING",
    "RIGHT",
    "Cursor",
    "Grammar",
    "arrow_follows",
    "path_follows",
    "too_deep",
]

MAXIMUM_NESTING: Final = 100
"""Maximum nesting of brackets, subqueries and repeated NOT. Parsing one level takes about seven
of the interpreter's default 1,000 Python frames, and tree traversals recurse as well."""

DASHES: Final = ("-", "arrow line")
LEFT: Final = ("<", "arrow left")
RIGHT: Final = (">", "arrow right")
_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}


@value(frozen=True, slots=True)
class Grammar:
    """The readings of later modules that patterns and queries inside a value need."""

    expression: Callable[[Cursor], ast.Expression]
    path: Callable[[Cursor], ast.Pattern]
    shortest_path: Callable[[Cursor], ast.Pattern]
    subquery: Callable[[Cursor, str], ast.QueryBody]


class Cursor:
    """The tokens of a query and a position in them.

    Args:
        text: The query text.
        grammar: How values, paths and subqueries are read.

    Attributes:
        bar_stop: The position of a ``|`` that ends an expression instead of joining labels, as
            in ``[(a)-->(b) WHERE b:A | b.x]``; -1 for none.
        bracketed: Values in ``(`` and ``[`` by position, with the position after them, or why there
            is none. They are context-free: trying two readings at each of n nested brackets would
            otherwise take 2^n steps.
        is_labels: Text offsets of label expressions written with IS.
        colon_labels: True if ``:`` joins labels anywhere.
        kind: The kind of the current token.
        index: The position of the current token.
    """

    __slots__ = (
        "_matching",
        "bar_stop",
        "bracketed",
        "colon_labels",
        "grammar",
        "index",
        "is_labels",
        "kind",
        "nesting",
        "text",
        "tokens",
    )

    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text = text
        self.grammar = grammar
        self.bar_stop = -1
        self.bracketed: dict[int, tuple[ast.Expression, int] | CypherSyntaxError] = {}
        self.is_labels: set[int] = set()
        self.colon_labels = False
        self.tokens = tokenise(text)
        self._matching: dict[int, int] | None = None
        self.nesting = 0
        self.index = 0
        self.kind = self.tokens[0][0]

    # -------------------------------------------------------------- look-ahead
    def ahead(self, distance: int = 1) -> str:
        """The kind of a later token; ``end`` past the last one."""
        position = self.index + distance
        return self.tokens[position][0] if position < len(self.tokens) else "end"

    def kind_at(self, index: int) -> str:
        """The kind of the token at an absolute position."""
        return self.tokens[index][0]

    @property
    def start(self) -> int:
        """The offset of the current token in the text."""
        return self.tokens[self.index][2]

    def piece(self) -> str:
        """The text of the current token; for a name in backticks, the name."""
        return self.tokens[self.index][1]

    def is_word(self) -> bool:
        """True if the current token can be a name."""
        return self.kind not in NOT_WORDS

    def is_word_ahead(self, distance: int) -> bool:
        """True if a later token can be a name."""
        return self.ahead(distance) not in NOT_WORDS

    def span(self) -> Span:
        """The span of the current token."""
        token = self.tokens[self.index]
        return Span(token[2], token[3])

    def span_since(self, start: int) -> Span:
        """The span from an offset in the text to the end of the last token read."""
        return Span(start, self.tokens[self.index - 1][3])

    def words_since(self, index: int) -> str:
        """The tokens read since a position, in upper case, joined by single spaces."""
        return " ".join(token[1].upper() for token in self.tokens[index : self.index])

    def matching(self, index: int) -> int | None:
        """The position of the bracket that closes the one at ``index``; None if there is none."""
        if self._matching is None:
            self._matching = _match_brackets(self.tokens)
        return self._matching.get(index)

    # -------------------------------------------------------------- stepping
    def advance(self) -> Token:
        """Steps over the current token and returns it."""
        token = self.tokens[self.index]
        self.index += 1
        self.kind = self.tokens[self.index][0]
        return token

    def move_to(self, index: int) -> None:
        """Moves to a token by its position, forwards or backwards."""
        self.index = index
        self.kind = self.tokens[index][0]

    def accept(self, kind: str) -> bool:
        """Steps over the current token if it has this kind; True if it does."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def accept_words(self, *kinds: str) -> bool:
        """Steps over several tokens if all have these kinds, in this order."""
        if self.kind != kinds[0] or any(self.ahead(i) != k for i, k in enumerate(kinds)):
            return False
        self.move_to(self.index + len(kinds))
        return True

    def expect(self, kind: str, purpose: str = "") -> Token:
        """Steps over the current token, which must have this kind.

        Raises:
            CypherSyntaxError: It has another kind.
        """
        if self.kind != kind:
            self.unexpected(f"'{kind}'{purpose}")
        return self.advance()

    def expect_name(self, what: str) -> str:
        """Steps over a name, which may be any word, and returns it without backticks."""
        if self.kind in NOT_WORDS:
            self.unexpected(what)
        return self.advance()[1]

    def unsigned_integer(self, what: str) -> int:
        """Steps over a decimal integer and returns its value."""
        piece = self.tokens[self.index][1]
        if self.kind != "number" or not INTEGER.fullmatch(piece):
            self.unexpected(what)
        value = number_value(piece, self.text, self.span())
        self.advance()
        return int(value)

    def open(self, kind: str) -> None:
        """Steps over an opening bracket, one level deeper."""
        self.expect(kind)
        self.deeper()

    def close(self, kind: str) -> None:
        """Steps over a closing bracket, one level up."""
        self.expect(kind)
        self.nesting -= 1

    def deeper(self) -> None:
        """Enters a level of nesting.

        Raises:
            UnsupportedQueryError: The limit is exceeded.
        """
        self.nesting += 1
        if self.nesting > MAXIMUM_NESTING:
            raise too_deep(self)

    def shallower(self, levels: int = 1) -> None:
        """Leaves levels of nesting."""
        self.nesting -= levels

    def state(self) -> tuple[int, int]:
        """The state to which ``restore`` can return."""
        return self.index, self.nesting

    def restore(self, state: tuple[int, int]) -> None:
        """Returns to a ``state``, after an attempted reading failed."""
        index, self.nesting = state
        self.move_to(index)

    # -------------------------------------------------------------- failing
    def fail(self, message: str, span: Span | None = None, kind: str = "SyntaxError") -> NoReturn:
        """Raises a syntax error at a span, by default the current token's."""
        raise CypherSyntaxError(message, self.text, span or self.span(), kind=kind)

    def unexpected(self, expected: str) -> NoReturn:
        """Raises the error for an unexpected token."""
        token = self.tokens[self.index]
        unclosed = self._unclosed()
        if unclosed is not None and token[0] == "end":
            message = f"'{unclosed[0]}' is never closed: '{_CLOSING[unclosed[0]]}' is missing"
            self.fail(message, Span(unclosed[2], unclosed[3]))
        hint = did_you_mean(token[1]) if self.is_word() else self._hint(token)
        if not hint and unclosed is not None:
            line, column = Span(unclosed[2], unclosed[3]).place(self.text)
            hint = f"; '{unclosed[0]}' at line {line}, column {column} is never closed"
        self.fail(f"unexpected {describe(token)}: expected {expected}{hint}")

    def _unclosed(self) -> Token | None:
        """The last opening bracket without a closing one."""
        for index in range(len(self.tokens) - 1, -1, -1):
            if self.tokens[index][0] in _CLOSING and self.matching(index) is None:
                return self.tokens[index]
        return None

    def _hint(self, token: Token) -> str:
        before = self.tokens[self.index - 1][0] if self.index else ""
        if before == "-" and token[0] in (">", "("):
            return "; relationships are written -->, <--, -- or with brackets, -[:TYPE]->"
        if token[0] == "!=":
            return "; 'not equal' is written <>"
        if token[0] == "==" or (token[0] == "=" and before == "="):
            return "; 'equal' is written ="
        if token[0] == "<" and before == "=":
            return "; 'at most' is written <="
        return ""


def too_deep(cursor: Cursor) -> UnsupportedQueryError:
    """The error of a text that is nested more deeply than can be parsed: it may be valid."""
    construct = f"nesting of more than {MAXIMUM_NESTING} levels"
    message = f"{construct} is not supported by this engine"
    return UnsupportedQueryError(message, cursor.text, cursor.span(), construct=construct)


def _match_brackets(tokens: list[Token]) -> dict[int, int]:
    matching: dict[int, int] = {}
    opened: list[int] = []
    for index, token in enumerate(tokens):
        if token[0] in _CLOSING:
            opened.append(index)
        elif opened and _CLOSING[tokens[opened[-1]][0]] == token[0]:
            matching[opened.pop()] = index
    return matching


def path_follows(cursor: Cursor) -> bool:
    """True if ``( ) <- [ ] -> (`` follows, for any content of the brackets."""
    if cursor.kind != "(":
        return False
    closing = cursor.matching(cursor.index)
    return closing is not None and arrow_follows(cursor, closing)


def arrow_follows(cursor: Cursor, node_end: int) -> bool:
    """True if an arrow and a node follow the node that ends at this position."""
    index = node_end + (2 if cursor.kind_at(node_end + 1) in LEFT else 1)
    if cursor.kind_at(index) not in DASHES:
        return False
    index += 1
    if cursor.kind_at(index) == "[":
        closing = cursor.matching(index)
        if closing is None:
            return False
        index = closing + 1
    if cursor.kind_at(index) not in DASHES:
        return False
    index += 2 if cursor.kind_at(index + 1) in RIGHT else 1
    return cursor.kind_at(index) == "("
