"""Fast parser for the most frequent forms of nodes and relationships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.cursor import MAXIMUM_NESTING
from gpugda.query.lexer import NOT_WORDS
from gpugda.query.parse_relationships import DASHES, DIRECTIONS, LEFT, RIGHT, RelationshipParser
from gpugda.types import Span

if TYPE_CHECKING:
    from gpugda.query.lexer import Token

__all__ = ["PlainParser"]

_NOT_PLAIN: Final = NOT_WORDS | {"WHERE", "IS"}
_REPEATED: Final = ("+", "*", "{")

_Plain = tuple[ast.Variable | None, ast.LabelName | None, int]


class PlainParser(RelationshipParser):
    """Parses ``(name:Label)``, ``-[name:TYPE]->`` and shorter forms; raises no errors.

    All other forms are left to the full grammar, which reports errors.
    """

    __slots__ = ()

    def plain_node(self) -> ast.NodePattern | None:
        """Parses a plain node; None, with nothing consumed, for other forms."""
        if self.kind != "(" or self._nesting >= MAXIMUM_NESTING:
            return None
        tokens, first = self._tokens, self.index
        variable, label, last = _name_and_label(tokens, first + 1)
        if tokens[last][0] != ")":
            return None
        self.move_to(last + 1)
        span = Span(tokens[first][2], tokens[last][3])
        return ast.NodePattern(span, variable, label, None, None)

    def plain_relationship(self) -> ast.RelationshipPattern | None:
        """Parses a plain unrepeated relationship; None, with nothing consumed, for other forms."""
        tokens, first = self._tokens, self.index
        incoming = tokens[first][0] in LEFT
        at = first + incoming
        if tokens[at][0] not in DASHES or self._nesting >= MAXIMUM_NESTING:
            return None
        variable = label = None
        if tokens[at + 1][0] == "[":
            variable, label, at = _name_and_label(tokens, at + 2)
            if tokens[at][0] != "]":
                return None
        last = at + 1
        if tokens[last][0] not in DASHES:
            return None
        outgoing = tokens[last + 1][0] in RIGHT
        last += outgoing
        if tokens[last + 1][0] in _REPEATED:
            return None
        self.move_to(last + 1)
        span = Span(tokens[first][2], tokens[last][3])
        direction = DIRECTIONS[incoming, outgoing]
        return ast.RelationshipPattern(span, variable, label, direction, None, None, None)


def _name_and_label(tokens: list[Token], at: int) -> _Plain:
    """Variable and label of ``name:Label`` at a position, and the position after it."""
    variable = label = None
    kind, piece, start, end = tokens[at]
    if kind not in _NOT_PLAIN:
        variable = ast.Variable(Span(start, end), piece)
        at += 1
    if tokens[at][0] == ":" and tokens[at + 1][0] not in NOT_WORDS:
        _, piece, start, end = tokens[at + 1]
        label = ast.LabelName(Span(start, end), piece)
        at += 2
    return variable, label, at
