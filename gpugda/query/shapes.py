"""Comparing and rewriting expressions: textual equality, and replacement of parts."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from gpugda.deadline import check_time
from gpugda.query import ast
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator

__all__ = [
    "QUERIES",
    "all_names",
    "conjuncts",
    "is_dynamic",
    "join_by_ampersand",
    "label_conjuncts",
    "rewrite",
    "rewrite_in_scopes",
    "shape",
    "substitute",
    "variable_names",
]


QUERIES: Final = (
    ast.Subquery,
    ast.PatternExpression,
    ast.PatternComprehension,
    ast.ShortestPathExpression,
)
"""Expressions that find rows of their own."""


def shape(node: ast.Node) -> Hashable:
    """A key that is equal for expressions which Neo4j considers the same text.

    Spaces, parentheses and the case of function names are ignored; ``1``, ``1.0`` and ``true``
    have different keys (Python's equality would merge them).
    """
    if isinstance(node, ast.Variable):
        return node.name
    if isinstance(node, ast.Literal):
        return ("literal", type(node.value).__name__, repr(node.value))
    if isinstance(node, ast.FunctionCall):
        arguments = tuple(shape(argument) for argument in node.arguments)
        return ("call", node.name.lower(), node.distinct, arguments)
    return (type(node).__name__, *(_part_shape(getattr(node, n)) for n in _names(node)))


def _part_shape(part: Any) -> Hashable:
    if isinstance(part, ast.Node):
        return shape(part)
    if isinstance(part, tuple):
        return tuple(_part_shape(item) for item in part)
    key: Hashable = part
    return key


def rewrite(
    node: ast.Expression, change: Callable[[ast.Expression], ast.Expression | None]
) -> ast.Expression:
    """The expression with parts replaced, from the outside in.

    Args:
        node: The expression.
        change: Returns the replacement of a part, or None to descend into it. It is not called for
            label expressions.
    """
    changed = change(node)
    if changed is not None:
        return changed
    new: dict[str, Any] = {}
    for name in _names(node):
        old = getattr(node, name)
        if isinstance(old, ast.Expression):
            new[name] = rewrite(old, change)
        elif isinstance(old, tuple):
            new[name] = tuple(_rewrite_item(item, change) for item in old)
    return replace(node, **new) if new else node


def _rewrite_item(item: Any, change: Callable[[ast.Expression], ast.Expression | None]) -> Any:
    if isinstance(item, ast.Expression):
        return rewrite(item, change)
    if isinstance(item, ast.CaseAlternative | ast.MapEntry):
        parts = {name: _rewrite_item(getattr(item, name), change) for name in _names(item)}
        return replace(item, **parts)
    if isinstance(item, tuple):  # a map entry
        return tuple(_rewrite_item(part, change) for part in item)
    return item


def substitute(
    node: ast.Expression,
    change: Callable[[ast.Expression], ast.Expression | None],
    visible: Collection[str] | None = None,
) -> ast.Expression:
    """The expression with values put for parts: `rewrite` that respects scopes.

    A name that a comprehension, list predicate, reduce or pattern comprehension declares hides the
    outer variable: its declaration and what reads it are left as they are.

    Args:
        node: The expression.
        change: As for `rewrite`.
        visible: Variables that a pattern comprehension does not declare anew; None to leave
            everything as it is where such names are in scope.
    """

    def put(part: ast.Expression, declared: frozenset[str]) -> ast.Expression | None:
        if declared and not declared.isdisjoint(variable_names(part)):
            return None
        return change(part)

    return rewrite_in_scopes(node, put, visible)


def rewrite_in_scopes(
    node: ast.Expression,
    change: Callable[[ast.Expression, frozenset[str]], ast.Expression | None],
    visible: Collection[str] | None = None,
    declared: frozenset[str] = frozenset(),
) -> ast.Expression:
    """Like `substitute`, but ``change`` also gets the names declared around a part."""

    def put(part: ast.Expression) -> ast.Expression | None:
        changed = change(part, declared)
        own = _declared_by(part, visible) if changed is None else None
        return changed if own is None else _within(part, own)

    def _within(part: Any, own: frozenset[str]) -> ast.Expression:
        new: dict[str, Any] = {}
        for name in _names(part):
            old = getattr(part, name)
            if not isinstance(old, ast.Expression) or name in ("variable", "accumulator"):
                continue
            if name in ("elements", "initial"):
                new[name] = rewrite_in_scopes(old, change, visible, declared)
            elif visible is not None:
                new[name] = rewrite_in_scopes(old, change, visible, declared | own)
        made: ast.Expression = replace(part, **new)
        return made

    return rewrite(node, put)


def _declared_by(node: Any, visible: Collection[str] | None) -> frozenset[str] | None:
    """The names that a node declares; None if it is none that declares names."""
    if isinstance(node, _DECLARING):
        return _own_names(node)
    if isinstance(node, ast.PatternComprehension):
        return variable_names(node.pattern).difference(visible or ())
    return None


def variable_names(node: ast.Node) -> frozenset[str]:
    """Names of the variables that an expression reads, without those that it declares itself.

    All names in patterns and subqueries count, as the context determines which ones are new.
    """
    found: set[str] = set()
    stack: list[Any] = [node]
    while stack:
        part = stack.pop()
        check_time()
        if isinstance(part, ast.Variable):
            found.add(part.name)
        elif isinstance(part, _DECLARING):
            stack.extend(_around(part))
            found |= _inside(part)
        elif isinstance(part, ast.Node):
            stack.extend(getattr(part, name) for name in _names(part))
        elif isinstance(part, tuple):
            stack.extend(part)
    return frozenset(found)


def all_names(expressions: Iterable[ast.Node]) -> frozenset[str]:
    """Variables that expressions read, including all names in subqueries and patterns."""
    return frozenset().union(*map(variable_names, expressions))


_DECLARING = (ast.ListComprehension, ast.ListPredicate, ast.Reduce, ast.AllReduce)


def _around(node: Any) -> tuple[ast.Expression, ...]:
    """The parts of a node in which its own variables are not visible."""
    initial = getattr(node, "initial", None)
    return (node.elements,) if initial is None else (node.elements, initial)


def _inside(node: Any) -> frozenset[str]:
    """Variables that the other parts read, without the node's own variables."""
    names = ("where", "projection", "step", "predicate")
    parts = [part for name in names if (part := getattr(node, name, None)) is not None]
    return (
        frozenset().union(*map(variable_names, parts)) - _own_names(node) if parts else frozenset()
    )


def _own_names(node: Any) -> frozenset[str]:
    accumulator = getattr(node, "accumulator", None)
    return frozenset({node.variable.name, *(each.name for each in (accumulator,) if each)})


def conjuncts(expression: ast.Expression) -> Iterator[ast.Expression]:
    """The conjuncts of an expression, in written order."""
    if isinstance(expression, ast.Binary) and expression.operator is ast.BinaryOperator.AND:
        yield from conjuncts(expression.left)
        yield from conjuncts(expression.right)
    else:
        yield expression


def is_dynamic(labels: ast.LabelExpression) -> bool:
    """True if an expression has dynamic labels or types, known only at run time."""
    return any(isinstance(part, ast.LabelDynamic) for part in walk(labels))


def join_by_ampersand(expression: ast.Expression) -> ast.Expression:
    """The expression with ``a:A:B`` as ``a:A&B``, which can be combined with all other syntax."""
    spelt = (part for part in walk(expression) if isinstance(part, ast.LabelAnd))
    if not any(part.colon for part in spelt):
        return expression
    return rewrite(expression, _ampersand_predicate)


def _ampersand_predicate(part: ast.Expression) -> ast.Expression | None:
    if not isinstance(part, ast.LabelPredicate) or not isinstance(part.labels, ast.LabelAnd):
        return None
    return replace(part, labels=replace(part.labels, colon=False))


_NAMES: dict[type, tuple[str, ...]] = {}


def _names(node: ast.Node) -> tuple[str, ...]:
    kind = type(node)
    if kind not in _NAMES:
        _NAMES[kind] = tuple(field.name for field in fields(node) if field.name != "span")
    return _NAMES[kind]


def label_conjuncts(labels: ast.LabelExpression | None) -> list[ast.LabelExpression]:
    """The conjuncts of a label expression; empty for None."""
    if labels is None:
        return []
    if not isinstance(labels, ast.LabelAnd):
        return [labels]
    return [part for operand in labels.operands for part in label_conjuncts(operand)]
