"""MATCH and OPTIONAL MATCH: match modes, hints and WHERE."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.parse_projections import ProjectionParser

if TYPE_CHECKING:
    from gpugda.types import Span

__all__ = ["MatchParser"]

_MODES: Final = {
    "REPEATABLE": ("ELEMENT", "ELEMENTS"),
    "DIFFERENT": ("RELATIONSHIP", "RELATIONSHIPS"),
}
_HINTS: Final = frozenset(("INDEX", "BTREE", "TEXT", "RANGE", "POINT", "SCAN", "JOIN"))


class MatchParser(ProjectionParser):
    """Reads ``[OPTIONAL] MATCH [mode] patterns [hints] [WHERE …]``."""

    __slots__ = ()

    def match(self) -> ast.Clause:
        """Reads ``MATCH …``."""
        start = self.start
        self.advance()
        return self.match_body(start, optional=False)

    def match_body(self, start: int, *, optional: bool) -> ast.Match:
        """Reads what follows the word MATCH, and may stand alone in ``EXISTS { … }``."""
        mode, mode_span = self._mode()
        patterns = self.patterns()
        hints = []
        while self.kind == "USING":
            hints.append(self._hint_clause())
        where = self.expression() if self.accept("WHERE") else None
        self.refuse_parameter_maps(patterns)
        span = self.span_since(start)
        return ast.Match(span, optional, patterns, where, mode, mode_span, tuple(hints))

    def _mode(self) -> tuple[str | None, Span | None]:
        start, first = self.start, self.index
        if self.ahead() not in _MODES.get(self.kind, ()):
            return None, None
        self.move_to(self.index + 2)
        self.accept("BINDINGS")
        return self.words_since(first), self.span_since(start)

    def refuse_parameter_maps(self, patterns: tuple[ast.Pattern, ...]) -> None:
        """Refuses ``(n $map)``, which only CREATE can take: MATCH must know the keys."""
        if "$" not in self.text:
            return
        elements = [element for pattern in patterns for element in pattern.elements]
        while elements:
            element = elements.pop()
            if isinstance(element, ast.GroupPattern):
                elements.extend(element.pattern.elements)
            elif isinstance(element.properties, ast.Parameter):
                message = "a parameter is no map of properties here: write {key: $map.key}"
                self.fail(message, element.properties.span)

    def _hint_clause(self) -> Span:
        start = self.start
        self.expect("USING")
        if self.kind not in _HINTS:
            self.unexpected("INDEX, SCAN or JOIN ON after USING")
        if self.accept("JOIN"):
            self.expect("ON")
            self._names()
        elif self.accept("SCAN"):
            self._hinted_label()
        else:
            if self.advance()[0] != "INDEX":
                self.expect("INDEX")
            if self.kind == "SEEK" and self.is_word_ahead(1):
                self.advance()
            self._hinted_label()
            self.expect("(")
            self._names()
            self.expect(")")
        return self.span_since(start)

    def _hinted_label(self) -> None:
        self.variable()
        if not self.accept("IS"):
            self.expect(":")
        self.expect_name("a label or type")

    def _names(self) -> None:
        self.expect_name("a name")
        while self.accept(","):
            self.expect_name("a name")
