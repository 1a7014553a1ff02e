"""Backtracking over steps: each step gives the ways in which a partial match goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpugda.deadline import check_time
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.reference.trees import Row

__all__ = ["Found", "Step", "walk"]


class Found(NamedTuple):
    """What is matched so far: a tuple, as millions of them are made.

    Attributes:
        row: What is bound.
        used: Relationships of the clause, none of which may be used again.
        nodes: Of the path that is being matched, as it is walked.
        relationships: Of that path.
    """

    row: Row
    used: frozenset[int] = frozenset()
    nodes: tuple[int, ...] = ()
    relationships: tuple[int, ...] = ()

    def bound(
        self,
        row: Row | None = None,
        used: frozenset[int] | None = None,
        nodes: tuple[int, ...] | None = None,
        relationships: tuple[int, ...] | None = None,
    ) -> Found:
        """With other parts; `dataclasses.replace` takes five times as long."""
        return Found(
            self.row if row is None else row,
            self.used if used is None else used,
            self.nodes if nodes is None else nodes,
            self.relationships if relationships is None else relationships,
        )

    def path(self, start: int = 0) -> Path:
        """The path from its node at a place on."""
        nodes = tuple(Entity(True, node) for node in self.nodes[start:])
        return Path(nodes, tuple(Entity(False, number) for number in self.relationships[start:]))


Step = Callable[[Found], Iterator[Found]]


def walk(steps: Sequence[Step], start: Found) -> Iterator[Found]:
    """All ways to take the steps one after the other; a stack instead of recursion."""
    stack: list[Iterator[Found]] = [iter((start,))]
    while stack:
        check_time()
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
        elif len(stack) > len(steps):
            yield found
        else:
            stack.append(steps[len(stack) - 1](found))
