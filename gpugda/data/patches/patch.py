"""What makes one array of an older one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.patches.shifts import Shifts
    from gpugda.data.patches.stretches import Origins

__all__ = ["Patch", "joined"]


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """What makes one array of an older one.

    Args:
        origins: Where the entries lie there.
        added: Values of those that are new.
        amounts: ``int64`` per stretch: what is added to its values; None for nothing.
        shifts: Before that, what becomes of values; None where they stay.
        bound: No value that moves is larger.
    """

    origins: Origins
    added: NDArray[Any]
    amounts: NDArray[np.int64] | None
    shifts: Shifts | None
    bound: int


def joined(
    origins: Origins, amounts: NDArray[np.int64] | None
) -> tuple[Origins, NDArray[np.int64] | None]:
    """With stretches that go on where the one before ended joined to it."""
    lengths = np.diff(origins.starts, append=origins.count)
    is_new = origins.places >= origins.older_count
    first = np.ones(len(lengths), dtype=np.bool_)
    first[1:] = origins.places[1:] != origins.places[:-1] + lengths[:-1]
    first[1:] |= is_new[1:] != is_new[:-1]
    if amounts is not None:
        first[1:] |= amounts[1:] != amounts[:-1]
        amounts = amounts[first]
    found = replace(
        origins,
        starts=origins.starts[first],
        places=origins.places[first],
        stretches=origins.stretches[first],
        before=origins.before[first],
    )
    return found, amounts
