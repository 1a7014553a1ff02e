"""What clauses may not do that their grammar allows: stand in a wrong order, mix spellings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.keywords import words
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Collection

__all__ = ["check_label_spellings", "check_order"]

_CANNOT_END: Final = words("WITH UNWIND USE FILTER LET FOR SKIP OFFSET LIMIT NEXT") | {
    "LOAD CSV",
    "ORDER BY",
}
_SUBQUERIES: Final = frozenset[type[ast.Node]]((ast.SingleQuery,))


def check_order(query: ast.SingleQuery, text: str, *, may_end_anyhow: bool) -> None:
    """Checks that RETURN stands last, and something that may be last does.

    Args:
        query: The clauses.
        text: The whole query text, for the error.
        may_end_anyhow: Whether any clause may be the last, as in ``EXISTS { MATCH (n) }``.

    Raises:
        CypherSyntaxError: A clause follows RETURN or FINISH, or the query ends in a clause that
            leaves its rows unused.
    """
    for clause, following in zip(query.clauses, query.clauses[1:], strict=False):
        if _ends_query(clause) and _name(following) != "NEXT":
            name = _name(clause)
            hint = _order_hint(following)
            raise CypherSyntaxError(f"{name} can only stand at the end{hint}", text, following.span)
    last = query.clauses[-1]
    name = _name(last)
    if not may_end_anyhow and (name in _CANNOT_END or name.endswith("MATCH")):
        message = f"a query cannot conclude with {name}: add RETURN (or FINISH)"
        raise CypherSyntaxError(message, text, last.span)


def check_label_spellings(clause: ast.Clause, text: str, is_labels: Collection[int]) -> None:
    """Checks that ``:A:B`` stands in one clause neither with ``& | ! %`` nor with IS.

    Args:
        clause: What was read.
        text: The whole query text, for the error.
        is_labels: Where label expressions written with IS begin.

    Raises:
        CypherSyntaxError: Both are there.
    """
    colon: ast.LabelExpression | None = None
    symbol: ast.LabelExpression | None = None
    types = set()
    for node in walk(clause, without=_SUBQUERIES):
        if isinstance(node, ast.RelationshipPattern) and isinstance(node.types, ast.LabelOr):
            types.add(id(node.types))  # 'A|B' of a relationship is of both spellings
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


def _ends_query(clause: ast.Clause) -> bool:
    return isinstance(clause, ast.Return) or _name(clause) == "FINISH"


def _name(clause: ast.Clause) -> str:
    if isinstance(clause, ast.Match):
        return "OPTIONAL MATCH" if clause.optional else "MATCH"
    return clause.construct if isinstance(clause, ast.OtherClause) else "RETURN"


def _order_hint(following: ast.Clause) -> str:
    name = _name(following)
    if name in ("ORDER BY", "SKIP", "OFFSET", "LIMIT"):
        return ": its parts come in the order ORDER BY, SKIP, LIMIT, each once"
    return f": {name} comes before it" if name != "RETURN" else ": there are two"
