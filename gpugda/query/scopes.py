"""Checks a whole reading query as Neo4j's compiler does: ``check_query``.

Names, scopes, types as far as the text determines them, aggregation, and combinations of forms.
Writing queries are not checked, as the tree does not keep enough of what their clauses declare.

Neo4j rejects these, but this module does not: functions and procedures of plugins and the columns
of procedures (they belong to the server), hints without an index, impossible element types of a
list property, and values that are only invalid at run time. Types are those of
Cypher 5: in a few places Cypher 25 accepts what is rejected here, such as ``reverse(1)`` and
dynamic labels in WHERE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gpugda.query import ast
from gpugda.query.constructs import clause_name
from gpugda.query.scope import Scope
from gpugda.query.scope_expressions import InnerChecks, check_condition, check_expression
from gpugda.query.scope_forms import check_aliases, check_named, check_shortest, named_variables
from gpugda.query.scope_hints import check_hints
from gpugda.query.scope_patterns import check_patterns
from gpugda.query.scope_projections import check_paging, check_projection, refuse_aggregates
from gpugda.query.scope_versions import check_version
from gpugda.query.type_sets import ANY, BOOLEAN, INTEGER, LIST, TypeSet, list_of
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["check_query"]

_Columns = dict[str, TypeSet]

_UNION: Final = "All sub queries in an UNION must have the same return column names"


def check_query(query: ast.Query, version: int = 5) -> None:
    """Checks that Neo4j would compile a reading query.

    Args:
        query: The tree of the whole text.
        version: Cypher version if the text has no prefix: 5 or 25.

    Raises:
        CypherSyntaxError: It would not; the error has the place, and the GQLSTATUS if Neo4j's own
            error has one.
    """
    if any(isinstance(node, ast.OtherClause | ast.Transactions) for node in walk(query)):
        return
    check_version(query, query.version or version)
    try:
        _body(query.body, Scope(query.text, version=query.version or version), None)
    except RecursionError:
        return  # such as a sum of thousands of terms: errors in it are found at run time


# ------------------------------------------------------------------ queries
def _body(body: ast.QueryBody, scope: Scope, importing: Scope | None) -> _Columns | None:
    """The columns of a query; None if it returns nothing.

    Args:
        body: The query.
        scope: The scope of its clauses; it is not changed.
        importing: The scope from which a leading WITH of a part may import.
    """
    first: _Columns | None = None
    for place, part in enumerate(body.parts):
        columns = _single(part, scope, importing)
        if place == 0:
            first = columns
        elif (first is None) != (columns is None) or set(first or ()) != set(columns or ()):
            scope.fail(_UNION, body.unions[place - 1], "42N39")
    return first


def _single(query: ast.SingleQuery, start: Scope, importing: Scope | None) -> _Columns | None:
    scope = start.after({n: k for n, k in start.variables.items() if n not in start.outer})
    columns: _Columns | None = None
    for place, clause in enumerate(query.clauses):
        if isinstance(clause, ast.Next):
            check_aliases(query.clauses[place - 1], scope, "RETURN followed by NEXT")
            scope = scope.after(columns or {})
            columns = None
        elif isinstance(clause, ast.Return):
            columns = check_projection(clause.projection, None, scope, _INNER, "RETURN")
        elif isinstance(clause, ast.When | ast.Braces):
            columns = _query_clause(clause, scope)
        elif isinstance(clause, ast.With):
            first = all(isinstance(before, ast.Use) for before in query.clauses[:place])
            scope = _with(clause, scope, importing if first else None)
        else:
            _check_place(query, place, scope)
            _CLAUSES[type(clause)](clause, scope)
    return columns


def _check_place(query: ast.SingleQuery, place: int, scope: Scope) -> None:
    clause = query.clauses[place]
    if isinstance(clause, ast.Use) and place:
        scope.fail("USE clause must be the first clause in a (sub-)query.", clause.span)
    if not isinstance(clause, ast.CallProcedure) or len(query.clauses) == 1:
        return
    if clause.yields_all:
        scope.fail("Cannot use `YIELD *` outside standalone call", clause.span)
    if clause.arguments is None:
        scope.fail(f"Procedure call is missing parentheses: {clause.name}", clause.span)


def _query_clause(clause: ast.When | ast.Braces, scope: Scope) -> _Columns | None:
    if isinstance(clause, ast.Braces):
        check_named(clause.query, scope, "{ RETURN ... }")
        return _body(clause.query, scope, None)
    for branch in clause.branches:
        check_condition(branch.condition, scope, _INNER)
    bodies = [branch.query for branch in clause.branches]
    if clause.otherwise is not None:
        bodies.append(clause.otherwise)
    for body in bodies:
        check_named(body, scope, "WHEN ... THEN ...")
    found = [_body(body, scope, None) for body in bodies]
    if len({frozenset(columns or ()) for columns in found}) > 1:
        scope.fail("All branches of WHEN must have the same return column names", clause.span)
    return found[0]


# ------------------------------------------------------------------ WITH
def _with(clause: ast.With, scope: Scope, importing: Scope | None) -> Scope:
    if importing is not None and _imports(clause, importing):
        _check_import(clause, importing)
        scope = scope.after(importing.variables)
    columns = check_projection(clause.projection, clause.where, scope, _INNER, "WITH")
    return scope.after(columns)


def _imports(clause: ast.With, importing: Scope) -> bool:
    names = {node.name for node in walk(clause.projection) if isinstance(node, ast.Variable)}
    return clause.projection.star or bool(names & set(importing.variables))


def _check_import(clause: ast.With, importing: Scope) -> None:
    body = clause.projection
    problems = {
        "Aliasing or expressions are not supported": not all(
            isinstance(item.expression, ast.Variable) and item.name == item.expression.name
            for item in body.items
        ),
        "DISTINCT is not allowed": body.distinct,
        "ORDER BY is not allowed": bool(body.order_by),
        "SKIP is not allowed": body.skip is not None,
        "LIMIT is not allowed": body.limit is not None,
        "WHERE is not allowed": clause.where is not None,
    }
    for problem, is_there in problems.items():
        if is_there:
            message = (
                "Importing WITH should consist only of simple references to outside variables."
                f" {problem}."
            )
            importing.fail(message, clause.span)


# ------------------------------------------------------------------ clauses that go on
def _match(clause: ast.Match, scope: Scope) -> None:
    check_patterns(clause.patterns, scope, _INNER, repeats=clause.repeats_relationships)
    check_hints(clause, scope)
    if clause.where is not None:
        refuse_aggregates(clause.where, scope)
        check_condition(clause.where, scope, _INNER)


def _unwind(clause: ast.Unwind, scope: Scope) -> None:
    refuse_aggregates(clause.elements, scope)
    found = check_expression(clause.elements, scope, _INNER)
    element = found.element if found.types == LIST.types else None
    scope.declare(clause.variable, element or ANY)


def _let(clause: ast.Let, scope: Scope) -> None:
    found = []
    for item in clause.items:
        refuse_aggregates(item.expression, scope)
        found.append(check_expression(item.expression, scope, _INNER))
    for item, kind in zip(clause.items, found, strict=True):
        scope.declare(item.variable, kind)


def _filter(clause: ast.Filter, scope: Scope) -> None:
    refuse_aggregates(clause.predicate, scope)
    check_condition(clause.predicate, scope, _INNER)


def _order_skip_limit(clause: ast.OrderSkipLimit, scope: Scope) -> None:
    for sort in clause.order_by:
        refuse_aggregates(sort.expression, scope)
        check_expression(sort.expression, scope, _INNER)
    check_paging(clause, scope, _INNER)


def _load_csv(clause: ast.LoadCsv, scope: Scope) -> None:
    check_expression(clause.url, scope, _INNER)
    scope.declare(clause.variable, ANY)


def _call_procedure(clause: ast.CallProcedure, scope: Scope) -> None:
    for argument in clause.arguments or ():
        refuse_aggregates(argument, scope)
        check_expression(argument, scope, _INNER)
    for item in clause.items or ():
        scope.declare(item.variable, ANY)
    if clause.where is not None:
        check_condition(clause.where, scope, _INNER)


def _call_subquery(clause: ast.CallSubquery, scope: Scope) -> None:
    check_named(clause.query, scope, "CALL { RETURN ... }")
    if clause.imports is None:
        columns = _body(clause.query, Scope(scope.text, version=scope.version), scope)
    else:
        imported = {each.name: scope.read(each) for each in clause.imports}
        outer = scope.variables if clause.imports_all else imported
        columns = _body(clause.query, Scope(scope.text, {}, outer, version=scope.version), None)
        last = clause.query.parts[0].clauses[-1]
        if isinstance(last, ast.Return) and not columns:
            message = "RETURN * is not allowed when there are no variables in scope"
            scope.fail(message, last.projection.span, "42I37")
    for name, kind in (columns or {}).items():
        if name in scope.variables:
            message = f"Variable `{name}` already declared in outer scope"
            scope.fail(message, clause.span, "42N07")
        scope.variables[name] = kind


def _nothing(clause: ast.Clause, scope: Scope) -> None:
    """USE and FINISH need no check: graph names are not variables."""


_CLAUSES: Final[Mapping[type, Callable[[Any, Scope], None]]] = {
    ast.Match: _match,
    ast.Unwind: _unwind,
    ast.Let: _let,
    ast.Filter: _filter,
    ast.OrderSkipLimit: _order_skip_limit,
    ast.LoadCsv: _load_csv,
    ast.CallProcedure: _call_procedure,
    ast.CallSubquery: _call_subquery,
    ast.Use: _nothing,
    ast.Finish: _nothing,
}


# ------------------------------------------------------------------ inside expressions
def _pattern(pattern: ast.Pattern, scope: Scope) -> None:
    for variable in named_variables(pattern):
        if variable.name not in scope.variables:
            message = (
                f"PatternExpressions are not allowed to introduce new variables: '{variable.name}'."
            )
            scope.fail(message, variable.span, "42N29")
    check_patterns((pattern,), scope.with_locals({}), _INNER)


def _comprehension(pattern: ast.Pattern, scope: Scope) -> Scope:
    within = scope.with_locals({})
    check_patterns((pattern,), within, _INNER)
    return within


def _shortest(pattern: ast.Pattern, scope: Scope) -> None:
    check_shortest(pattern, scope)
    for element in pattern.elements:
        if not isinstance(element, ast.NodePattern):
            continue
        if element.variable is None or element.variable.name not in scope.variables:
            message = "shortestPath(...) requires bound nodes when not part of a MATCH clause."
            scope.fail(message, element.span)
    check_patterns((pattern,), scope.with_locals({}), _INNER)


def _subquery(node: ast.Subquery, scope: Scope) -> TypeSet:
    word = type(node).__name__.removesuffix("Subquery")
    ends = [part.clauses[-1] for part in node.query.parts]
    if any(isinstance(end, ast.Finish) for end in ends):
        article = "An" if word == "Exists" else "A"
        message = f"{article} {word} Expression cannot contain a query ending with FINISH."
        scope.fail(message, node.span)
    columns = _body(node.query, scope.inside(), None)
    if isinstance(node, ast.ExistsSubquery):
        return BOOLEAN
    if isinstance(node, ast.CountSubquery):
        _check_count_ends(node.query, ends, scope)
        return INTEGER
    stars = any(isinstance(end, ast.Return) and end.projection.star for end in ends)
    if columns is None or len(columns) != 1 or stars:
        message = "A Collect Expression must end with a single return column."
        scope.fail(message, node.span, "42N22")
    return list_of(next(iter(columns.values())))


def _check_count_ends(query: ast.QueryBody, ends: list[ast.Clause], scope: Scope) -> None:
    """Requires RETURN where UNION removes duplicates: the number of rows depends on the columns."""
    for end in ends if query.unions and not query.union_all else ():
        if not isinstance(end, ast.Return):
            message = f"Query cannot conclude with {clause_name(end)}: UNION needs a RETURN clause"
            scope.fail(message, end.span, "42N71")


_INNER: Final = InnerChecks(_pattern, _comprehension, _shortest, _subquery)
