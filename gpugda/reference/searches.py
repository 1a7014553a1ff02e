"""Matches consecutive MATCH clauses with ``shortestPath``, which Neo4j plans together."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from gpugda.query import ast
from gpugda.query.searches import FEW_NODES, Link, Placement, Search, SearchScope, is_search
from gpugda.reference.match import PatternMatcher
from gpugda.reference.shortest import shortest_paths
from gpugda.reference.trees import Row, conjuncts, variables_of
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gpugda.reference.evaluator import Evaluator

__all__ = ["SearchMatcher"]


class _Planned(NamedTuple):
    """A search with the conditions that it tests, and those that Neo4j may test after it."""

    pattern: ast.Pattern
    inside: tuple[ast.Expression, ...]
    late: tuple[ast.Expression, ...]


class SearchMatcher:
    """Finds all matches of consecutive clauses: all other patterns first, then the searches.

    Args:
        clauses: The clauses.
        evaluator: Evaluates expressions.
        bound: Variables that are already bound.
        loose: Those of them that Neo4j plans together with the clauses.

    Attributes:
        names: Variables that the patterns name.
    """

    def __init__(
        self,
        clauses: Sequence[ast.Match],
        evaluator: Evaluator,
        bound: frozenset[str],
        loose: frozenset[str],
    ) -> None:
        self._evaluator = evaluator
        reader = _Reader()
        for clause in clauses:
            reader.read(clause)
        scope = reader.scope(bound, loose)
        own = frozenset[Any]().union(*(search.own for search in scope.searches))

        def reads_path(condition: ast.Expression) -> bool:
            return bool(scope.read(condition) & own)

        self._matchers = []
        known = bound
        for clause in reader.clauses:
            where = _all_of([each for each in conjuncts(clause.where) if not reads_path(each)])
            again = clause.repeats_relationships
            matcher = PatternMatcher(clause.patterns, evaluator, known, where, repeats=again)
            self._matchers.append(matcher)
            known |= matcher.names
        self._after = [each for each in scope.conditions if reads_path(each)]
        self._searches = [
            self._planned(pattern, search, scope)
            for pattern, search in zip(reader.searches, scope.searches, strict=True)
        ]
        named = known.union(*(map(_names_of, reader.searches)))
        self.names = frozenset(n for n in named - bound if not n.startswith(_HIDDEN))

    def matches(self, row: Row) -> Iterator[Row]:
        """The row extended by the variables of the patterns, once per match."""
        rows: Iterable[Row] = (row,)
        for matcher in self._matchers:
            rows = _extended(rows, matcher.matches)
        for search in self._searches:
            rows = _extended(rows, lambda found, search=search: self._found(search, found))
        for found in rows:
            if all(self._evaluator.holds(each, found) for each in self._after):
                yield {**row, **{name: found[name] for name in self.names}}

    def _planned(self, pattern: ast.Pattern, search: Search, scope: SearchScope) -> _Planned:
        placed: dict[Placement, list[ast.Expression]] = {each: [] for each in Placement}
        for each in self._after:
            if scope.read(each) & search.own:
                placed[scope.placement(search, each)].append(each)
        if placed[Placement.TWICE]:
            (first, *_) = placed[Placement.TWICE]
            raise self._evaluator.unsupported("a condition on two shortest paths", first)
        inside, late = placed[Placement.INSIDE], placed[Placement.PLANNED]
        is_small = len(self._evaluator.graph.labels) <= FEW_NODES
        (inside if is_small else late).extend(placed[Placement.FEW])
        return _Planned(pattern, tuple(inside), tuple(late))

    def _found(self, search: _Planned, row: Row) -> Iterator[Row]:
        """The row with each path of a search."""
        found = self._paths(search.pattern, row, search.inside)
        if search.late:
            shortest = list(found)
            passed = [each for each in shortest if self._holds(search.late, each)]
            found = self._paths(search.pattern, row, (*search.inside, *search.late))
            some = 0 < len(passed) < len(shortest) and not _wants_all(search.pattern)
            if some or (not passed and any(True for _ in found)):
                construct = "a condition on a shortest path that Neo4j tests in it or after it"
                raise self._evaluator.unsupported(construct, search.late[0])
            found = iter(passed)
        every = _wants_all(search.pattern)
        for number, each in enumerate(found):
            if number and not every:
                return
            yield each

    def _holds(self, conditions: Iterable[ast.Expression], row: Row) -> bool:
        return all(self._evaluator.holds(each, row) for each in conditions)

    def _paths(
        self, pattern: ast.Pattern, row: Row, conditions: Sequence[ast.Expression]
    ) -> Iterator[Row]:
        first, _, last = pattern.elements
        ends = [_variable(each).name for each in (first, last)]
        if None in (row[ends[0]], row[ends[1]]):
            return
        found = shortest_paths(
            self._evaluator,
            pattern,
            row,
            (row[ends[0]], row[ends[1]]),
            (lambda longer: self._holds(conditions, longer)) if conditions else None,
            one_name=ends[0] == ends[1],
        )
        for _, longer in found:
            yield longer


_HIDDEN = "\0search"


def _extended(rows: Iterable[Row], extend: Any) -> Iterator[Row]:
    for row in rows:
        yield from extend(row)


def _wants_all(pattern: ast.Pattern) -> bool:
    selector = pattern.selector
    return selector is not None and selector.kind is ast.SelectorKind.ALL_SHORTEST_PATHS


class _Reader:
    """Takes clauses apart: patterns, searches and conditions, with a name for each element."""

    def __init__(self) -> None:
        self.clauses: list[ast.Match] = []
        self.searches: list[ast.Pattern] = []
        self._numbers = count()
        self._nodes: dict[Any, int] = {}
        self._links: list[Link] = []
        self._paths: dict[str, frozenset[Any]] = {}
        self._conditions: list[ast.Expression] = []

    def read(self, clause: ast.Match) -> None:
        """Takes a clause apart."""
        patterns: list[ast.Pattern] = []
        conditions = conjuncts(clause.where)
        for pattern in clause.patterns:
            elements = tuple(self._named(each) for each in pattern.elements)
            named = replace(pattern, elements=tuple(_bare(each) for each in elements))
            conditions += [each for element in elements for each in _inline(element)]
            self._add(named)
            if not is_search(pattern):
                patterns.append(named)
                continue
            self.searches.append(named)
            first, _, last = named.elements
            patterns += [
                replace(pattern, variable=None, elements=(e,), selector=None) for e in (first, last)
            ]
        self._conditions += conditions
        self.clauses.append(replace(clause, patterns=tuple(patterns), where=_all_of(conditions)))

    def scope(self, bound: frozenset[str], loose: frozenset[str]) -> SearchScope:
        """What decides where conditions are tested."""
        searches = [
            Search(
                _names_of(each), _variable(each.elements[0]).name, _variable(each.elements[-1]).name
            )
            for each in self.searches
        ]
        return SearchScope(
            self._nodes, self._links, searches, self._paths, self._conditions, bound, loose
        )

    def _named(self, element: ast.PatternElement) -> ast.PatternElement:
        if isinstance(element, ast.GroupPattern) or element.variable is not None:
            return element
        name = f"{_HIDDEN}{next(self._numbers)}"
        return replace(element, variable=ast.Variable(element.span, name))

    def _add(self, pattern: ast.Pattern) -> None:
        nodes: list[Any] = []
        parts: set[Any] = set()
        between: list[tuple[frozenset[Any], bool]] = []
        for element in pattern.elements:
            if isinstance(element, ast.NodePattern):
                name = _variable(element).name
                labels = _label_count(element.labels)
                self._nodes[name] = self._nodes.get(name, 0) + labels
                nodes.append(name)
                parts.add(name)
            else:
                names = frozenset(variables_of(element))
                varies = isinstance(element, ast.GroupPattern) or _varies(element)
                between.append((names, varies))
                parts |= names
        if pattern.variable is not None:
            self._paths[pattern.variable.name] = frozenset(parts)
        if is_search(pattern):
            return
        # Groups may stand at an end or beside each other; then all belong to one component.
        while len(nodes) <= len(between):
            nodes.append(f"{_HIDDEN}{next(self._numbers)}")
            self._nodes[nodes[-1]] = 0
        for place, (names, varies) in enumerate(between):
            self._links.append(Link(names, nodes[place], nodes[place + 1], varies))


def _label_count(labels: ast.LabelExpression | None) -> int:
    """The number of conditions that labels are."""
    if isinstance(labels, ast.LabelAnd):
        return sum(map(_label_count, labels.operands))
    return 0 if labels is None else 1


def _varies(element: ast.RelationshipPattern) -> bool:
    return element.length is not None or element.quantifier is not None


def _variable(element: ast.PatternElement) -> ast.Variable:
    assert not isinstance(element, ast.GroupPattern)
    assert element.variable is not None
    return element.variable


def _names_of(search: ast.Pattern) -> frozenset[str]:
    """The variables that a search binds: its path and its list of relationships."""
    named = {_variable(search.elements[1]).name}
    return frozenset(named if search.variable is None else {*named, search.variable.name})


def _is_split(element: ast.PatternElement) -> bool:
    """True if an element's own conditions can be tested apart from it."""
    if isinstance(element, ast.GroupPattern) or isinstance(element.properties, ast.Parameter):
        return False
    return isinstance(element, ast.NodePattern) or not _varies(element)


def _bare(element: ast.PatternElement) -> ast.PatternElement:
    if isinstance(element, ast.GroupPattern) or not _is_split(element):
        return element
    return replace(element, properties=None, where=None)


def _inline(element: ast.PatternElement) -> Iterator[ast.Expression]:
    """The conditions within a node or relationship, on its variable."""
    if isinstance(element, ast.GroupPattern) or not _is_split(element):
        return
    if isinstance(element.properties, ast.MapLiteral):
        for key, wanted in element.properties.entries:
            held = ast.Property(wanted.span, _variable(element), key)
            yield ast.Comparison(wanted.span, (held, wanted), (ast.ComparisonOperator.EQUAL,))
    yield from conjuncts(element.where)


def _all_of(conditions: Sequence[ast.Expression]) -> ast.Expression | None:
    found: ast.Expression | None = None
    for each in conditions:
        span = Span(0, 0)
        found = each if found is None else ast.Binary(span, ast.BinaryOperator.AND, found, each)
    return found
