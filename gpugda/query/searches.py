"""Searches of shortest paths: the clauses planned with them, and the conditions they test."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.shapes import all_names
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


__all__ = [
    "FEW_NODES",
    "Link",
    "Placement",
    "Search",
    "SearchScope",
    "changes_nothing",
    "has_search",
    "is_search",
    "planned_together",
]

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


Name = Hashable
"""The name of a variable, or a mark for an anonymous element."""

_KEPT_ORDER = 4
"""Neo4j plans so many searches in written order."""
_FEW_ROWS_LOST = (ast.ListQuantifier.ALL, ast.ListQuantifier.NONE, ast.ListQuantifier.SINGLE)


FEW_NODES = 10
"""Neo4j expects at least so many nodes of any label."""


class Placement(StrEnum):
    """When Neo4j tests a condition that reads the path of a search."""

    INSIDE = "inside"
    """The search finds the shortest path that satisfies it."""
    AFTER = "after"
    """It is tested on the path found."""
    PLANNED = "planned"
    """It depends on Neo4j's plan."""
    FEW = "few"
    """It depends on Neo4j's plan, but is tested inside if the graph has at most ten nodes."""
    TWICE = "twice"
    """It reads two searches, of which Neo4j may plan either one last."""


_BY_PLAN = (Placement.PLANNED, Placement.FEW)


@value(frozen=True, slots=True)
class Link:
    """A relationship pattern, of any length, between two nodes.

    Args:
        names: Its variables.
        left: A node.
        right: A node.
        varies: True if its length varies.
    """

    names: frozenset[Name]
    left: Name
    right: Name
    varies: bool


@value(frozen=True, slots=True)
class Search:
    """A ``shortestPath`` or ``allShortestPaths``: the variables that it binds, and its ends."""

    own: frozenset[Name]
    left: Name
    right: Name


@dataclass(slots=True)
class SearchScope:
    """The patterns and conditions of consecutive MATCH clauses.

    Args:
        nodes: Nodes of the patterns, with the number of their label conditions.
        links: Their relationships.
        searches: The searches, in written order.
        paths: The parts of each named path.
        conditions: All conditions, and the names that they read.
        bound: Variables that have values before these clauses.
        loose: Variables before these clauses that Neo4j plans together with them, since a WITH
            that changes nothing lies between.
    """

    nodes: Mapping[Name, int]
    links: Sequence[Link]
    searches: Sequence[Search]
    paths: Mapping[str, frozenset[Name]]
    conditions: Sequence[ast.Expression]
    bound: frozenset[str]
    loose: frozenset[str] = frozenset()
    _component: dict[Name, Name] = field(init=False)

    def __post_init__(self) -> None:
        known = {*self.nodes, *self.loose}
        for search in self.searches:
            known |= {search.left, search.right}
        self._component = _components(known, [*self._edges(), *self._loose_edges()])
        for link in self.links:
            for name in link.names:
                self._component[name] = self._component[link.left]

    def placement(self, search: Search, condition: ast.Expression) -> Placement:
        """When Neo4j tests a condition that reads what the search binds."""
        names = self.read(condition) - search.own - {search.left, search.right}
        others = [each for each in self.searches if each is not search and names & each.own]
        if not all(self._ready_together(search, each) for each in others):
            return Placement.TWICE
        if any(self.searches.index(each) > self.searches.index(search) for each in others):
            return Placement.AFTER
        found = self._needs(search, condition)
        if found is not Placement.AFTER:
            return found
        beside = (each for each in self.conditions if self.read(each) & search.own)
        depends = any(self._needs(search, each) in _BY_PLAN for each in beside)
        return Placement.PLANNED if depends or _is_planned_late(condition) else found

    def _needs(self, search: Search, condition: ast.Expression) -> Placement:
        """The placement by what a condition reads beside the searches."""
        names = self.read(condition) - {search.left, search.right}
        found = {self._of(n, search) for n in names.difference(*(e.own for e in self.searches))}
        last = (Placement.AFTER, Placement.PLANNED, Placement.FEW)
        return next((each for each in last if each in found), Placement.INSIDE)

    def read(self, condition: ast.Expression) -> frozenset[Name]:
        """What a condition reads that these clauses bind, with the parts of paths."""
        return self.read_names(all_names((condition,)))

    def read_names(self, read: Iterable[str]) -> frozenset[Name]:
        """Those of some names that these clauses bind, with the parts of paths."""
        names: set[Name] = set()
        for name in read:
            names |= self.paths.get(name, frozenset((name,)))
        own = frozenset[Name]().union(*(each.own for each in self.searches))
        return frozenset(n for n in names if n in own or n in self._component) - (
            self.bound - self.loose
        )

    def _of(self, name: Name, search: Search) -> Placement:
        component = self._component[name]
        left, right = self._component[search.left], self._component[search.right]
        if name in self.loose:
            return Placement.PLANNED
        if component not in (left, right):
            return self._of_other(component, together=left == right)
        if left != right:
            return Placement.INSIDE
        if {search.left, search.right} & self.bound or not self._separates(name, search):
            return Placement.PLANNED
        return Placement.INSIDE

    def _ready_together(self, one: Search, two: Search) -> bool:
        """True if the ends of both searches are bound at the same moment of every plan."""
        if len(self.searches) > _KEPT_ORDER:
            return False
        if {one.left, one.right} == {two.left, two.right}:
            return True
        parts = [{self._component[e.left], self._component[e.right]} for e in (one, two)]
        return parts[0] == parts[1] and len(parts[0]) > 1

    def _of_other(self, component: Name, *, together: bool) -> Placement:
        """The placement of what is in neither end's component, by the rows that Neo4j expects."""
        members = {name for name, part in self._component.items() if part == component}
        links = [each for each in self.links if each.left in members]
        if members & (self.bound | self.loose) or len(links) > 1 or any(e.varies for e in links):
            return Placement.PLANNED
        own = frozenset[Name]().union(*(each.own for each in self.searches))
        tests = [c for c in self.conditions if (n := self.read(c)) & members and not n & own]
        if any(_is_selective(each, members) for each in tests):
            return Placement.PLANNED if together else Placement.FEW
        labels = sum(self.nodes.get(name, 0) for name in members)
        many = labels <= (0 if links else 1) and all(map(_is_unequal, tests))
        return Placement.AFTER if many else Placement.PLANNED

    def _separates(self, name: Name, search: Search) -> bool:
        """True if no pattern connects the ends of a search without this node or relationship."""
        if name in (search.left, search.right):
            return True
        edges = [(e.left, e.right) for e in self.links if name not in (*e.names, e.left, e.right)]
        parts = _components({search.left, search.right}, [*edges, *self._loose_edges()])
        return parts[search.left] != parts[search.right]

    def _edges(self) -> Iterator[tuple[Name, Name]]:
        return ((each.left, each.right) for each in self.links)

    def _loose_edges(self) -> Iterator[tuple[Name, Name]]:
        """Loose variables may be connected before these clauses."""
        names = sorted(self.loose)
        return pairwise(names)


def _components(names: Iterable[Name], edges: Iterable[tuple[Name, Name]]) -> dict[Name, Name]:
    """One representative for all names that edges connect."""
    part: dict[Name, set[Name]] = {name: {name} for name in names}
    for left, right in edges:
        one, two = part.setdefault(left, {left}), part.setdefault(right, {right})
        if one is not two:
            one |= two
            part.update(dict.fromkeys(two, one))
    first = {id(members): next(iter(members)) for members in part.values()}
    return {name: first[id(members)] for name, members in part.items()}


def _is_planned_late(condition: ast.Expression) -> bool:
    """True for ``all(… IN nodes(p) WHERE …)`` and the like: 5.26 tests it inside, 2026.08 after."""
    while isinstance(condition, ast.Unary) and condition.operator is ast.UnaryOperator.NOT:
        condition = condition.operand
    return isinstance(condition, ast.ListPredicate) and condition.quantifier in _FEW_ROWS_LOST


def _is_unequal(condition: ast.Expression) -> bool:
    """True for ``x <> y``, which leaves nearly all rows."""
    return isinstance(condition, ast.Comparison) and condition.operators == (
        ast.ComparisonOperator.NOT_EQUAL,
    )


def _is_selective(condition: ast.Expression, members: set[Name]) -> bool:
    """True for ``x.key = …`` with x in a component: Neo4j expects a tenth of the rows to pass."""
    if not isinstance(condition, ast.Comparison):
        return False
    return condition.operators == (ast.ComparisonOperator.EQUAL,) and any(
        isinstance(each, ast.Property)
        and isinstance(each.subject, ast.Variable)
        and each.subject.name in members
        for each in condition.operands
    )
