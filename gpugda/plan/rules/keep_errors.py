"""Keeps columns that are computed and then dropped, if computing them may fail.

Neo4j computes every column of WITH, also one that nothing reads: ``WITH x, x / 0 AS y RETURN x`` is
an error. Projection pruning therefore drops only columns that cannot fail. Where the reader of the
rows may stop early, as below a LIMIT, it drops all: a batch contains rows that Neo4j may not reach.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpugda.plan import logical
from gpugda.plan.facts import Facts, Wanted
from gpugda.plan.rules.count_rows import never_null
from gpugda.query import ast
from gpugda.query.ast import BinaryOperator as Two
from gpugda.query.ast import UnaryOperator as One
from gpugda.query.query_graph import AggregateReference, KeyReference
from gpugda.query.walk import walk

if TYPE_CHECKING:
    from gpugda.query.query_graph import OutputColumn

__all__ = ["keep_errors", "may_fail"]


def keep_errors(tree: logical.Logical, facts: Facts) -> logical.Logical:
    """The tree with the columns that may fail named in each projection."""
    return _kept(tree, stops=facts.wanted is Wanted.EXISTENCE)


def _kept(tree: logical.Logical, *, stops: bool) -> logical.Logical:
    """Args: ``stops``: True if the reader of the rows may stop before the last one."""
    match tree:
        case logical.Slice(limit=limit) if limit is not None and not stops:
            return replace(tree, input=_below_limit(tree.input))
        case logical.Aggregate() | logical.Sort():
            stops = False
        case logical.Project() if not stops:
            failing = frozenset(each.name for each in tree.columns if may_fail(each, tree.input))
            tree = replace(tree, failing=failing) if failing else tree
    return logical.with_children(tree, lambda each: _kept(each, stops=stops))


def _below_limit(tree: logical.Logical) -> logical.Logical:
    """The input of a LIMIT, which lowering moves below consecutive projections."""
    if isinstance(tree, logical.Sort):
        return replace(tree, input=_kept(tree.input, stops=True))
    if not isinstance(tree, logical.Project):
        return _kept(tree, stops=True)
    failing = frozenset(each.name for each in tree.columns if may_fail(each, tree.input))
    return replace(tree, input=_below_limit(tree.input), failing=failing)


# ------------------------------------------------------------------ expressions that cannot fail
def may_fail(item: OutputColumn, rows: logical.Logical) -> bool:
    """True if a column's value may be an error in some row."""
    parts = tuple(walk(item.expression))
    if all(isinstance(each, ast.Variable) for each in parts):
        return False
    elements = (
        never_null(rows) if any(isinstance(each, _READING) for each in parts) else frozenset()
    )
    return not all(_is_sound(each, elements) for each in parts)


def _is_sound(part: ast.Node, elements: frozenset[str]) -> bool:
    """True if an operation cannot fail, whatever its operands are.

    Args:
        part: A node of a syntax tree.
        elements: Variables that certainly hold nodes, relationships or paths.
    """
    match part:
        case ast.Property() | ast.LabelPredicate():
            return isinstance(part.subject, ast.Variable) and part.subject.name in elements
        case ast.FunctionCall(arguments=(ast.Variable(name=name),)):
            return name in elements and part.name.lower() in _OF_ELEMENTS
        case ast.FunctionCall():
            return part.name.lower() in _SOUND_FUNCTIONS
        case ast.Unary(operator=One.NOT):
            return _is_condition(part.operand)
        case ast.Unary():
            return _is_condition(part)
        case ast.Binary(operator=Two.AND | Two.OR | Two.XOR):
            return _is_condition(part.left) and _is_condition(part.right)
        case ast.Binary():
            return _is_condition(part)
    return isinstance(part, _SOUND)


def _is_condition(part: ast.Expression) -> bool:
    """True if an expression's value is true, false or null."""
    match part:
        case ast.Literal(value=value):
            return value is None or isinstance(value, bool)
        case ast.Unary():
            return part.operator in (One.NOT, One.IS_NULL, One.IS_NOT_NULL)
        case ast.Binary():
            return part.operator in _CONDITIONS
    return isinstance(part, ast.Comparison | ast.LabelPredicate | ast.TypePredicate)


_READING: Final = (ast.Property, ast.LabelPredicate, ast.FunctionCall)
_SOUND: Final = (
    ast.Literal,
    ast.Parameter,
    ast.Variable,
    AggregateReference,
    KeyReference,
    ast.ListLiteral,
    ast.MapLiteral,
    ast.Comparison,
    ast.TypePredicate,
    ast.CypherType,
    ast.LabelName,
    ast.LabelWildcard,
    ast.LabelNot,
    ast.LabelAnd,
    ast.LabelOr,
)
_CONDITIONS: Final = (Two.AND, Two.OR, Two.XOR, Two.STARTS_WITH, Two.ENDS_WITH, Two.CONTAINS)
_OF_ELEMENTS: Final = ("id", "elementid", "labels", "type", "keys", "properties", "length", "nodes")
_SOUND_FUNCTIONS: Final = ("coalesce", "rand", "timestamp")
