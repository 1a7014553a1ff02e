"""Offsets of rows of which some change their length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.patches.changing import spliced, stepped
from gpugda.data.patches.rising import is_among
from gpugda.data.patches.splice import Splice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.patched import Array

__all__ = ["Amounts", "changed_offsets"]


@dataclass(frozen=True, slots=True, eq=False)
class Amounts:
    """By how much the lengths of some old rows change."""

    rows: NDArray[np.int64]
    amounts: NDArray[np.int64]


def changed_offsets(
    old: Array, splice: Splice, less: Amounts, more: Amounts, added: NDArray[np.int64]
) -> Array:
    """Offsets of rows of which some changed their length, went or came.

    Args:
        old: ``uint32[rows + 1]``.
        splice: Of the rows.
        less: What old rows lost, also those that go: all that they had.
        more: What old rows got.
        added: Lengths of the new rows.
    """
    base = Splice(splice.count + 1, splice.removed, splice.places)
    found = spliced(old, base, old[splice.places])
    # A row's length counts from the entry after its own on: for what goes, from where it was.
    of_old = np.concatenate([less.rows, more.rows])
    kept = ~is_among(of_old, splice.removed)
    places = np.concatenate([_after(splice, of_old, kept), splice.new_places() + 1])
    amounts = np.concatenate([less.amounts, more.amounts, added])
    order = places.argsort(kind="stable")
    return stepped(found, places[order], amounts[order])


def _after(splice: Splice, rows: NDArray[np.int64], kept: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The new place of the first offset that counts an old row's length."""
    gone = splice.removed.searchsorted(rows)
    came = splice.places.searchsorted(rows, side="right")
    return rows - gone + came + kept
