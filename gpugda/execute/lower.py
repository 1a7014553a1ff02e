"""Lowers a logical tree to operators, with projection pruning and weights.

`lower` works top down: it tells each operator which columns the operators above read, so that no
others are computed, and whether they accept weights. Operators that few queries need are imported
where they are made.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpugda.execute.aggregation.aggregate_calls import counts, takes_weights
from gpugda.execute.operators import simple
from gpugda.execute.operators.aggregate import Aggregate
from gpugda.execute.operators.degree_lookup import DegreeLookup, is_degree_lookup
from gpugda.execute.operators.distinct import Distinct
from gpugda.execute.operators.filter import DistinctRelationships, Filter
from gpugda.execute.operators.match import Match
from gpugda.execute.operators.project import BindPath, Project
from gpugda.execute.operators.slice import Slice
from gpugda.execute.operators.sort import Sort
from gpugda.execute.patterns.needs import names_read
from gpugda.execute.row_bounds import RowBounds
from gpugda.plan import logical
from gpugda.plan.alternatives.count_complement import complement_count
from gpugda.plan.alternatives.unroll import unrolled
from gpugda.plan.building.pattern_reader import needs_each_row
from gpugda.query import ast
from gpugda.query.check.functions import changes_per_call
from gpugda.query.query_graph import AggregateReference, OutputColumn, Query
from gpugda.query.shapes import all_names
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gpugda.execute.operator import Operator
    from gpugda.query.query_graph import SortKey


__all__ = [
    "arguments_read",
    "available_arguments",
    "column_set",
    "grouping_shrinks",
    "lower",
    "lower_query",
    "lower_subquery",
]


def grouping_shrinks(tree: logical.Logical, read: frozenset[str]) -> bool:
    """True if grouping may shrink a pattern's rows much: at most one of its nodes is read.

    Grouping by one node gives at most as many groups as nodes; by two, about as many as rows.
    """
    match tree:
        case logical.Match():
            read |= frozenset(tree.bound)
            arrows = {each.name for each in tree.graph.relationships}
            left = [node.name in read for node in tree.graph.nodes]
            if arrows.isdisjoint(read) and sum(left) <= 1 < len(left):
                return True
        case logical.Expand():
            return unrolled(tree, read) is not None
        case logical.Filter():
            read |= all_names(tree.predicates)
        case logical.Optional():
            return grouping_shrinks(tree.sub, read) or grouping_shrinks(
                tree.input, read | arguments_read(tree.sub)
            )
        case _:
            return False
    return grouping_shrinks(tree.input, read)


def column_set(tree: logical.Logical) -> frozenset[str]:
    """All columns that a tree produces, as a set."""
    return frozenset(logical.columns_of(tree))


def available_arguments(tree: logical.Logical) -> tuple[str, ...]:
    """Columns of the argument that are available to a subquery."""
    if isinstance(tree, logical.Argument):
        return tree.columns
    found = [name for child in logical.children_of(tree) for name in available_arguments(child)]
    return tuple(dict.fromkeys(found))


def arguments_read(tree: logical.Logical) -> frozenset[str]:
    """Columns of the argument that the operators of a subquery read."""
    available = frozenset(available_arguments(tree))
    found: set[str] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        stack.extend(logical.children_of(node))
        match node:
            case logical.Match():
                found |= set(node.bound) | all_names(node.graph.predicates)
            case logical.Expand():
                found |= {node.start, node.end, node.given, *node.apart}
                found |= all_names(node.all_path_predicates)
                found |= all_names(each.whole for each in node.tests)
                found |= frozenset() if node.step is None else node.step.outside
            case logical.BindPath():
                found |= {node.start, *node.steps}
            case logical.Lookup():
                found |= all_names((node.value,))
            case logical.DistinctRelationships():
                found |= {name for pair in node.pairs for name in pair}
            case logical.Filter():
                found |= all_names(node.predicates)
            case logical.SelectPaths():
                found |= {node.start, node.end}
    return frozenset(found) & available


def lower(
    tree: logical.Logical, columns: tuple[str, ...], text: str
) -> tuple[Operator, Query | None]:
    """The operators of a logical tree, as the optimizer left it.

    Also returns the tree as a query if it is one pattern with one projection.

    Args:
        tree: The logical tree.
        columns: Columns that are read.
        text: Query text, for errors.
    """
    lowering = _Lowering(text, 0)
    query = lowering.one_pattern(tree)
    if query is not None:
        return lower_query(query), query
    return lowering.lower(tree, frozenset(columns), weighted=False), None


class _Lowering:
    def __init__(self, text: str, depth: int) -> None:
        self._text = text
        self._depth = depth

    def lower(self, tree: logical.Logical, needed: frozenset[str], *, weighted: bool) -> Operator:
        """An operator that provides at least the needed columns."""
        query = self.one_pattern(tree)
        if query is not None:
            return lower_query(query)
        make = _MADE_BY.get(type(tree), _Lowering._projection)
        made: Operator = make(self, tree, needed, weighted=weighted)
        return self._apart(tree, made) or made

    def _unit(self, _: logical.Unit, __: frozenset[str], *, weighted: bool) -> Operator:
        return simple.Unit()

    def _argument(self, tree: logical.Argument, _: frozenset[str], *, weighted: bool) -> Operator:
        return simple.Argument(tree.columns)

    # -------------------------------------------------------------- one input
    def _match(self, tree: logical.Match, needed: frozenset[str], *, weighted: bool) -> Operator:
        own = {n.name for n in tree.graph.nodes} | {r.name for r in tree.graph.relationships}
        child: Operator | None = None
        if not isinstance(tree.input, logical.Unit):
            below = (needed - own) | frozenset(tree.bound) | (needed & column_set(tree.input))
            child = self.lower(tree.input, below, weighted=weighted)
            if is_degree_lookup(tree, needed):
                return DegreeLookup(child, tree, weighted=weighted)
        wanted = tuple(sorted((needed & own) - set(tree.bound)))
        graph, bound, once = tree.graph, tree.bound, tree.once
        return Match(child, graph, bound, wanted, self._text, weighted=weighted, once=once)

    def _expand(self, tree: logical.Expand, needed: frozenset[str], *, weighted: bool) -> Operator:
        from gpugda.execute.operators.expand import Expand, set_of
        from gpugda.execute.operators.short_trails import MAX_WALKED, ShortTrails

        ends = {tree.start, tree.end} if tree.end_is_bound else {tree.start}
        own = set_of(tree.relationships)
        patterns = unrolled(tree, needed) if weighted and own not in needed else None
        if patterns is not None:
            assert isinstance(tree.input, logical.Match)
            parts = [self._match(each, needed, weighted=True) for each in patterns]
            joined = simple.Union(tuple(parts), weighted=True)
            below = (needed - {tree.end}) | ends | frozenset(tree.apart)
            start = self._match(tree.input, below, weighted=True)
            walked = Expand(start, tree, frozenset(), most=MAX_WALKED)
            return ShortTrails(start, walked, joined)
        lists = {tree.relationships}
        if tree.step is not None:
            lists |= tree.step.names
        added = lists if tree.end_is_bound else {*lists, tree.end}
        whole = (each.whole for each in tree.tests)
        read = all_names((*tree.all_path_predicates, *whole)) - {tree.path, *lists}
        read |= {tree.given} - {""}
        read |= frozenset() if tree.step is None else tree.step.outside
        found = _found_by_expansions(tree.input)
        read |= {set_of(name) if name in found else name for name in tree.apart}
        below = (needed - added - {own}) | ends | read
        child = self.lower(tree.input, below, weighted=weighted)
        if tree.mode in (logical.ExpandMode.SHORTEST, logical.ExpandMode.ALL_SHORTEST):
            from gpugda.execute.operators.shortest_path import ShortestPath

            return ShortestPath(child, tree, needed & lists)
        if tree.mode is logical.ExpandMode.SELECTED:
            from gpugda.execute.operators.shortest_path import SelectedPaths

            return SelectedPaths(child, tree, needed & lists)
        if tree.step is not None and not tree.step.is_one_step:
            from gpugda.execute.operators.expand_group import ExpandGroup

            return ExpandGroup(child, tree, needed & lists, gives_set=own in needed)
        if tree.mode is logical.ExpandMode.REACH and needed & lists:
            tree = replace(tree, mode=logical.ExpandMode.TRAILS)
        kept = needed - set(map(set_of, tree.apart)) if own in needed else needed
        is_merged = weighted or tree.once
        return Expand(
            child,
            tree,
            needed & lists,
            kept=kept if is_merged else None,
            gives_set=own in needed,
        )

    def _filter(self, tree: logical.Filter, needed: frozenset[str], *, weighted: bool) -> Operator:
        below = needed | all_names(tree.predicates)
        weighted = weighted and _are_steady(tree.predicates)
        return Filter(self.lower(tree.input, below, weighted=weighted), tree.predicates)

    def _unwind(self, tree: logical.Unwind, needed: frozenset[str], *, weighted: bool) -> Operator:
        below = (needed - {tree.name}) | all_names((tree.elements,))
        weighted = weighted and _are_steady((tree.elements,))
        child = self.lower(tree.input, below, weighted=weighted)
        from gpugda.execute.operators.unwind import Unwind

        return Unwind(child, tree.elements, tree.name)

    def _union(self, tree: logical.Union, needed: frozenset[str], *, weighted: bool) -> Operator:
        return simple.Union(tuple(self.lower(each, needed, weighted=False) for each in tree.inputs))

    def _empty(self, tree: logical.Empty, _: frozenset[str], *, weighted: bool) -> Operator:
        return simple.Empty(self.lower(tree.input, frozenset(), weighted=True))

    def _lookup(self, tree: logical.Lookup, needed: frozenset[str], *, weighted: bool) -> Operator:
        below = (needed - {tree.node}) | all_names((tree.value,))
        child = self.lower(tree.input, below, weighted=weighted)
        from gpugda.execute.operators.lookup import Lookup

        return Lookup(child, tree.node, tree.key, tree.value)

    def _distinct_relationships(
        self, tree: logical.DistinctRelationships, needed: frozenset[str], *, weighted: bool
    ) -> Operator:
        below = needed | {name for pair in tree.pairs for name in pair}
        return DistinctRelationships(self.lower(tree.input, below, weighted=weighted), tree.pairs)

    def _path(self, tree: logical.BindPath, needed: frozenset[str], *, weighted: bool) -> Operator:
        if tree.name not in needed:
            return self.lower(tree.input, needed, weighted=weighted)
        below = (needed - {tree.name}) | {tree.start, *tree.steps}
        child = self.lower(tree.input, below, weighted=weighted)
        return BindPath(child, tree.name, tree.start, tree.steps)

    def _apart(self, tree: logical.Logical, direct: Operator) -> Operator | None:
        """The count as a difference of two counts, if that may be less work; else None."""
        if self._depth or not isinstance(tree, logical.Project) or not _is_one_count(tree):
            return None
        assert isinstance(tree.input, logical.Aggregate)
        filtered = tree.input.input
        if not isinstance(filtered, logical.Filter):
            return None
        match = filtered.input
        if not isinstance(match, logical.Match) or not isinstance(match.input, logical.Unit):
            return None
        found = complement_count(match, filtered.predicates)
        if found is None:
            return None
        whole, part = (
            self.one_pattern(replace(tree, input=replace(tree.input, input=each)))
            for each in (found.whole, found.part)
        )
        if whole is None or part is None:
            return None
        from gpugda.execute.operators.count_complement import CountComplement

        return CountComplement(lower_query(whole), lower_query(part), direct, found.joined)

    # -------------------------------------------------------------- subqueries
    def _apply(
        self,
        tree: logical.Optional | logical.Apply,
        needed: frozenset[str],
        *,
        weighted: bool,
    ) -> Operator:
        inside = _Lowering(self._text, self._depth + 1)
        added = frozenset(tree.added)
        whole = isinstance(tree, logical.Optional)
        asked = tuple(name for name in tree.added if name in needed)
        if whole:
            read = arguments_read(tree.sub)
            sub = inside.lower(tree.sub, needed & added, weighted=weighted)
            below = (needed - added) | read
            outer = True
        else:
            # All columns are computed: they decide how many rows the subquery has.
            sub = inside.lower(tree.sub, added, weighted=False)
            below = (needed - added) | frozenset(available_arguments(tree.sub))
            outer = isinstance(tree, logical.Apply) and tree.kind is logical.ApplyKind.OUTER
        child = self.lower(tree.input, below, weighted=weighted)
        looked_up = _looked_up(sub, child) if whole and not asked else None
        if looked_up is not None:
            return looked_up
        imported = tuple(n for n in available_arguments(tree.sub) if n in child.columns)
        from gpugda.execute.operators.apply import Apply

        return Apply(child, sub, imported, asked, outer=outer, depth=self._depth, whole=whole)

    def _select_paths(
        self, tree: logical.SelectPaths, needed: frozenset[str], *, weighted: bool
    ) -> Operator:
        added = frozenset(tree.added)
        asked = tuple(name for name in tree.added if name in needed)
        inside = _Lowering(self._text, self._depth + 1)
        wanted = frozenset(asked) | {tree.start, tree.end, *tree.steps}
        sub = inside.lower(tree.sub, wanted, weighted=False)
        below = (needed | {tree.start, tree.end}) - added
        given = arguments_read(tree.sub)
        child = self.lower(tree.input, below | given, weighted=False)
        read = tuple(name for name in child.columns if name in given)
        from gpugda.execute.operators.select_paths import SelectPaths

        return SelectPaths(child, sub, tree, asked, read, depth=self._depth)

    # -------------------------------------------------------------- projections
    def _projection(
        self, tree: logical.Logical, needed: frozenset[str], *, weighted: bool
    ) -> Operator:
        match tree:
            case logical.Slice(skip=skip, limit=limit):
                return self._slice(tree.input, needed, RowBounds(skip, limit, tree.apart))
            case logical.Sort():
                return self._sort(tree, needed, None)
            case logical.Distinct():
                return self._distinct(tree, None)
            case logical.Aggregate():
                return self._aggregate(tree)
            case logical.Project():
                return self._project(tree, needed, frozenset(), weighted=weighted)
        raise AssertionError(f"no operator for {type(tree).__name__}")

    def _slice(self, below: logical.Logical, needed: frozenset[str], bounds: RowBounds) -> Operator:
        match below:
            case logical.Sort():
                return Slice(self._sort(below, needed, bounds), bounds)
            case logical.Distinct():
                return Slice(self._distinct(below, bounds), bounds)
            case logical.Project():  # rows outside the bounds are not projected
                return self._project(below, needed, frozenset(), bounds, weighted=False)
        return Slice(self.lower(below, needed, weighted=False), bounds)

    def _distinct(self, tree: logical.Distinct, bounds: RowBounds | None) -> Operator:
        below = tree.input
        every = frozenset(logical.columns_of(below))
        return Distinct(self.lower(below, every, weighted=False), bounds)

    def _sort(
        self, tree: logical.Sort, needed: frozenset[str], bounds: RowBounds | None
    ) -> Operator:
        hidden = all_names(key.expression for key in tree.keys)
        below = tree.input
        if isinstance(below, logical.Project):
            every = frozenset(logical.columns_of(below))
            child = self._project(below, every, hidden, weighted=False)
        else:
            child = self.lower(below, needed | frozenset(logical.columns_of(below)), weighted=False)
        return Sort(child, tree.keys, bounds)

    def _project(
        self,
        tree: logical.Project,
        needed: frozenset[str],
        hidden: frozenset[str],
        bounds: RowBounds | None = None,
        *,
        weighted: bool,
    ) -> Operator:
        items = tree.columns
        if not hidden and not isinstance(tree.input, logical.Aggregate):
            read = needed | tree.failing
            items = tuple(item for item in items if item.name in read)
        below = all_names(item.expression for item in items) | hidden
        if tree.keeps:
            below |= needed - {item.name for item in items}
        weighted = weighted and _are_steady(item.expression for item in items)
        if bounds is None:
            child = self.lower(tree.input, below, weighted=weighted)
        elif isinstance(tree.input, logical.Project):
            # Columns of earlier clauses are computed for skipped rows, too: they may be errors.
            skips = bounds.skip is not None and not logical.passes_on(tree.input)
            inner = bounds.reached if skips else bounds
            child = self._project(tree.input, below, frozenset(), inner, weighted=weighted)
            child = Slice(child, bounds) if skips else child
        elif isinstance(tree.input, logical.Sort):
            child = self._slice(tree.input, below, bounds)
        else:
            child = Slice(self.lower(tree.input, below, weighted=weighted), bounds)
        return Project(child, items, keeps=tree.keeps, hidden=hidden)

    def _aggregate(self, tree: logical.Aggregate) -> Operator:
        below = all_names((*tree.keys, *(a for a in tree.aggregates if not _counts_rows(a))))
        weighted = all(map(takes_weights, tree.aggregates))
        weighted = weighted and _are_steady((*tree.keys, *tree.aggregates))
        if not all(map(counts, tree.aggregates)):
            weighted = weighted and grouping_shrinks(tree.input, below)
        child = self.lower(tree.input, below, weighted=weighted)
        return Aggregate(
            child, tree.keys, tree.aggregates, always=tree.always, take_weights=weighted
        )

    def one_pattern(self, tree: logical.Logical) -> Query | None:
        """A projection of a single pattern, which may need no join rows; None for other trees."""
        if self._depth:
            return None
        skip, limit, distinct = None, None, False
        keys: tuple[SortKey, ...] = ()
        if isinstance(tree, logical.Slice):
            skip, limit, tree = tree.skip, tree.limit, tree.input
        if isinstance(tree, logical.Sort):
            keys, tree = tree.keys, tree.input
        if isinstance(tree, logical.Distinct):
            distinct, tree = True, tree.input
        if not isinstance(tree, logical.Project) or tree.keeps:
            return None
        aggregate = tree.input if isinstance(tree.input, logical.Aggregate) else None
        match = tree.input if aggregate is None else aggregate.input
        if not isinstance(match, logical.Match) or not isinstance(match.input, logical.Unit):
            return None
        query = Query(
            text=self._text,
            graph=match.graph,
            columns=tuple(OutputColumn(each.name, each.expression) for each in tree.columns),
            aggregating=aggregate is not None,
            grouping=() if aggregate is None else aggregate.keys,
            aggregates=() if aggregate is None else aggregate.aggregates,
            distinct=distinct,
            order_by=keys,
            skip=skip,
            limit=limit,
        )
        return query if _is_plain(query) else None


def lower_query(query: Query) -> Operator:
    """Match, then the aggregate, slice, project, distinct and sort that the query has.

    Rows outside SKIP and LIMIT are not projected, unless projected columns select them.
    """
    bounds = None
    if query.skip is not None or query.limit is not None:
        bounds = RowBounds(query.skip, query.limit)
    late = bounds is None or not (query.distinct or query.order_by)
    graph = query.graph
    own = {node.name for node in graph.nodes} | {each.name for each in graph.relationships}
    wanted = tuple(sorted(names_read(query) & own))
    made: Operator = Match(None, graph, (), wanted, query.text, asked=query)
    if query.aggregating:
        made = Aggregate(made, query.grouping, query.aggregates, always=not query.grouping)
    if bounds is not None and late:
        made = Slice(made, bounds)
    hidden = all_names(key.expression for key in query.order_by)
    made = Project(made, query.columns, hidden=hidden)
    if query.distinct:
        made = Distinct(made, None if query.order_by else bounds)
    if query.order_by:
        made = Sort(made, query.order_by, bounds)
    return made if bounds is None or late else Slice(made, bounds)


def _is_plain(query: Query) -> bool:
    """True if no expression needs matching per row, and all aggregates are counts."""
    parts = [each.expression for each in query.columns]
    parts += [*query.grouping, *query.aggregates, *(key.expression for key in query.order_by)]
    return all(map(counts, query.aggregates)) and not any(map(needs_each_row, parts))


def _found_by_expansions(tree: logical.Logical) -> frozenset[str]:
    """The lists of relationships that expansions below add, and no projection hides or renames."""
    found: set[str] = set()
    while not isinstance(tree, logical.Unit | logical.Argument | logical.Union):
        if isinstance(tree, logical.Project) and not tree.keeps:
            break
        if isinstance(tree, logical.Expand):
            found.add(tree.relationships)
        tree = tree.input
    return frozenset(found)


# ------------------------------------------------------------------ expressions
def _are_steady(expressions: Iterable[ast.Expression]) -> bool:
    """True if equal rows get equal values: no function is random."""
    return not any(
        isinstance(node, ast.FunctionCall) and changes_per_call(node.name)
        for expression in expressions
        for node in walk(expression)
    )


def _is_one_count(tree: logical.Project) -> bool:
    """True if the projection is exactly ``RETURN count(*)``."""
    below = tree.input
    if not isinstance(below, logical.Aggregate) or below.keys or len(below.aggregates) != 1:
        return False
    one = len(tree.columns) == 1 and isinstance(tree.columns[0].expression, AggregateReference)
    return one and not tree.keeps and _counts_rows(below.aggregates[0])


def _counts_rows(aggregate: ast.Expression) -> bool:
    return isinstance(aggregate, ast.CountStar)


def lower_subquery(tree: logical.Logical, columns: tuple[str, ...], text: str) -> Operator:
    """Like `lower`, for a subquery in an expression; without columns, rows may have weights."""
    return _Lowering(text, 1 << 10).lower(tree, frozenset(columns), weighted=not columns)


def _looked_up(sub: Operator, child: Operator) -> Operator | None:
    """One look-up per row for an optional pattern that is only counted; None if not possible."""
    is_alone = isinstance(sub, DegreeLookup) and isinstance(sub.children[0], simple.Argument)
    return sub.optional_of(child) if isinstance(sub, DegreeLookup) and is_alone else None


_MADE_BY: Final[dict[type, Callable[..., Operator]]] = {
    logical.Unit: _Lowering._unit,
    logical.Argument: _Lowering._argument,
    logical.Match: _Lowering._match,
    logical.Expand: _Lowering._expand,
    logical.Optional: _Lowering._apply,
    logical.Apply: _Lowering._apply,
    logical.SelectPaths: _Lowering._select_paths,
    logical.Filter: _Lowering._filter,
    logical.BindPath: _Lowering._path,
    logical.Lookup: _Lowering._lookup,
    logical.DistinctRelationships: _Lowering._distinct_relationships,
    logical.Unwind: _Lowering._unwind,
    logical.Union: _Lowering._union,
    logical.Empty: _Lowering._empty,
}
