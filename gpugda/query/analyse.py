"""Semantic analysis: resolves names and checks types and scopes of a syntax tree."""

from __future__ import annotations

from gpugda.errors import CypherSyntaxError
from gpugda.query import ast
from gpugda.query.analyse_match import QueryGraphReader
from gpugda.query.analyse_order import OrderReader
from gpugda.query.analyse_return import read_columns
from gpugda.query.parameter_types import typed_parameters
from gpugda.query.query_graph import Query
from gpugda.query.shapes import variable_names
from gpugda.query.static_types import Kind, TypeChecker, is_aggregate
from gpugda.query.walk import walk

__all__ = ["analyse"]

_VERSION_WITH_MODES = 25
"""First Cypher version with match modes."""
_COUNT_KINDS = frozenset((Kind.INTEGER, Kind.STORABLE, Kind.ANY))


def analyse(tree: ast.Query) -> Query:
    """Analyses a query that has passed ``check_supported``.

    ``CYPHER 5`` and ``CYPHER 25`` have the same meaning within the supported language, except that
    only the latter has match modes.

    Raises:
        CypherSyntaxError: Neo4j would refuse to compile it: a variable is undefined or has two
            kinds, an expression has a wrong type, or a scope or grouping rule is violated.
    """
    *matches, last = tree.parts[0].clauses
    if len(tree.parts) != 1 or not isinstance(last, ast.Return):
        raise CypherSyntaxError("this is not a query of MATCH and RETURN", tree.text, tree.span)
    reader = QueryGraphReader(tree.text)
    for clause in matches:
        if not isinstance(clause, ast.Match):
            raise CypherSyntaxError("only MATCH can stand here", tree.text, clause.span)
        _check_mode(clause, tree)
        reader.read(clause)
    projection = last.projection
    returned = read_columns(projection, reader.kinds, tree.text)
    # Every parameter begins with this character, and most queries have none.
    nodes = list(walk(tree)) if "$" in tree.text else []
    order = OrderReader(returned, reader.kinds, tree.text, distinct=projection.distinct)
    return Query(
        text=tree.text,
        graph=reader.graph(),
        columns=returned.columns,
        aggregating=returned.aggregating,
        grouping=returned.grouping,
        aggregates=returned.aggregates,
        distinct=projection.distinct,
        order_by=tuple(order.key(item) for item in projection.order_by),
        skip=_window(projection.skip, "SKIP", tree.text),
        limit=_window(projection.limit, "LIMIT", tree.text),
        parameters=frozenset(n.name for n in nodes if isinstance(n, ast.Parameter)),
        typed_parameters=tuple(typed_parameters(nodes)),
        mode=tree.mode,
        version=tree.version,
    )


def _check_mode(clause: ast.Match, tree: ast.Query) -> None:
    if clause.mode is None or tree.version == _VERSION_WITH_MODES:
        return
    message = (
        f"Match modes such as `{clause.mode}` are not supported yet in Cypher 5: leave it out, as "
        f"it says what MATCH does anyway, or begin the query with CYPHER {_VERSION_WITH_MODES}"
    )
    raise CypherSyntaxError(message, tree.text, clause.mode_span)


def _window(value: ast.Expression | None, word: str, text: str) -> ast.Expression | None:
    """Validates the expression of SKIP or LIMIT, as far as possible without parameters."""
    if value is None:
        return None
    if variable_names(value):
        message = (
            f"It is not allowed to refer to variables in {word}: its value must be known first"
        )
        raise CypherSyntaxError(message, text, value.span)
    if any(map(is_aggregate, walk(value))):
        raise CypherSyntaxError(f"{word} must not contain an aggregate", text, value.span)
    if isinstance(value, ast.Literal):
        is_count = isinstance(value.value, int) and not isinstance(value.value, bool)
        if not is_count or value.value < 0:
            message = f"{word} must be a non-negative integer, not {value.span.of(text)}"
            raise CypherSyntaxError(message, text, value.span)
        return value
    kind = TypeChecker(text, {}).kind(value)
    if kind not in _COUNT_KINDS:
        message = f"Type mismatch: {word} expected Integer but was {kind}"
        raise CypherSyntaxError(message, text, value.span)
    return value
