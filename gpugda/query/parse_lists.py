"""Parses lists, comprehensions, reduce() and list predicates."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Final, TypeVar

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.parse_expressions import ExpressionParser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["LIST_PREDICATES", "ListParser"]

LIST_PREDICATES: Final = frozenset(("ALL", "ANY", "NONE", "SINGLE"))

_Elements = tuple[ast.Variable, ast.Expression, ast.Expression | None]
_Comprehension = tuple[ast.Variable, ast.Expression, ast.Expression | None, ast.Expression | None]
_Part = TypeVar("_Part", bound=tuple[Any, ...])


class ListParser(ExpressionParser):
    """Parses ``[…]``, ``reduce(…)``, ``all(…)``, ``any(…)``, ``none(…)``, ``single(…)``."""

    __slots__ = ()

    @abstractmethod
    def path_follows(self) -> bool:
        """True if brackets and arrows form a path with a relationship here."""

    @abstractmethod
    def path(self) -> ast.Pattern:
        """Parses a path in an expression."""

    def list_atom(self) -> ast.Expression:
        """Parses a list literal, a list comprehension or a pattern comprehension."""
        start = self.start
        opening = self.index
        self.open("[")
        if self.is_word() and self.ahead() == "IN":
            comprehension = self._list_comprehension(opening)
            if comprehension is not None:
                return ast.ListComprehension(self.span_since(start), *comprehension)
        elif self._pattern_comprehension_follows():
            (pattern, where), end = self._split_at_bar(opening, self._pattern_and_where, "]")
            assert end is not None, "_without_bar expects the bar after a pattern"
            return ast.PatternComprehension(self.span_since(start), pattern, where, end)
        items = self.expressions_until("]")
        self.close("]")
        return ast.ListLiteral(self.span_since(start), items)

    def expressions_until(self, closing: str) -> tuple[ast.Expression, ...]:
        """Parses comma-separated values up to a closing bracket, which is not consumed."""
        if self.kind == closing:
            return ()
        items = [self.expression()]
        while self.accept(","):
            items.append(self.expression())
        if self.kind != closing:
            self.unexpected(f"',' or '{closing}'")
        return tuple(items)

    def reduce(self) -> ast.Reduce:
        """Parses ``reduce(sum = 0, x IN list | sum + x)``."""
        start = self.start
        self.advance()
        opening = self.index
        self.open("(")
        reduction, step = self._split_at_bar(opening, self._reduction, ")")
        assert step is not None, "_without_bar expects the bar before a round bracket"
        return ast.Reduce(self.span_since(start), *reduction, step)

    def all_reduce(self) -> ast.AllReduce:
        """Parses ``allReduce(sum = 0, x IN list | sum + x, sum < 9)``."""
        start = self.start
        self.advance()
        opening = self.index
        self.open("(")
        reduction, step = self._split_at_bar(opening, self._reduction, ",")
        predicate = self.expression()
        self.close(")")
        assert step is not None, "_without_bar expects the bar before a comma"
        return ast.AllReduce(self.span_since(start), *reduction, step, predicate)

    def list_predicate(self) -> ast.ListPredicate:
        """Parses ``all(x IN list WHERE predicate)`` and the like."""
        start = self.start
        quantifier = ast.ListQuantifier(self.advance()[0].lower())
        self.open("(")
        variable, elements, where = self._filtered_elements()
        if where is None:
            self.fail(f"{quantifier}(…) needs a WHERE with a condition")
        self.close(")")
        return ast.ListPredicate(self.span_since(start), quantifier, variable, elements, where)

    def variable(self, what: str = "a variable") -> ast.Variable:
        """Parses a variable."""
        span = self.span()
        return ast.Variable(span, self.expect_name(what))

    # -------------------------------------------------------------- bracket contents
    def _list_comprehension(self, opening: int) -> _Comprehension | None:
        """The parts of a comprehension; None, with nothing consumed, if it is a list literal."""
        state = self.state()
        if any(True for _ in self._bars(opening)):
            elements, projection = self._split_at_bar(opening, self._filtered_elements, "]")
            return *elements, projection
        elements = self._filtered_elements()
        if self.kind == ",":  # [x IN xs, y]: the first item of a list
            self.restore(state)
            return None
        self.close("]")
        return *elements, None

    def _pattern_comprehension_follows(self) -> bool:
        """True if a ``|`` or WHERE follows the path, unlike in a list of paths."""
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

    def _pattern_and_where(self) -> tuple[ast.Pattern, ast.Expression | None]:
        variable = None
        if self.ahead() == "=":
            variable = self.variable()
            self.expect("=")
        path = self.path()
        return (path if variable is None else _named(path, variable)), self._where()

    def _filtered_elements(self) -> _Elements:
        return (*self._element(), self._where())

    def _reduction(self) -> tuple[ast.Variable, ast.Expression, ast.Variable, ast.Expression]:
        accumulator = self.variable()
        self.expect("=", " after the name of the accumulator")
        initial = self.expression()
        self.expect(",")
        return (accumulator, initial, *self._element())

    def _element(self) -> tuple[ast.Variable, ast.Expression]:
        variable = self.variable()
        self.expect("IN")
        return variable, self.expression()

    def _where(self) -> ast.Expression | None:
        return self.expression() if self.accept("WHERE") else None

    # -------------------------------------------------------------- bars
    def _split_at_bar(
        self, opening: int, before: Callable[[], _Part], closing: str
    ) -> tuple[_Part, ast.Expression | None]:
        """Parses ``before | expression`` up to the closing bracket, or to a comma.

        A ``|`` may also join labels: ``x:A|B|x.y``. As in Neo4j, the last one that gives a valid
        parse separates; a list comprehension may have none.
        """
        state = self.state()
        failure: CypherSyntaxError | None = None
        outer = self.bar_stop
        for stop in self._bars(opening):
            self.bar_stop = stop
            try:
                part = before()
                if self.index == stop:
                    self.advance()
                    expression = self.expression()
                    self._end_of_split(closing)
                    return part, expression
            except CypherSyntaxError as error:
                failure = furthest(failure, error)
            finally:
                self.bar_stop = outer
            self.restore(state)
        return self._without_bar(before, closing, failure), None

    def _end_of_split(self, closing: str) -> None:
        if closing == ",":
            self.expect(",")
        else:
            self.close(closing)

    def _without_bar(
        self, before: Callable[[], _Part], closing: str, failure: CypherSyntaxError | None
    ) -> _Part:
        try:
            part = before()
            if closing != "]" or isinstance(part[0], ast.Pattern):
                self.expect("|")
            self.close(closing)
        except CypherSyntaxError as error:
            raise furthest(failure, error) from None
        return part

    def _bars(self, opening: int) -> Iterator[int]:
        """Positions of ``|`` directly inside a bracket, the last one first."""
        end = self.matching(opening)
        bars = []
        index = opening + 1
        while end is not None and index < end:
            if self.kind_at(index) == "|":
                bars.append(index)
            index = (self.matching(index) or index) + 1
        return reversed(bars)


def furthest(first: CypherSyntaxError | None, second: CypherSyntaxError) -> CypherSyntaxError:
    """The error of two attempted readings that is further in the text."""
    if first is None or first.span is None or second.span is None:
        return second
    return first if first.span.start > second.span.start else second


def _named(path: ast.Pattern, variable: ast.Variable) -> ast.Pattern:
    return ast.Pattern(variable.span.to(path.span), variable, path.elements)
