"""Parses clauses and nested queries; writing clauses and commands only as far as to name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.constructs import clause_name, column_name
from gpugda.query.lexer import COMMANDS, FOLLOWS_OPERAND, words
from gpugda.query.parse_expressions import (
    begins_value,
    read_atom,
    read_expression,
    read_expressions_until,
    read_operand,
    read_variable,
)
from gpugda.query.parse_patterns import SHORTEST_PATHS, read_pattern, read_patterns
from gpugda.query.walk import walk
from gpugda.types import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from gpugda.query.cursor import Cursor


__all__ = ["read_subquery", "read_union"]


def read_projection(cursor: Cursor) -> ast.Projection:
    """Parses ``[DISTINCT] items [ORDER BY …] [SKIP …] [LIMIT …]``."""
    start = cursor.start
    distinct = _distinct(cursor)
    star = cursor.accept("*")
    items = []
    if not star or cursor.accept(","):
        items.append(_item(cursor))
        while cursor.accept(","):
            items.append(_item(cursor))
    group_by = _group_by(cursor) if cursor.kind == "GROUP" else None
    order_by = read_order_by(cursor)
    skip, limit = read_skip(cursor), read_limit(cursor)
    return ast.Projection(
        cursor.span_since(start), distinct, star, tuple(items), order_by, skip, limit, group_by
    )


def _group_by(cursor: Cursor) -> ast.GroupBy:
    start = cursor.start
    cursor.advance()
    cursor.expect("BY", " after GROUP")
    if cursor.kind == "ALL" and cursor.ahead() in FOLLOWS_OPERAND:
        cursor.advance()
        return ast.GroupBy(cursor.span_since(start), (), all=True)
    if cursor.kind == "(" and cursor.ahead() == ")":
        cursor.move_to(cursor.index + 2)
        return ast.GroupBy(cursor.span_since(start), ())
    keys = [read_expression(cursor)]
    while cursor.accept(","):
        keys.append(read_expression(cursor))
    return ast.GroupBy(cursor.span_since(start), tuple(keys))


def read_order_by(cursor: Cursor) -> tuple[ast.SortItem, ...]:
    """Parses ``ORDER BY items``; empty if there is none."""
    if cursor.kind != "ORDER":
        return ()
    cursor.advance()
    cursor.expect("BY", " after ORDER")
    items = [_sort_item(cursor)]
    while cursor.accept(","):
        items.append(_sort_item(cursor))
    return tuple(items)


def read_skip(cursor: Cursor) -> ast.Expression | None:
    """Parses ``SKIP rows`` or ``OFFSET rows``."""
    if cursor.kind not in ("SKIP", "OFFSET"):
        return None
    cursor.advance()
    return read_expression(cursor)


def read_limit(cursor: Cursor) -> ast.Expression | None:
    """Parses ``LIMIT rows``."""
    return read_expression(cursor) if cursor.accept("LIMIT") else None


def _distinct(cursor: Cursor) -> bool:
    # 'distinct * 2' multiplies a variable; in 'DISTINCT *' the star means all variables.
    star = cursor.ahead() == "*" and (cursor.ahead(2) in FOLLOWS_OPERAND or cursor.ahead(3) == "BY")
    if not (star or begins_value(cursor)):
        return False
    if cursor.kind == "ALL" and cursor.ahead() not in ("(", "=", "["):  # Cypher 25: as without it
        cursor.advance()
    return cursor.accept("DISTINCT")


def _item(cursor: Cursor) -> ast.ReturnItem:
    start = cursor.start
    if cursor.kind == "*":
        cursor.fail("'*' comes before the other items: RETURN *, n.name")
    expression = read_expression(cursor)
    written = cursor.span_since(start)
    alias = cursor.expect_name("a name after AS") if cursor.accept("AS") else None
    name = alias if alias is not None else column_name(expression, written.of(cursor.text))
    return ast.ReturnItem(cursor.span_since(start), expression, alias, name)


def _sort_item(cursor: Cursor) -> ast.SortItem:
    start = cursor.start
    expression = read_expression(cursor)
    descending = cursor.kind in ("DESC", "DESCENDING")
    if descending or cursor.kind in ("ASC", "ASCENDING"):
        cursor.advance()
    return ast.SortItem(cursor.span_since(start), expression, descending)


_MODES: Final = {
    "REPEATABLE": ("ELEMENT", "ELEMENTS"),
    "DIFFERENT": ("RELATIONSHIP", "RELATIONSHIPS"),
}
_HINTS: Final = frozenset(("INDEX", "BTREE", "TEXT", "RANGE", "POINT", "SCAN", "JOIN"))


def read_match(cursor: Cursor) -> ast.Clause:
    """Parses ``MATCH …``."""
    start = cursor.start
    cursor.advance()
    return read_match_body(cursor, start, optional=False)


def read_match_body(cursor: Cursor, start: int, *, optional: bool) -> ast.Match:
    """Parses what follows MATCH, which may also be alone in ``EXISTS { … }``."""
    mode, mode_span = _mode(cursor)
    patterns = read_patterns(cursor)
    hints = []
    while cursor.kind == "USING":
        hints.append(_hint_clause(cursor))
    where = read_expression(cursor) if cursor.accept("WHERE") else None
    refuse_parameter_maps(cursor, patterns)
    span = cursor.span_since(start)
    return ast.Match(span, optional, patterns, where, mode, mode_span, tuple(hints))


def _mode(cursor: Cursor) -> tuple[str | None, Span | None]:
    start, first = cursor.start, cursor.index
    if cursor.ahead() not in _MODES.get(cursor.kind, ()):
        return None, None
    cursor.move_to(cursor.index + 2)
    cursor.accept("BINDINGS")
    return cursor.words_since(first), cursor.span_since(start)


def refuse_parameter_maps(cursor: Cursor, patterns: tuple[ast.Pattern, ...]) -> None:
    """Rejects ``(n $map)``, which only CREATE allows: MATCH must know the keys."""
    if "$" not in cursor.text:
        return
    elements = [element for pattern in patterns for element in pattern.elements]
    while elements:
        element = elements.pop()
        if isinstance(element, ast.GroupPattern):
            elements.extend(element.pattern.elements)
        elif isinstance(element.properties, ast.Parameter):
            message = "a parameter cannot be a property map here: write {key: $map.key}"
            cursor.fail(message, element.properties.span)


def _hint_clause(cursor: Cursor) -> ast.Hint:
    start = cursor.start
    cursor.expect("USING")
    first = cursor.index
    if cursor.kind not in _HINTS:
        cursor.unexpected("INDEX, SCAN or JOIN ON after USING")
    if cursor.accept("JOIN"):
        cursor.expect("ON")
        kind = cursor.words_since(first)
        variables = [read_variable(cursor)]
        while cursor.accept(","):
            variables.append(read_variable(cursor))
        return ast.Hint(cursor.span_since(start), kind, tuple(variables))
    index = cursor.kind != "SCAN"
    if cursor.advance()[0] not in ("INDEX", "SCAN"):
        cursor.expect("INDEX")
    if index and cursor.kind == "SEEK" and cursor.is_word_ahead(1):
        cursor.advance()
    kind = cursor.words_since(first)
    variable, label = read_variable(cursor), _hinted_label(cursor)
    keys = _keys(cursor) if index else ()
    return ast.Hint(cursor.span_since(start), kind, (variable,), label, keys)


def _hinted_label(cursor: Cursor) -> str:
    if not cursor.accept("IS"):
        cursor.expect(":")
    return cursor.expect_name("a label or type")


def _keys(cursor: Cursor) -> tuple[str, ...]:
    cursor.expect("(")
    keys = [cursor.expect_name("a property name")]
    while cursor.accept(","):
        keys.append(cursor.expect_name("a property name"))
    cursor.expect(")")
    return tuple(keys)


_CREATED_BY_COMMAND: Final = words(
    "ALIAS BTREE COMPOSITE CONSTRAINT DATABASE FULLTEXT INDEX LOOKUP OR POINT RANGE ROLE TEXT USER"
    " VECTOR"
)


def read_create(cursor: Cursor) -> ast.Clause:
    """Parses ``CREATE patterns``, or CREATE as the first word of a command."""
    start = cursor.start
    if cursor.ahead() in _CREATED_BY_COMMAND and cursor.ahead(2) != "=":
        return read_command(cursor)
    cursor.advance()
    return _write(cursor, start, "CREATE", *read_patterns(cursor))


def read_insert(cursor: Cursor) -> ast.Clause:
    """Parses ``INSERT patterns``."""
    start = cursor.start
    cursor.advance()
    return _write(cursor, start, "INSERT", *read_patterns(cursor))


def read_merge(cursor: Cursor) -> ast.Clause:
    """Parses ``MERGE pattern [ON CREATE SET …] [ON MATCH SET …]``."""
    start = cursor.start
    cursor.advance()
    pattern = read_pattern(cursor)
    refuse_parameter_maps(cursor, (pattern,))
    children: list[ast.Node] = [pattern]
    while cursor.accept("ON"):
        if cursor.kind not in ("CREATE", "MATCH"):
            cursor.unexpected("CREATE or MATCH after ON")
        cursor.advance()
        if cursor.kind != "SET":
            cursor.unexpected("SET")
        children.append(read_set(cursor))
    return _write(cursor, start, "MERGE", *children)


def read_set(cursor: Cursor) -> ast.Clause:
    """Parses ``SET a.x = 1, a += {…}, a:Label``."""
    start = cursor.start
    cursor.advance()
    children = _set_item(cursor)
    while cursor.accept(","):
        children.extend(_set_item(cursor))
    return _write(cursor, start, "SET", *children)


def read_remove(cursor: Cursor) -> ast.Clause:
    """Parses ``REMOVE a.x, a:Label``."""
    start = cursor.start
    cursor.advance()
    children: list[ast.Node] = [_target(cursor)]
    while cursor.accept(","):
        children.append(_target(cursor))
    return _write(cursor, start, "REMOVE", *children)


def read_delete(cursor: Cursor) -> ast.Clause:
    """Parses ``[DETACH|NODETACH] DELETE values``."""
    start, first = cursor.start, cursor.index
    if not cursor.accept("DETACH"):
        cursor.accept("NODETACH")
    cursor.expect("DELETE")
    construct = cursor.words_since(first)
    children: list[ast.Node] = [read_expression(cursor)]
    while cursor.accept(","):
        children.append(read_expression(cursor))
    return _write(cursor, start, construct, *children)


def read_foreach(cursor: Cursor) -> ast.Clause:
    """Parses ``FOREACH (x IN list | clauses)``."""
    start = cursor.start
    cursor.advance()
    cursor.open("(")
    variable = read_variable(cursor)
    cursor.expect("IN")
    elements = read_expression(cursor)
    cursor.expect("|")
    clauses = read_clauses(cursor)
    cursor.close(")")
    return _write(cursor, start, "FOREACH", variable, elements, *clauses)


def read_command(cursor: Cursor) -> ast.Clause:
    """Skips a schema or administration command up to the end of the statement."""
    start, first = cursor.start, cursor.index
    cursor.advance()
    if not cursor.is_word():
        cursor.unexpected("a pattern or the rest of the command")
    cursor.advance()
    construct = cursor.words_since(first)
    while cursor.kind not in ("end", ";"):
        cursor.advance()
    writes = not construct.startswith(("SHOW", "TERMINATE"))
    return ast.OtherClause(cursor.span_since(start), construct, (), writes)


def _set_item(cursor: Cursor) -> list[ast.Node]:
    target = _target(cursor)
    if cursor.kind in ("=", "+="):
        cursor.advance()
        return [target, read_expression(cursor)]
    if not isinstance(target, ast.LabelPredicate):
        cursor.unexpected("'=', '+=' or a label")
    return [target]


def _target(cursor: Cursor) -> ast.Expression:
    # Binds tighter than '=', so that 'a.x = 1' is not parsed as a comparison.
    return read_operand(cursor)


def _write(cursor: Cursor, start: int, construct: str, *children: ast.Node) -> ast.OtherClause:
    return ast.OtherClause(cursor.span_since(start), construct, children, writes=True)


_Imports = tuple[tuple[ast.Variable, ...], bool]


def read_call(cursor: Cursor, start: int | None = None) -> ast.Clause:
    """Parses a call of a procedure or of a subquery.

    Args:
        cursor: At CALL.
        start: Start of the clause if it begins before CALL, with OPTIONAL.
    """
    optional = start is not None
    start = cursor.start if start is None else start
    cursor.advance()
    if cursor.kind not in ("{", "("):
        return _procedure(cursor, start, optional=optional)
    imports, imports_all = _imports(cursor) if cursor.kind == "(" else (None, False)
    cursor.open("{")
    body = read_body(cursor)
    cursor.close("}")
    transactions = _transactions(cursor) if cursor.kind == "IN" else None
    return ast.CallSubquery(
        cursor.span_since(start), body, imports, imports_all, optional, transactions
    )


def _imports(cursor: Cursor) -> _Imports:
    names: list[ast.Variable] = []
    cursor.expect("(")
    star = cursor.accept("*")
    if not star and cursor.kind != ")":
        names.append(read_variable(cursor))
        while cursor.accept(","):
            names.append(read_variable(cursor))
    cursor.expect(")")
    return tuple(names), star


# ------------------------------------------------------------------ IN TRANSACTIONS
def _transactions(cursor: Cursor) -> ast.Transactions:
    start = cursor.start
    cursor.expect("IN")
    if not _at_transactions(cursor):
        if cursor.kind != "CONCURRENT":
            read_expression(cursor)
        cursor.expect("CONCURRENT")
    if not _at_transactions(cursor):
        cursor.unexpected("TRANSACTIONS")
    cursor.advance()
    while cursor.kind in ("OF", "ON", "REPORT"):
        _transaction_option(cursor)
    return ast.Transactions(cursor.span_since(start))


def _at_transactions(cursor: Cursor) -> bool:
    return cursor.kind in ("TRANSACTIONS", "TRANSACTION")


def _transaction_option(cursor: Cursor) -> None:
    kind = cursor.advance()[0]
    if kind == "REPORT":
        cursor.expect("STATUS")
        cursor.expect("AS")
        read_variable(cursor)
    elif kind == "OF":
        read_expression(cursor)
        if not cursor.accept("ROW"):
            cursor.expect("ROWS")
    else:
        _on_error(cursor)


def _on_error(cursor: Cursor) -> None:
    cursor.expect("ERROR", " after ON")
    if cursor.accept("RETRY"):
        if cursor.accept("FOR"):
            read_expression(cursor)
            if cursor.kind in ("SEC", "SECOND", "SECONDS"):
                cursor.advance()
        if cursor.accept("THEN") and cursor.kind in ("CONTINUE", "BREAK", "FAIL"):
            cursor.advance()
        return
    if cursor.kind not in ("CONTINUE", "BREAK", "FAIL"):
        cursor.unexpected("CONTINUE, BREAK or FAIL")
    cursor.advance()


# ------------------------------------------------------------------ procedures
def _procedure(cursor: Cursor, start: int, *, optional: bool) -> ast.Clause:
    name = cursor.expect_name("a procedure's name, '{' or '('")
    while cursor.accept("."):
        name += "." + cursor.expect_name("a procedure's name")
    arguments: tuple[ast.Expression, ...] | None = None
    if cursor.kind == "(":
        cursor.open("(")
        arguments = read_expressions_until(cursor, ")")
        cursor.close(")")
    items, star, where = _yield(cursor) if cursor.accept("YIELD") else (None, False, None)
    return ast.CallProcedure(
        cursor.span_since(start), name, arguments, items, star, where, optional
    )


def _yield(cursor: Cursor) -> tuple[tuple[ast.YieldItem, ...], bool, ast.Expression | None]:
    if cursor.accept("*"):
        return (), True, None
    items = [_yielded(cursor)]
    while cursor.accept(","):
        items.append(_yielded(cursor))
    where = read_expression(cursor) if cursor.accept("WHERE") else None
    return tuple(items), False, where


def _yielded(cursor: Cursor) -> ast.YieldItem:
    start = cursor.start
    column = read_variable(cursor, "a column's name")
    variable = read_variable(cursor) if cursor.accept("AS") else column
    return ast.YieldItem(cursor.span_since(start), column.name, variable)


def read_let(cursor: Cursor) -> ast.Clause:
    """Parses ``LET x = value, y = value``."""
    start = cursor.start
    items: list[ast.LetItem] = []
    while not items or cursor.kind == ",":
        cursor.advance()
        begin = cursor.start
        variable = read_variable(cursor)
        cursor.expect("=")
        expression = read_expression(cursor)
        items.append(ast.LetItem(cursor.span_since(begin), variable, expression))
    return ast.Let(cursor.span_since(start), tuple(items))


def read_filter(cursor: Cursor) -> ast.Clause:
    """Parses ``FILTER [WHERE] predicate``."""
    start = cursor.start
    cursor.advance()
    if cursor.kind == "WHERE" and begins_value(cursor):
        cursor.advance()
    predicate = read_expression(cursor)
    return ast.Filter(cursor.span_since(start), predicate)


def read_for(cursor: Cursor) -> ast.Clause:
    """Parses ``FOR x IN list``."""
    start = cursor.start
    cursor.advance()
    variable = read_variable(cursor)
    cursor.expect("IN")
    elements = read_expression(cursor)
    return ast.Unwind(cursor.span_since(start), elements, variable, is_for=True)


def read_next(cursor: Cursor) -> ast.Clause:
    """Parses NEXT, after which another query continues with the rows."""
    start = cursor.start
    cursor.advance()
    return ast.Next(cursor.span_since(start))


def read_when(cursor: Cursor) -> ast.Clause:
    """Parses ``WHEN condition THEN query … [ELSE query]``."""
    start = cursor.start
    branches = []
    while cursor.kind == "WHEN":
        begin = cursor.start
        cursor.advance()
        condition = read_expression(cursor)
        cursor.expect("THEN")
        query = _branch(cursor)
        branches.append(ast.WhenBranch(cursor.span_since(begin), condition, query))
    otherwise = _branch(cursor) if cursor.accept("ELSE") else None
    return ast.When(cursor.span_since(start), tuple(branches), otherwise)


def read_braces(cursor: Cursor) -> ast.Clause:
    """Parses a query in braces."""
    start = cursor.start
    body = _in_braces(cursor)
    return ast.Braces(cursor.span_since(start), body)


def _branch(cursor: Cursor) -> ast.QueryBody:
    if cursor.kind == "{":
        return _in_braces(cursor)
    part = read_single_query(cursor)
    return ast.QueryBody(part.span, (part,))


def _in_braces(cursor: Cursor) -> ast.QueryBody:
    cursor.open("{")
    body = read_body(cursor)
    cursor.close("}")
    return body


_CANNOT_END: Final = (
    ast.With,
    ast.Unwind,
    ast.Use,
    ast.Filter,
    ast.Let,
    ast.OrderSkipLimit,
    ast.LoadCsv,
    ast.Match,
)
_WHOLE_QUERIES: Final = (ast.When, ast.Braces)
_SUBQUERIES: Final = frozenset[type[ast.Node]]((ast.SingleQuery,))


def check_order(query: ast.SingleQuery, text: str, *, may_lack_return: bool) -> None:
    """Checks that RETURN comes last, and that the last clause may end a query.

    Args:
        query: The clauses.
        text: The whole query text, for error messages.
        may_lack_return: True if any clause may be the last, as in ``EXISTS { MATCH (n) }``.

    Raises:
        CypherSyntaxError: A clause follows RETURN or FINISH, or the last clause leaves its rows
            unused.
    """
    for clause, following in zip(query.clauses, query.clauses[1:], strict=False):
        if isinstance(clause, ast.Return | ast.Finish | ast.When | ast.Braces):
            message = f"{clause_name(clause)} can only stand at the end{_order_hint(following)}"
            raise CypherSyntaxError(message, text, following.span)
        if isinstance(following, _WHOLE_QUERIES) and not isinstance(clause, ast.Use):
            message = f"{clause_name(following)} cannot follow other clauses: put NEXT before it"
            raise CypherSyntaxError(message, text, following.span)
    last = query.clauses[-1]
    if not may_lack_return and isinstance(last, _CANNOT_END):
        message = f"a query cannot conclude with {clause_name(last)}: add RETURN (or FINISH)"
        raise CypherSyntaxError(message, text, last.span)


def check_label_spellings(clause: ast.Clause, text: str, is_labels: Collection[int]) -> None:
    """Checks that a clause does not mix ``:A:B`` with ``& | ! %`` or IS.

    Args:
        clause: The clause.
        text: The whole query text, for error messages.
        is_labels: Text offsets of label expressions written with IS.

    Raises:
        CypherSyntaxError: The clause mixes them.
    """
    colon: ast.LabelExpression | None = None
    symbol: ast.LabelExpression | None = None
    types = set()
    for node in walk(clause, without=_SUBQUERIES):
        if isinstance(node, ast.RelationshipPattern) and isinstance(node.types, ast.LabelOr):
            types.add(id(node.types))  # 'A|B' of a relationship belongs to both syntaxes
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


def _order_hint(following: ast.Clause) -> str:
    name = clause_name(following)
    if isinstance(following, ast.OrderSkipLimit):
        return ": its parts come in the order ORDER BY, SKIP, LIMIT, each once"
    return f": {name} comes before it" if name != "RETURN" else ": there are two"


_PATTERN_STARTS: Final = frozenset(("(", "ANY", "ALL", "SHORTEST", "REPEATABLE", "DIFFERENT"))
_QUERY_ENDS: Final = frozenset(("end", ";", "}", "UNION", "WHEN", "ELSE", "NEXT"))

Union = tuple[tuple[ast.SingleQuery, ...], tuple[Span, ...], bool]


def read_union(cursor: Cursor, *, may_lack_return: bool = False) -> Union:
    """Parses a query: its parts, the spans of UNION between them, and True for UNION ALL.

    With NEXT the result is one part of several clauses, in which each UNION is in braces.
    """
    start = cursor.start
    found = _joined(cursor, may_lack_return=may_lack_return)
    if cursor.kind != "NEXT":
        return found
    clauses = _as_clauses(cursor, start, found)
    while cursor.kind == "NEXT":
        clauses.append(read_next(cursor))
        begin = cursor.start
        following = _joined(cursor, may_lack_return=may_lack_return)
        clauses += _as_clauses(cursor, begin, following)
    return (ast.SingleQuery(cursor.span_since(start), tuple(clauses)),), (), False


def _as_clauses(cursor: Cursor, start: int, found: Union) -> list[ast.Clause]:
    if len(found[0]) == 1:
        return list(found[0][0].clauses)
    span = cursor.span_since(start)
    return [ast.Braces(span, ast.QueryBody(span, *found))]


def _joined(cursor: Cursor, *, may_lack_return: bool) -> Union:
    parts, unions = [read_single_query(cursor, may_lack_return=may_lack_return)], []
    kinds = set()
    while cursor.kind == "UNION":
        start = cursor.start
        cursor.advance()
        kinds.add(cursor.kind == "ALL")
        if cursor.kind in ("ALL", "DISTINCT"):
            cursor.advance()
        unions.append(cursor.span_since(start))
        if len(kinds) > 1:
            cursor.fail("UNION and UNION ALL cannot be combined in one query", unions[-1])
        parts.append(read_single_query(cursor, may_lack_return=may_lack_return))
    return tuple(parts), tuple(unions), True in kinds


def read_single_query(cursor: Cursor, *, may_lack_return: bool = False) -> ast.SingleQuery:
    """Parses clauses and checks their order."""
    start = cursor.start
    clauses = read_clauses(cursor)
    if cursor.kind not in _QUERY_ENDS:
        _refuse_stray_token(cursor)
    query = ast.SingleQuery(cursor.span_since(start), clauses)
    check_order(query, cursor.text, may_lack_return=may_lack_return)
    return query


def read_clauses(cursor: Cursor) -> tuple[ast.Clause, ...]:
    """Parses clauses up to the first token that begins none."""
    clauses: list[ast.Clause] = []
    while (read := _CLAUSES.get(cursor.kind)) is not None:
        if clauses and (cursor.kind in COMMANDS or cursor.kind == "WHEN"):
            break
        clauses.append(read(cursor))
        if cursor.colon_labels:
            check_label_spellings(clauses[-1], cursor.text, cursor.is_labels)
    if not clauses:
        cursor.unexpected("a clause such as MATCH, WITH or RETURN")
    return tuple(clauses)


def _refuse_stray_token(cursor: Cursor) -> NoReturn:
    if cursor.kind == "WHERE":
        cursor.fail("WHERE belongs to a MATCH or WITH, and occurs there once: join with AND")
    cursor.unexpected("a clause or the end of the query")


def read_subquery(cursor: Cursor, construct: str) -> ast.QueryBody:
    """Parses the braces of an EXISTS, COUNT or COLLECT subquery."""
    cursor.open("{")
    if construct != "COLLECT" and _patterns_follow(cursor):
        match = read_match_body(cursor, cursor.start, optional=False)
        part = ast.SingleQuery(match.span, (match,))
        body = ast.QueryBody(match.span, (part,))
    else:
        # EXISTS and COUNT only need the number of rows, so RETURN is optional.
        body = read_body(cursor, may_lack_return=construct != "COLLECT")
        _refuse_writes(cursor, construct, body.parts)
    cursor.close("}")
    return body


def read_body(cursor: Cursor, *, may_lack_return: bool = False) -> ast.QueryBody:
    """Parses a nested query."""
    start = cursor.start
    parts, unions, union_all = read_union(cursor, may_lack_return=may_lack_return)
    return ast.QueryBody(cursor.span_since(start), parts, unions, union_all)


def _refuse_writes(cursor: Cursor, construct: str, parts: tuple[ast.SingleQuery, ...]) -> None:
    for clause in (clause for part in parts for clause in part.clauses):
        if isinstance(clause, ast.OtherClause) and clause.writes:
            message = f"{clause.construct} cannot stand in {construct} {{ … }}: it writes"
            cursor.fail(message, clause.span)


def _patterns_follow(cursor: Cursor) -> bool:
    if cursor.kind in _PATTERN_STARTS or (cursor.kind in SHORTEST_PATHS and cursor.ahead() == "("):
        return True
    return cursor.is_word() and cursor.ahead() == "="


# ------------------------------------------------------------------ projections
def read_returning(cursor: Cursor) -> ast.Clause:
    """Parses ``RETURN projection``."""
    start = cursor.start
    cursor.advance()
    projection = read_projection(cursor)
    if cursor.kind == "WHERE":
        cursor.fail("WHERE comes before RETURN: it belongs to a MATCH or WITH")
    return ast.Return(cursor.span_since(start), projection)


def read_with(cursor: Cursor) -> ast.Clause:
    """Parses ``WITH projection [WHERE …]``."""
    start = cursor.start
    cursor.advance()
    projection = read_projection(cursor)
    for item in projection.items:
        if item.alias is None and not isinstance(item.expression, ast.Variable):
            cursor.fail("an expression in WITH needs a name: add AS and a name", item.span)
    where = read_expression(cursor) if cursor.accept("WHERE") else None
    return ast.With(cursor.span_since(start), projection, where)


def read_order_skip_limit(cursor: Cursor) -> ast.Clause:
    """Parses ORDER BY, SKIP and LIMIT as a clause of its own."""
    start = cursor.start
    order_by, skip, limit = read_order_by(cursor), read_skip(cursor), read_limit(cursor)
    return ast.OrderSkipLimit(cursor.span_since(start), order_by, skip, limit)


def read_finish(cursor: Cursor) -> ast.Clause:
    """Parses FINISH."""
    start = cursor.start
    cursor.advance()
    return ast.Finish(cursor.span_since(start))


# ------------------------------------------------------------------ rows from other sources
def read_unwind(cursor: Cursor) -> ast.Clause:
    """Parses ``UNWIND list AS x``."""
    start = cursor.start
    cursor.advance()
    elements = read_expression(cursor)
    cursor.expect("AS", " and a name")
    variable = read_variable(cursor)
    return ast.Unwind(cursor.span_since(start), elements, variable)


def read_load_csv(cursor: Cursor) -> ast.Clause:
    """Parses ``LOAD CSV [WITH HEADERS] FROM url AS row [FIELDTERMINATOR ';']``."""
    start = cursor.start
    cursor.advance()
    cursor.expect("CSV", " after LOAD")
    headers = cursor.accept("WITH")
    if headers:
        cursor.expect("HEADERS")
    cursor.expect("FROM")
    url = read_expression(cursor)
    cursor.expect("AS", " and a name")
    variable = read_variable(cursor)
    terminator = _terminator(cursor) if cursor.accept("FIELDTERMINATOR") else None
    return ast.LoadCsv(cursor.span_since(start), url, variable, headers, terminator)


def _terminator(cursor: Cursor) -> ast.Literal:
    terminator = read_atom(cursor) if cursor.kind == "string" else None
    if not isinstance(terminator, ast.Literal):
        cursor.unexpected("a string after FIELDTERMINATOR")
    return terminator


def read_use(cursor: Cursor) -> ast.Clause:
    """Parses ``USE graph``."""
    start = cursor.start
    cursor.advance()
    if cursor.kind == "GRAPH" and cursor.is_word_ahead(1):
        cursor.advance()
    graph = read_operand(cursor)
    return ast.Use(cursor.span_since(start), graph)


def read_optional(cursor: Cursor) -> ast.Clause:
    """Parses ``OPTIONAL MATCH …`` or ``OPTIONAL CALL …``."""
    start = cursor.start
    cursor.advance()
    if cursor.kind == "CALL":
        return read_call(cursor, start)
    if not cursor.accept("MATCH"):
        cursor.unexpected("MATCH or CALL after OPTIONAL")
    return read_match_body(cursor, start, optional=True)


def read_periodic_commit(cursor: Cursor) -> ast.Clause:
    """Rejects the former ``USING PERIODIC COMMIT``."""
    cursor.fail("USING PERIODIC COMMIT was removed: write CALL (row) { … } IN TRANSACTIONS")


_CLAUSES: Final[dict[str, Callable[[Cursor], ast.Clause]]] = {
    "MATCH": read_match,
    "OPTIONAL": read_optional,
    "RETURN": read_returning,
    "WITH": read_with,
    "UNWIND": read_unwind,
    "CALL": read_call,
    "ORDER": read_order_skip_limit,
    "SKIP": read_order_skip_limit,
    "OFFSET": read_order_skip_limit,
    "LIMIT": read_order_skip_limit,
    "FINISH": read_finish,
    "LOAD": read_load_csv,
    "USE": read_use,
    "CREATE": read_create,
    "INSERT": read_insert,
    "MERGE": read_merge,
    "SET": read_set,
    "REMOVE": read_remove,
    "DELETE": read_delete,
    "DETACH": read_delete,
    "NODETACH": read_delete,
    "FOREACH": read_foreach,
    "LET": read_let,
    "FILTER": read_filter,
    "FOR": read_for,
    "WHEN": read_when,
    "{": read_braces,
    "USING": read_periodic_commit,
    **dict.fromkeys(COMMANDS, read_command),
}
