"""Steps of a path: its start, nodes, relationships, trails, repetitions and selections."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

from gpugda.deadline import check_time
from gpugda.errors import CypherTypeError
from gpugda.query import ast
from gpugda.reference.backtracking import PartialMatch, Step, walk
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.reference.evaluator import Evaluator

__all__ = [
    "chosen",
    "marked_path",
    "node_step",
    "path_begin",
    "relationship_step",
    "repeated",
    "start_step",
    "trail_step",
]


def path_begin(found: PartialMatch) -> Iterator[PartialMatch]:
    """Clears the previous path."""
    yield found.bound(nodes=(), relationships=())


def start_step(evaluator: Evaluator, name: Any) -> Step:
    """Starts at the node of a bound variable, or at every node."""

    def step(found: PartialMatch) -> Iterator[PartialMatch]:
        if name in found.row:
            before = found.row[name]
            if isinstance(before, Entity) and before.is_node:
                yield found.bound(nodes=(before.index,))
            return
        for node in range(len(evaluator.graph.labels)):
            yield found.bound(nodes=(node,))

    return step


def node_step(name: Any) -> Step:
    """Binds the node that was reached, or tests that it equals the bound one."""

    def step(found: PartialMatch) -> Iterator[PartialMatch]:
        node = Entity(True, found.nodes[-1])
        if found.row.get(name, node) == node:
            yield found.bound(row={**found.row, name: node})

    return step


def _along(
    evaluator: Evaluator, found: PartialMatch, direction: ast.Direction, *, repeats: bool
) -> Iterator[PartialMatch]:
    """Follows one relationship that is not in use."""
    for number, end in evaluator.graph.steps(found.nodes[-1], direction):
        if repeats or number not in found.used:
            yield found.bound(
                used=found.used | {number},
                nodes=(*found.nodes, end),
                relationships=(*found.relationships, number),
            )


def relationship_step(
    evaluator: Evaluator, name: Any, direction: ast.Direction, *, repeats: bool
) -> Step:
    """Follows and binds one relationship."""

    def step(found: PartialMatch) -> Iterator[PartialMatch]:
        for longer in _along(evaluator, found, direction, repeats=repeats):
            relationship = Entity(False, longer.relationships[-1])
            if found.row.get(name, relationship) == relationship:
                yield longer.bound(row={**found.row, name: relationship})

    return step


def trail_step(
    evaluator: Evaluator,
    name: Any,
    element: ast.RelationshipPattern,
    *,
    flipped: bool,
    repeats: bool,
) -> Step:
    """Follows as many relationships as ``*1..3`` allows; the variable holds their list."""
    assert element.length is not None
    minimum, maximum = element.length.bounds

    def grow(found: PartialMatch) -> Iterator[PartialMatch]:
        for longer in _along(evaluator, found, element.direction, repeats=repeats):
            # Types are tested at once, to stop growing trails that cannot match.
            if evaluator.labels_fit(
                Entity(False, longer.relationships[-1]), element.types, found.row
            ):
                yield longer

    def step(found: PartialMatch) -> Iterator[PartialMatch]:
        start = len(found.relationships)
        stack: list[Iterator[PartialMatch]] = [iter((found,))]
        while stack:
            check_time()
            current = next(stack[-1], None)
            if current is None:
                stack.pop()
                continue
            length = len(current.relationships) - start
            if length >= minimum and (maximum is None or length <= maximum):
                trail = [Entity(False, number) for number in current.relationships[start:]]
                held = trail[::-1] if flipped else trail
                if found.row.get(name, held) == held:
                    yield current.bound(row={**found.row, name: held})
            stack.append(grow(current) if maximum is None or length < maximum else iter(()))

    return step


def marked_path(name: str, mark: Any = None, *, flipped: bool = False) -> Step:
    """Binds the path walked so far, or since a mark was set."""

    def step(found: PartialMatch) -> Iterator[PartialMatch]:
        path = found.path(found.row[mark] if mark is not None else 0)
        if flipped:
            path = Path(path.nodes[::-1], path.relationships[::-1])
        yield found.bound(row={**found.row, name: path})

    return step


def repeated(steps: Sequence[Step], quantifier: ast.Quantifier, names: frozenset[str]) -> Step:
    """Repeats steps; each variable becomes the list of its values."""
    minimum, maximum = quantifier.minimum, quantifier.maximum

    def step(found: PartialMatch) -> Iterator[PartialMatch]:
        empty: dict[str, tuple[Any, ...]] = dict.fromkeys(names, ())
        stack: list[Iterator[tuple[PartialMatch, dict[str, tuple[Any, ...]]]]] = [
            iter(((found, empty),))
        ]
        while stack:
            check_time()
            current = next(stack[-1], None)
            if current is None:
                stack.pop()
                continue
            reached, lists = current
            count = len(stack) - 1
            if count >= minimum:
                held = {name: list(items) for name, items in lists.items()}
                yield reached.bound(row={**found.row, **held})
            further = maximum is None or count < maximum
            stack.append(one_step_longer(found, reached, lists) if further else iter(()))

    def one_step_longer(
        first: PartialMatch, reached: PartialMatch, lists: dict[str, tuple[Any, ...]]
    ) -> Iterator[tuple[PartialMatch, dict[str, tuple[Any, ...]]]]:
        for found in walk(steps, reached.bound(row=first.row)):
            yield found, {name: (*lists[name], found.row[name]) for name in names}

    return step


# ------------------------------------------------------------------ SHORTEST k, ANY
def chosen(evaluator: Evaluator, selector: ast.Selector, steps: Sequence[Step]) -> Step:
    """The paths that a selector takes from all paths between each pair of ends."""

    def step(found: PartialMatch) -> Iterator[PartialMatch]:
        by_ends: dict[tuple[int, int], list[PartialMatch]] = {}
        for each in walk(steps, found):
            by_ends.setdefault((each.nodes[0], each.nodes[-1]), []).append(each)
        for paths in by_ends.values():
            paths.sort(key=_length)
            yield from _selected(selector.kind, _count(evaluator, selector), paths)

    return step


def _length(found: PartialMatch) -> int:
    return len(found.relationships)


def _selected(
    kind: ast.SelectorKind, count: int, paths: list[PartialMatch]
) -> Iterator[PartialMatch]:
    if kind in (ast.SelectorKind.ANY, ast.SelectorKind.SHORTEST):
        yield from paths[:count]
        return
    for number, (_, group) in enumerate(groupby(paths, key=_length)):
        if number < count:
            yield from group


def _count(evaluator: Evaluator, selector: ast.Selector) -> int:
    if selector.kind is ast.SelectorKind.ALL_SHORTEST or selector.count is None:
        return 1
    count = selector.count
    if isinstance(count, ast.Parameter):
        given = evaluator.parameters.value(count)
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            shown = "null" if given is None else repr(given)
            message = f"the number of paths must be a positive integer, not {shown}"
            raise CypherTypeError(message, evaluator.text, count.span)
        return given
    return count
