"""Parses paths: nodes in parentheses, relationships as arrows, groups, selectors."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NoReturn

from gpugda.query import ast
from gpugda.query.keywords import words
from gpugda.query.parse_plain import PlainParser
from gpugda.query.parse_relationships import DASHES, LEFT, RIGHT

__all__ = ["SHORTEST_PATHS", "PatternParser"]

SHORTEST_PATHS: Final = {
    "SHORTESTPATH": ast.SelectorKind.SHORTEST_PATH,
    "ALLSHORTESTPATHS": ast.SelectorKind.ALL_SHORTEST_PATHS,
}


_AFTER_SELECTOR: Final = words("( number $ SHORTEST PATH PATHS GROUP GROUPS")


class PatternParser(PlainParser):
    """Parses the patterns of MATCH, and paths in expressions."""

    __slots__ = ()

    def patterns(self) -> tuple[ast.Pattern, ...]:
        """Parses comma-separated patterns."""
        patterns = [self.pattern()]
        while self.accept(","):
            patterns.append(self.pattern())
        return tuple(patterns)

    def pattern(self) -> ast.Pattern:
        """Parses ``[name =] [selector] path``."""
        start = self.start
        if self.kind == "(":
            elements = self._elements()
            return ast.Pattern(self.span_since(start), None, elements)
        variable = None
        if self.is_word() and self.ahead() == "=":
            variable = self.variable()
            self.expect("=")
        selector = self._selector()
        if self.kind in SHORTEST_PATHS and self.ahead() == "(":
            shortest = self.shortest_path()
            span = self.span_since(start)
            return ast.Pattern(span, variable, shortest.elements, shortest.selector)
        elements = self._elements()
        return ast.Pattern(self.span_since(start), variable, elements, selector)

    def shortest_path(self) -> ast.Pattern:
        """Parses ``shortestPath(path)`` or ``allShortestPaths(path)``."""
        start = self.start
        selector = ast.Selector(self.span(), SHORTEST_PATHS[self.kind])
        self.advance()
        self.open("(")
        elements = self._elements()
        self.close(")")
        return ast.Pattern(self.span_since(start), None, elements, selector)

    # -------------------------------------------------------------- paths in expressions
    def path_follows(self) -> bool:
        """True if ``( ) <- [ ] -> (`` follows, for any content of the brackets."""
        if self.kind != "(":
            return False
        closing = self.matching(self.index)
        return closing is not None and self._arrow_follows(closing)

    def _arrow_follows(self, node_end: int) -> bool:
        index = node_end + (2 if self.kind_at(node_end + 1) in LEFT else 1)
        if self.kind_at(index) not in DASHES:
            return False
        index += 1
        if self.kind_at(index) == "[":
            closing = self.matching(index)
            if closing is None:
                return False
            index = closing + 1
        if self.kind_at(index) not in DASHES:
            return False
        index += 2 if self.kind_at(index + 1) in RIGHT else 1
        return self.kind_at(index) == "("

    def path(self) -> ast.Pattern:
        """Parses a node followed by at least one relationship with its node.

        The path ends when no arrow to a further node follows: ``(a)--(b)-[c]`` subtracts.
        """
        start = self.start
        elements: list[ast.PatternElement] = [self._node()]
        self._hop(elements)
        while self._arrow_follows(self.index - 1):
            self._hop(elements)
        return ast.Pattern(self.span_since(start), None, tuple(elements))

    def _hop(self, elements: list[ast.PatternElement]) -> None:
        elements.append(self.relationship())
        elements.append(self._node())

    # -------------------------------------------------------------- elements
    def _elements(self) -> tuple[ast.PatternElement, ...]:
        elements: list[ast.PatternElement] = []
        parts = 0
        while not elements or self.kind == "(":
            parts += 1
            node = self.plain_node()
            if node is None and self._group_follows():
                elements.append(self._group())
            else:
                elements.append(node or self._node())
                self._relationships(elements)
        if parts > 1:
            self._check_neighbours(elements)
        return tuple(elements)

    def _relationships(self, elements: list[ast.PatternElement]) -> None:
        while self.kind in DASHES or self.kind in LEFT:
            elements.append(self.plain_relationship() or self.relationship(may_repeat=True))
            node = self.plain_node()
            if node is None and self._group_follows():
                self.fail("a relationship must lead to a node, such as (), not to a group")
            elements.append(node or self._node())

    def _check_neighbours(self, elements: list[ast.PatternElement]) -> None:
        """Checks that adjacent parts have a relationship between them, unless one is repeated."""
        for left, right in pairwise(elements):
            if _is_relationship(left) or _is_relationship(right):
                continue
            if not any(isinstance(e, ast.GroupPattern) and e.quantified for e in (left, right)):
                message = "a relationship is missing between these two parts of the pattern"
                self.fail(message, right.span)

    def _group_follows(self) -> bool:
        if self.kind != "(":
            return False
        inner = self.ahead()
        if inner == "(" or (self.is_word_ahead(1) and self.ahead(2) == "="):
            return True
        if inner in ("ANY", "ALL", "SHORTEST"):
            return self.ahead(2) in (
                "(",
                "number",
                "$",
                "SHORTEST",
                "PATH",
                "PATHS",
                "GROUP",
                "GROUPS",
            )
        return inner in SHORTEST_PATHS and self.ahead(2) == "("

    def _group(self) -> ast.GroupPattern:
        start = self.start
        self.open("(")
        pattern = self.pattern()
        where = self.expression() if self.accept("WHERE") else None
        self.close(")")
        quantifier = self.quantifier()
        return ast.GroupPattern(self.span_since(start), pattern, where, quantifier)

    def _node(self) -> ast.NodePattern:
        start = self.start
        if self.kind != "(":
            self._no_node()
        self.open("(")
        variable = self.pattern_variable(")")
        labels = self.labels() if self.at_labels() else None
        properties = self.properties()
        where = self.expression() if self.accept("WHERE") else None
        if self.kind != ")":
            self.unexpected("')' or more of the node: labels, {properties}, WHERE")
        self.close(")")
        return ast.NodePattern(self.span_since(start), variable, labels, properties, where)

    def _no_node(self) -> NoReturn:
        hint = " (nodes are written in round brackets)" if self.is_word() else ""
        self.unexpected(f"a node, such as (n:Label){hint}")

    # -------------------------------------------------------------- selectors
    def _selector(self) -> ast.Selector | None:
        """Parses a path selector; 'ANY SHORTEST' and 'SHORTEST' are 'SHORTEST 1'."""
        start, kind = self.start, self.kind
        if kind == "SHORTEST":
            self.advance()
            return self._shortest(start)
        if kind not in ("ANY", "ALL"):
            return None
        self.advance()
        shortest = self.accept("SHORTEST")
        count = self._count() if kind == "ANY" and not shortest else None
        self._accept_any("PATH", "PATHS")
        span = self.span_since(start)
        if kind == "ALL":
            every = ast.SelectorKind.ALL_SHORTEST if shortest else ast.SelectorKind.ALL
            return ast.Selector(span, every)
        some = ast.SelectorKind.SHORTEST if shortest else ast.SelectorKind.ANY
        return ast.Selector(span, some, 1 if count is None else count)

    def _shortest(self, start: int) -> ast.Selector:
        count = self._count()
        self._accept_any("PATH", "PATHS")
        groups = self._accept_any("GROUP", "GROUPS")
        kind = ast.SelectorKind.SHORTEST_GROUPS if groups else ast.SelectorKind.SHORTEST
        return ast.Selector(self.span_since(start), kind, 1 if count is None else count)

    def _count(self) -> int | ast.Parameter | None:
        if self.kind == "$":
            return self.parameter()
        return self.unsigned_integer("a number of paths") if self.kind == "number" else None

    def _accept_any(self, *kinds: str) -> bool:
        if self.kind not in kinds:
            return False
        self.advance()
        return True


def _is_relationship(element: ast.PatternElement) -> bool:
    return isinstance(element, ast.RelationshipPattern)
