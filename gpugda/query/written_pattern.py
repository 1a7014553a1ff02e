"""The patterns of a MATCH clause in the format of Neo4j's messages."""

from __future__ import annotations

from gpugda.query import ast
from gpugda.query.render import expression_text, labels_text, name_text

__all__ = ["written_pattern"]


def written_pattern(match: ast.Match) -> str:
    """All patterns of a clause, without MATCH and WHERE."""
    return ", ".join(map(_path, match.patterns))


def _path(pattern: ast.Pattern) -> str:
    name = "" if pattern.variable is None else f"{name_text(pattern.variable.name)} = "
    return name + "".join(map(_element, pattern.elements))


def _element(element: ast.PatternElement) -> str:
    if isinstance(element, ast.NodePattern):
        return f"({_inside(element, element.labels, '')})"
    if isinstance(element, ast.RelationshipPattern):
        return _relationship(element)
    return f"({_path(element.pattern)})"


def _relationship(element: ast.RelationshipPattern) -> str:
    inside = _inside(element, element.types, _length(element.length))
    left = "<-" if element.direction is ast.Direction.INCOMING else "-"
    right = "->" if element.direction is ast.Direction.OUTGOING else "-"
    return f"{left}[{inside}]{right}" if inside else f"{left}{right}"


def _inside(
    element: ast.NodePattern | ast.RelationshipPattern,
    labels: ast.LabelExpression | None,
    length: str,
) -> str:
    name = "" if element.variable is None else name_text(element.variable.name)
    if labels is not None:
        name += f":{_labels(labels)}"
    parts = [name + length]
    if element.properties is not None:
        parts.append(_properties(element.properties))
    if element.where is not None:
        parts.append(f"WHERE {expression_text(element.where)}")
    return " ".join(part for part in parts if part)


def _properties(properties: ast.MapLiteral | ast.Parameter) -> str:
    return expression_text(properties)


def _labels(labels: ast.LabelExpression) -> str:
    if isinstance(labels, ast.LabelAnd) and labels.colon:
        return ":".join(map(labels_text, labels.operands))
    return labels_text(labels)


def _length(length: ast.Length | None) -> str:
    if length is None:
        return ""
    if length.minimum is None and length.maximum is None:
        return "*"
    low, high = length.minimum, length.maximum
    return f"*{'' if low is None else low}..{'' if high is None else high}"
