"""What predicates leave of a pattern's candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from gpugda.plan.comparisons import Comparison

__all__ = ["Masks"]


@dataclass(frozen=True, slots=True, eq=False)
class Masks:
    """What predicates leave, over one variable and between two.

    Args:
        nodes: Bitmaps (bit i % 32 of word i // 32) by position of a query node. A position that is
            absent has no condition. Bits at and past the count are zero.
        relationships: Likewise.
        comparisons: Conditions that a strategy with ``compares`` tests on rows.
        keys: ``uint32`` per node (or relationship): what they compare.
    """

    nodes: Mapping[int, NDArray[np.uint32]]
    relationships: Mapping[int, NDArray[np.uint32]]
    comparisons: tuple[Comparison, ...] = ()
    keys: tuple[NDArray[np.uint32], ...] = ()
