"""Text form of a logical tree, and of what each rule makes of it."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from gpugda.errors import ConfigurationError
from gpugda.plan.facts import Facts
from gpugda.plan.logical import children_of
from gpugda.plan.optimizer import optimise
from gpugda.query import ast
from gpugda.query.query_graph import (
    AggregateReference,
    ColumnReference,
    KeyReference,
    OutputColumn,
    QueryGraph,
    SortKey,
    is_anonymous,
)
from gpugda.query.render import expression_text, text_of
from gpugda.query.shapes import rewrite

if TYPE_CHECKING:
    from gpugda.plan.logical import Logical
    from gpugda.plan.optimizer import Rule

__all__ = ["pattern_text", "rule_lines", "tree_text"]

_ANONYMOUS: Final = re.compile("`?\\0[^`,)\\]\\s]*`?")
_INPUTS: Final = ("input", "sub", "inputs")
_REFERENCES: Final[dict[type, str]] = {
    AggregateReference: "aggregate",
    ColumnReference: "column",
    KeyReference: "key",
}


def rule_lines(tree: Logical) -> list[str]:
    """The tree as built from the clauses, and after each rule that changed it."""
    lines = ["as built:", *_indented(tree)]

    def note(rule: Rule, made: Logical) -> None:
        lines.extend((f"after {getattr(rule, '__name__', rule)}:", *_indented(made)))

    optimise(tree, Facts(), note)
    return lines


def _indented(tree: Logical) -> list[str]:
    return [f"  {line}" for line in tree_text(tree).splitlines()]


def tree_text(tree: Logical, depth: int = 0) -> str:
    """One line per operator, each above its inputs."""
    shown = [text for field in fields(tree) if (text := _field(tree, field))]
    line = "  " * depth + "  ".join((type(tree).__name__, ", ".join(shown))).rstrip()
    return "\n".join([line, *(tree_text(each, depth + 1) for each in children_of(tree))])


def _field(tree: Logical, field: Any) -> str:
    """A field with its name; empty for inputs and for what is as usual."""
    value = getattr(tree, field.name)
    if field.name in _INPUTS or (field.default is not MISSING and value == field.default):
        return ""
    if isinstance(value, QueryGraph):
        return pattern_text(value)
    return f"{field.name}={_ANONYMOUS.sub('_', _text(value))}"


def _text(value: Any) -> str:
    match value:
        case OutputColumn(name=name, expression=expression):
            return f"{_text(expression)} AS {name}"
        case SortKey(expression=expression, descending=descending):
            return _text(expression) + (" DESC" if descending else "")
        case ast.Expression():
            return expression_text(rewrite(value, _referenced))
        case ast.LabelExpression():
            return text_of(value)
        case frozenset():
            return _text(tuple(sorted(value)))
        case tuple():
            return f"[{', '.join(map(_text, value))}]"
    if is_dataclass(value):
        parts = (f"{each.name}={_text(getattr(value, each.name))}" for each in fields(value))
        return f"({', '.join(parts)})"
    return str(value)


def _referenced(part: ast.Expression) -> ast.Expression | None:
    """References to keys, aggregates and columns have no Cypher: ``key_1``."""
    word = _REFERENCES.get(type(part))
    return None if word is None else ast.Variable(part.span, f"{word}_{part.position}")  # type: ignore[attr-defined]


def pattern_text(graph: QueryGraph) -> str:
    """MATCH and WHERE of a query graph in one line."""
    try:
        lines = graph.to_cypher().splitlines()
    except ConfigurationError:  # an anonymous node would be written in several places
        lines = _all_named(graph).to_cypher().splitlines()
    return " ".join(line for line in lines if not line.startswith("RETURN"))


def _all_named(graph: QueryGraph) -> QueryGraph:
    """The graph with a name for each node."""
    names = {n.name: f"_{n.position}" for n in graph.nodes if is_anonymous(n.name)}

    def named(part: ast.Expression) -> ast.Expression | None:
        if isinstance(part, ast.Variable) and part.name in names:
            return ast.Variable(part.span, names[part.name])
        return None

    return replace(
        graph,
        nodes=tuple(replace(each, name=names.get(each.name, each.name)) for each in graph.nodes),
        predicates=tuple(rewrite(each, named) for each in graph.predicates),
    )
