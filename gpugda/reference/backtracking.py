"""Backtracking over steps: each step yields the extensions of a partial match."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from gpugda.deadline import check_time
from gpugda.values import Entity, Path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.reference.trees import Row

__all__ = ["PartialMatch", "Step", "walk"]


class PartialMatch(NamedTuple):
    """A partial match; a tuple for speed, as millions of them are created.

    Attributes:
        row: The bound variables.
        used: Relationships of the clause, which must not be used again.
        nodes: Nodes of the path that is being matched, in order of traversal.
        relationships: Relationships of that path.
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
    ) -> PartialMatch:
        """A copy with some parts replaced; `dataclasses.replace` takes five times as long."""
        return PartialMatch(
            self.row if row is None else row,
            self.used if used is None else used,
            self.nodes if nodes is None else nodes,
            self.relationships if relationships is None else relationships,
        )

    def path(self, start: int = 0) -> Path:
        """The path from the node at a position onwards."""
        nodes = tuple(Entity(True, node) for node in self.nodes[start:])
        return Path(nodes, tuple(Entity(False, number) for number in self.relationships[start:]))


Step = Callable[[PartialMatch], Iterator[PartialMatch]]


def walk(steps: Sequence[Step], start: PartialMatch) -> Iterator[PartialMatch]:
    """All complete matches of the steps in sequence, with a stack instead of recursion."""
    stack: list[Iterator[PartialMatch]] = [iter((start,))]
    while stack:
        check_time()
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
        elif len(stack) > len(steps):
            yield found
        else:
            stack.append(steps[len(stack) - 1](found))
