"""Renders patterns as Cypher text."""

from __future__ import annotations

from typing import Final

from gpugda.query import ast
from gpugda.query.render_values import WRITERS, joined, text_of

__all__: list[str] = []

_FUNCTIONS: Final = (ast.SelectorKind.SHORTEST_PATH, ast.SelectorKind.ALL_SHORTEST_PATHS)
_ARROWS: Final = {
    ast.Direction.OUTGOING: ("-", "->"),
    ast.Direction.INCOMING: ("<-", "-"),
    ast.Direction.BOTH: ("-", "-"),
}


def _pattern(pattern: ast.Pattern) -> str:
    path = "".join(map(text_of, pattern.elements))
    selector = pattern.selector
    if selector is not None:
        call = selector.kind in _FUNCTIONS
        path = f"{selector.kind}({path})" if call else f"{text_of(selector)} {path}"
    return path if pattern.variable is None else f"{text_of(pattern.variable)} = {path}"


def _selector(selector: ast.Selector) -> str:
    if selector.count is None:
        return str(selector.kind)
    count = selector.count if isinstance(selector.count, int) else text_of(selector.count)
    groups = selector.kind is ast.SelectorKind.SHORTEST_GROUPS
    word = "SHORTEST" if groups else selector.kind
    return f"{word} {count} {'GROUPS' if groups else 'PATHS'}"


def _node(node: ast.NodePattern) -> str:
    return f"({_filled(node, _labelled(node.variable, node.labels))})"


def _relationship(node: ast.RelationshipPattern) -> str:
    inside = _labelled(node.variable, node.types)
    if node.length is not None:
        inside += text_of(node.length)
    inside = _filled(node, inside)
    left, right = _ARROWS[node.direction]
    quantifier = "" if node.quantifier is None else text_of(node.quantifier)
    # Without brackets, '--' or '-->' remains.
    return f"{left}{f'[{inside}]' if inside else ''}{right}{quantifier}"


def _labelled(variable: ast.Variable | None, labels: ast.LabelExpression | None) -> str:
    name = "" if variable is None else text_of(variable)
    return name if labels is None else f"{name}:{text_of(labels)}"


def _filled(node: ast.NodePattern | ast.RelationshipPattern, inside: str) -> str:
    # In parentheses, as in (WHERE $map) the keyword would be parsed as a variable.
    properties = None if node.properties is None else text_of(node.properties)
    where = None if node.where is None else f"WHERE ({text_of(node.where)})"
    return joined(inside, properties, where)


def _length(length: ast.Length) -> str:
    low = "" if length.minimum is None else str(length.minimum)
    high = "" if length.maximum is None else str(length.maximum)
    return f"*{low}" if low == high else f"*{low}..{high}"


def _quantifier(quantifier: ast.Quantifier) -> str:
    low, high = quantifier.minimum, quantifier.maximum
    if high is None and low <= 1:
        return "+" if low else "*"
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _group(group: ast.GroupPattern) -> str:
    where = None if group.where is None else f"WHERE {text_of(group.where)}"
    quantifier = "" if group.quantifier is None else text_of(group.quantifier)
    return f"({joined(text_of(group.pattern), where)}){quantifier}"


WRITERS.update(
    {
        ast.Pattern: _pattern,
        ast.Selector: _selector,
        ast.NodePattern: _node,
        ast.RelationshipPattern: _relationship,
        ast.Length: _length,
        ast.Quantifier: _quantifier,
        ast.GroupPattern: _group,
    }
)
