"""Renders clauses and queries as Cypher text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gpugda.query import ast
from gpugda.query.constructs import clause_name, column_name
from gpugda.query.render_values import WRITERS, joined, name_text, text_of, value_text

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__: list[str] = []

_OPTIONAL: Final = "OPTIONAL"


def _list(nodes: Iterable[ast.Node]) -> str:
    return ", ".join(map(text_of, nodes))


def _after(word: str, node: ast.Node | None) -> str | None:
    return None if node is None else f"{word} {text_of(node)}"


# ------------------------------------------------------------------ queries
def _query(query: ast.Query) -> str:
    options = [f"{name}={_option(value)}" for name, value in query.options]
    version = None if query.version is None else str(query.version)
    prefix = joined("CYPHER", version, *options) if version or options else None
    return joined(prefix, query.mode, text_of(query.body))


def _option(value: str) -> str:
    return value  # as written, including quotes if present


def _body(body: ast.QueryBody) -> str:
    union = " UNION ALL " if body.union_all else " UNION "
    return union.join(map(text_of, body.parts))


def _single_query(query: ast.SingleQuery) -> str:
    return " ".join(map(text_of, query.clauses))


# ------------------------------------------------------------------ MATCH
def _match(clause: ast.Match) -> str:
    hints = [*map(text_of, clause.hints)]
    where = _after("WHERE", clause.where)
    return joined(clause_name(clause), clause.mode, _list(clause.patterns), *hints, where)


def _hint(hint: ast.Hint) -> str:
    label = "" if hint.label is None else f":{name_text(hint.label)}"
    keys = f"({', '.join(map(name_text, hint.keys))})" if hint.keys else ""
    return f"USING {hint.kind} {_list(hint.variables)}{label}{keys}"


# ------------------------------------------------------------------ projections
def _projection(body: ast.Projection) -> str:
    items = [*(["*"] if body.star else []), *map(text_of, body.items)]
    distinct = "DISTINCT" if body.distinct else None
    grouping = None if body.group_by is None else text_of(body.group_by)
    return joined(distinct, ", ".join(items), grouping, _order_skip_limit(body))


def _item(item: ast.ReturnItem) -> str:
    """An item, with AS if its text would give the column another name."""
    text = text_of(item.expression)
    same = item.alias is None and column_name(item.expression, text) == item.name
    return text if same else f"{text} AS {name_text(item.name)}"


def _group_by(grouping: ast.GroupBy) -> str:
    return f"GROUP BY {'ALL' if grouping.all else _list(grouping.keys) or '()'}"


def _order_skip_limit(body: ast.Projection | ast.OrderSkipLimit) -> str:
    order = f"ORDER BY {_list(body.order_by)}" if body.order_by else None
    return joined(order, _after("SKIP", body.skip), _after("LIMIT", body.limit))


def _with(clause: ast.With) -> str:
    return joined("WITH", text_of(clause.projection), _after("WHERE", clause.where))


# ------------------------------------------------------------------ rows and values
def _unwind(clause: ast.Unwind) -> str:
    elements, variable = text_of(clause.elements), text_of(clause.variable)
    return f"FOR {variable} IN {elements}" if clause.is_for else f"UNWIND {elements} AS {variable}"


def _load_csv(clause: ast.LoadCsv) -> str:
    headers = "WITH HEADERS" if clause.headers else None
    source = f"FROM {text_of(clause.url)} AS {text_of(clause.variable)}"
    ending = None
    if clause.terminator is not None:
        ending = f"FIELDTERMINATOR {value_text(clause.terminator.value)}"
    return joined("LOAD CSV", headers, source, ending)


# ------------------------------------------------------------------ CALL
def _call_subquery(clause: ast.CallSubquery) -> str:
    """A reading subquery.

    Raises:
        KeyError: It runs in its own transactions, so it writes.
    """
    imports = None
    if clause.imports is not None:
        imports = f"({'*' if clause.imports_all else _list(clause.imports)})"
    transactions = None if clause.transactions is None else text_of(clause.transactions)
    body = f"{{ {text_of(clause.query)} }}"
    return joined(_OPTIONAL if clause.optional else None, "CALL", imports, body, transactions)


def _call_procedure(clause: ast.CallProcedure) -> str:
    name = ".".join(map(name_text, clause.name.split(".")))
    if clause.arguments is not None:
        name += f"({_list(clause.arguments)})"
    columns = None
    if clause.items is not None:
        columns = f"YIELD {'*' if clause.yields_all else _list(clause.items)}"
    where = _after("WHERE", clause.where)
    return joined(_OPTIONAL if clause.optional else None, "CALL", name, columns, where)


def _yield_item(item: ast.YieldItem) -> str:
    column, variable = name_text(item.column), text_of(item.variable)
    return column if column == variable else f"{column} AS {variable}"


# ------------------------------------------------------------------ queries as clauses
def _when(clause: ast.When) -> str:
    otherwise = clause.otherwise
    end = None if otherwise is None else f"ELSE {{ {text_of(otherwise)} }}"
    return joined(*map(text_of, clause.branches), end)


def _when_branch(branch: ast.WhenBranch) -> str:
    return f"WHEN {text_of(branch.condition)} THEN {{ {text_of(branch.query)} }}"


WRITERS.update(
    {
        ast.Query: _query,
        ast.QueryBody: _body,
        ast.SingleQuery: _single_query,
        ast.Match: _match,
        ast.Hint: _hint,
        ast.Projection: _projection,
        ast.ReturnItem: _item,
        ast.GroupBy: _group_by,
        ast.SortItem: lambda item: text_of(item.expression) + (" DESC" if item.descending else ""),
        ast.Return: lambda clause: f"RETURN {text_of(clause.projection)}",
        ast.With: _with,
        ast.Finish: lambda _: "FINISH",
        ast.OrderSkipLimit: _order_skip_limit,
        ast.Unwind: _unwind,
        ast.Let: lambda clause: f"LET {_list(clause.items)}",
        ast.LetItem: lambda item: f"{text_of(item.variable)} = {text_of(item.expression)}",
        ast.Filter: lambda clause: f"FILTER WHERE {text_of(clause.predicate)}",
        ast.Use: lambda clause: f"USE {text_of(clause.graph)}",
        ast.LoadCsv: _load_csv,
        ast.CallSubquery: _call_subquery,
        ast.CallProcedure: _call_procedure,
        ast.YieldItem: _yield_item,
        ast.When: _when,
        ast.WhenBranch: _when_branch,
        ast.Braces: lambda clause: f"{{ {text_of(clause.query)} }}",
        ast.Next: lambda _: "NEXT",
    }
)
