"""Executes clauses in sequence: each one maps input rows to output rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.deadline import check_time
from gpugda.query import ast
from gpugda.query.constants import never_holds
from gpugda.query.early_orders import order_early
from gpugda.query.searches import changes_nothing, has_search, planned_together
from gpugda.reference.limits import limits_by_order, without_rows
from gpugda.reference.match import PatternMatcher
from gpugda.reference.projection import Projected, ordered, project
from gpugda.reference.searches import SearchMatcher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from gpugda.reference.evaluator import Evaluator
    from gpugda.reference.trees import Row

__all__ = ["Table", "run_body"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with their variables.

    Attributes:
        names: Variables in scope, without those from an outer query.
        rows: Values by variable, including outer variables.
        returned: True if RETURN produced the rows.
    """

    names: tuple[str, ...]
    rows: Iterable[Row]
    returned: bool = False


@dataclass(frozen=True, slots=True)
class _QueryContext:
    """The context of a query.

    Attributes:
        evaluator: Evaluates expressions.
        outer: Variables that stay in scope after every projection.
        importing: Variables that a leading WITH may import; None if there are none.
        groups_by_outer: True if outer variables are keys of each WITH that aggregates.
    """

    evaluator: Evaluator
    outer: Row
    importing: Row | None = None
    groups_by_outer: bool = False


def run_body(
    body: ast.QueryBody,
    evaluator: Evaluator,
    start: Table,
    outer: Row | None = None,
    importing: Row | None = None,
    *,
    groups_by_outer: bool = False,
) -> Table:
    """The rows of a query; the parts that UNION joins all start from the same rows."""
    context = _QueryContext(evaluator, outer or {}, importing, groups_by_outer)
    if len(body.parts) == 1:
        return _single(body.parts[0], context, start)
    start = Table(start.names, list(start.rows))
    made = [_single(part, context, start) for part in body.parts]
    names = made[0].names
    rows = ({name: row[name] for name in names} for table in made for row in table.rows)
    kept = rows if body.union_all else _distinct_rows(rows)
    return Table(names, ({**context.outer, **row} for row in kept), made[0].returned)


def _distinct_rows(rows: Iterable[Row]) -> Iterator[Row]:
    seen = set()
    for row in rows:
        key = values.group_key(list(row.values()))
        if key not in seen:
            seen.add(key)
            yield row


def _single(query: ast.SingleQuery, context: _QueryContext, table: Table) -> Table:
    first = True
    plain, loose = True, frozenset[str]()
    together = planned_together(query.clauses, (*table.names, *context.outer))
    for clauses in _runs(limits_by_order(order_early(together))):
        clause, importing = clauses[0], context.importing
        if first and isinstance(clause, ast.With) and importing is not None:
            table = Table(tuple(importing), [importing])
        first = first and isinstance(clause, ast.Use)
        before = frozenset(table.names)
        if isinstance(clause, ast.Match):
            table = _match(clauses, context, table, loose)
            plain = plain and not clause.optional and not any(map(has_search, clauses))
            loose |= frozenset(table.names) - before
            continue
        run = _CLAUSES.get(type(clause))
        if run is None:
            construct = getattr(clause, "construct", type(clause).__name__)
            raise context.evaluator.unsupported(construct, clause)
        table = run(clause, context, table)
        # Neo4j plans the clauses before and after such a WITH together.
        stays = plain and isinstance(clause, ast.With) and changes_nothing(clause)
        plain, loose = True, loose & frozenset(table.names) if stays else frozenset[str]()
    return table


def _runs(clauses: Iterable[ast.Clause]) -> Iterator[list[Any]]:
    """The clauses one by one, but consecutive MATCH clauses together."""
    for is_match, run in groupby(clauses, lambda e: isinstance(e, ast.Match) and not e.optional):
        together = list(run)
        yield from [together] if is_match else ([each] for each in together)


# ------------------------------------------------------------------ MATCH
def _match(
    clauses: list[ast.Match], context: _QueryContext, table: Table, loose: frozenset[str]
) -> Table:
    """Consecutive MATCH clauses, or one OPTIONAL MATCH."""
    (clause, *others) = clauses
    if others and not any(map(has_search, clauses)):
        for each in clauses:
            table = _match([each], context, table, loose)
        return table
    bound = frozenset(table.names) | frozenset(context.outer)
    matcher: PatternMatcher | SearchMatcher
    if has_search(clause) or others:
        planned = frozenset[str]() if clause.optional else loose
        matcher = SearchMatcher(clauses, context.evaluator, bound, planned)
    else:
        matcher = PatternMatcher(
            clause.patterns,
            context.evaluator,
            bound,
            clause.where,
            repeats=clause.repeats_relationships,
        )
    new = tuple(sorted(matcher.names - bound))
    if not clause.optional and any(e.where and never_holds(e.where) for e in clauses):
        return Table((*table.names, *new), ())
    kept = dict(_bound_paths(clause, bound, context)) if clause.optional else {}

    def rows() -> Iterator[Row]:
        for row in table.rows:
            found = False
            for match in matcher.matches(row):
                found = True
                yield match
            if clause.optional and not found:
                paths = {name: _path_of(row[node]) for name, node in kept.items()}
                yield {**row, **dict.fromkeys(new), **paths}

    return Table((*table.names, *new), rows())


def _bound_paths(
    clause: ast.Match, bound: frozenset[str], context: _QueryContext
) -> Iterator[tuple[str, str]]:
    """Path variables, with their node, of paths that consist of one bound node only."""
    for pattern in clause.patterns:
        parts = [getattr(element, "variable", None) for element in pattern.elements]
        names = [part.name for part in parts if part is not None and part.name in bound]
        if pattern.variable is None or len(names) < len(pattern.elements):
            continue
        if len(names) > 1:
            construct = "a path of OPTIONAL MATCH all of whose parts are bound before"
            raise context.evaluator.unsupported(construct, pattern)
        yield pattern.variable.name, names[0]


def _path_of(node: Any) -> values.Path | None:
    """The path of a single node; null for null."""
    return None if node is None else values.Path((node,), ())


# ------------------------------------------------------------------ projections
def _with(clause: ast.With, context: _QueryContext, table: Table) -> Table:
    if clause.where is not None and never_holds(clause.where):
        clause = without_rows(clause)
    names, projected = _projected(clause, context, table, by_outer=context.groups_by_outer)
    rows = (
        {**context.outer, **row}
        for row, scope in projected
        if clause.where is None or context.evaluator.holds(clause.where, scope)
    )
    return Table(names, rows)


def _return(clause: ast.Return, context: _QueryContext, table: Table) -> Table:
    by_outer = context.groups_by_outer and bool(clause.projection.order_by)
    names, projected = _projected(clause, context, table, by_outer=by_outer)
    return Table(names, ({**context.outer, **row} for row, _ in projected), returned=True)


def _projected(
    clause: ast.With | ast.Return, context: _QueryContext, table: Table, *, by_outer: bool
) -> tuple[tuple[str, ...], Projected]:
    evaluator, outer = context.evaluator, context.outer
    return project(clause.projection, evaluator, table.names, table.rows, outer, by_outer=by_outer)


def _order_skip_limit(clause: ast.OrderSkipLimit, context: _QueryContext, table: Table) -> Table:
    kept = ordered(clause, context.evaluator, ((row, row) for row in table.rows))
    return Table(table.names, (row for row, _ in kept))


def _finish(clause: ast.Finish, context: _QueryContext, table: Table) -> Table:
    def rows() -> Iterator[Row]:
        for _ in table.rows:
            check_time()
        yield from ()

    return Table((), rows())


# ------------------------------------------------------------------ rows and values
def _unwind(clause: ast.Unwind, context: _QueryContext, table: Table) -> Table:
    name = clause.variable.name

    def rows() -> Iterator[Row]:
        for row in table.rows:
            found = context.evaluator.value(clause.elements, row)
            for element in _elements(found):
                check_time()
                yield {**row, name: element}

    return Table((*table.names, name), rows())


def _elements(found: Any) -> Iterable[Any]:
    if found is None:
        return ()
    return found if isinstance(found, list) else (found,)


def _let(clause: ast.Let, context: _QueryContext, table: Table) -> Table:
    value = context.evaluator.value

    def with_items(row: Row) -> Row:
        return {**row, **{each.variable.name: value(each.expression, row) for each in clause.items}}

    new = (item.variable.name for item in clause.items)
    return Table((*table.names, *new), map(with_items, table.rows))


def _filter(clause: ast.Filter, context: _QueryContext, table: Table) -> Table:
    if never_holds(clause.predicate):
        return Table(table.names, ())
    rows = (row for row in table.rows if context.evaluator.holds(clause.predicate, row))
    return Table(table.names, rows)


# ------------------------------------------------------------------ queries as clauses
def _call(clause: ast.CallSubquery, context: _QueryContext, table: Table) -> Table:
    evaluator = context.evaluator
    none: Row = {}
    visible = (*table.names, *context.outer)

    def inner(row: Row) -> Table:
        before = {name: row[name] for name in visible}
        if clause.imports is None and not clause.imports_all:
            return run_body(clause.query, evaluator, Table((), [none]), none, before)
        names = visible if clause.imports_all else [each.name for each in clause.imports or ()]
        outer = {name: row[name] for name in names}
        return run_body(clause.query, evaluator, Table((), [outer]), outer)

    new = _columns(clause.query, dict.fromkeys(visible), context)

    def rows() -> Iterator[Row]:
        for row in table.rows:
            found = inner(row)
            count = 0
            for result in found.rows:
                check_time()
                count += 1
                if found.returned:
                    yield {**row, **{name: result[name] for name in new}}
            if not found.returned or (clause.optional and not count):
                yield {**row, **dict.fromkeys(new)}

    return Table((*table.names, *new), rows())


def _columns(body: ast.QueryBody, known: Row, context: _QueryContext) -> tuple[str, ...]:
    """Column names of a query, found by running its clauses on no rows."""
    table = Table((), [])
    run = run_body(body, context.evaluator, table, known, known)
    return run.names if run.returned else ()


def _braces(clause: ast.Braces, context: _QueryContext, table: Table) -> Table:
    return run_body(clause.query, context.evaluator, table, context.outer)


def _use(clause: ast.Use, context: _QueryContext, table: Table) -> Table:
    return table


def _next(clause: ast.Next, context: _QueryContext, table: Table) -> Table:
    return Table(table.names, table.rows)


def _when(clause: ast.When, context: _QueryContext, table: Table) -> Table:
    bodies = [branch.query for branch in clause.branches]
    bodies += [] if clause.otherwise is None else [clause.otherwise]
    made = run_body(bodies[0], context.evaluator, Table(table.names, []), context.outer)

    def rows() -> Iterator[Row]:
        for row in table.rows:
            body = _branch(clause, context, row)
            if body is not None:
                found = run_body(body, context.evaluator, Table(table.names, [row]), context.outer)
                yield from found.rows

    return Table(made.names, rows(), made.returned)


def _branch(clause: ast.When, context: _QueryContext, row: Row) -> ast.QueryBody | None:
    for branch in clause.branches:
        if context.evaluator.holds(branch.condition, row):
            return branch.query
    return clause.otherwise


_CLAUSES: dict[type, Callable[[Any, _QueryContext, Table], Table]] = {
    ast.With: _with,
    ast.Return: _return,
    ast.OrderSkipLimit: _order_skip_limit,
    ast.Finish: _finish,
    ast.Unwind: _unwind,
    ast.Let: _let,
    ast.Filter: _filter,
    ast.CallSubquery: _call,
    ast.Braces: _braces,
    ast.Next: _next,
    ast.Use: _use,
    ast.When: _when,
}
