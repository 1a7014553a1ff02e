"""Tells for which patterns one embedding per group is searched for, and in which order of nodes.

DISTINCT and EXISTS need one embedding, a witness, for each data node (or tuple of them) at some
query nodes. Embeddings that differ by an exchange of other query nodes are witnesses for the same,
so one of them is enough: the one whose data nodes ascend. Comparisons of node indexes select it;
they permit equal nodes, so this is exact with loops and parallel relationships as well.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from gpugda.plan.comparisons import BELOW, SAME, Comparison
from gpugda.plan.variables import node_variable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.plan import BoundQuery

__all__ = ["ascending", "has_large_core"]

_IN_ORDER: Final = 0.5
_MIN_CORE: Final = 5
"""Shorter cycles are grouped without making rows, as is what one node separates from others."""


def has_large_core(bound: BoundQuery) -> bool:
    """True if many relationships lie on cycles that no single query node separates."""
    return _largest_block([(each.source, each.target) for each in bound.relationships]) >= _MIN_CORE


def _largest_block(ends: list[tuple[int, int]]) -> int:
    """Most relationships that stay together, whichever query node separates the pattern."""
    if len(ends) < _MIN_CORE:
        return len(ends)
    for node in {end for each in ends for end in each}:
        parts = _parts_without(node, ends)
        if len(parts) > 1:
            return max(map(_largest_block, parts))
    return len(ends)


def _parts_without(node: int, ends: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """The relationships, grouped by whether they are connected without this query node."""
    parts: list[tuple[set[int], list[tuple[int, int]]]] = []
    for each in ends:
        reached, together = set(each) - {node}, [each]
        apart = []
        for nodes, part in parts:
            if nodes & reached:
                reached |= nodes
                together += part
            else:
                apart.append((nodes, part))
        parts = [*apart, (reached, together)]
    return [part for _, part in parts]


def ascending(bound: BoundQuery, sets: Sequence[tuple[int, ...]]) -> tuple[Comparison, ...]:
    """Comparisons that embeddings pass whose data nodes ascend within each set of query nodes."""
    return tuple(
        Comparison(
            node_variable(low),
            node_variable(high),
            BELOW | SAME,
            None,
            None,
            _IN_ORDER,
            "",
        )
        for nodes in sets
        for low, high in pairwise(nodes)
    )
