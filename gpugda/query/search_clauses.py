"""The MATCH clauses that Neo4j plans together with a search of shortest paths."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING, Final

from gpugda.query import ast

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["changes_nothing", "has_search", "is_search", "planned_together"]

_SEARCHES: Final = (ast.SelectorKind.SHORTEST_PATH, ast.SelectorKind.ALL_SHORTEST_PATHS)


def planned_together(clauses: Sequence[ast.Clause], known: Iterable[str]) -> list[ast.Clause]:
    """The clauses without each WITH that changes nothing before a search of shortest paths.

    Neo4j plans the MATCH clauses on both sides of such a WITH together.

    Args:
        clauses: The clauses of a query.
        known: The variables before them.
    """
    found: list[ast.Clause] = []
    names: set[str] | None = set(known)
    plain = True
    for place, clause in enumerate(clauses):
        if isinstance(clause, ast.Match) and not clause.optional:
            plain = plain and not has_search(clause)
            if names is not None:
                names = names.union(*map(_bound_by, clause.patterns))
        elif isinstance(clause, ast.With):
            listed = {item.name for item in clause.projection.items}
            keeps = clause.projection.star or (names is not None and listed >= names)
            if plain and keeps and changes_nothing(clause) and _searches_next(clauses[place + 1 :]):
                continue
            plain = True
            names = None if clause.projection.star else listed
        else:
            names, plain = None, not isinstance(clause, ast.Match)
        found.append(clause)
    return found


def changes_nothing(clause: ast.With) -> bool:
    """True if a WITH only lists variables."""
    projection = clause.projection
    listed = all(
        isinstance(item.expression, ast.Variable) and item.expression.name == item.name
        for item in projection.items
    )
    paged = projection.skip is not None or projection.limit is not None
    return listed and not (
        projection.distinct or projection.order_by or paged or clause.where is not None
    )


def _searches_next(clauses: Sequence[ast.Clause]) -> bool:
    """True if the MATCH clauses that come next search shortest paths."""
    run = takewhile(lambda each: isinstance(each, ast.Match) and not each.optional, clauses)
    return any(isinstance(each, ast.Match) and has_search(each) for each in run)


def _bound_by(pattern: ast.Pattern) -> set[str]:
    """The variables that a pattern binds."""
    found = set() if pattern.variable is None else {pattern.variable.name}
    for element in pattern.elements:
        if isinstance(element, ast.GroupPattern):
            found |= _bound_by(element.pattern)
        elif element.variable is not None:
            found.add(element.variable.name)
    return found


def has_search(clause: ast.Match) -> bool:
    """True if a pattern of the clause is a ``shortestPath`` or ``allShortestPaths``."""
    return any(map(is_search, clause.patterns))


def is_search(pattern: ast.Pattern) -> bool:
    """True for ``shortestPath`` and ``allShortestPaths``."""
    return pattern.selector is not None and pattern.selector.kind in _SEARCHES
