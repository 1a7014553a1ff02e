"""Parses relationships: arrows and their square brackets."""

from __future__ import annotations

from typing import Final

from gpugda.query import ast
from gpugda.query.parse_atoms import AtomParser

__all__ = ["DASHES", "DIRECTIONS", "LEFT", "RIGHT", "RelationshipParser"]

DASHES: Final = ("-", "arrow line")
LEFT: Final = ("<", "arrow left")
RIGHT: Final = (">", "arrow right")
DIRECTIONS: Final = {
    (True, False): ast.Direction.INCOMING,
    (False, True): ast.Direction.OUTGOING,
    (True, True): ast.Direction.BOTH,
    (False, False): ast.Direction.BOTH,
}
_Detail = tuple[
    ast.Variable | None,
    ast.LabelExpression | None,
    ast.Length | None,
    ast.MapLiteral | ast.Parameter | None,
    ast.Expression | None,
]
_NOTHING: Final[_Detail] = (None, None, None, None, None)


class RelationshipParser(AtomParser):
    """Parses ``-[variable:types *length {properties} WHERE where]->`` and its short forms."""

    __slots__ = ()

    def relationship(self, *, may_repeat: bool = False) -> ast.RelationshipPattern:
        """Parses an arrow with its brackets, and a quantifier if one is allowed."""
        start = self.start
        incoming = self.kind in LEFT
        if incoming:
            self.advance()
        self._dash(after="the arrow's head" if incoming else "a node")
        bracketed = self.kind == "["
        detail = self._detail() if bracketed else _NOTHING
        self._dash(after="']'" if bracketed else "the first '-'")
        outgoing = self.kind in RIGHT
        if outgoing:
            self.advance()
        span = self.span_since(start)
        quantifier = self.quantifier() if may_repeat else None
        variable, types, length, properties, where = detail
        direction = DIRECTIONS[incoming, outgoing]
        return ast.RelationshipPattern(
            span, variable, types, direction, length, properties, where, quantifier
        )

    def _detail(self) -> _Detail:
        self.open("[")
        variable = self.pattern_variable("]")
        types, old_bar = self.relationship_types() if self.at_labels() else (None, None)
        length = self._length()
        properties = self.properties()
        where = self.expression() if self.accept("WHERE") else None
        if self.kind != "]":
            self.unexpected("']' or more of the relationship: types, *length, {properties}")
        bare = (variable, length, properties, where) == (None, None, None, None)
        if old_bar is not None and not (bare and _is_plain(types)):
            self.fail("types are not joined with '|:' any more: write '|'", old_bar)
        if length is not None and where is not None:
            self.fail("a variable-length relationship cannot have a WHERE of its own", where.span)
        self.close("]")
        return variable, types, length, properties, where

    def _dash(self, after: str) -> None:
        if self.kind not in DASHES:
            self.unexpected(f"'-' after {after}")
        self.advance()

    def _length(self) -> ast.Length | None:
        start = self.start
        if not self.accept("*"):
            return None
        minimum = self.unsigned_integer("a length") if self.kind == "number" else None
        if not self.accept(".."):
            return ast.Length(self.span_since(start), minimum, minimum)
        maximum = self.unsigned_integer("a length") if self.kind == "number" else None
        return ast.Length(self.span_since(start), minimum, maximum)

    def quantifier(self) -> ast.Quantifier | None:
        """Parses ``+``, ``*``, ``{2}`` or ``{1,3}`` after a relationship or group."""
        start = self.start
        if self.kind in ("+", "*"):
            minimum = 1 if self.advance()[0] == "+" else 0
            return ast.Quantifier(self.span_since(start), minimum, None)
        if self.kind != "{":
            return None
        self.advance()
        minimum = 0
        if self.kind != ",":
            minimum = self.unsigned_integer("a number of repetitions, as in {1,3}")
        maximum: int | None = minimum
        if self.accept(","):
            maximum = None
            if self.kind != "}":
                maximum = self.unsigned_integer("a number of repetitions or '}'")
        self.expect("}")
        return ast.Quantifier(self.span_since(start), minimum, maximum)

    def pattern_variable(self, closing: str) -> ast.Variable | None:
        """Parses the name before labels and properties, unless the word is a keyword there."""
        if not self.is_word():
            return None
        after = self.ahead()
        if self.kind == "WHERE" and after == "$" and self.ahead(3) not in (closing, "WHERE"):
            return None  # a condition that begins with a parameter
        if self.kind == "WHERE" and after not in (closing, ":", "{", "$", "WHERE", "IS", "*"):
            return None
        if self.kind == "IS" and after not in (closing, ":", "{", "$", "WHERE", "IS", "*"):
            return None
        return self.variable()

    def properties(self) -> ast.MapLiteral | ast.Parameter | None:
        """Parses the property map of a node or relationship."""
        if self.kind == "{":
            return self.map_literal()
        return self.parameter() if self.kind == "$" else None


def _is_plain(types: ast.LabelExpression | None) -> bool:
    """True if only names are joined, as in the older syntax."""
    return isinstance(types, ast.LabelOr) and all(
        isinstance(operand, ast.LabelName) for operand in types.operands
    )
