"""Trails of which only rows, ends and number are read: trails over the same relationships are one.

A trail may be extended by each relationship that it does not have, in whatever order it has the
others. So trails of one row that end at one node, and have the same set of relationships, are kept
once with their number: 28,672 sets instead of millions of trails between 7 nodes with 12
relationships. A relationship that no trail can meet a second time does not belong to the set;
trails along a hierarchy are therefore counted node by node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.integer_sets import unique_values
from gpugda.deadline import check_time
from gpugda.execute.entry_windows import entries_of, windows_of
from gpugda.execute.sorting import stable_order
from gpugda.expressions.lists import list_column
from gpugda.types import MAX_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.data.values.columns import Column
    from gpugda.execute.relationship_lists import RelationshipLists

__all__ = ["MAX_NUMBERED", "NumberedSteps", "TrailSets", "met_again", "numbered", "trail_sets"]

MAX_NUMBERED: Final = 64
"""Relationships that can have a bit."""
_MAX_STATES: Final = 1 << 20
"""States of a length that are extended together."""
_LEAST_PEELED: Final = 8
"""Peeling ends if a round removes less than one in this many entries."""
_MAX_KEY: Final = 1 << 62


@dataclass(frozen=True, slots=True, eq=False)
class TrailSets:
    """Trails of one length.

    Args:
        rows: ``int64``: number of the row where they begin.
        ends: ``uint32``: their last node.
        used: ``uint64``: a bit for each of their relationships that has one.
        weights: ``uint64``: how many trails they are.
    """

    rows: NDArray[np.int64]
    ends: NDArray[np.uint32]
    used: NDArray[np.uint64]
    weights: NDArray[np.uint64]

    def taken(self, places: NDArray[np.int64]) -> TrailSets:
        """The trails at these positions."""
        return TrailSets(
            self.rows[places], self.ends[places], self.used[places], self.weights[places]
        )

    def merged(self) -> TrailSets:
        """The same trails, each set once."""
        if len(self.rows) < 2:
            return self
        order = self._order()
        rows, ends, used = self.rows[order], self.ends[order], self.used[order]
        differs = np.ones(len(order), dtype=np.bool_)
        differs[1:] = (rows[1:] != rows[:-1]) | (ends[1:] != ends[:-1]) | (used[1:] != used[:-1])
        firsts = np.flatnonzero(differs)
        weights = _sums(self.weights[order], firsts)
        return TrailSets(rows[firsts], ends[firsts], used[firsts], weights)

    def _order(self) -> NDArray[np.int64]:
        nodes, bits = int(self.ends.max()) + 1, int(self.used.max()) + 1
        if (int(self.rows.max()) + 1) * nodes * bits > _MAX_KEY:
            found: NDArray[np.int64] = np.lexsort((self.used, self.ends, self.rows))
            return found
        keys = (self.rows * nodes + self.ends) * bits + self.used.astype(np.int64)
        return stable_order(keys)


@dataclass(frozen=True, slots=True, eq=False)
class NumberedSteps:
    """The adjacency of a step, whose relationships have bits.

    Args:
        steps: The adjacency.
        numbers: The relationships that have a bit, ascending.
        bits: ``uint64`` per entry: its bit, 0 without one.
    """

    steps: Adjacency
    numbers: NDArray[np.uint32]
    bits: NDArray[np.uint64]

    def used(self, lists: Sequence[RelationshipLists], count: int) -> NDArray[np.uint64]:
        """The bits of the relationships that each of ``count`` rows has in lists."""
        found = np.zeros(count, dtype=np.uint64)
        for each in lists:
            np.bitwise_or.at(found, each.rows(), _bits_of(each.every(), self.numbers))
        return found

    def listed(self, used: NDArray[np.uint64]) -> Column:
        """Sets of relationships as a column of lists."""
        octets = used.astype("<u8").view(np.uint8).reshape(-1, 8)  # a byte for each bit, not eight
        count = len(self.numbers)
        is_there = np.unpackbits(octets, axis=1, count=count, bitorder="little")
        _, taken = np.nonzero(is_there)
        offsets = np.zeros(len(used) + 1, dtype=np.int64)
        np.cumsum(is_there.sum(axis=1, dtype=np.int64), out=offsets[1:])
        return list_column(offsets, self.numbers[taken], of_nodes=False)


def numbered(steps: Adjacency, relationships: NDArray[np.uint32]) -> NumberedSteps | None:
    """The steps with bits for the given relationships; None if these are too many."""
    if len(relationships) > 2 * MAX_NUMBERED:  # none occurs more than twice: once from each end
        return None
    numbers = unique_values(relationships)
    if len(numbers) > MAX_NUMBERED:
        return None
    return NumberedSteps(steps, numbers, _bits_of(steps.relationships, numbers))


def met_again(steps: Adjacency) -> NDArray[np.uint32]:
    """The relationships that a walk may follow twice, and perhaps some others.

    Relationships from a node that none leads to, or to a node that none leaves, are on no cycle.
    """
    while True:
        check_time()
        nodes, count = steps.nodes(), len(steps.neighbours)
        leads = np.zeros(steps.node_count, dtype=np.bool_)
        leads[steps.neighbours] = True
        leaves = np.diff(steps.offsets) > 0
        kept = leads[nodes] & leaves[steps.neighbours]
        steps = steps.taken(kept)
        if (count - len(steps.neighbours)) * _LEAST_PEELED <= count:
            return steps.relationships


def trail_sets(
    steps: NumberedSteps,
    begin: TrailSets,
    minimum: int,
    maximum: int | None,
    check: Callable[[], None],
) -> Iterator[TrailSets]:
    """All trails that continue the given ones, sets of one length together.

    Args:
        steps: Adjacency of a step.
        begin: Empty trails; bits of relationships that they may not follow are set.
        minimum: Fewest relationships.
        maximum: Most relationships; None for no bound.
        check: Called often; raises when the deadline has passed.
    """
    stack: list[Iterator[TrailSets]] = [iter((begin.merged(),))]
    while stack:
        check()
        level, length = next(stack[-1], None), len(stack) - 1
        if level is None:
            stack.pop()
            continue
        if length >= minimum and len(level.rows):
            yield level
        if maximum is None or length < maximum:
            stack.append(_longer(steps, level, check))


def _longer(
    steps: NumberedSteps, level: TrailSets, check: Callable[[], None]
) -> Iterator[TrailSets]:
    """The trails with one more relationship: together, unless they are very many."""
    offsets = steps.steps.offsets
    waiting: list[TrailSets] = []
    count = 0
    for start, stop in windows_of(steps.steps.entry_counts(level.ends), _MAX_STATES // 4):
        check()
        places, entries = entries_of(offsets, level.ends[start:stop])
        places += start
        bits = steps.bits[entries]
        kept = np.flatnonzero((level.used[places] & bits) == 0)
        places, entries, bits = places[kept], entries[kept], bits[kept]
        ends, used = steps.steps.neighbours[entries], level.used[places] | bits
        found = TrailSets(level.rows[places], ends, used, level.weights[places]).merged()
        waiting.append(found)
        count += len(found.rows)
        if count > _MAX_STATES:
            yield _together(waiting)
            waiting, count = [], 0
    if count:
        yield _together(waiting)


def _together(parts: list[TrailSets]) -> TrailSets:
    if len(parts) == 1:
        return parts[0]
    return TrailSets(
        np.concatenate([each.rows for each in parts]),
        np.concatenate([each.ends for each in parts]),
        np.concatenate([each.used for each in parts]),
        np.concatenate([each.weights for each in parts]),
    ).merged()


def _bits_of(
    relationships: NDArray[np.uint32] | NDArray[np.int64], numbers: NDArray[np.uint32]
) -> NDArray[np.uint64]:
    """The bit of each relationship; 0 for one that has none."""
    if not len(numbers):
        return np.zeros(len(relationships), dtype=np.uint64)
    places = np.minimum(np.searchsorted(numbers, relationships), len(numbers) - 1)
    bits = np.uint64(1) << places.astype(np.uint64)
    return np.where(numbers[places] == relationships, bits, np.uint64(0))


def _sums(weights: NDArray[np.uint64], firsts: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Sums of runs of weights; `MAX_WEIGHT` stands for anything larger."""
    found = np.add.reduceat(weights, firsts)
    if int(weights.max()) * len(weights) > MAX_WEIGHT:
        about = np.add.reduceat(weights.astype(np.float64), firsts)
        found = np.where(about >= MAX_WEIGHT, np.uint64(MAX_WEIGHT), found)
    return found
