"""Syntax nodes back to Cypher text."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

from gpugda.query import ast
from gpugda.query.keywords import CLAUSE_STARTS, COMMANDS, FOLLOWS_OPERAND, words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["expression_text", "labels_text", "name_text", "value_text", "with_colons"]

_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED_WORDS: Final = (
    CLAUSE_STARTS
    | COMMANDS
    | {word for word in FOLLOWS_OPERAND if word.isalpha()}
    | words(
        "ALL ANY CASE COLLECT COUNT CYPHER DISTINCT EXISTS EXPLAIN FALSE INF INFINITY NAN NONE NOT"
        " NULL PROFILE REDUCE SHORTEST SINGLE TRUE TYPED"
    )
)
"""Words that could be read as something else in one place or another."""

_ESCAPES: Final = {
    "\\": "\\\\",
    "'": "\\'",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\b": "\\b",
    "\f": "\\f",
}
_TO_ESCAPE: Final = re.compile(r"[\\'\x00-\x1f\x7f]")


def name_text(name: str) -> str:
    """A name, between backticks where it needs them."""
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in _QUOTED_WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def with_colons(names: Iterable[str]) -> str:
    """Labels or types for a sentence, each as Cypher writes it: ``:Person, :`odd name```."""
    return ", ".join(f":{name_text(name)}" for name in names)


def value_text(value: Any) -> str:
    """A literal. Lists and tuples are lists of literals."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"'{_TO_ESCAPE.sub(_escaped, value)}'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


# ------------------------------------------------------------------ labels
def labels_text(labels: ast.LabelExpression) -> str:
    """What follows the colon."""
    if isinstance(labels, ast.LabelName):
        return name_text(labels.name)
    if isinstance(labels, ast.LabelWildcard):
        return "%"
    if isinstance(labels, ast.LabelNot):
        return f"!{_label_operand(labels.operand)}"
    if isinstance(labels, ast.LabelAnd):
        return "&".join(map(_label_operand, labels.operands))
    if isinstance(labels, ast.LabelOr):
        return "|".join(map(_label_operand, labels.operands))
    assert isinstance(labels, ast.LabelDynamic)
    return f"$({expression_text(labels.expression)})"


def _label_operand(labels: ast.LabelExpression) -> str:
    text = labels_text(labels)
    return f"({text})" if isinstance(labels, ast.LabelAnd | ast.LabelOr) else text


# ------------------------------------------------------------------ expressions
def expression_text(node: ast.Expression) -> str:
    """An expression as Cypher; reading it gives the same tree.

    Raises:
        KeyError: The expression is of a kind that no query here may have.
    """
    return _WRITERS[type(node)](node)


def _operand(node: ast.Expression) -> str:
    text = expression_text(node)
    compound = ast.Unary | ast.Binary | ast.Comparison | ast.LabelPredicate
    return f"({text})" if isinstance(node, compound) else text


def _unary(node: ast.Unary) -> str:
    operand = _operand(node.operand)
    if node.operator in (ast.UnaryOperator.IS_NULL, ast.UnaryOperator.IS_NOT_NULL):
        return f"{operand} {node.operator}"
    blank = " " if node.operator is ast.UnaryOperator.NOT else ""
    return f"{node.operator}{blank}{operand}"


def _comparison(node: ast.Comparison) -> str:
    parts = [_operand(node.operands[0])]
    for operator, operand in zip(node.operators, node.operands[1:], strict=True):
        parts += [operator, _operand(operand)]
    return " ".join(parts)


def _call(node: ast.FunctionCall) -> str:
    distinct = "DISTINCT " if node.distinct else ""
    return f"{node.name}({distinct}{', '.join(map(expression_text, node.arguments))})"


def _map(node: ast.MapLiteral) -> str:
    entries = (f"{name_text(key)}: {expression_text(value)}" for key, value in node.entries)
    return f"{{{', '.join(entries)}}}"


def _property(node: ast.Property) -> str:
    # A number before the dot would be read as a part of it.
    subject = _operand(node.subject)
    if isinstance(node.subject, ast.Literal):
        subject = f"({subject})"
    return f"{subject}.{name_text(node.key)}"


_WRITERS: Final[Mapping[type, Callable[[Any], str]]] = {
    ast.Literal: lambda node: value_text(node.value),
    ast.Parameter: lambda node: f"${name_text(node.name)}",
    ast.Variable: lambda node: name_text(node.name),
    ast.Property: _property,
    ast.ListLiteral: lambda node: f"[{', '.join(map(expression_text, node.items))}]",
    ast.MapLiteral: _map,
    ast.Unary: _unary,
    ast.Binary: lambda node: f"{_operand(node.left)} {node.operator} {_operand(node.right)}",
    ast.Comparison: _comparison,
    ast.LabelPredicate: lambda node: f"{_operand(node.subject)}:{labels_text(node.labels)}",
    ast.FunctionCall: _call,
    ast.CountStar: lambda _: "count(*)",
}
