"""Enumerates all trails (paths without repeated relationships) to check searches against."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

Edge = tuple[int, int]
Trail = tuple[int, ...]


def trails_from(
    edges: Sequence[Edge], start: int, direction: str, longest: int | None = None
) -> Iterator[tuple[int, Trail]]:
    """The end and the relationships of each trail from a node. Directions: "->", "<-", "-"."""
    stack: list[tuple[int, Trail]] = [(start, ())]
    while stack:
        node, walked = stack.pop()
        yield node, walked
        if longest is not None and len(walked) >= longest:
            continue
        for index, (source, target) in enumerate(edges):
            if index in walked:
                continue
            if direction != "<-" and source == node:
                stack.append((target, (*walked, index)))
            if direction != "->" and target == node and (direction != "-" or source != target):
                stack.append((source, (*walked, index)))


def shortest_between(
    edges: Sequence[Edge], start: int, end: int, direction: str, longest: int | None = None
) -> set[Trail]:
    """The shortest trails between two different nodes."""
    found = [
        walked for node, walked in trails_from(edges, start, direction, longest) if node == end
    ]
    least = min(map(len, found), default=0)
    return {walked for walked in found if len(walked) == least}
