"""Replaces path search by node search in expansions of which only distinct end nodes matter.

``MATCH (a)-[:R*]->(b) RETURN DISTINCT b`` may have very many paths, but only n nodes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gpugda.plan import logical
from gpugda.plan.facts import Facts, Wanted
from gpugda.query import ast
from gpugda.query.check.functions import changes_per_call
from gpugda.query.shapes import all_names
from gpugda.query.walk import walk

__all__ = ["reach_once"]

_DUPLICATE_INSENSITIVE: Final = frozenset({"min", "max"})


def reach_once(tree: logical.Logical, facts: Facts) -> logical.Logical:
    """The same distinct result from fewer rows."""
    return _once(tree, frozenset()) if facts.wanted is Wanted.EXISTENCE else _reached(tree)


def _reached(tree: logical.Logical) -> logical.Logical:
    match tree:
        case logical.Slice(input=logical.Distinct(input=below)):
            # Rows are read until there are enough.
            streamed = logical.Distinct(_once(below, frozenset(), from_matches=False))
            return replace(tree, input=streamed)
        case logical.Distinct(input=below):
            return logical.Distinct(_once(below, frozenset()))
        case logical.Aggregate(input=below) if _all_ignore_duplicates(tree):
            read = all_names((*tree.keys, *tree.aggregates))
            return replace(tree, input=_once(below, read))
    return logical.with_children(tree, _reached)


def _once(
    tree: logical.Logical, read: frozenset[str], *, from_matches: bool = True
) -> logical.Logical:
    """A tree whose duplicate rows may be dropped.

    Args:
        tree: The tree.
        read: Columns that operators above read.
        from_matches: True if duplicate rows of a pattern may be dropped.
    """
    if not _is_deterministic(tree):
        return _reached(tree)
    match tree:
        case logical.Project(input=below) if not isinstance(below, logical.Aggregate):
            read |= all_names(item.expression for item in tree.columns)
        case logical.Filter():
            read |= all_names(tree.predicates)
        case logical.Match():
            read |= _read_here(tree)
            tree = replace(tree, once=from_matches)
        case logical.Unwind() | logical.Lookup() | logical.DistinctRelationships():
            read |= _read_here(tree)
        case logical.BindPath():
            read |= {tree.start, *tree.steps} if tree.name in read else frozenset()
        case logical.Expand():
            return _reach(tree, read, from_matches=from_matches)
        case logical.Optional():
            sub = _once(tree.sub, read, from_matches=from_matches)
            below = _once(tree.input, read | _read_in(tree.sub), from_matches=from_matches)
            return replace(tree, input=below, sub=sub)
        case _:
            return _reached(tree)
    return replace(tree, input=_once(tree.input, read, from_matches=from_matches))


def _read_here(
    tree: logical.Unwind | logical.Lookup | logical.DistinctRelationships | logical.Match,
) -> frozenset[str]:
    match tree:
        case logical.Unwind():
            return all_names((tree.elements,))
        case logical.Lookup():
            return all_names((tree.value,))
        case logical.DistinctRelationships():
            return frozenset(name for pair in tree.pairs for name in pair)
    return frozenset(tree.bound)


def _is_deterministic(tree: logical.Logical) -> bool:
    """True if equal rows get equal values, as no function is random."""
    match tree:
        case logical.Project():
            read = tuple(item.expression for item in tree.columns)
        case logical.Filter():
            read = tree.predicates
        case logical.Unwind():
            read = (tree.elements,)
        case logical.Lookup():
            read = (tree.value,)
        case logical.Match():
            read = tree.graph.predicates
        case _:
            return True
    calls = [node for each in read for node in walk(each) if isinstance(node, ast.FunctionCall)]
    return not any(changes_per_call(each.name) for each in calls)


def _reach(tree: logical.Expand, read: frozenset[str], *, from_matches: bool) -> logical.Logical:
    fits = tree.mode is logical.ExpandMode.TRAILS and tree.minimum <= 1
    lists = {tree.relationships}
    if tree.step is not None:
        lists |= tree.step.names
        fits = fits and tree.step.is_one_step
    if fits and not tree.apart and not lists & read and not tree.path_predicates:
        tree = replace(tree, mode=logical.ExpandMode.REACH)
    tree = replace(tree, once=from_matches)
    read |= _read_by(tree)
    return replace(tree, input=_once(tree.input, read, from_matches=from_matches))


def _read_by(tree: logical.Expand) -> frozenset[str]:
    outside = frozenset[str]() if tree.step is None else tree.step.outside
    return (
        frozenset({tree.start, tree.end, tree.given, *tree.apart})
        | all_names(tree.all_path_predicates)
        | outside
    )


def _read_in(tree: logical.Logical) -> frozenset[str]:
    """All names that a subquery reads."""
    found: set[str] = set()
    match tree:
        case logical.Filter():
            found |= all_names(tree.predicates)
        case logical.BindPath():
            found |= {tree.start, *tree.steps}
        case logical.Lookup():
            found |= all_names((tree.value,))
        case logical.DistinctRelationships():
            found |= {name for pair in tree.pairs for name in pair}
        case logical.Expand():
            found |= _read_by(tree)
        case logical.SelectPaths():
            found |= {tree.start, tree.end, *tree.steps}
        case logical.Match():
            found |= set(tree.bound) | all_names(tree.graph.predicates)
    return frozenset(found).union(*map(_read_in, logical.children_of(tree)))


def _all_ignore_duplicates(tree: logical.Aggregate) -> bool:
    return all(_ignores_duplicates(each) for each in tree.aggregates)


def _ignores_duplicates(aggregate: ast.Expression) -> bool:
    if not isinstance(aggregate, ast.FunctionCall):
        return False
    return aggregate.distinct or aggregate.name.lower() in _DUPLICATE_INSENSITIVE
