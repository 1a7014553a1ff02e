"""``WHEN … THEN … ELSE``: each row takes the first branch whose condition is true for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from gpugda.errors import UnsupportedQueryError
from gpugda.plan.building.columns import OrderReader, read_columns, with_named_groups
from gpugda.plan.building.patterns import PatternPlanner, VariableKind
from gpugda.plan.building.selected_patterns import (
    names_bound_list,
    selected_pattern,
    split_selected,
)
from gpugda.plan.building.subquery_body import outermost_subqueries, subquery_body
from gpugda.plan.logical import (
    Aggregate,
    Apply,
    ApplyKind,
    Argument,
    BindPath,
    Distinct,
    Empty,
    Filter,
    Logical,
    Optional,
    Project,
    Slice,
    Sort,
    Union,
    Unit,
    Unwind,
)
from gpugda.query import ast
from gpugda.query.check.expressions import SUBQUERIES, is_aggregate
from gpugda.query.constructs import bound_paths
from gpugda.query.early_orders import order_early
from gpugda.query.query_graph import KeyReference, OutputColumn
from gpugda.query.searches import changes_nothing, has_search, planned_together
from gpugda.query.shapes import conjuncts, join_by_ampersand, shape, substitute, variable_names
from gpugda.query.walk import walk
from gpugda.types import NOWHERE, Span, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


__all__ = ["LogicalQuery", "build_body", "build_query", "build_subquery", "chosen_rows"]


def chosen_rows(
    rows: Logical,
    clause: ast.When,
    bodies: Sequence[Logical],
    columns: tuple[str, ...],
    argument: Argument,
    stays: tuple[str, ...],
) -> Logical:
    """Joins each row with the rows of the branch that it takes.

    Each branch is a subquery of the rows that take it, so it aggregates once per input row.

    Args:
        rows: The input rows of the clause.
        clause: The clause with its conditions.
        bodies: The logical trees of the branches over ``argument``; ELSE is the last one.
        columns: The columns that every branch returns.
        argument: The input columns; the last one holds the branch number, which is added here.
        stays: The input columns that stay in scope.
    """
    number = argument.columns[-1]
    hidden = tuple(f"\0{name}" for name in columns)
    branches = []
    for place, body in enumerate(bodies):
        taking = Filter(argument, (_is(number, place),))
        renamed = Project(body, _renaming(columns, hidden))
        branches.append(Apply(taking, renamed, ApplyKind.INNER, hidden))
    numbered = Project(rows, (OutputColumn(number, _branch(clause)),), keeps=True)
    found = Apply(numbered, Union(tuple(branches)), ApplyKind.INNER, hidden)
    return Project(found, (*_renaming(hidden, columns), *_renaming(stays, stays)))


def _is(name: str, place: int) -> ast.Expression:
    operands = ast.Variable(NOWHERE, name), ast.Literal(NOWHERE, place)
    return ast.Comparison(NOWHERE, operands, (ast.ComparisonOperator.EQUAL,))


def _branch(clause: ast.When) -> ast.Expression:
    """The number of the branch that a row takes; null if it takes none."""
    span = clause.span
    alternatives = tuple(
        ast.CaseAlternative(span, (join_by_ampersand(branch.condition),), ast.Literal(span, place))
        for place, branch in enumerate(clause.branches)
    )
    last = None if clause.otherwise is None else len(clause.branches)
    return ast.Case(span, None, alternatives, ast.Literal(span, last))


def _renaming(old: tuple[str, ...], new: tuple[str, ...]) -> tuple[OutputColumn, ...]:
    pairs = zip(old, new, strict=True)
    return tuple(OutputColumn(name, ast.Variable(NOWHERE, before)) for before, name in pairs)


_CYPHER_25: Final = 25
"""In this version an aggregate over no rows has a row in every subquery."""


@value(frozen=True, slots=True)
class LogicalQuery:
    """A logical tree and its columns in order; no columns if the query ends in FINISH."""

    tree: Logical
    columns: tuple[str, ...]


def build_query(query: ast.Query, *, has_subqueries: bool = True) -> LogicalQuery:
    """Builds the logical tree of a query that passed the scope and type checks.

    Args:
        query: The checked query.
        has_subqueries: False if no expression has a subquery or pattern.

    Raises:
        UnsupportedQueryError: The query holds an unsupported construct.
    """
    return build_body(query.body, query.text, count(), {}, Unit(), has_subqueries=has_subqueries)


def build_body(
    body: ast.QueryBody,
    text: str,
    numbers: Iterator[int],
    scope: Mapping[str, str],
    rows: Logical,
    outer: tuple[str, ...] = (),
    *,
    groups_by_outer: bool = False,
    has_subqueries: bool = True,
) -> LogicalQuery:
    """Builds the logical tree of the parts that UNION joins.

    Args:
        body: The parts.
        text: The text of the whole query.
        numbers: A source of numbers for the names of anonymous elements.
        scope: The kind of each variable that the rows have.
        rows: The input rows of each part.
        outer: Variables that stay in scope after every projection.
        groups_by_outer: True if variables of the outer query are keys of each WITH that aggregates,
            so that there is no group without a row.
        has_subqueries: As in `build_query`.
    """

    def builder() -> _Builder:
        return _Builder(text, numbers, dict(scope), rows, outer, groups_by_outer, has_subqueries)

    made = [builder().single(each) for each in body.parts]
    if len(made) == 1:
        return made[0]
    columns = made[0].columns
    trees = tuple(_in_order(each, columns) for each in made)
    union: Logical = Union(trees)
    return LogicalQuery(union if body.union_all else Distinct(union), columns)


def build_subquery(
    body: ast.QueryBody,
    text: str,
    scope: Mapping[str, str],
    *,
    rows: Logical,
    version: int | None,
) -> LogicalQuery:
    """Builds the tree of EXISTS, COUNT or COLLECT: all outer variables are visible.

    Args:
        body: The query in the braces.
        text: The text of the whole query.
        scope: The outer variables that the subquery reads.
        rows: The input rows.
        version: The version of Cypher that the text names, 5 or 25; None if it names none.
    """
    by_outer = version != _CYPHER_25 and not variable_names(body).isdisjoint(scope)
    outer = tuple(scope)
    return build_body(body, text, count(1 << 20), scope, rows, outer, groups_by_outer=by_outer)


def _in_order(made: LogicalQuery, columns: tuple[str, ...]) -> Logical:
    if made.columns == columns:
        return made.tree
    named = tuple(OutputColumn(name, ast.Variable(NOWHERE, name)) for name in columns)
    return Project(made.tree, named)


@dataclass(slots=True)
class _Builder:
    text: str
    numbers: Iterator[int]
    scope: dict[str, str]
    rows: Logical
    outer: tuple[str, ...] = ()
    groups_by_outer: bool = False
    has_subqueries: bool = True
    columns: tuple[str, ...] = ()
    loose: frozenset[str] = frozenset()
    """Variables that Neo4j plans together with the next MATCH, as `SearchScope` has them."""
    matches_only: bool = True
    """True if nothing but MATCH without shortest paths came since the last projection."""

    def single(self, query: ast.SingleQuery) -> LogicalQuery:
        group: list[ast.Match] = []
        for clause in order_early(planned_together(query.clauses, self.scope)):
            if isinstance(clause, ast.Match) and not clause.optional:
                group.append(clause)
                continue
            self._matches(group)
            group = []
            before = tuple(self.scope)
            self._clause(clause)
            self._check_inside(clause, before)
        self._matches(group)
        return LogicalQuery(self.rows, self.columns)

    def _check_inside(self, clause: ast.Clause, before: Iterable[str]) -> None:
        """Checks subqueries in a clause's expressions, as they are built only at run time."""
        if not self.has_subqueries or isinstance(clause, ast.CallSubquery | ast.Braces):
            return  # Their own clauses are checked one by one.
        for node in outermost_subqueries(clause):
            named = {each.name for each in walk(node) if isinstance(each, ast.Variable)}
            around = tuple(
                name for name in {**dict.fromkeys(before), **self.scope} if name in named
            )
            scope = dict.fromkeys(around, "")
            body, rows = subquery_body(node), Argument(around)
            build_subquery(body, self.text, scope, rows=rows, version=None)

    def _clause(self, clause: ast.Clause) -> None:
        add = _ADDED_BY.get(type(clause))
        if add is None:
            raise self._unsupported(_construct(clause), clause.span)
        before = frozenset(self.scope)
        add(self, clause)
        is_plain = isinstance(clause, ast.With) and self.matches_only and changes_nothing(clause)
        self.loose = self.loose & before & frozenset(self.scope) if is_plain else frozenset()
        self.matches_only = not isinstance(clause, ast.Match)

    def _with(self, clause: ast.With) -> None:
        if clause.where is None:
            self._project(clause.projection)
            return
        # WHERE may read variables that WITH does not project: keep them until it is evaluated.
        kept = self._read_before(clause.projection, clause.where)
        span = clause.span
        items = tuple(ast.ReturnItem(span, ast.Variable(span, n), None, n) for n in kept)
        projection = clause.projection
        self._project(replace(projection, items=(*projection.items, *items)))
        self._filter(self._by_columns(clause.projection, clause.where))
        if kept:
            self.scope = {name: kind for name, kind in self.scope.items() if name not in kept}
            named = tuple(OutputColumn(n, ast.Variable(span, n)) for n in self.scope)
            self.rows = Project(self.rows, named)
            self.columns = tuple(name for name in self.columns if name not in kept)

    def _by_columns(self, projection: ast.Projection, where: ast.Expression) -> ast.Expression:
        """Replaces expressions in WHERE by the projected columns, after DISTINCT or aggregation."""
        if not self._only_columns(projection):
            return where
        columns = {shape(item.expression): item.name for item in projection.items}
        names = set(columns.values())

        def column(part: ast.Expression) -> ast.Expression | None:
            if isinstance(part, ast.Variable) and part.name in names:
                return part
            name = columns.get(shape(part))
            return None if name is None else ast.Variable(part.span, name)

        return substitute(where, column)

    def _only_columns(self, projection: ast.Projection) -> bool:
        return projection.distinct or any(
            is_aggregate(part)
            for item in projection.items
            for part in walk(item.expression, without=SUBQUERIES)
        )

    def _read_before(self, projection: ast.Projection, where: ast.Expression) -> list[str]:
        """Variables from before a WITH that its WHERE reads and its items do not shadow."""
        if projection.star or self._only_columns(projection):
            return []
        hidden = {item.name for item in projection.items} | set(self.outer)
        return sorted((variable_names(where) & set(self.scope)) - hidden)

    def _return(self, clause: ast.Return) -> None:
        # Neo4j rewrites RETURN with ORDER BY to WITH and RETURN.
        self._project(clause.projection, is_last=not clause.projection.order_by)

    def _unwind(self, clause: ast.Unwind) -> None:
        name = clause.variable.name
        self.rows = Unwind(self.rows, join_by_ampersand(clause.elements), name)
        self.scope[name] = VariableKind.VALUE

    def _finish(self, _: ast.Finish) -> None:
        self.rows, self.columns = Empty(self.rows), ()

    # -------------------------------------------------------------- MATCH
    def _matches(self, clauses: Sequence[ast.Match]) -> None:
        if not clauses:
            return
        before = tuple(self.scope)
        planner = PatternPlanner(self.text, self.scope, self.numbers, self.loose)
        for clause in split_selected(clauses):
            known = self.scope | planner.kinds
            selected = selected_pattern(clause, known, self.text, self.numbers)
            if selected is None and not names_bound_list(clause, planner.kinds):
                planner.read(clause)
                continue
            self.rows = planner.plan(self.rows) if planner.kinds else self.rows
            added: Mapping[str, str] = {}
            if selected is not None:
                self.rows, added = selected.plan(self.rows, known, self.text, self.numbers)
            self.scope = {**known, **added}
            loose = self.loose | frozenset(self.scope).difference(before)
            planner = PatternPlanner(self.text, self.scope, self.numbers, loose)
            if selected is None:
                planner.read(clause)
        self.rows = planner.plan(self.rows)
        self.scope |= planner.kinds
        self.matches_only &= not any(map(has_search, clauses))
        self.loose |= frozenset(self.scope).difference(before)
        for clause in clauses:
            self._check_inside(clause, before)

    def _optional(self, clause: ast.Match) -> None:
        names = tuple(self.scope)
        inside = _Builder(self.text, self.numbers, dict(self.scope), Argument(names))
        inside._matches((clause,))
        kept = bound_paths(clause, self.scope, self.text)
        added = tuple(name for name in inside.scope if name not in {**self.scope, **kept})
        self.rows = Optional(self.rows, inside.rows, added)
        for name, node in kept.items():
            self.rows = BindPath(self.rows, name, node, ())
        self.scope |= inside.scope

    def _filter_clause(self, clause: ast.Filter) -> None:
        self._filter(clause.predicate)

    def _filter(self, where: ast.Expression) -> None:
        self.rows = Filter(self.rows, tuple(conjuncts(join_by_ampersand(where))))

    # -------------------------------------------------------------- projections
    def _project(self, projection: ast.Projection, *, is_last: bool = False) -> None:
        if projection.star and all(name.startswith("\0") for name in self.scope):
            projection = replace(projection, star=False)  # WITH * and no variable in scope
        names = [name for name in self.scope if not name.startswith("\0")]
        returned = read_columns(projection, names, self.text, self.outer)
        rows = self.rows
        named = [OutputColumn(each.name, each.expression) for each in returned.columns]
        hidden = [name for name in self.outer if name not in {each.name for each in named}]
        span = projection.span
        if returned.aggregating:
            keys = [*returned.grouping]
            places = {key.name: n for n, key in enumerate(keys) if isinstance(key, ast.Variable)}
            for name in hidden:
                if name not in places:
                    places[name] = len(keys)
                    keys.append(ast.Variable(span, name))
                named.append(OutputColumn(name, KeyReference(span, places[name])))
            always = not returned.grouping and (is_last or not self.groups_by_outer)
            rows = Aggregate(rows, tuple(keys), returned.aggregates, always)
            rows, named = with_named_groups(rows, named)
        else:
            named += [OutputColumn(name, ast.Variable(span, name)) for name in hidden]
        rows = Project(rows, tuple(named))
        if projection.distinct:
            rows = Distinct(rows)
        if projection.order_by:
            order = OrderReader(returned, names, distinct=projection.distinct, constant=self.outer)
            rows = Sort(rows, tuple(map(order.key, projection.order_by)))
        if projection.skip is not None or projection.limit is not None:
            rows = Slice(rows, projection.skip, projection.limit)
        self.rows = rows
        scope = {
            column.name: self._kind(written)
            for column, written in zip(returned.columns, returned.written, strict=True)
        }
        self.scope = {name: self.scope[name] for name in self.outer} | scope
        self.columns = tuple(scope)

    def _kind(self, expression: ast.Expression) -> str:
        if isinstance(expression, ast.Variable):
            return self.scope.get(expression.name, VariableKind.VALUE)
        return VariableKind.VALUE

    def _let(self, clause: ast.Let) -> None:
        for item in clause.items:
            column = OutputColumn(item.variable.name, join_by_ampersand(item.expression))
            self.rows = Project(self.rows, (column,), keeps=True)
            self.scope[column.name] = self._kind(item.expression)

    def _order(self, clause: ast.OrderSkipLimit) -> None:
        span = clause.span
        names = [name for name in self.scope if not name.startswith("\0")]
        items = tuple(ast.ReturnItem(span, ast.Variable(span, n), None, n) for n in names)
        self._project(
            ast.Projection(
                span,
                distinct=False,
                star=False,
                items=items,
                order_by=clause.order_by,
                skip=clause.skip,
                limit=clause.limit,
            )
        )

    # -------------------------------------------------------------- subqueries
    def _call(self, clause: ast.CallSubquery) -> None:
        if clause.transactions is not None:
            raise self._unsupported("CALL { … } IN TRANSACTIONS", clause.span)
        body, imported = self._imports(clause)
        scope = {name: self.scope[name] for name in imported}
        stays = imported if clause.imports_all or clause.imports is not None else ()
        made = build_body(body, self.text, self.numbers, scope, Argument(imported), stays)
        added = made.columns
        # A subquery that ends in FINISH adds no rows and keeps the input rows as they are.
        kind = ApplyKind.OUTER if clause.optional or not added else ApplyKind.INNER
        self.rows = Apply(self.rows, made.tree, kind, added)
        self.scope |= dict.fromkeys(added, VariableKind.VALUE)

    def _imports(self, clause: ast.CallSubquery) -> tuple[ast.QueryBody, tuple[str, ...]]:
        if clause.imports_all:
            return clause.query, tuple(n for n in self.scope if not n.startswith("\0"))
        if clause.imports is not None:
            return clause.query, tuple(each.name for each in clause.imports)
        # Older syntax: a leading WITH of plain variables imports them, separately in each part.
        parts, names = [], dict[str, None]()
        for part in clause.query.parts:
            first = part.clauses[0]
            if isinstance(first, ast.With) and changes_nothing(first):
                star = first.projection.star
                own = list(self.scope) if star else [i.name for i in first.projection.items]
                names |= dict.fromkeys(n for n in own if not n.startswith("\0"))
                part = replace(part, clauses=part.clauses[1:])
            parts.append(part)
        return replace(clause.query, parts=tuple(parts)), tuple(names)

    def _braces(self, clause: ast.Braces) -> None:
        made = build_body(clause.query, self.text, self.numbers, self.scope, self.rows)
        self.rows, self.columns = made.tree, made.columns
        self.scope = dict.fromkeys(made.columns, VariableKind.VALUE)

    def _use(self, _: ast.Use) -> None:
        """Does nothing: the caller already runs on the named database."""

    def _next(self, _: ast.Next) -> None:
        """Does nothing: the next clause takes the rows that were returned."""

    def _when(self, clause: ast.When) -> None:
        """Joins each row with the rows of the first branch whose condition is true for it."""
        bodies = [branch.query for branch in clause.branches]
        bodies += [] if clause.otherwise is None else [clause.otherwise]
        number = f"\0branch{next(self.numbers)}"
        argument = Argument((*self.scope, number))
        made = [build_body(b, self.text, self.numbers, self.scope, argument) for b in bodies]
        self.columns = made[0].columns
        trees = [each.tree for each in made]
        self.rows = chosen_rows(self.rows, clause, trees, self.columns, argument, self.outer)
        kept = {name: self.scope[name] for name in self.outer}
        self.scope = kept | dict.fromkeys(self.columns, VariableKind.VALUE)

    def _unsupported(self, construct: str, span: Span) -> UnsupportedQueryError:
        message = f"{construct} is not supported by this engine"
        return UnsupportedQueryError(message, self.text, span, construct=construct)


_ADDED_BY: Final[dict[type, Callable[[_Builder, Any], None]]] = {
    ast.Match: _Builder._optional,
    ast.With: _Builder._with,
    ast.Return: _Builder._return,
    ast.Unwind: _Builder._unwind,
    ast.Filter: _Builder._filter_clause,
    ast.Let: _Builder._let,
    ast.OrderSkipLimit: _Builder._order,
    ast.Finish: _Builder._finish,
    ast.CallSubquery: _Builder._call,
    ast.Braces: _Builder._braces,
    ast.Next: _Builder._next,
    ast.Use: _Builder._use,
    ast.When: _Builder._when,
}


def _construct(clause: ast.Clause) -> str:
    if isinstance(clause, ast.OtherClause):
        return clause.construct
    names = {
        ast.CallProcedure: "CALL of a procedure",
        ast.LoadCsv: "LOAD CSV",
    }
    return names.get(type(clause), type(clause).__name__)
