"""Parses label expressions after a colon or IS, and tracks syntaxes that must not be mixed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.cursor import Cursor
from gpugda.query.keywords import words
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.types import Span

__all__ = ["LabelParser"]

_NO_LABEL_AFTER_IS: Final = words("NOT NULL TYPED NORMALIZED NFC NFD NFKC NFKD")


class LabelParser(Cursor, ABC):
    """Parses ``A&(B|!C)``, ``A:B``, ``A|:B``, ``%``, ``$(…)``.

    Attributes:
        bar_stop: The position of a ``|`` that ends an expression instead of joining labels, as
            in ``[(a)-->(b) WHERE b:A | b.x]``; -1 for none.
        is_labels: Text offsets of label expressions written with IS.
        colon_labels: True if ``:`` joins labels anywhere.
    """

    __slots__ = ("bar_stop", "colon_labels", "is_labels")

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.bar_stop = -1
        self.is_labels: set[int] = set()
        self.colon_labels = False

    @abstractmethod
    def expression(self) -> ast.Expression:
        """Parses a value."""

    def at_labels(self) -> bool:
        """True if a label expression begins here, with ``:`` or IS."""
        if self.kind == ":":
            return True
        return self.kind == "IS" and self.begins_label(1)

    def begins_label(self, distance: int = 0) -> bool:
        """True if a later token can begin a label expression after IS."""
        after = self.ahead(distance)
        if after in ("(", "!", "%", "$", "quoted", "name"):
            return True
        return after[0].isalpha() and after.isupper() and after not in _NO_LABEL_AFTER_IS

    def at_bar(self) -> bool:
        """True at a ``|`` that joins alternatives."""
        return self.kind == "|" and self.index != self.bar_stop

    def labels(self) -> ast.LabelExpression:
        """Parses the labels of a node, or of a value in a label predicate."""
        expression, old_bar = self._label_expression()
        if old_bar is not None:
            self.fail("labels are not joined with '|:': write '|'", old_bar)
        return expression

    def labels_after_is(self) -> ast.LabelExpression:
        """Parses the labels after ``IS NOT``."""
        self.is_labels.add(self.start)
        expression, old_bar = self._label_or()
        if old_bar is not None:
            self.fail("labels are not joined with '|:': write '|'", old_bar)
        return expression

    def relationship_types(self) -> tuple[ast.LabelExpression, Span | None]:
        """Parses the types of a relationship, and the span of the older ``|:`` between two."""
        expression, old_bar = self._label_expression()
        if self.colon_labels and any(_is_colon(node) for node in walk(expression)):
            message = "relationship types are not joined with ':': a relationship has one type"
            self.fail(message, expression.span)
        return expression, old_bar

    def _label_expression(self) -> tuple[ast.LabelExpression, Span | None]:
        if self.advance()[0] == "IS":
            self.is_labels.add(self.start)
        return self._label_or()

    def _label_or(self) -> tuple[ast.LabelExpression, Span | None]:
        start = self.start
        first, old_bar = self._label_and()
        if not self.at_bar():
            return first, old_bar
        operands = [first]
        while self.at_bar():
            self.advance()
            if self.kind == ":":
                old_bar = old_bar or self.span()
                self.advance()
            operand, inner_bar = self._label_and()
            operands.append(operand)
            old_bar = old_bar or inner_bar
        return ast.LabelOr(self.span_since(start), tuple(operands)), old_bar

    def _label_and(self) -> tuple[ast.LabelExpression, Span | None]:
        start = self.start
        first, old_bar = self._label_not()
        if self.kind not in ("&", ":"):
            return first, old_bar
        operands, joint = [first], self.kind
        while self.kind in ("&", ":"):
            if self.kind != joint:
                self.fail("'&' and ':' between labels do not mix: write '&' throughout")
            if joint == ":":
                self.colon_labels = True
            self.advance()
            operand, inner_bar = self._label_not()
            operands.append(operand)
            old_bar = old_bar or inner_bar
        return ast.LabelAnd(self.span_since(start), tuple(operands), joint == ":"), old_bar

    def _label_not(self) -> tuple[ast.LabelExpression, Span | None]:
        starts = []
        while self.kind == "!":
            starts.append(self.start)
            self.deeper()
            self.advance()
        expression, old_bar = self._label_atom()
        for start in reversed(starts):
            expression = ast.LabelNot(self.span_since(start), expression)
        self.shallower(len(starts))
        return expression, old_bar

    def _label_atom(self) -> tuple[ast.LabelExpression, Span | None]:
        span = self.span()
        if self.is_word():
            return ast.LabelName(span, self.advance()[1]), None
        if self.kind == "(":
            return self._label_group()
        if self.accept("%"):
            return ast.LabelWildcard(span), None
        if self.kind == "$":
            return self._dynamic_label(), None
        self.unexpected("a label or type name, '(', '!', '%' or '$('")

    def _label_group(self) -> tuple[ast.LabelExpression, Span | None]:
        self.open("(")
        expression, old_bar = self._label_or()
        self.close(")")
        return expression, old_bar

    def _dynamic_label(self) -> ast.LabelExpression:
        start = self.start
        self.expect("$")
        joint = self.kind
        if joint in ("ALL", "ANY"):
            self.advance()
        elif self.kind != "(":
            self.unexpected("'(', 'all(' or 'any(' (a parameter here is written $($name))")
        self.open("(")
        value = self.expression()
        self.close(")")
        return ast.LabelDynamic(self.span_since(start), value, joint == "ANY")


def _is_colon(node: ast.Node) -> bool:
    return isinstance(node, ast.LabelAnd) and node.colon
