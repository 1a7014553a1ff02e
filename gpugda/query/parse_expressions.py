"""Parses operators by precedence, from OR down to postfix operators."""

from __future__ import annotations

from abc import abstractmethod
from typing import Final

from gpugda.deadline import check_time
from gpugda.query import ast
from gpugda.query.keywords import FOLLOWS_OPERAND
from gpugda.query.literals import number_value
from gpugda.query.parse_types import TypeParser
from gpugda.types import Span

__all__ = ["ExpressionParser"]

_OR, _XOR, _AND, _NOT, _COMPARISON, _PREDICATE, _SUM, _PRODUCT, _POWER = range(1, 10)

_PRECEDENCE: Final = {
    "OR": _OR,
    "XOR": _XOR,
    "AND": _AND,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), _COMPARISON),
    **dict.fromkeys(("=~", "STARTS", "ENDS", "CONTAINS", "IN", "IS", "::"), _PREDICATE),
    **dict.fromkeys(("+", "-", "||"), _SUM),
    **dict.fromkeys(("*", "/", "%"), _PRODUCT),
    "^": _POWER,
}
_BOOLEAN: Final = {
    _OR: ast.BinaryOperator.OR,
    _XOR: ast.BinaryOperator.XOR,
    _AND: ast.BinaryOperator.AND,
}
_SYMBOLS: Final = {
    operator.value: operator
    for operator in ast.BinaryOperator
    if _PRECEDENCE.get(operator.value, 0) >= _SUM
}
_NORMAL_FORMS: Final = ("NFC", "NFD", "NFKC", "NFKD")


class ExpressionParser(TypeParser):
    """Parses expressions by precedence climbing; ``atom`` parses operands."""

    __slots__ = ()

    @abstractmethod
    def atom(self) -> ast.Expression:
        """Parses a literal, name, call, bracket …: a value without operators."""

    def expression(self) -> ast.Expression:
        """Parses a value."""
        return self._binary(_OR)

    # -------------------------------------------------------------- two operands
    def _binary(self, lowest: int) -> ast.Expression:
        """Parses operators with at least the precedence ``lowest``, and their operands."""
        check_time()
        start = self.start
        left = self._negations() if lowest <= _NOT and self.kind == "NOT" else self._signed()
        while (precedence := _PRECEDENCE.get(self.kind, 0)) >= lowest:
            if precedence <= _AND:
                left = self._boolean(left, start, precedence)
            elif precedence == _COMPARISON:
                left = self._comparison(left, start)
            elif precedence == _PREDICATE:
                left = self._predicate(left, start)
                if _PRECEDENCE.get(self.kind) == _PREDICATE:
                    self.fail("IN, IS, =~ and the like do not chain: put the first in parentheses")
            else:
                operator = _SYMBOLS[self.advance()[0]]
                right = self._binary(precedence + 1)
                left = ast.Binary(self.span_since(start), operator, left, right)
        return left

    def _boolean(self, left: ast.Expression, start: int, precedence: int) -> ast.Expression:
        operator = _BOOLEAN[precedence]
        operands = [(start, left, self.span_since(start).end)]
        while self.accept(operator.value):
            begin = self.start
            operand = self._binary(precedence + 1)
            operands.append((begin, operand, self.span_since(begin).end))
        return _balanced(operator, operands)

    def _comparison(self, left: ast.Expression, start: int) -> ast.Expression:
        operands, operators = [left], []
        while _PRECEDENCE.get(self.kind) == _COMPARISON:
            operators.append(ast.ComparisonOperator(self.advance()[0]))
            operands.append(self._binary(_PREDICATE))
        return ast.Comparison(self.span_since(start), tuple(operands), tuple(operators))

    def _predicate(self, left: ast.Expression, start: int) -> ast.Expression:
        if self.kind in ("IS", "::"):
            return self._is_predicate(left, start)
        kind = self.advance()[0]
        if kind in ("STARTS", "ENDS"):
            self.expect("WITH", f" after {kind}")
            kind = f"{kind} WITH"
        right = self._binary(_SUM)
        return ast.Binary(self.span_since(start), ast.BinaryOperator(kind), left, right)

    def _is_predicate(self, left: ast.Expression, start: int) -> ast.Expression:
        if self.accept("::"):
            return self._type_predicate(left, start, negated=False)
        self.expect("IS")
        negated = self.accept("NOT")
        if self.accept("NULL"):
            null = ast.UnaryOperator.IS_NOT_NULL if negated else ast.UnaryOperator.IS_NULL
            return ast.Unary(self.span_since(start), null, left)
        if self.kind in ("TYPED", "::"):
            self.advance()
            return self._type_predicate(left, start, negated=negated)
        if self.kind == "NORMALIZED" or self.ahead() == "NORMALIZED":
            return self._normalized_predicate(left, start, negated=negated)
        if negated and self.begins_label():
            return self._negated_labels(left, start)
        self.unexpected("NULL, NOT NULL, '::' and a type, NORMALIZED, or a label after IS")

    def _type_predicate(
        self, left: ast.Expression, start: int, *, negated: bool
    ) -> ast.TypePredicate:
        wanted = self.type_name()
        return ast.TypePredicate(self.span_since(start), left, wanted, negated)

    def _normalized_predicate(
        self, left: ast.Expression, start: int, *, negated: bool
    ) -> ast.NormalizedPredicate:
        form = ast.NormalForm.NFC
        if self.kind != "NORMALIZED":
            if self.kind not in _NORMAL_FORMS:
                self.unexpected("NFC, NFD, NFKC or NFKD")
            form = ast.NormalForm(self.advance()[0])
        self.expect("NORMALIZED")
        return ast.NormalizedPredicate(self.span_since(start), left, form, negated)

    def _negated_labels(self, left: ast.Expression, start: int) -> ast.LabelPredicate:
        begin = self.start
        operand = self.labels_after_is()
        labels = ast.LabelNot(self.span_since(begin), operand)
        return ast.LabelPredicate(self.span_since(start), left, labels)

    def when_operand(self) -> ast.Expression:
        """Parses the operand of WHEN in ``CASE x``: a value, or an operator and a value."""
        start = self.start
        precedence = _PRECEDENCE.get(self.kind, 0)
        operand = ast.CaseOperand(Span(start, start))
        if precedence == _COMPARISON:
            operator = ast.ComparisonOperator(self.advance()[0])
            operands = (operand, self._binary(_PREDICATE))
            return ast.Comparison(self.span_since(start), operands, (operator,))
        if self.at_labels():
            labels = self.labels()
            return ast.LabelPredicate(self.span_since(start), operand, labels)
        if self._predicate_follows():
            return self._predicate(operand, start)
        value = self.expression()
        equal = (ast.ComparisonOperator.EQUAL,)
        return ast.Comparison(self.span_since(start), (operand, value), equal)

    def _predicate_follows(self) -> bool:
        """True if an operator follows whose left operand is that of CASE."""
        if self.kind in ("=~", "IS", "::"):
            return True
        if self.kind in ("STARTS", "ENDS"):
            return self.ahead() == "WITH"
        return self.kind in ("IN", "CONTAINS") and self.begins_value()

    # -------------------------------------------------------------- one operand
    def _negations(self) -> ast.Expression:
        starts = []
        while self.kind == "NOT" and self.begins_value():
            starts.append(self.start)
            self.deeper()
            self.advance()
        operand = self._binary(_COMPARISON)
        for start in reversed(starts):
            span = self.span_since(start)
            operand = ast.Unary(span, ast.UnaryOperator.NOT, operand)
        self.shallower(len(starts))
        return operand

    def _signed(self) -> ast.Expression:
        """Parses at most one sign before a value; a minus right before a number belongs to it."""
        if self.kind not in ("-", "+"):
            return self.operand()
        if self.kind == "-" and self.ahead() in ("number", "INF", "INFINITY"):
            return self.operand()
        start = self.start
        sign = ast.UnaryOperator(self.advance()[0])
        if self.kind == "+" or (self.kind == "-" and self.ahead() != "number"):
            self.unexpected("a value after the sign; put a second sign in parentheses")
        operand = self.operand()
        return ast.Unary(self.span_since(start), sign, operand)

    def operand(self) -> ast.Expression:
        """Parses a value with ``.name``, ``[index]`` and ``:Label`` suffixes, without operators."""
        start = self.start
        value = self._negative_number() if self.kind == "-" else self.atom()
        while True:
            if self.kind == ".":
                self.advance()
                key = self.expect_name("a property name after '.'")
                value = ast.Property(self.span_since(start), value, key)
            elif self.kind == "[":
                value = self._subscript(value, start)
            elif self.at_labels():
                labels = self.labels()
                value = ast.LabelPredicate(self.span_since(start), value, labels)
            else:
                return value

    def _negative_number(self) -> ast.Expression:
        start = self.start
        self.expect("-")
        kind, piece, _, _ = self.advance()
        span = self.span_since(start)
        if kind != "number":
            return ast.Literal(span, float("-inf"))
        return ast.Literal(span, number_value(piece, self.text, span, negative=True))

    def _subscript(self, value: ast.Expression, start: int) -> ast.Expression:
        self.open("[")
        first = None if self.kind == ".." else self.expression()
        if first is not None and self.kind != "..":
            self.close("]")
            return ast.Subscript(self.span_since(start), value, first)
        self.expect("..", " or ']'")
        end = None if self.kind == "]" else self.expression()
        if first is None and end is None:
            self.fail("a slice needs a start or an end: [1..], [..3], [1..3]")
        self.close("]")
        return ast.Slice(self.span_since(start), value, first, end)

    def begins_value(self) -> bool:
        """True if the next token can begin an operand of the current word, so it is no name."""
        after = self.ahead()
        if after in FOLLOWS_OPERAND:
            return after[0].isalpha() and self.ahead(2) == "."
        return True


def _balanced(
    operator: ast.BinaryOperator, operands: list[tuple[int, ast.Expression, int]]
) -> ast.Expression:
    # AND, OR and XOR are associative, also with null, so a long chain becomes a balanced tree: ten
    # thousand operands have depth fourteen. Three operands still nest to the left.
    if len(operands) == 1:
        return operands[0][1]
    middle = (len(operands) + 1) // 2
    left, right = operands[:middle], operands[middle:]
    span = Span(operands[0][0], operands[-1][2])
    return ast.Binary(span, operator, _balanced(operator, left), _balanced(operator, right))
