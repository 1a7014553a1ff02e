"""Renders expressions, labels and types as Cypher text."""

from __future__ import annotations

import re
from typing import Final

from gpugda.query import ast
from gpugda.query.render_values import WRITERS, joined, name_text, text_of, value_text

__all__ = ["labels_text"]

_COMPOUND: Final = (
    ast.Unary
    | ast.Binary
    | ast.Comparison
    | ast.LabelPredicate
    | ast.TypePredicate
    | ast.NormalizedPredicate
    | ast.Case
    | ast.PatternExpression
)
"""Expressions that need parentheses as operands."""

_LEFT_ASSOCIATIVE: Final = (
    ast.BinaryOperator.ADD,
    ast.BinaryOperator.MULTIPLY,
    ast.BinaryOperator.CONCATENATE,
)
"""Long chains of these are rendered without parentheses, whose nesting is limited. Minus is not
among them: ``(a:A) - [b] - (c:C)`` is a path."""

_WITH_KEYWORD: Final = {"normalize": 2, "vector": 3, "vector_distance": 3, "vector_norm": 2}
"""Functions whose last argument is a keyword, with their number of arguments in this form."""
_KEYWORD: Final = re.compile(r"[A-Z][A-Z0-9_]*(?: NOT NULL)?")


# ------------------------------------------------------------------ labels
def labels_text(labels: ast.LabelExpression) -> str:
    """A label expression, without the colon."""
    return text_of(labels)


def _label_operand(labels: ast.LabelExpression) -> str:
    text = text_of(labels)
    return f"({text})" if isinstance(labels, ast.LabelAnd | ast.LabelOr) else text


def _label_and(labels: ast.LabelAnd) -> str:
    return (":" if labels.colon else "&").join(map(_label_operand, labels.operands))


def _dynamic_label(labels: ast.LabelDynamic) -> str:
    return f"${'any' if labels.any else ''}({text_of(labels.expression)})"


# ------------------------------------------------------------------ operators
def _operand(node: ast.Expression) -> str:
    text = text_of(node)
    return f"({text})" if isinstance(node, _COMPOUND) else text


def _unary(node: ast.Unary) -> str:
    operand = _operand(node.operand)
    if node.operator in (ast.UnaryOperator.IS_NULL, ast.UnaryOperator.IS_NOT_NULL):
        return f"{operand} {node.operator}"
    if node.operator is ast.UnaryOperator.NOT:
        return f"NOT {operand}"
    # A sign directly before a number would be parsed as part of it.
    return (
        f"{node.operator}({operand})"
        if isinstance(node.operand, ast.Literal)
        else (f"{node.operator}{operand}")
    )


def _binary(node: ast.Binary) -> str:
    left, chain = node.left, [_operand(node.right)]
    if node.operator in _LEFT_ASSOCIATIVE:
        while isinstance(left, ast.Binary) and left.operator is node.operator:
            chain.append(_operand(left.right))
            left = left.left
    chain.append(_operand(left))
    return f" {node.operator} ".join(reversed(chain))


def _comparison(node: ast.Comparison) -> str:
    parts = [_operand(node.operands[0])]
    for operator, operand in zip(node.operators, node.operands[1:], strict=True):
        parts += [operator, _operand(operand)]
    return " ".join(parts)


def _type_predicate(node: ast.TypePredicate) -> str:
    negated = "NOT " if node.negated else ""
    return f"{_operand(node.operand)} IS {negated}TYPED {text_of(node.type)}"


def _normalized_predicate(node: ast.NormalizedPredicate) -> str:
    negated = "NOT " if node.negated else ""
    return f"{_operand(node.operand)} IS {negated}{node.form} NORMALIZED"


# ------------------------------------------------------------------ parts and calls
def _subject(node: ast.Expression) -> str:
    # A number directly before the dot would be parsed as a float.
    text = _operand(node)
    return f"({text})" if isinstance(node, ast.Literal) else text


def _slice(node: ast.Slice) -> str:
    start = "" if node.start is None else text_of(node.start)
    end = "" if node.end is None else text_of(node.end)
    return f"{_operand(node.subject)}[{start}..{end}]"


def _call(node: ast.FunctionCall) -> str:
    distinct = "DISTINCT " if node.distinct else ""
    arguments = [*map(text_of, node.arguments)]
    if _WITH_KEYWORD.get(node.name.lower()) == len(arguments):
        last = node.arguments[-1]
        if isinstance(last, ast.Literal) and _KEYWORD.fullmatch(str(last.value)):
            arguments[-1] = last.value
    name = ".".join(_plain(part) for part in node.name.split("."))
    return f"{name}({distinct}{', '.join(arguments)})"


def _plain(part: str) -> str:
    # Keywords such as count and exists are function names, too.
    return part if re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", part) else name_text(part)


def _trim(node: ast.Trim) -> str:
    characters = None if node.characters is None else _operand(node.characters)
    return f"trim({joined(node.side, characters, 'FROM', _operand(node.subject))})"


def _list(node: ast.ListLiteral) -> str:
    items = [*map(text_of, node.items)]
    if node.items and _is_in(node.items[0]):
        items[0] = f"({items[0]})"  # otherwise it would be a comprehension
    return f"[{', '.join(items)}]"


def _is_in(node: ast.Expression) -> bool:
    return isinstance(node, ast.Binary) and node.operator is ast.BinaryOperator.IN


def _map(node: ast.MapLiteral) -> str:
    entries = (f"{name_text(key)}: {text_of(value)}" for key, value in node.entries)
    return f"{{{', '.join(entries)}}}"


def _map_projection(node: ast.MapProjection) -> str:
    return f"{text_of(node.subject)} {{{', '.join(map(text_of, node.selectors))}}}"


# ------------------------------------------------------------------ CASE
def _case(node: ast.Case) -> str:
    pieces = ["CASE" if node.operand is None else f"CASE {_operand(node.operand)}"]
    for alternative in node.alternatives:
        write = text_of if node.operand is None else _condition
        conditions = ", ".join(map(write, alternative.conditions))
        pieces.append(f"WHEN {conditions} THEN {text_of(alternative.result)}")
    if node.otherwise is not None:
        pieces.append(f"ELSE {text_of(node.otherwise)}")
    return joined(*pieces, "END")


def _condition(node: ast.Expression) -> str:
    """A condition of a CASE with an operand, without that operand."""
    if isinstance(node, ast.Comparison) and node.operators == (ast.ComparisonOperator.EQUAL,):
        # In parentheses, as a value that begins like an operator would be parsed as one.
        return _operand(node.operands[1])
    return text_of(node).lstrip()


# ------------------------------------------------------------------ lists
def _comprehension(node: ast.ListComprehension) -> str:
    where = None if node.where is None else f"WHERE {_operand(node.where)}"
    bar = None if node.projection is None else f"| {_operand(node.projection)}"
    return f"[{joined(_element(node.variable, node.elements), where, bar)}]"


def _pattern_comprehension(node: ast.PatternComprehension) -> str:
    where = None if node.where is None else f"WHERE {_operand(node.where)}"
    return f"[{joined(text_of(node.pattern), where, '|', _operand(node.projection))}]"


def _list_predicate(node: ast.ListPredicate) -> str:
    element = _element(node.variable, node.elements)
    return f"{node.quantifier}({element} WHERE {text_of(node.where)})"


def _reduce(node: ast.Reduce | ast.AllReduce) -> str:
    start = f"{text_of(node.accumulator)} = {_operand(node.initial)}"
    text = f"{start}, {_element(node.variable, node.elements)} | {_operand(node.step)}"
    if isinstance(node, ast.AllReduce):
        return f"allReduce({text}, {text_of(node.predicate)})"
    return f"reduce({text})"


def _element(variable: ast.Variable, elements: ast.Expression) -> str:
    return f"{text_of(variable)} IN {_operand(elements)}"


# ------------------------------------------------------------------ types
def _union_type(node: ast.UnionType) -> str:
    return " | ".join(map(_alternative, node.alternatives))


def _alternative(node: ast.CypherType) -> str:
    return f"ANY<{text_of(node)}>" if isinstance(node, ast.UnionType) else text_of(node)


def _vector_type(node: ast.VectorType) -> str:
    coordinate = "" if node.coordinate is None else f"<{text_of(node.coordinate)}>"
    dimension = "" if node.dimension is None else f"({node.dimension})"
    return f"VECTOR{coordinate}{dimension}{_not_null(node)}"


def _not_null(node: ast.SimpleType | ast.ListType | ast.VectorType) -> str:
    return " NOT NULL" if node.not_null else ""


WRITERS.update(
    {
        ast.LabelName: lambda node: name_text(node.name),
        ast.LabelWildcard: lambda _: "%",
        ast.LabelNot: lambda node: f"!{_label_operand(node.operand)}",
        ast.LabelAnd: _label_and,
        ast.LabelOr: lambda node: "|".join(map(_label_operand, node.operands)),
        ast.LabelDynamic: _dynamic_label,
        ast.Literal: lambda node: value_text(node.value),
        ast.Parameter: lambda node: f"${name_text(node.name)}",
        ast.Variable: lambda node: name_text(node.name),
        ast.Property: lambda node: f"{_subject(node.subject)}.{name_text(node.key)}",
        ast.Subscript: lambda node: f"{_operand(node.subject)}[{text_of(node.index)}]",
        ast.Slice: _slice,
        ast.ListLiteral: _list,
        ast.MapLiteral: _map,
        ast.Unary: _unary,
        ast.Binary: _binary,
        ast.Comparison: _comparison,
        ast.LabelPredicate: lambda node: f"{_operand(node.subject)}:{text_of(node.labels)}",
        ast.TypePredicate: _type_predicate,
        ast.NormalizedPredicate: _normalized_predicate,
        ast.FunctionCall: _call,
        ast.CountStar: lambda _: "count(*)",
        ast.Trim: _trim,
        ast.Case: _case,
        ast.CaseOperand: lambda _: "",
        ast.ListComprehension: _comprehension,
        ast.PatternComprehension: _pattern_comprehension,
        ast.ListPredicate: _list_predicate,
        ast.Reduce: _reduce,
        ast.AllReduce: _reduce,
        ast.MapProjection: _map_projection,
        ast.MapProperty: lambda node: f".{name_text(node.key)}",
        ast.MapAllProperties: lambda _: ".*",
        ast.MapEntry: lambda node: f"{name_text(node.key)}: {text_of(node.value)}",
        ast.MapVariable: lambda node: text_of(node.variable),
        ast.PatternExpression: lambda node: text_of(node.pattern),
        ast.ShortestPathExpression: lambda node: text_of(node.pattern),
        ast.ExistsSubquery: lambda node: f"EXISTS {{ {text_of(node.query)} }}",
        ast.CountSubquery: lambda node: f"COUNT {{ {text_of(node.query)} }}",
        ast.CollectSubquery: lambda node: f"COLLECT {{ {text_of(node.query)} }}",
        ast.SimpleType: lambda node: node.name + _not_null(node),
        ast.ListType: lambda node: f"LIST<{text_of(node.element)}>{_not_null(node)}",
        ast.VectorType: _vector_type,
        ast.UnionType: _union_type,
    }
)
