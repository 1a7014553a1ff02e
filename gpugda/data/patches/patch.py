"""Difference between two states of a patched array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.patches.stretches import Origins
from gpugda.types import value

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.shifts import Shifts

__all__ = ["Patch", "joined"]


@value(frozen=True, slots=True, eq=False)
class Patch:
    """The difference between an older array and a newer one.

    Args:
        origins: Positions of the entries in the older array.
        added: Values of the new entries.
        amounts: ``int64`` per stretch: amount added to its values, after the shifts; None: 0.
        shifts: Renumbering of the values; None: unchanged.
        bound: Upper bound of the values that move.
    """

    origins: Origins
    added: NDArray[Any]
    amounts: NDArray[np.int64] | None
    shifts: Shifts | None
    bound: int


def joined(
    origins: Origins, amounts: NDArray[np.int64] | None
) -> tuple[Origins, NDArray[np.int64] | None]:
    """Merges stretches that continue the stretch before them."""
    # Within a stretch, an entry's place changes as its position does.
    moves = origins.places - origins.starts
    is_new = origins.places >= origins.older_count
    first = np.ones(len(moves), dtype=np.bool_)
    first[1:] = (moves[1:] != moves[:-1]) | (is_new[1:] != is_new[:-1])
    if amounts is not None:
        first[1:] |= amounts[1:] != amounts[:-1]
        amounts = amounts[first]
    found = Origins(
        origins.starts[first],
        origins.places[first],
        origins.stretches[first],
        origins.before[first],
        origins.older_count,
        origins.count,
    )
    return found, amounts
