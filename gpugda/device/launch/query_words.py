"""Encodes a query graph as words for the kernels; counterpart of ``query_graph.h``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["LABEL_STACK", "NONE", "Adjacency", "Degree", "QueryRow", "QueryWords", "write_query"]

NONE = 0xFFFFFFFF
LABEL_STACK = 16
"""Maximum stack depth of a label program; deeper ones must become a node mask."""

_NODE_WORDS = 8
_OUTGOING, _INCOMING, _LOOP = 1, 2, 4


class Degree(NamedTuple):
    """At least ``at_least`` relationships of these types (None for any) in these directions."""

    outgoing: bool
    incoming: bool
    types: tuple[int, ...] | None
    at_least: int


class Adjacency(NamedTuple):
    """A query relationship as seen from one of its ends.

    Args:
        relationship: Its position; for the caller.
        other_row: Row of the other end.
        outgoing: True if it may start here.
        incoming: True if it may end here.
        is_loop: True if both ends are the same query node.
        mask_slot: Its bitmap among the relationship masks, None if there is no mask.
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
    """A query node, at its row of the candidate matrix.

    Args:
        level: Breadth-first level: 0 where a component starts, else one more than that of its
            predecessor.
        labels: Postfix program of (operation, slot of the label's bitmap).
        mask_slot: Its bitmap among the node masks, None if there is no mask.
        degrees: Required degrees.
        adjacencies: Its query relationships, a loop once.
    """

    level: int
    labels: tuple[tuple[int, int], ...]
    mask_slot: int | None
    degrees: tuple[Degree, ...]
    adjacencies: tuple[Adjacency, ...]


@value(frozen=True, slots=True, eq=False)
class QueryWords:
    """The words, and the position in them of the adjacency of each (row, relationship)."""

    words: NDArray[np.uint32]
    adjacencies: Mapping[tuple[int, int], int]


def write_query(rows: Sequence[QueryRow]) -> QueryWords:
    """Encodes a query graph."""
    words = [0] * (_NODE_WORDS * len(rows))
    # Position and length of each list of types that is used.
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
