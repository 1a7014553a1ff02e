"""Checks of clauses beyond their grammar: their order, and mixed label syntax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.constructs import clause_name
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["check_label_spellings", "check_order"]

_CANNOT_END: Final = (
    ast.With,
    ast.Unwind,
    ast.Use,
    ast.Filter,
    ast.Let,
    ast.OrderSkipLimit,
    ast.LoadCsv,
    ast.Match,
)
_WHOLE_QUERIES: Final = (ast.When, ast.Braces)
_SUBQUERIES: Final = frozenset[type[ast.Node]]((ast.SingleQuery,))


def check_order(query: ast.SingleQuery, text: str, *, may_lack_return: bool) -> None:
    """Checks that RETURN comes last, and that the last clause may end a query.

    Args:
        query: The clauses.
        text: The whole query text, for error messages.
        may_lack_return: True if any clause may be the last, as in ``EXISTS { MATCH (n) }``.

    Raises:
        CypherSyntaxError: A clause follows RETURN or FINISH, or the last clause leaves its rows
            unused.
    """
    for clause, following in zip(query.clauses, query.clauses[1:], strict=False):
        if isinstance(clause, ast.Return | ast.Finish | ast.When | ast.Braces):
            message = f"{clause_name(clause)} can only stand at the end{_order_hint(following)}"
            raise CypherSyntaxError(message, text, following.span)
        if isinstance(following, _WHOLE_QUERIES) and not isinstance(clause, ast.Use):
            message = f"{clause_name(following)} cannot follow other clauses: put NEXT before it"
            raise CypherSyntaxError(message, text, following.span)
    last = query.clauses[-1]
    if not may_lack_return and isinstance(last, _CANNOT_END):
        message = f"a query cannot conclude with {clause_name(last)}: add RETURN (or FINISH)"
        raise CypherSyntaxError(message, text, last.span)


def check_label_spellings(clause: ast.Clause, text: str, is_labels: Collection[int]) -> None:
    """Checks that a clause does not mix ``:A:B`` with ``& | ! %`` or IS.

    Args:
        clause: The clause.
        text: The whole query text, for error messages.
        is_labels: Text offsets of label expressions written with IS.

    Raises:
        CypherSyntaxError: The clause mixes them.
    """
    colon: ast.LabelExpression | None = None
    symbol: ast.LabelExpression | None = None
    types = set()
    for node in walk(clause, without=_SUBQUERIES):
        if isinstance(node, ast.RelationshipPattern) and isinstance(node.types, ast.LabelOr):
            types.add(id(node.types))  # 'A|B' of a relationship belongs to both syntaxes
        if not isinstance(node, ast.LabelExpression):
            continue
        if isinstance(node, ast.LabelAnd) and node.colon:
            colon = colon or node
        elif not isinstance(node, ast.LabelName | ast.LabelDynamic) and id(node) not in types:
            symbol = symbol or node
        if node.span.start in is_labels:
            symbol = symbol or node
    if colon is not None and symbol is not None:
        message = "':' between labels does not mix with & | ! % or IS in one clause: write '&'"
        raise CypherSyntaxError(message, text, colon.span)


def _order_hint(following: ast.Clause) -> str:
    name = clause_name(following)
    if isinstance(following, ast.OrderSkipLimit):
        return ": its parts come in the order ORDER BY, SKIP, LIMIT, each once"
    return f": {name} comes before it" if name != "RETURN" else ": there are two"
