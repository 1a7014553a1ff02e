"""Lists and what is written like them: comprehensions, reduce() and the list predicates."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Final

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.parse_expressions import ExpressionParser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["LIST_PREDICATES", "ListParser"]

LIST_PREDICATES: Final = frozenset(("ALL", "ANY", "NONE", "SINGLE"))

_Children = tuple[ast.Node, ...]


class ListParser(ExpressionParser):
    """Reads ``[…]``, ``reduce(…)``, ``all(…)``, ``any(…)``, ``none(…)``, ``single(…)``."""

    __slots__ = ()

    @abstractmethod
    def path_follows(self) -> bool:
        """Whether brackets and arrows make a path with a relationship here."""

    @abstractmethod
    def path(self) -> ast.Pattern:
        """Reads a path as it may stand in an expression."""

    def list_atom(self) -> ast.Expression:
        """Reads a list literal, a list comprehension or a pattern comprehension."""
        start = self.start
        opening = self.index
        self.open("[")
        if self.is_word() and self.ahead() == "IN":
            comprehension = self._list_comprehension(opening)
            if comprehension is not None:
                span = self.span_since(start)
                return ast.OtherExpression(span, "list comprehension", comprehension)
        elif self._pattern_comprehension_follows():
            children = self._split_at_bar(opening, self._pattern_comprehension, "]")
            span = self.span_since(start)
            return ast.OtherExpression(span, "pattern comprehension", children)
        items = self.expressions_until("]")
        self.close("]")
        return ast.ListLiteral(self.span_since(start), items)

    def expressions_until(self, closing: str) -> tuple[ast.Expression, ...]:
        """Reads values with commas between them, up to a bracket that is left standing."""
        if self.kind == closing:
            return ()
        items = [self.expression()]
        while self.accept(","):
            items.append(self.expression())
        if self.kind != closing:
            self.unexpected(f"',' or '{closing}'")
        return tuple(items)

    def reduce(self) -> ast.Expression:
        """Reads ``reduce(sum = 0, x IN list | sum + x)``."""
        start = self.start
        self.advance()
        opening = self.index
        self.open("(")
        children = self._split_at_bar(opening, self._reduction, ")")
        return ast.OtherExpression(self.span_since(start), "reduce()", children)

    def list_predicate(self) -> ast.Expression:
        """Reads ``all(x IN list WHERE predicate)`` and its kin."""
        start = self.start
        name = self.advance()[0].lower()
        self.open("(")
        children = (*self._element(), *self._where())
        if len(children) < 3:
            self.fail(f"{name}(…) needs a WHERE with what is to hold")
        self.close(")")
        return ast.OtherExpression(self.span_since(start), f"{name}()", children)

    def variable(self, what: str = "a variable") -> ast.Variable:
        """Reads a name that stands for a value."""
        span = self.span()
        return ast.Variable(span, self.expect_name(what))

    # -------------------------------------------------------------- what stands in the brackets
    def _list_comprehension(self, opening: int) -> _Children | None:
        """The comprehension's parts; None, and nothing read, where it is a list after all."""
        state = self.state()
        if any(True for _ in self._bars(opening)):
            return self._split_at_bar(opening, self._filtered_elements, "]")
        children = self._filtered_elements()
        if self.kind == ",":  # [x IN xs, y]: the first item of a list
            self.restore(state)
            return None
        self.close("]")
        return children

    def _pattern_comprehension_follows(self) -> bool:
        """Looks past a path for the ``|`` or WHERE that a list of paths does not have."""
        state = self.state()
        try:
            if self.is_word() and self.ahead() == "=":
                self.move_to(self.index + 2)
            if not self.path_follows():
                return False
            self.path()
            return self.kind in ("|", "WHERE")
        except CypherSyntaxError:
            return False
        finally:
            self.restore(state)

    def _pattern_comprehension(self) -> _Children:
        variable = None
        if self.ahead() == "=":
            variable = self.variable()
            self.expect("=")
        path = self.path()
        return (path if variable is None else _named(path, variable), *self._where())

    def _filtered_elements(self) -> _Children:
        return (*self._element(), *self._where())

    def _reduction(self) -> _Children:
        sum_variable = self.variable()
        self.expect("=", " after the name of the accumulator")
        initial = self.expression()
        self.expect(",")
        return (sum_variable, initial, *self._element())

    def _element(self) -> _Children:
        variable = self.variable()
        self.expect("IN")
        return variable, self.expression()

    def _where(self) -> _Children:
        return (self.expression(),) if self.accept("WHERE") else ()

    # -------------------------------------------------------------- bars
    def _split_at_bar(
        self, opening: int, before: Callable[[], _Children], closing: str
    ) -> _Children:
        """Reads ``before | expression`` up to the closing bracket.

        A ``|`` may as well join labels: ``x:A|B|x.y``. As in Neo4j the last one that makes sense
        separates; a list comprehension may then have none.
        """
        state = self.state()
        failure: CypherSyntaxError | None = None
        outer = self.bar_stop
        for stop in self._bars(opening):
            self.bar_stop = stop
            try:
                children = before()
                if self.index == stop:
                    self.advance()
                    children = (*children, self.expression())
                    self.close(closing)
                    return children
            except CypherSyntaxError as error:
                failure = furthest(failure, error)
            finally:
                self.bar_stop = outer
            self.restore(state)
        return self._without_bar(before, closing, failure)

    def _without_bar(
        self, before: Callable[[], _Children], closing: str, failure: CypherSyntaxError | None
    ) -> _Children:
        try:
            children = before()
            if closing != "]" or isinstance(children[0], ast.Pattern):
                self.expect("|")
            self.close(closing)
        except CypherSyntaxError as error:
            raise furthest(failure, error) from None
        return children

    def _bars(self, opening: int) -> Iterator[int]:
        """Positions of ``|`` directly inside a bracket, the last first."""
        end = self.matching(opening)
        bars = []
        index = opening + 1
        while end is not None and index < end:
            if self.kind_at(index) == "|":
                bars.append(index)
            index = (self.matching(index) or index) + 1
        return reversed(bars)


def furthest(first: CypherSyntaxError | None, second: CypherSyntaxError) -> CypherSyntaxError:
    """Of the errors of two readings, the one that got further in the text."""
    if first is None or first.span is None or second.span is None:
        return second
    return first if first.span.start > second.span.start else second


def _named(path: ast.Pattern, variable: ast.Variable) -> ast.Pattern:
    return ast.Pattern(variable.span.to(path.span), variable, path.elements)
