"""Columns that operators of a logical tree produce and read; used by lowering."""

from __future__ import annotations

from gpugda.plan import logical
from gpugda.plan.alternatives.unroll import unrolled
from gpugda.query.shapes import all_names

__all__ = ["arguments_read", "available_arguments", "column_set", "columns_of", "grouping_shrinks"]


def grouping_shrinks(tree: logical.Logical, read: frozenset[str]) -> bool:
    """True if grouping may shrink a pattern's rows much: at most one of its nodes is read.

    Grouping by one node gives at most as many groups as nodes; by two, about as many as rows.
    """
    match tree:
        case logical.Match():
            read |= frozenset(tree.bound)
            arrows = {each.name for each in tree.graph.relationships}
            left = [node.name in read for node in tree.graph.nodes]
            if arrows.isdisjoint(read) and sum(left) <= 1 < len(left):
                return True
        case logical.Expand():
            return unrolled(tree, read) is not None
        case logical.Filter():
            read |= all_names(tree.predicates)
        case logical.Optional():
            return grouping_shrinks(tree.sub, read) or grouping_shrinks(
                tree.input, read | arguments_read(tree.sub)
            )
        case _:
            return False
    return grouping_shrinks(tree.input, read)


def columns_of(tree: logical.Logical) -> tuple[str, ...]:
    """All columns that a tree produces."""
    if isinstance(tree, logical.Argument):
        return tree.columns
    below = logical.children_of(tree)
    if not below or isinstance(tree, logical.Aggregate | logical.Empty):
        return ()
    before = columns_of(below[0])
    if isinstance(tree, logical.Project) and not tree.keeps:
        before = ()
    return tuple(dict.fromkeys((*before, *_added_by(tree))))


def _added_by(tree: logical.Logical) -> tuple[str, ...]:
    """The columns that an operator adds to those of its input."""
    match tree:
        case logical.Match():
            nodes = tuple(node.name for node in tree.graph.nodes)
            return (*nodes, *(each.name for each in tree.graph.relationships))
        case logical.Expand():
            step = () if tree.step is None else tuple(sorted(tree.step.names))
            return (tree.end, tree.relationships, *step)
        case logical.BindPath() | logical.Unwind():
            return (tree.name,)
        case logical.Lookup():
            return (tree.node,)
        case logical.Project():
            return tuple(item.name for item in tree.columns)
        case logical.Optional() | logical.Apply() | logical.SelectPaths():
            return tree.added
    return ()


def column_set(tree: logical.Logical) -> frozenset[str]:
    """All columns that a tree produces, as a set."""
    return frozenset(columns_of(tree))


def available_arguments(tree: logical.Logical) -> tuple[str, ...]:
    """Columns of the argument that are available to a subquery."""
    if isinstance(tree, logical.Argument):
        return tree.columns
    found = [name for child in logical.children_of(tree) for name in available_arguments(child)]
    return tuple(dict.fromkeys(found))


def arguments_read(tree: logical.Logical) -> frozenset[str]:
    """Columns of the argument that the operators of a subquery read."""
    available = frozenset(available_arguments(tree))
    found: set[str] = set()
    stack = [tree]
    while stack:
        node = stack.pop()
        stack.extend(logical.children_of(node))
        match node:
            case logical.Match():
                found |= set(node.bound) | all_names(node.graph.predicates)
            case logical.Expand():
                found |= {node.start, node.end, node.given, *node.apart}
                found |= all_names(node.all_path_predicates)
                found |= all_names(each.whole for each in node.tests)
                found |= frozenset() if node.step is None else node.step.outside
            case logical.BindPath():
                found |= {node.start, *node.steps}
            case logical.Lookup():
                found |= all_names((node.value,))
            case logical.DistinctRelationships():
                found |= {name for pair in node.pairs for name in pair}
            case logical.Filter():
                found |= all_names(node.predicates)
            case logical.SelectPaths():
                found |= {node.start, node.end}
    return frozenset(found) & available
