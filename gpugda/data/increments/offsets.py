"""Row offsets after some rows change their length, are removed or added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.patches.changing import spliced, stepped
from gpugda.data.patches.sorted_sets import is_in_sorted
from gpugda.data.patches.splice import Splice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.patched import Array

__all__ = ["Amounts", "changed_offsets"]


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """Changes of length of some old rows."""

    rows: NDArray[np.int64]
    amounts: NDArray[np.int64]


def changed_offsets(
    old: Array, splice: Splice, less: Amounts, more: Amounts, added: NDArray[np.int64]
) -> Array:
    """Row offsets after some rows changed their length, were removed or added.

    Args:
        old: ``uint32[rows + 1]``.
        splice: Splice of the rows.
        less: Decreases of old rows; a removed row loses its whole length.
        more: Increases of old rows.
        added: Lengths of the new rows.
    """
    of_old = np.concatenate([less.rows, more.rows])
    amounts = np.concatenate([less.amounts, more.amounts, added])
    if splice:
        base = Splice(splice.count + 1, splice.removed, splice.places)
        # A row's length affects the offsets after its own; a removed row's, those from its old
        # place.
        kept = ~is_in_sorted(of_old, splice.removed)
        places = np.concatenate([_after(splice, of_old, kept), splice.new_places() + 1])
        old = spliced(old, base, old[splice.places])
    else:
        places = of_old + 1
    order = places.argsort(kind="stable")
    return stepped(old, places[order], amounts[order])


def _after(splice: Splice, rows: NDArray[np.int64], kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """New position of the first offset that includes an old row's length."""
    gone = splice.removed.searchsorted(rows)
    came = splice.places.searchsorted(rows, side="right")
    return rows - gone + came + kept
