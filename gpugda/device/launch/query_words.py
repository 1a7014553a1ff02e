"""A query graph as the words that kernels read; the partner of ``query_graph.h``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["LABEL_STACK", "NONE", "Adjacency", "Degree", "QueryRow", "QueryWords", "write_query"]

NONE = 0xFFFFFFFF
LABEL_STACK = 16
"""Label programs that need a deeper stack must come as a node mask."""

_NODE_WORDS = 8
_OUTGOING, _INCOMING, _LOOP = 1, 2, 4


class Degree(NamedTuple):
    """At least so many relationships of these types (None for any) in these directions."""

    outgoing: bool
    incoming: bool
    types: tuple[int, ...] | None
    at_least: int


class Adjacency(NamedTuple):
    """A query relationship as seen from one of its ends.

    Args:
        relationship: Its position; for the caller.
        other_row: Row of the other end.
        outgoing: May it start here?
        incoming: May it end here?
        is_loop: Is the other end this one?
        mask_slot: Its bitmap among the relationship masks, None for all.
        types: Type ids, None for any.
    """

    relationship: int
    other_row: int
    outgoing: bool
    incoming: bool
    is_loop: bool
    mask_slot: int | None
    types: tuple[int, ...] | None


class QueryRow(NamedTuple):
    """A query node, at its row of the matrix of candidates.

    Args:
        level: 0 where a component starts, else one more than where it is reached from.
        labels: Postfix program of (operation, slot of the label's bitmap).
        mask_slot: Its bitmap among the node masks, None for all.
        degrees: What it needs.
        adjacencies: Its query relationships, a loop once.
    """

    level: int
    labels: tuple[tuple[int, int], ...]
    mask_slot: int | None
    degrees: tuple[Degree, ...]
    adjacencies: tuple[Adjacency, ...]


@dataclass(frozen=True, slots=True, eq=False)
class QueryWords:
    """The words, and where the adjacency of (row, relationship) lies in them."""

    words: NDArray[np.uint32]
    adjacencies: Mapping[tuple[int, int], int]


def write_query(rows: Sequence[QueryRow]) -> QueryWords:
    """The words of a query graph."""
    words = [0] * (_NODE_WORDS * len(rows))
    # Of each list of types that is asked for, its place and its length.
    types: dict[tuple[int, ...] | None, tuple[int, int]] = {None: (0, NONE)}
    places: dict[tuple[int, int], int] = {}
    for asked in _type_lists(rows):
        if asked is not None:
            types[asked] = len(words), len(asked)
            words += asked
    for number, row in enumerate(rows):
        labels_at = len(words)
        for pair in row.labels:
            words += pair
        degrees_at = len(words)
        for degree in row.degrees:
            directions = degree.outgoing * _OUTGOING | degree.incoming * _INCOMING
            words += (directions, degree.at_least, *types[degree.types])
        adjacencies_at = len(words)
        for each in row.adjacencies:
            places[number, each.relationship] = len(words)
            directions = each.outgoing * _OUTGOING | each.incoming * _INCOMING
            slot = NONE if each.mask_slot is None else each.mask_slot
            words += (directions | each.is_loop * _LOOP, each.other_row, slot, *types[each.types])
        words[number * _NODE_WORDS : (number + 1) * _NODE_WORDS] = [
            labels_at,
            len(row.labels),
            degrees_at,
            len(row.degrees),
            adjacencies_at,
            len(row.adjacencies),
            row.level,
            NONE if row.mask_slot is None else row.mask_slot,
        ]
    return QueryWords(np.array(words, dtype=np.uint32), places)


def _type_lists(rows: Sequence[QueryRow]) -> set[tuple[int, ...] | None]:
    asked = {degree.types for row in rows for degree in row.degrees}
    return asked | {each.types for row in rows for each in row.adjacencies}
