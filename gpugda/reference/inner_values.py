"""Values of expressions with inner variables, patterns or subqueries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda import values
from gpugda.deadline import check_time
from gpugda.expressions.functions.text import trimmed
from gpugda.expressions.operators import access
from gpugda.expressions.operators.maps import projected
from gpugda.query import ast
from gpugda.reference.match import PatternMatcher
from gpugda.reference.shortest import shortest_paths
from gpugda.reference.trees import Row, extended

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gpugda.reference.evaluator import Evaluator

__all__ = ["METHODS"]

_CASE = ("the operand of CASE",)


# ------------------------------------------------------------------ parts of values
def _list_literal(evaluator: Evaluator, node: ast.ListLiteral, row: Row) -> list[Any]:
    return [evaluator.value(item, row) for item in node.items]


def _map_literal(evaluator: Evaluator, node: ast.MapLiteral, row: Row) -> dict[str, Any]:
    return {key: evaluator.value(item, row) for key, item in node.entries}


def _subscript(evaluator: Evaluator, node: ast.Subscript, row: Row) -> Any:
    return access.subscript(
        evaluator.value(node.subject, row), evaluator.value(node.index, row), evaluator.context
    )


def _slice(evaluator: Evaluator, node: ast.Slice, row: Row) -> Any:
    bounds = [
        ... if each is None else evaluator.value(each, row) for each in (node.start, node.end)
    ]
    return access.slice_of(evaluator.value(node.subject, row), *bounds)


def _trim(evaluator: Evaluator, node: ast.Trim, row: Row) -> Any:
    characters = ... if node.characters is None else evaluator.value(node.characters, row)
    return trimmed(str(node.side), characters, evaluator.value(node.subject, row))


def _map_projection(evaluator: Evaluator, node: ast.MapProjection, row: Row) -> Any:
    parts = [_selected(evaluator, selector, row) for selector in node.selectors]
    return projected(evaluator.value(node.subject, row), parts, evaluator.context)


def _selected(evaluator: Evaluator, selector: ast.MapSelector, row: Row) -> tuple[str | None, Any]:
    if isinstance(selector, ast.MapEntry):
        return selector.key, evaluator.value(selector.value, row)
    if isinstance(selector, ast.MapVariable):
        return selector.variable.name, evaluator.value(selector.variable, row)
    return (selector.key if isinstance(selector, ast.MapProperty) else None), ...


# ------------------------------------------------------------------ CASE
def _case(evaluator: Evaluator, node: ast.Case, row: Row) -> Any:
    if node.operand is not None:
        row = extended(row, _CASE, evaluator.value(node.operand, row))  # type: ignore[arg-type] # no name
    for alternative in node.alternatives:
        if any(evaluator.holds(condition, row) for condition in alternative.conditions):
            return evaluator.value(alternative.result, row)
    return None if node.otherwise is None else evaluator.value(node.otherwise, row)


# ------------------------------------------------------------------ lists
def _elements(evaluator: Evaluator, node: ast.Expression, row: Row) -> list[Any] | None:
    """The elements of a list; a value that is not a list counts as a list of itself."""
    found = evaluator.value(node, row)
    return found if found is None or isinstance(found, list) else [found]


def _list_comprehension(evaluator: Evaluator, node: ast.ListComprehension, row: Row) -> Any:
    elements = _elements(evaluator, node.elements, row)
    if elements is None:
        return None
    kept = []
    for element in elements:
        inner = extended(row, node.variable.name, element)
        if node.where is None or evaluator.holds(node.where, inner):
            kept.append(
                element if node.projection is None else evaluator.value(node.projection, inner)
            )
    return kept


def _list_predicate(evaluator: Evaluator, node: ast.ListPredicate, row: Row) -> bool | None:
    elements = _elements(evaluator, node.elements, row)
    if elements is None:
        return None
    truths = (
        evaluator.truth(node.where, extended(row, node.variable.name, element))
        for element in elements
    )
    return _QUANTIFIED[node.quantifier](truths)


def _all(truths: Iterator[bool | None]) -> bool | None:
    result: bool | None = True
    for truth in truths:
        result = values.and_(result, truth)
        if result is False:
            return False
    return result


def _any(truths: Iterator[bool | None]) -> bool | None:
    return values.not_(_all(map(values.not_, truths)))


def _single(truths: Iterator[bool | None]) -> bool | None:
    hits = nulls = 0
    for truth in truths:
        hits, nulls = hits + (truth is True), nulls + (truth is None)
        if hits > 1:
            return False
    return None if nulls else hits == 1


_QUANTIFIED: dict[ast.ListQuantifier, Callable[[Iterator[bool | None]], bool | None]] = {
    ast.ListQuantifier.ALL: _all,
    ast.ListQuantifier.ANY: _any,
    ast.ListQuantifier.NONE: lambda truths: values.not_(_any(truths)),
    ast.ListQuantifier.SINGLE: _single,
}


def _steps(
    evaluator: Evaluator, node: ast.Reduce | ast.AllReduce, row: Row
) -> Iterator[Row] | None:
    """The row after each element, with the accumulator's new value."""
    elements = _elements(evaluator, node.elements, row)
    if elements is None:
        return None
    name = node.accumulator.name

    def accumulated(current: Row) -> Iterator[Row]:
        for element in elements:
            check_time()
            value = evaluator.value(node.step, extended(current, node.variable.name, element))
            current = extended(current, name, value)
            yield current

    return accumulated(extended(row, name, evaluator.value(node.initial, row)))


def _reduce(evaluator: Evaluator, node: ast.Reduce, row: Row) -> Any:
    steps = _steps(evaluator, node, row)
    if steps is None:
        return None
    last = None
    for last in steps:  # noqa: B007 # only the last one is needed
        pass
    return evaluator.value(node.initial, row) if last is None else last[node.accumulator.name]


def _all_reduce(evaluator: Evaluator, node: ast.AllReduce, row: Row) -> bool | None:
    steps = _steps(evaluator, node, row)
    if steps is None:
        return None
    return _all(evaluator.truth(node.predicate, current) for current in steps)


# ------------------------------------------------------------------ patterns
def _visible(row: Mapping[Any, Any]) -> Row:
    return {name: value for name, value in row.items() if isinstance(name, str)}


def _matches(evaluator: Evaluator, pattern: ast.Pattern, row: Row) -> Iterator[Row]:
    start = _visible(row)
    place = "pattern", id(pattern), frozenset(start)
    if place not in evaluator.memo:
        evaluator.memo[place] = PatternMatcher((pattern,), evaluator, frozenset(start))
    matcher: PatternMatcher = evaluator.memo[place]
    return matcher.matches(start)


def _pattern(evaluator: Evaluator, node: ast.PatternExpression, row: Row) -> bool:
    return any(True for _ in _matches(evaluator, node.pattern, row))


def _pattern_comprehension(
    evaluator: Evaluator, node: ast.PatternComprehension, row: Row
) -> list[Any]:
    return [
        evaluator.value(node.projection, found)
        for found in _matches(evaluator, node.pattern, row)
        if node.where is None or evaluator.holds(node.where, found)
    ]


def _shortest(evaluator: Evaluator, node: ast.ShortestPathExpression, row: Row) -> Any:
    selector = node.pattern.selector
    wants_all = selector is not None and selector.kind is ast.SelectorKind.ALL_SHORTEST_PATHS
    first, _, last = node.pattern.elements
    ends = [evaluator.value(each.variable, row) for each in (first, last)]  # type: ignore[union-attr, arg-type] # checked: bound nodes
    if None in ends:
        return None
    found = shortest_paths(evaluator, node.pattern, _visible(row), (ends[0], ends[1]))
    paths = [path for path, _ in found]
    if wants_all:
        return paths
    return paths[0] if paths else None


# ------------------------------------------------------------------ queries
def _rows(evaluator: Evaluator, node: ast.Subquery, row: Row) -> Iterator[list[Any]]:
    if evaluator.rows_of is None:
        raise evaluator.unsupported("a query inside an expression", node)
    return evaluator.rows_of(node.query, _visible(row))


def _exists(evaluator: Evaluator, node: ast.ExistsSubquery, row: Row) -> bool:
    return any(True for _ in _rows(evaluator, node, row))


def _count(evaluator: Evaluator, node: ast.CountSubquery, row: Row) -> int:
    return sum(1 for _ in _rows(evaluator, node, row))


def _collect(evaluator: Evaluator, node: ast.CollectSubquery, row: Row) -> list[Any]:
    return [found[0] for found in _rows(evaluator, node, row)]


METHODS: dict[type, Callable[[Evaluator, Any, Any], Any]] = {
    ast.ListLiteral: _list_literal,
    ast.MapLiteral: _map_literal,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Trim: _trim,
    ast.MapProjection: _map_projection,
    ast.Case: _case,
    ast.CaseOperand: lambda evaluator, node, row: row[_CASE],
    ast.ListComprehension: _list_comprehension,
    ast.ListPredicate: _list_predicate,
    ast.Reduce: _reduce,
    ast.AllReduce: _all_reduce,
    ast.PatternExpression: _pattern,
    ast.PatternComprehension: _pattern_comprehension,
    ast.ShortestPathExpression: _shortest,
    ast.ExistsSubquery: _exists,
    ast.CountSubquery: _count,
    ast.CollectSubquery: _collect,
}
