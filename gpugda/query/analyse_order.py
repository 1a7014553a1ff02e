"""Resolves ORDER BY to sort keys over columns and, where still available, pattern variables.

The rules of Neo4j 5.26, which are implemented here, from the outside of a sort expression inwards:

- A variable with the name of a column is that column, even if the pattern has this name, too.
- An expression equal to a returned expression is that column: ``RETURN a.x AS b, b.x AS a ORDER BY
  b.x`` sorts by ``a``. Otherwise a column's name shadows the variable: ``a.y`` there reads a value.
- After DISTINCT or aggregation, rows only have their columns, so other variables are errors.
- An aggregate must be a column of its own; without aggregates in RETURN none is allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.analyse_return import QUERIES, declared_names
from gpugda.query.query_graph import ColumnReference, SortKey
from gpugda.query.scope_expressions import SUBQUERIES
from gpugda.query.shapes import shape, substitute
from gpugda.query.static_types import Kind, TypeChecker, UncheckedTypes, is_aggregate
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from gpugda.query.analyse_return import Returned
    from gpugda.types import Span

__all__ = ["OrderReader"]

_OWN_NAMES: Final = SUBQUERIES.union(QUERIES)
"""Expressions that may declare variables in a pattern."""


class OrderReader:
    """Resolves the keys of one ORDER BY.

    Args:
        returned: The analysed items of RETURN.
        variables: Kind of each named variable of the pattern.
        text: The query text, for error messages.
        distinct: True for RETURN DISTINCT.
        checker: Set if types have been checked already.
        constant: As for `read_columns`.
    """

    def __init__(
        self,
        returned: Returned,
        variables: Mapping[str, Kind],
        text: str,
        *,
        distinct: bool,
        checker: UncheckedTypes | None = None,
        constant: Collection[str] = (),
    ) -> None:
        self._text = text
        self._variables = variables
        self._constant = constant
        self._aggregating = returned.aggregating
        self._only_columns = distinct or returned.aggregating
        self._names = {column.name: i for i, column in enumerate(returned.columns)}
        self._visible = {*self._names, *(constant if self._only_columns else variables)}
        self._shapes = {shape(each): i for i, each in reversed([*enumerate(returned.written)])}
        self._checker = checker or TypeChecker(text, variables, returned.kinds)

    def key(self, item: ast.SortItem) -> SortKey:
        """Resolves one sort key.

        Raises:
            CypherSyntaxError: It uses an undefined or no longer available variable, or has a wrong
                type.
        """
        expression = substitute(item.expression, self._column, self._visible)
        aggregate = next(filter(is_aggregate, walk(expression, without=SUBQUERIES)), None)
        if aggregate is not None and not self._aggregating:
            self._fail(
                "Cannot use aggregation in ORDER BY if there are no aggregate expressions in the"
                " preceding RETURN",
                aggregate.span,
            )
        own = declared_names(expression)
        if not isinstance(expression, QUERIES):
            for part in walk(expression, without=_OWN_NAMES):
                if isinstance(part, ast.Variable) and part.name not in own:
                    self._check_variable(part)
        if aggregate is not None:
            self._fail(
                "Illegal aggregation expression in ORDER BY: it has to be a column of its own",
                aggregate.span,
            )
        self._checker.kind(expression)
        return SortKey(expression, item.descending)

    def _column(self, part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, ast.Variable) and part.name in self._names:
            return ColumnReference(part.span, self._names[part.name])
        position = self._shapes.get(shape(part))
        return None if position is None else ColumnReference(part.span, position)

    def _check_variable(self, variable: ast.Variable) -> None:
        if variable.name not in self._variables:
            self._fail(f"Variable `{variable.name}` not defined", variable.span)
        if self._only_columns and variable.name not in self._constant:
            self._fail(
                "In a RETURN with DISTINCT or an aggregation, it is not possible to access"
                f" variables declared before the RETURN: {variable.name}",
                variable.span,
            )

    def _fail(self, message: str, span: Span) -> NoReturn:
        raise CypherSyntaxError(message, self._text, span)
