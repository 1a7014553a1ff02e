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

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.check.expressions import (
    SUBQUERIES,
    InnerChecks,
    check_condition,
    check_expression,
    is_aggregate,
    refuse_aggregates,
)
from gpugda.query.check.patterns import (
    check_aliases,
    check_hints,
    check_named,
    check_patterns,
    check_shortest,
    named_variables,
)
from gpugda.query.check.scope import (
    ANY,
    BOOLEAN,
    INTEGER,
    NO_PARAMETERS,
    Scope,
    TypeSet,
    list_of,
)
from gpugda.query.constructs import clause_name
from gpugda.query.shapes import QUERIES, shape, substitute
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping


__all__ = [
    "IMPLICIT_GROUPING",
    "check_paging",
    "check_projection",
    "check_query",
    "check_version",
    "has_newer",
]


def check_version(query: ast.Query, version: int) -> None:
    """Checks that a query only uses constructs of its Cypher version.

    Raises:
        CypherSyntaxError: The version is 5, and the query has a construct of Cypher 25.
    """
    if version >= 25:
        return
    for node in walk(query):
        name = _name_of_newer(node)
        if isinstance(node, ast.SingleQuery):
            _check_star(node, query.text)
        elif isinstance(node, ast.Subquery):
            _check_empty_star(node, query.text)
        if name is not None:
            message = f"{name} is Cypher 25, and this query is Cypher 5"
            raise CypherSyntaxError(message, query.text, node.span)


def has_newer(nodes: Iterable[ast.Node]) -> bool:
    """True if a node is a construct of Cypher 25."""
    return any(type(node) in _NEWER and _name_of_newer(node) is not None for node in nodes)


def _name_of_newer(node: ast.Node) -> str | None:
    newer = _NEWER.get(type(node))
    return None if newer is None else newer(node)


def _check_star(query: ast.SingleQuery, text: str) -> None:
    """Rejects ``CALL (n) { … RETURN * }`` that reads n: the star includes it in Neo4j 5.26.

    Raises:
        CypherSyntaxError: There is such a subquery.
    """
    for place, call in enumerate(query.clauses):
        if not isinstance(call, ast.CallSubquery) or call.imports is None:
            continue
        before: tuple[ast.Node, ...] = query.clauses[:place] if call.imports_all else call.imports
        imported = {v.name for each in before for v in walk(each) if isinstance(v, ast.Variable)}
        for part in call.query.parts:
            *clauses, last = part.clauses
            if not isinstance(last, ast.Return) or not last.projection.star:
                continue
            for name in imported & _read_by(clauses):
                message = f"Variable `{name}` already declared in outer scope"
                raise CypherSyntaxError(message, text, last.projection.span, gql_status="42N07")


def _check_empty_star(subquery: ast.Subquery, text: str) -> None:
    """Rejects ``RETURN *`` in EXISTS, COUNT or COLLECT that names no variable, as 5.26 does."""
    for part in subquery.query.parts:
        *clauses, last = part.clauses
        if isinstance(last, ast.Return) and last.projection.star and not _read_by(clauses):
            message = "RETURN * is not allowed when there are no variables in scope"
            raise CypherSyntaxError(message, text, last.projection.span, gql_status="42I37")


def _read_by(clauses: list[ast.Clause]) -> set[str]:
    """Variables that clauses name, from the last WITH that renames or drops some."""
    first = 0
    for place, clause in enumerate(clauses):
        if isinstance(clause, ast.With) and not clause.projection.star:
            first = place
    read = [each for each in clauses[first:] if not isinstance(each, ast.CallSubquery)]
    nodes = [node for clause in read for node in walk(clause)]
    return {node.name for node in nodes if isinstance(node, ast.Variable)}


def _newer_unwind(node: ast.Unwind) -> str | None:
    return "FOR" if node.is_for else None


def _newer_match(node: ast.Match) -> str | None:
    return node.mode


def _selector(node: ast.Selector) -> str | None:
    return "a parameter in a path selector" if isinstance(node.count, ast.Parameter) else None


def _case(node: ast.Case) -> str | None:
    for alternative in node.alternatives if node.operand is not None else ():
        for condition in alternative.conditions:
            if isinstance(condition, ast.LabelPredicate):
                return "a label after WHEN" if _is_operand(condition.subject) else None
            if isinstance(condition, ast.Binary) and condition.operator in _NEW_AFTER_WHEN:
                return f"WHEN {condition.operator}" if _is_operand(condition.left) else None
    return None


def _is_operand(node: ast.Expression) -> bool:
    return isinstance(node, ast.CaseOperand)


def _call(node: ast.FunctionCall) -> str | None:
    name = node.name.lower()
    return f"function {node.name}()" if name in _FUNCTIONS else None


_NEW_AFTER_WHEN: Final = (ast.BinaryOperator.IN, ast.BinaryOperator.CONTAINS)
_FUNCTIONS: Final = ("vector", "vector_distance", "vector_norm", "vector_dimension_count")
_NEWER: Final[Mapping[type, Callable[[Any], str | None]]] = {
    **dict.fromkeys((ast.Let, ast.Filter, ast.When, ast.Next, ast.Braces), clause_name),
    ast.Unwind: _newer_unwind,
    ast.Match: _newer_match,
    ast.Selector: _selector,
    ast.Case: _case,
    ast.FunctionCall: _call,
    ast.AllReduce: lambda _: "allReduce()",
    ast.VectorType: lambda _: "the type VECTOR",
    ast.GroupBy: lambda _: "GROUP BY",
}


IMPLICIT_GROUPING: Final = (
    "Aggregation column contains implicit grouping expressions: outside of aggregates only what is"
    " a column of its own, a variable or a property of one, can stand. Project it first with WITH"
)


def check_projection(
    body: ast.Projection, where: ast.Expression | None, scope: Scope, inner: InnerChecks, word: str
) -> dict[str, TypeSet]:
    """Checks a WITH or RETURN and returns its columns.

    Args:
        body: The projection.
        where: The condition after WITH.
        scope: The scope before it.
        inner: The checks for queries and patterns in expressions.
        word: ``WITH`` or ``RETURN``, for messages.

    Raises:
        CypherSyntaxError: A part is invalid.
    """
    columns = {}
    if body.star:
        columns = {n: kind for n, kind in scope.variables.items() if n not in scope.outer}
        if word == "RETURN" and not scope.variables:
            message = "RETURN * is not allowed when there are no variables in scope"
            scope.fail(message, body.span, "42I37")
    _check_names(body, scope)
    for item in body.items:
        _refuse_nested(item.expression, scope)
        columns[item.name] = check_expression(item.expression, scope, inner)
        if not (isinstance(item.expression, ast.Variable) and item.expression.name == item.name):
            scope.check_not_outer(item.name, item.span)
    aggregating = any(_aggregates(item.expression) for item in body.items)
    if body.group_by is None and aggregating:
        # Neo4j rewrites RETURN with ORDER BY to WITH and RETURN.
        is_with = word == "WITH" or body.order_by
        _check_grouping(body, scope, scope.fixed if is_with else ())
    after = _FollowingScope(body, columns, scope, inner, aggregating=aggregating, word=word)
    for sort in body.order_by:
        after.check_sort(sort.expression)
    check_paging(body, scope, inner)
    if where is not None:
        after.check_where(where)
    return columns


def _check_names(body: ast.Projection, scope: Scope) -> None:
    names: set[str] = set()
    for item in body.items:
        if item.name in names:
            message = "Multiple result columns with the same name are not supported"
            scope.fail(message, item.span)
        names.add(item.name)


def check_paging(
    body: ast.Projection | ast.OrderSkipLimit, scope: Scope, inner: InnerChecks
) -> None:
    """Checks SKIP and LIMIT, whose values must be known before there are rows.

    Raises:
        CypherSyntaxError: One reads a variable, or is certainly not a row count.
    """
    for word, value in (("SKIP", body.skip), ("LIMIT", body.limit)):
        if value is None:
            continue
        refuse_aggregates(value, scope)
        if any(True for _ in _ungrouped(value, set())):
            message = (
                f"It is not allowed to refer to variables in {word}, so that the value for {word}"
                " can be statically calculated."
            )
            scope.fail(message, value.span)
        if any(isinstance(part, QUERIES) for part in walk(value)):
            message = (
                f"It is not allowed to use patterns in the expression for {word}, so that the value"
                f" for {word} can be statically calculated."
            )
            scope.fail(message, value.span)
        if isinstance(value, ast.Literal) and not _is_count(value.value):
            written = value.span.of(scope.text)
            message = (
                f"Invalid input. '{written}' is not a valid value. Must be a non-negative integer."
            )
            scope.fail(message, value.span, "42N31")
        found = check_expression(value, scope, inner)
        if not isinstance(value, ast.Parameter):  # whose value has an error of its own
            scope.expect(found, INTEGER, value.span)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# ------------------------------------------------------------------ aggregates
def _aggregates(node: ast.Expression) -> bool:
    return any(is_aggregate(part) for part in walk(node, without=SUBQUERIES))


def _refuse_nested(node: ast.Expression, scope: Scope) -> None:
    for part in walk(node, without=SUBQUERIES):
        if not isinstance(part, ast.FunctionCall) or not is_aggregate(part):
            continue
        for argument in part.arguments:
            if _aggregates(argument):
                message = "Can't use aggregate functions inside of aggregate functions."
                scope.fail(message, argument.span)
            if any(_is_random(inside) for inside in walk(argument)):
                message = (
                    "Can't use non-deterministic (random) functions inside of aggregate functions."
                )
                scope.fail(message, argument.span)


def _is_random(node: ast.Node) -> bool:
    return isinstance(node, ast.FunctionCall) and node.name.lower() in ("rand", "randomuuid")


def _check_grouping(body: ast.Projection, scope: Scope, constant: Collection[str]) -> None:
    written = [item.expression for item in body.items if not _aggregates(item.expression)]
    keys = {shape(each) for each in written if _is_simple(each)}
    if body.star:
        keys |= {shape(ast.Variable(body.span, name)) for name in scope.variables}
    for item in body.items:
        if _aggregates(item.expression):
            for variable in _ungrouped(item.expression, keys):
                if variable.name in scope.variables and variable.name not in constant:
                    scope.fail(IMPLICIT_GROUPING, variable.span, "42I18")


def _is_simple(node: ast.Expression) -> bool:
    """True for a variable or a property of one, which may be used next to an aggregate."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.subject, ast.Variable) and isinstance(node.index, ast.Literal)
    if isinstance(node, ast.Property):
        return isinstance(node.subject, ast.Variable)
    return isinstance(node, ast.Variable)


def _ungrouped(node: ast.Node, keys: set[Hashable]) -> Iterator[ast.Variable]:
    """Variables outside of aggregates and keys, without those that the expression declares."""
    if is_aggregate(node) or (isinstance(node, ast.Expression) and shape(node) in keys):
        return
    if isinstance(node, ast.Variable):
        yield node
        return
    own = _declared(node)
    for child in _children(node):
        yield from (each for each in _ungrouped(child, keys) if each.name not in own)


def _declared(node: ast.Node) -> frozenset[str]:
    if isinstance(node, ast.Reduce | ast.AllReduce):
        return frozenset((node.accumulator.name, node.variable.name))
    if isinstance(node, ast.ListComprehension | ast.ListPredicate):
        return frozenset((node.variable.name,))
    return frozenset()


def _children(node: ast.Node) -> Iterator[ast.Node]:
    for field in fields(node):
        yield from _nodes(getattr(node, field.name))


def _nodes(value: Any) -> Iterator[ast.Node]:
    if isinstance(value, ast.Node):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _nodes(item)


# ------------------------------------------------------------------ after the columns
class _FollowingScope:
    """The scope of ORDER BY and WHERE after a projection.

    Columns, and earlier variables; after DISTINCT or an aggregation only columns and expressions
    equal to one of them.
    """

    def __init__(
        self,
        body: ast.Projection,
        columns: dict[str, TypeSet],
        scope: Scope,
        inner: InnerChecks,
        *,
        aggregating: bool,
        word: str,
    ) -> None:
        self._inner = inner
        self._word = word
        self._aggregating = aggregating
        self._only_columns = aggregating or body.distinct
        self._before = scope
        self._scope = scope.with_locals(columns)
        if self._only_columns:
            self._scope = scope.after(columns, scope.variables)
        self._shapes = {shape(item.expression) for item in body.items}
        self._names = {item.name for item in body.items}

    def check_sort(self, node: ast.Expression) -> None:
        """Checks a sort key."""
        found = self._without_columns(node)
        for part in walk(found, without=SUBQUERIES):
            if is_aggregate(part):
                self._refuse_aggregate(part)
        check_expression(found, self._scope, self._inner)

    def check_where(self, node: ast.Expression) -> None:
        """Checks the condition of WITH."""
        check_condition(self._without_columns(node), self._scope, self._inner)

    def _without_columns(self, node: ast.Expression) -> ast.Expression:
        """The expression, with parts equal to a column replaced by a value of any type."""
        if not self._only_columns:
            return node
        return substitute(node, self._column)

    def _column(self, node: ast.Expression) -> ast.Expression | None:
        if isinstance(node, ast.Variable) and node.name in self._names:
            return None
        if shape(node) in self._shapes:
            return ast.CaseOperand(node.span)
        return None

    def _refuse_aggregate(self, node: ast.Node) -> None:
        if self._aggregating:
            message = (
                "Illegal aggregation expression(s) in order by: an aggregate there must be a"
                " column as well."
            )
        else:
            message = (
                "Cannot use aggregation in ORDER BY if there are no aggregate expressions in the"
                f" preceding {self._word}"
            )
        self._before.fail(message, node.span)


_Columns = dict[str, TypeSet]
_UNCHECKED: Final = frozenset[type]((ast.OtherClause, ast.Transactions))

_UNION: Final = "All sub queries in an UNION must have the same return column names"


def check_query(
    query: ast.Query,
    version: int = 5,
    nodes: Iterable[ast.Node] | None = None,
    parameters: Mapping[str, TypeSet] = NO_PARAMETERS,
) -> None:
    """Checks that Neo4j would compile a reading query.

    Args:
        query: The tree of the whole text.
        version: Cypher version if the text has no prefix: 5 or 25.
        nodes: All nodes of the tree, if the caller has them.
        parameters: The types of its parameters, of a query that compiles without them.

    Raises:
        CypherSyntaxError: It would not; the error has the place, and the GQLSTATUS if Neo4j's own
            error has one.
    """
    kinds = set(map(type, walk(query) if nodes is None else nodes))
    if not kinds.isdisjoint(_UNCHECKED):
        return
    check_version(query, query.version or version)
    try:
        scope = Scope(query.text, version=query.version or version, parameters=parameters)
        _body(query.body, scope, None)
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
    element = found.element if found.has("List") else found  # a value is its only row
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
        columns = _body(clause.query, scope.with_outer({}), scope)
    else:
        imported = {each.name: scope.read(each) for each in clause.imports}
        outer = scope.variables if clause.imports_all else imported
        columns = _body(clause.query, scope.with_outer(outer), None)
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
