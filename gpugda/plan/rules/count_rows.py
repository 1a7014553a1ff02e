"""Counts rows instead of values that are never null: ``count(p)`` of a matched path.

It is ``count(*)``, so neither the path nor a list of its relationships is built.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.plan import logical
from gpugda.query import ast
from gpugda.query.shapes import all_names

if TYPE_CHECKING:
    from gpugda.plan.facts import Facts

__all__ = ["count_rows", "never_null"]


def count_rows(tree: logical.Logical, facts: Facts) -> logical.Logical:
    """The tree with ``count(*)`` for each ``count(x)`` of an ``x`` that is never null."""
    tree = logical.with_children(tree, lambda each: count_rows(each, facts))
    if not isinstance(tree, logical.Aggregate) or not any(map(_counted, tree.aggregates)):
        return tree
    known = never_null(tree.input)
    aggregates = tuple(
        ast.CountStar(each.span) if _counted(each) in known else each for each in tree.aggregates
    )
    below, read = tree.input, all_names((*tree.keys, *aggregates))
    while isinstance(below, logical.BindPath) and below.name not in read:
        below = below.input
    return replace(tree, input=below, aggregates=aggregates)


def _counted(call: ast.Expression) -> str:
    """The variable of ``count(variable)``; empty for other expressions."""
    if not isinstance(call, ast.FunctionCall) or call.name.lower() != "count" or call.distinct:
        return ""
    (argument,) = call.arguments
    return argument.name if isinstance(argument, ast.Variable) else ""


def never_null(tree: logical.Logical) -> frozenset[str]:
    """Columns that certainly hold a node, relationship, list of them, or path in every row."""
    match tree:
        case logical.Unit() | logical.Argument() | logical.Aggregate():
            return frozenset()
        case logical.Union():
            return frozenset.intersection(*map(never_null, tree.inputs))
    below = never_null(tree.input)
    match tree:
        case logical.Project():
            return _renamed(tree, below)
        case logical.Unwind():
            return below - {tree.name}
        case logical.Apply(kind=logical.ApplyKind.INNER):
            return below | never_null(tree.sub).intersection(tree.added)
        case logical.BindPath() if not below.issuperset((tree.start, *tree.steps)):
            return below
    return below | _bound_by(tree)


def _bound_by(tree: logical.Logical) -> frozenset[str]:
    """The pattern variables that an operator binds, besides those of its input."""
    match tree:
        case logical.Match():
            nodes = frozenset(each.name for each in tree.graph.nodes)
            return nodes.union(each.name for each in tree.graph.relationships)
        case logical.Expand():
            step = frozenset[str]() if tree.step is None else tree.step.names
            return step | {tree.start, tree.end, tree.relationships}
        case logical.BindPath():
            return frozenset({tree.name})
        case logical.Lookup():
            return frozenset({tree.node})
        case logical.SelectPaths():
            return frozenset({tree.start, tree.end, *tree.steps})
    return frozenset()


def _renamed(tree: logical.Project, below: frozenset[str]) -> frozenset[str]:
    names = {item.name: item.expression for item in tree.columns}
    kept = below.difference(names) if tree.keeps else frozenset[str]()
    passed = [n for n, e in names.items() if isinstance(e, ast.Variable) and e.name in below]
    return kept.union(passed)
