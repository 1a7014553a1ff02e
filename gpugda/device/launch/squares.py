"""Counts cycles of four query nodes; launcher of ``squares.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.launch.cycle_tasks import CycleKernels
from gpugda.device.launch.query_words import NONE
from gpugda.device.program import GRAPH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.device.context import DeviceContext
    from gpugda.device.launch.candidate_filter import FilterArrays
    from gpugda.device.launch.cycle_tasks import CycleTasks
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["FLAGS_AT", "MAX_TYPES", "UPWARDS", "CycleType", "SquareKernels", "cycle_words"]

MAX_TYPES = 8
"""Relationship types of all four links together; ``MAX_LISTS`` counts both directions."""

_FILE = "squares.cl"
FLAGS_AT = 8
UPWARDS = 16
"""Flag of a triangle; see ``cycle_lists.h``."""

_SYMMETRIC, _HAS_LOOPS, _MEET_AT_ODD, _HALVED = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class CycleType:
    """A relationship type, with one bit per link that it fits.

    Args:
        type_id: The type.
        starting: Links that fit if the relationship starts at the link's even position.
        ending: Links that fit if it ends there.
    """

    type_id: int
    starting: int
    ending: int


def cycle_words(
    rows: Sequence[int | None],
    slots: Sequence[int | None],
    types: Sequence[CycleType],
    differ: Sequence[tuple[int, int]],
    *,
    has_loops: bool,
    halves: bool = True,
) -> list[int]:
    """Encodes a cycle for the kernels.

    Args:
        rows: Candidate matrix rows of the four positions; None if every node fits.
        slots: Relationship mask slots of the four links.
        types: At most `MAX_TYPES`.
        differ: Pairs of links, the lower one first, that must be different relationships.
        has_loops: True if the data graph has loops of these types.
        halves: True to count only half of the squares if they are symmetric, and double the result.
    """
    same = _Symmetry(rows, slots, types)
    over_both = same.places(1, 3) and same.links((0, 3), (1, 2))
    turned = same.places(0, 2) and (
        (same.places(1, 3) and same.links((0, 2), (1, 3))) or same.links((0, 1), (2, 3))
    )
    flags = _SYMMETRIC if over_both else 0
    flags |= _HALVED if turned and halves else 0
    flags |= _HAS_LOOPS if has_loops else 0
    flags |= _MEET_AT_ODD if _meet_at_odd(types, differ, has_loops) else 0
    tests = sum(1 << (4 * one + other) for one, other in differ)
    partitions = _partitions(differ)
    words = [NONE if each is None else each for each in (*rows, *slots)]
    words += [flags, tests, len(types), len(partitions)]
    for each in types:
        words += [each.type_id, each.starting, each.ending]
    for blocks, coefficient in partitions.items():
        words += [coefficient & NONE, *blocks, *[0] * (4 - len(blocks))]
    return words


@dataclass(frozen=True, slots=True)
class _Symmetry:
    """Tells which positions, and which links, have equal conditions; masked ones never have."""

    rows: Sequence[int | None]
    slots: Sequence[int | None]
    types: Sequence[CycleType]

    def places(self, *places: int) -> bool:
        return all(self.rows[each] is None for each in places)

    def links(self, *pairs: tuple[int, int]) -> bool:
        return all(self.slots[link] is None for pair in pairs for link in pair) and all(
            (links >> one & 1) == (links >> other & 1)
            for each in self.types
            for links in (each.starting, each.ending)
            for one, other in pairs
        )


def _meet_at_odd(
    types: Sequence[CycleType], differ: Sequence[tuple[int, int]], has_loops: bool
) -> bool:
    """True if two links from one odd node to even positions could take the same relationship."""
    together = [links for each in types for links in (each.starting, each.ending)]
    if has_loops:  # loops fit in both directions
        together += [each.starting | each.ending for each in types]
    return any(
        pair in differ and links >> pair[0] & links >> pair[1] & 1
        for links in together
        for pair in ((0, 3), (1, 2))
    )


def _partitions(differ: Sequence[tuple[int, int]]) -> dict[tuple[int, ...], int]:
    """Coefficients of inclusion-exclusion by the blocks of links that take the same relationship.

    They are the product of (1 - [two links are the same]) over all pairs that must differ,
    expanded.
    """
    found: dict[tuple[int, ...], int] = {(1, 2, 4, 8): 1}
    for one, other in differ:
        for blocks, coefficient in list(found.items()):
            merged = _merged(blocks, one, other)
            found[merged] = found.get(merged, 0) - coefficient
    return {blocks: coefficient for blocks, coefficient in found.items() if coefficient}


def _merged(blocks: tuple[int, ...], one: int, other: int) -> tuple[int, ...]:
    together = 0
    rest = []
    for block in blocks:
        if block >> one & 1 or block >> other & 1:
            together |= block
        else:
            rest.append(block)
    return tuple(sorted((*rest, together)))


class SquareKernels(CycleKernels):
    """Counts squares on a CPU."""

    def __init__(self, context: DeviceContext) -> None:
        super().__init__(context, _FILE, "count_squares", f"{GRAPH}bbIbIIIQbbb")

    def item_words(self, nodes: int, *, has_loops: bool) -> int:
        """Scratch words of an item."""
        return (4 if has_loops else 2) * nodes + 1

    def count(
        self, arrays: FilterArrays, candidates: DeviceArray, words: DeviceArray, tasks: CycleTasks
    ) -> None:
        """Takes tasks; adds their counts to ``totals``."""
        self._count.launch_groups(
            self.item_count,
            *arrays.graph,
            words,
            arrays.relationship_masks,
            arrays.relationship_words,
            candidates,
            arrays.words,
            tasks.nodes,
            self.task_nodes(tasks.nodes),
            tasks.max_work,
            tasks.scratch,
            tasks.counters,
            tasks.totals,
        )
