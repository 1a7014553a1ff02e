"""Parses MATCH and OPTIONAL MATCH with match modes, hints and WHERE."""

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
    """Parses ``[OPTIONAL] MATCH [mode] patterns [hints] [WHERE …]``."""

    __slots__ = ()

    def match(self) -> ast.Clause:
        """Parses ``MATCH …``."""
        start = self.start
        self.advance()
        return self.match_body(start, optional=False)

    def match_body(self, start: int, *, optional: bool) -> ast.Match:
        """Parses what follows MATCH, which may also be alone in ``EXISTS { … }``."""
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
        """Rejects ``(n $map)``, which only CREATE allows: MATCH must know the keys."""
        if "$" not in self.text:
            return
        elements = [element for pattern in patterns for element in pattern.elements]
        while elements:
            element = elements.pop()
            if isinstance(element, ast.GroupPattern):
                elements.extend(element.pattern.elements)
            elif isinstance(element.properties, ast.Parameter):
                message = "a parameter cannot be a property map here: write {key: $map.key}"
                self.fail(message, element.properties.span)

    def _hint_clause(self) -> ast.Hint:
        start = self.start
        self.expect("USING")
        first = self.index
        if self.kind not in _HINTS:
            self.unexpected("INDEX, SCAN or JOIN ON after USING")
        if self.accept("JOIN"):
            self.expect("ON")
            kind = self.words_since(first)
            variables = [self.variable()]
            while self.accept(","):
                variables.append(self.variable())
            return ast.Hint(self.span_since(start), kind, tuple(variables))
        index = self.kind != "SCAN"
        if self.advance()[0] not in ("INDEX", "SCAN"):
            self.expect("INDEX")
        if index and self.kind == "SEEK" and self.is_word_ahead(1):
            self.advance()
        kind = self.words_since(first)
        variable, label = self.variable(), self._hinted_label()
        keys = self._keys() if index else ()
        return ast.Hint(self.span_since(start), kind, (variable,), label, keys)

    def _hinted_label(self) -> str:
        if not self.accept("IS"):
            self.expect(":")
        return self.expect_name("a label or type")

    def _keys(self) -> tuple[str, ...]:
        self.expect("(")
        keys = [self.expect_name("a property name")]
        while self.accept(","):
            keys.append(self.expect_name("a property name"))
        self.expect(")")
        return tuple(keys)
