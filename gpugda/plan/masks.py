"""Bitmaps of the candidates that predicates keep, and comparisons for the join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.plan.comparisons import Comparison

__all__ = ["Masks"]


@value(frozen=True, slots=True, eq=False)
class Masks:
    """Evaluated predicates of a pattern, over one variable and between two.

    Args:
        nodes: Bitmap (bit i % 32 of word i // 32) by position of the query node. A missing position
            has no condition. Bits from the node count on are zero.
        relationships: The same for query relationships.
        comparisons: Conditions between two variables, which strategies with ``compares`` test.
        keys: ``uint32`` keys per node (or relationship) that the comparisons compare.
    """

    nodes: Mapping[int, NDArray[np.uint32]]
    relationships: Mapping[int, NDArray[np.uint32]]
    comparisons: tuple[Comparison, ...] = ()
    keys: tuple[NDArray[np.uint32], ...] = ()
