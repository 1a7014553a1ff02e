"""Conditions on every element of a path, which its expansion tests while the path grows."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import chain, combinations
from typing import TYPE_CHECKING, Final

from gpugda.plan.building.pattern_reader import (
    Fixed,
    PatternReader,
    VariableKind,
    Varying,
    needs_each_row,
)
from gpugda.plan.logical import (
    BindPath,
    DistinctRelationships,
    ElementTest,
    Expand,
    ExpandMode,
    Filter,
    Logical,
    Lookup,
    Match,
    Unwind,
)
from gpugda.plan.pattern.split_predicates import compared_variables
from gpugda.query import ast
from gpugda.query.query_graph import QueryGraph, QueryNode, QueryRelationship
from gpugda.query.searches import Link, Placement, Search, SearchScope
from gpugda.query.shapes import all_names, variable_names
from gpugda.types import NOWHERE, value

if TYPE_CHECKING:
    from collections.abc import (
        Callable,
        Collection,
        Hashable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )


__all__ = [
    "PatternPlanner",
    "PropertyLookup",
    "VariableKind",
    "element_test",
    "needs_each_row",
    "property_lookup",
]


def element_test(
    condition: ast.Expression,
    relationships: str,
    path: str,
    is_slow: Callable[[ast.Expression], bool],
) -> ElementTest | None:
    """The element test that a condition means; None if it has another form.

    Args:
        condition: A conjunct of WHERE.
        relationships: Name of the list of the path's relationships.
        path: Name of the path; empty if it has none.
        is_slow: True for an expression that must be matched row by row.
    """
    if not isinstance(condition, ast.ListPredicate):
        return None
    if condition.quantifier not in (ast.ListQuantifier.ALL, ast.ListQuantifier.NONE):
        return None
    of_nodes = _of_nodes(condition.elements, relationships, path)
    inner = condition.variable.name
    if of_nodes is None or not variable_names(condition.where) <= {inner}:
        return None
    if is_slow(condition.where):
        return None
    wanted = condition.quantifier is ast.ListQuantifier.ALL
    return ElementTest(inner, condition.where, of_nodes, wanted, condition)


def _of_nodes(elements: ast.Expression, relationships: str, path: str) -> bool | None:
    """True for the path's nodes, False for its relationships, None for any other list."""
    if isinstance(elements, ast.Variable):
        return False if elements.name == relationships else None
    if not isinstance(elements, ast.FunctionCall) or len(elements.arguments) != 1:
        return None
    given = elements.arguments[0]
    if not path or not isinstance(given, ast.Variable) or given.name != path:
        return None
    return {"nodes": True, "relationships": False, "rels": False}.get(elements.name.lower())


@value(frozen=True, slots=True)
class PropertyLookup:
    """A condition ``node.key = value``."""

    node: str
    key: str
    value: ast.Expression
    condition: ast.Expression


def property_lookup(
    conditions: Sequence[ast.Expression],
    components: Sequence[frozenset[str]],
    known: Collection[str],
    readable: frozenset[str],
) -> PropertyLookup | None:
    """Finds a node, in a component without bound nodes, with a property that the rows determine.

    Args:
        conditions: The conjuncts of the clause.
        components: The connected components of the clause's nodes.
        known: Nodes and relationships that are bound in the rows.
        readable: The columns of the rows.
    """
    unknown = frozenset[str]().union(*(part for part in components if not part & set(known)))
    for condition in conditions:
        for subject, other in _sides(condition):
            if not isinstance(subject, ast.Property) or not isinstance(
                subject.subject, ast.Variable
            ):
                continue
            name, read = subject.subject.name, variable_names(other)
            if name in unknown and read and read <= readable and not needs_each_row(other):
                return PropertyLookup(name, subject.key, other, condition)
    return None


def _sides(condition: ast.Expression) -> Iterator[tuple[ast.Expression, ast.Expression]]:
    """Both operands of an equality, in both orders."""
    if not isinstance(condition, ast.Comparison) or len(condition.operators) > 1:
        return
    if condition.operators[0] is ast.ComparisonOperator.EQUAL:
        left, right = condition.operands
        yield left, right
        yield right, left


def _looks_up(condition: ast.Expression) -> bool:
    """True for a property that equals a value of which few nodes have the same: no truth value."""
    return any(
        isinstance(one, ast.Property)
        and not variable_names(two)
        and not (isinstance(two, ast.Literal) and isinstance(two.value, bool))
        for one, two in _sides(condition)
    )


_SEARCHES: Final = (ExpandMode.SHORTEST, ExpandMode.ALL_SHORTEST)

_Placed = dict[Placement, list[ast.Expression]]


class PatternPlanner(PatternReader):
    """Plans consecutive MATCH clauses as logical operators on given rows."""

    # -------------------------------------------------------------- planning
    def plan(self, rows: Logical) -> Logical:
        """The rows joined with all embeddings of the patterns that were read."""
        known = {name for name in self._outer if name in self.kinds}
        for varying in self._varying:
            if varying.given and varying.left not in known:
                rows = Unwind(rows, _first_nodes(varying), varying.left)
                known.add(varying.left)
        components = self._components()
        left = [*self._predicates, *self._not_null()]
        rows, left = self._with_lookups(rows, left, components, known)
        waiting = list(self._varying)
        while components or waiting:
            ready = [each for each in waiting if not self._waits_for(each, components, known)]
            reached = self._joined_next(components, waiting, ready, known)
            if reached:
                names = frozenset().union(*reached)
                rows, left = self._match(rows, names, known, left)
                self._matched_together.append(names)
                known |= names | {e.name for e in self._fixed if e.left in names}
                components = [part for part in components if part not in reached]
                continue
            varying = self._next_varying(ready or waiting, known)
            waiting.remove(varying)
            if not varying.mode.gives_all:
                rows, left = self._filtered(rows, left, known)
            tests, placed, left = self._conditions(varying, left)
            outside = () if varying.step is None else varying.step.predicates
            rows = self._with_paths(rows, (*chain(*placed.values()), *outside), known)
            rows = replace(
                self._expand(rows, varying, known),
                tests=tests,
                path_predicates=tuple(placed[Placement.INSIDE]),
                late_predicates=tuple(placed[Placement.PLANNED]),
                few_predicates=tuple(placed[Placement.FEW]),
                path=self._path_of(varying),
            )
            known |= {varying.left, varying.right, varying.name}
            if components and not varying.mode.gives_all:
                rows = self._with_paths(rows, left, known)
                rows, left = self._with_lookups(rows, left, components, known)
        rows = self._distinct_relationships(rows)
        for path in self._paths:
            if path.name not in known:
                rows = BindPath(rows, path.name, path.start, tuple(path.steps))
        return Filter(rows, tuple(left)) if left else rows

    def _joined_next(
        self,
        components: list[frozenset[str]],
        waiting: list[Varying],
        ready: list[Varying],
        known: set[str],
    ) -> list[frozenset[str]]:
        """The components to join with the rows now; none if an expansion comes first."""
        # Components attached to different bound nodes are joined with the rows one by one.
        reached = self._joined_by_equality([part for part in components if part & known])
        if reached or self._can_expand(ready, known):
            return reached
        if not waiting or (ready and any(each.mode is ExpandMode.SELECTED for each in ready)):
            return components[:]
        if not ready or any(each.mode.gives_all for each in ready):
            return [self._most_restricted(components)] if components else []
        needed = self._read_by_search(ready[0])
        return [part for part in components if (part | self._names_in(part)) & needed]

    def _names_in(self, component: frozenset[str]) -> frozenset[str]:
        return frozenset(each.name for each in self._fixed if each.left in component)

    def _read_by_search(self, varying: Varying) -> frozenset[Hashable]:
        """The nodes and relationships that have to be bound before a search of shortest paths."""
        _, placed, _ = self._conditions(varying, self._predicates)
        ends: frozenset[Hashable] = frozenset((varying.left, varying.right))
        return ends.union(*map(self._searches.read, chain(*placed.values())))

    @cached_property
    def _searches(self) -> SearchScope:
        """What decides which conditions a search of shortest paths tests itself."""
        searches = [
            Search(frozenset((each.name,)), each.left, each.right)
            for each in self._varying
            if each.mode in _SEARCHES
        ]
        links = [Link(frozenset((e.name,)), e.left, e.right, varies=False) for e in self._fixed]
        links += [
            Link(each.names, each.left, each.right, varies=True)
            for each in self._varying
            if each.mode not in _SEARCHES
        ]
        return SearchScope(
            {name: len(labels) for name, labels in self._labels.items()},
            links,
            searches,
            {path.name: frozenset((path.start, *path.steps)) for path in self._paths},
            self._predicates,
            frozenset(self._outer),
            self._loose,
        )

    def _with_paths(
        self, rows: Logical, read_by: Iterable[ast.Expression], known: set[str]
    ) -> Logical:
        """The rows with those paths that expressions read, if their parts are bound."""
        read = all_names(read_by)
        for path in self._paths:
            if path.name in read - known and known >= {path.start, *path.steps}:
                rows = BindPath(rows, path.name, path.start, tuple(path.steps))
                known.add(path.name)
        return rows

    def _joined_by_equality(self, reached: list[frozenset[str]]) -> list[frozenset[str]]:
        """The first component, and those that an equality of nodes connects with it."""
        names = frozenset().union(*reached[:1])
        pairs = [each for each in map(compared_variables, self._predicates) if each and each[2]]
        for _ in reached:
            names = names.union(
                *(
                    part
                    for part in reached
                    for one, two, _ in pairs
                    if {one, two} & part and {one, two} & names
                )
            )
        return [part for part in reached if part <= names]

    def _with_lookups(
        self,
        rows: Logical,
        left: list[ast.Expression],
        components: Sequence[frozenset[str]],
        known: set[str],
    ) -> tuple[Logical, list[ast.Expression]]:
        """Looks up nodes by a property value of the rows, in components without bound nodes."""
        while known or self._outer:
            found = property_lookup(left, components, known, frozenset(self._outer) | known)
            if found is None:
                return rows, left
            rows = Filter(Lookup(rows, found.node, found.key, found.value), (found.condition,))
            known.add(found.node)
            left = [each for each in left if each is not found.condition]
        return rows, left

    def _not_null(self) -> Iterator[ast.Expression]:
        """IS NOT NULL tests for bound nodes that the pattern requires but no operator tests."""
        reached = {name for each in self._varying for name in (each.left, each.right)}
        for name in self._labels:
            if name in self._outer and name not in reached and self._has_no_conditions(name):
                variable = ast.Variable(NOWHERE, name)
                yield ast.Unary(NOWHERE, ast.UnaryOperator.IS_NOT_NULL, variable)

    def _components(self) -> list[frozenset[str]]:
        """Connected components by fixed-length relationships, in written order."""
        part: dict[str, set[str]] = {name: {name} for name in self._labels}
        named: dict[str, str] = {}
        for each in self._fixed:
            # A relationship variable used in two clauses is matched by one join.
            for one, two in ((each.left, each.right), (named.get(each.name), each.left)):
                if one is not None and part[one] is not part[two]:
                    joined = part[one] | part[two]
                    for name in joined:
                        part[name] = joined
            named[each.name] = each.left
        found: dict[frozenset[str], None] = {}
        for name in self._labels:
            found[frozenset(part[name])] = None
        # A bound node without conditions needs no operator.
        return [
            names
            for names in found
            if not (len(names) == 1 and self._has_no_conditions(next(iter(names))))
        ]

    def _has_no_conditions(self, name: str) -> bool:
        if any(name in (each.left, each.right) for each in self._fixed):
            return False
        reached = any(name in (each.left, each.right) for each in self._varying)
        asked = bool(self._labels[name]) or any(
            variable_names(each) == {name} and not needs_each_row(each) for each in self._predicates
        )
        if name in self._outer:
            return not asked
        if any(each.step is not None and name in each.step.outside for each in self._varying):
            return False  # its node must be known before the end of the path
        ends = [(each.left, each.right) for each in self._varying]
        others = {n for pair in ends if name in pair for n in pair} - {name}
        anchored = any(self._labels[n] or n in self._outer for n in others)
        return reached and not asked and anchored and not self._is_shortest_end(name)

    def _is_shortest_end(self, name: str) -> bool:
        return any(
            not each.mode.gives_all and name in (each.left, each.right) for each in self._varying
        )

    def _most_restricted(self, components: Sequence[frozenset[str]]) -> frozenset[str]:
        """The component to start with: the one with the most look-ups, then conditions.

        Of components with look-ups, those of fewer nodes come first: they have fewer rows.
        """

        def asked(names: frozenset[str]) -> tuple[int, int, int, int]:
            tests = [each for each in self._predicates if variable_names(each) <= names]
            lookups = sum(map(_looks_up, tests))
            labels = sum(len(self._labels[name]) for name in names)
            return lookups, -len(names) if lookups else 0, len(tests), labels

        return max(components, key=asked)

    def _can_expand(self, waiting: Sequence[Varying], known: set[str]) -> bool:
        """True if an expansion, other than a shortest path search, starts at a bound node."""
        return any(each.mode.gives_all and {each.left, each.right} & known for each in waiting)

    def _waits_for(
        self, varying: Varying, components: Sequence[frozenset[str]], known: set[str]
    ) -> bool:
        """True if conditions in the expansion read what is still to be matched or searched."""
        if varying.step is None:
            return False
        names = frozenset[str]().union(*components)
        names |= {each.name for each in self._fixed if each.left in names}
        names |= {each.name for each in self._varying if each.name not in known}
        outside = self._searches.read_names(varying.step.outside)
        return not names.isdisjoint(outside - varying.names)

    def _next_varying(self, waiting: Sequence[Varying], known: set[str]) -> Varying:
        def rank(varying: Varying) -> tuple[bool, int]:
            return not varying.mode.gives_all, -len({varying.left, varying.right} & known)

        return min(waiting, key=rank)

    def _match(
        self,
        rows: Logical,
        names: Iterable[str],
        known: set[str],
        predicates: Sequence[ast.Expression],
    ) -> tuple[Logical, list[ast.Expression]]:
        """The rows joined with the embeddings of these nodes, and the remaining predicates."""
        inside = frozenset(names)
        order = [name for name in self._labels if name in inside]
        position = {name: number for number, name in enumerate(order)}
        relationships: list[QueryRelationship] = []
        first: dict[str, int] = {}
        no_rows: str | None = None
        for each in self._fixed:
            if each.left not in inside:
                continue
            if any(r.name == each.name and r.clause == each.clause for r in relationships):
                no_rows = (
                    f"The relationship variable `{each.name}` occurs twice in one MATCH clause,"
                    " whose relationships are all different."
                )
            relationships.append(_query_relationship(each, position, len(relationships), first))
        variables = inside | {each.name for each in relationships}
        taken: list[ast.Expression] = []
        left: list[ast.Expression] = []
        for predicate in predicates:
            fits = variable_names(predicate) <= variables and not needs_each_row(predicate)
            (taken if fits else left).append(predicate)
        nodes = tuple(
            QueryNode(number, name, tuple(self._labels[name])) for number, name in enumerate(order)
        )
        graph = QueryGraph(nodes, tuple(relationships), tuple(taken), no_rows)
        bound = [name for name in order if name in known]
        bound += [n for n in dict.fromkeys(r.name for r in relationships) if n in self._outer]
        return Match(rows, graph, tuple(bound)), left

    def _filtered(
        self, rows: Logical, left: list[ast.Expression], known: set[str]
    ) -> tuple[Logical, list[ast.Expression]]:
        """Filters the rows by the conditions whose variables are all bound."""
        ready = [each for each in left if variable_names(each) <= known | set(self._outer)]
        if ready:
            rows = Filter(rows, tuple(ready))
        return rows, [each for each in left if each not in ready]

    def _path_of(self, varying: Varying) -> str:
        """The name of the path that consists of this pattern alone; empty if there is none."""
        return next((path.name for path in self._paths if path.steps == [varying.name]), "")

    def _conditions(
        self, varying: Varying, left: Sequence[ast.Expression]
    ) -> tuple[tuple[ElementTest, ...], _Placed, list[ast.Expression]]:
        """Conditions on elements and on paths that an expansion tests, and those for its rows."""
        placed: _Placed = {each: [] for each in Placement}
        if varying.mode is ExpandMode.SELECTED:
            placed[Placement.INSIDE] = list(varying.selected.conditions)
            return (), placed, list(left)
        path = self._path_of(varying)
        tests: list[ElementTest] = []
        for each in left:
            test = element_test(each, varying.name, path, needs_each_row)
            if test is not None and (varying.step is None or varying.step.is_one_step):
                tests.append(test)
            else:
                placed[self._placement(varying, each)].append(each)
        for each in placed[Placement.TWICE]:
            raise self._unsupported("a condition on two shortest paths", each.span)
        return tuple(tests), placed, placed.pop(Placement.AFTER)

    def _placement(self, varying: Varying, condition: ast.Expression) -> Placement:
        """When a condition is tested: in the expansion, after it, or as Neo4j's plan decides."""
        if varying.mode not in _SEARCHES or varying.name not in self._searches.read(condition):
            return Placement.AFTER
        search = next(e for e in self._searches.searches if varying.name in e.own)
        return self._searches.placement(search, condition)

    def _expand(self, rows: Logical, varying: Varying, known: set[str]) -> Expand:
        forwards = varying.left in known
        pattern = varying.pattern
        if pattern.length is not None:
            minimum, maximum = pattern.length.bounds
        elif pattern.quantifier is not None:
            minimum, maximum = pattern.quantifier.minimum, pattern.quantifier.maximum
        else:
            minimum, maximum = 1, 1
        start, end = (varying.left, varying.right) if forwards else (varying.right, varying.left)
        return Expand(
            rows,
            start=start,
            end=end,
            end_is_bound=end in known,
            relationships=varying.name,
            types=pattern.types,
            direction=pattern.direction if forwards else _turned(pattern.direction),
            minimum=minimum,
            maximum=maximum,
            predicates=varying.predicates,
            variable=varying.name,
            mode=varying.mode,
            reversed=not forwards,
            step=varying.step,
            most=varying.selected.most,
            by_group=varying.selected.by_group,
            closed=varying.left == varying.right and not self._path_of(varying).startswith("\0"),
            given=varying.given if forwards else "",
            apart=self._apart(varying, known),
            clause=varying.clause,
        )

    def _apart(self, varying: Varying, known: set[str]) -> tuple[str, ...]:
        """Relationships of its clause, found before, that an expansion must not repeat."""
        if varying.mode is not ExpandMode.TRAILS:
            return ()
        trails = [e for e in self._varying if e.mode is ExpandMode.TRAILS and e is not varying]
        parts: list[Fixed | Varying] = [*self._fixed, *trails]
        found = tuple(
            other.name
            for other in parts
            if other.name in known - {varying.name}
            and other.clause == varying.clause
            and _may_share(other.pattern, varying.pattern)
        )
        self._kept_apart.update((varying.clause, frozenset((varying.name, n))) for n in found)
        return found

    def _are_joined_separately(self, one: Fixed, two: Fixed) -> bool:
        """True if two relationships of a clause are in different joins and could be the same."""
        together = any({one.left, two.left} <= names for names in self._matched_together)
        return one.clause == two.clause and not together and _may_share(one.pattern, two.pattern)

    def _distinct_relationships(self, rows: Logical) -> Logical:
        """Ensures that expansions share no relationship with what was found after them."""
        pairs: list[tuple[int, str, str]] = []
        trails = [each for each in self._varying if each.mode is ExpandMode.TRAILS]
        for each in trails:
            pairs.extend(
                (each.clause, other.name, each.name)
                for other in self._fixed
                if other.clause == each.clause and _may_share(each.pattern, other.pattern)
            )
        for one, two in combinations(trails, 2):
            if one.clause == two.clause and _may_share(one.pattern, two.pattern):
                pairs.append((one.clause, one.name, two.name))
        for left, right in combinations(self._fixed, 2):
            if self._are_joined_separately(left, right):
                pairs.append((left.clause, left.name, right.name))
        remaining = tuple(
            (one, two)
            for clause, one, two in pairs
            if (clause, frozenset((one, two))) not in self._kept_apart
        )
        return DistinctRelationships(rows, remaining) if remaining else rows


def _query_relationship(
    each: Fixed, position: Mapping[str, int], number: int, first: dict[str, int]
) -> QueryRelationship:
    incoming = each.pattern.direction is ast.Direction.INCOMING
    left, right = position[each.left], position[each.right]
    same_as = first.get(each.name)
    first.setdefault(each.name, number)
    return QueryRelationship(
        position=number,
        name=each.name,
        source=right if incoming else left,
        target=left if incoming else right,
        directed=each.pattern.direction is not ast.Direction.BOTH,
        types=each.pattern.types,
        clause=each.clause,
        same_as=same_as,
    )


def _first_nodes(varying: Varying) -> ast.Expression:
    """The possible first nodes of a path along a bound list of relationships."""
    span = varying.pattern.span
    first = ast.FunctionCall(span, "head", (ast.Variable(span, varying.given),))
    outgoing, incoming = (
        ast.FunctionCall(span, name, (first,)) for name in ("startNode", "endNode")
    )
    if varying.pattern.direction is ast.Direction.OUTGOING:
        return ast.ListLiteral(span, (outgoing,))
    if varying.pattern.direction is ast.Direction.INCOMING:
        return ast.ListLiteral(span, (incoming,))
    same = ast.Comparison(span, (outgoing, incoming), (ast.ComparisonOperator.EQUAL,))
    one, both = ast.ListLiteral(span, (outgoing,)), ast.ListLiteral(span, (outgoing, incoming))
    return ast.Case(span, None, (ast.CaseAlternative(span, (same,), one),), both)


def _turned(direction: ast.Direction) -> ast.Direction:
    if direction is ast.Direction.OUTGOING:
        return ast.Direction.INCOMING
    return ast.Direction.OUTGOING if direction is ast.Direction.INCOMING else direction


def _may_share(one: ast.RelationshipPattern, other: ast.RelationshipPattern) -> bool:
    left, right = _plain_types(one.types), _plain_types(other.types)
    return left is None or right is None or bool(left & right)


def _plain_types(types: ast.LabelExpression | None) -> set[str] | None:
    if isinstance(types, ast.LabelName):
        return {types.name}
    if isinstance(types, ast.LabelOr):
        names = [_plain_types(each) for each in types.operands]
        known = [each for each in names if each is not None]
        return set().union(*known) if len(known) == len(names) else None
    return None
