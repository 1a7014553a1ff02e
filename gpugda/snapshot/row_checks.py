"""Checks that the rows of both directions satisfy the invariants of `gpugda.data.csr`.

Joins search rows by bisection, and traverse them from either end: unsorted rows, or a relationship
that only one direction has, give wrong answers or accesses outside the arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.sorting import reversed_csr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["check_below", "check_incoming", "check_outgoing", "check_rising"]

_PIECE = 1 << 20
_ARRAYS = (
    "row_offsets",
    "neighbours",
    "relationship_indexes",
    "run_offsets",
    "run_types",
    "run_starts",
)


def check_outgoing(csr: Csr, type_count: int) -> None:
    """Checks that all indexes are in range, rows are sorted by (type, neighbour), and runs fit.

    Args:
        csr: Rows whose arrays have the right lengths, and whose offsets have the right ends.
        type_count: The number of types.

    Raises:
        ValueError: An invariant is violated.
    """
    for name in ("row_offsets", "run_offsets", "run_starts"):
        check_rising(getattr(csr, name), f"outgoing.{name}")
    if not bool((csr.run_starts[1:] > csr.run_starts[:-1]).all()):
        raise ValueError("outgoing.run_starts has an empty run")
    if not np.array_equal(csr.run_starts[csr.run_offsets], csr.row_offsets):
        raise ValueError("outgoing: the runs do not fit the rows")
    check_below(csr.neighbours, csr.node_count, "outgoing.neighbours")
    check_below(csr.run_types, type_count, "outgoing.run_types")
    _check_rising_within(csr.run_types, csr.run_offsets, "the types of a row", strictly=True)
    _check_rising_within(csr.neighbours, csr.run_starts, "the neighbours of a run")


def check_incoming(incoming: Csr, outgoing: Csr, type_count: int) -> None:
    """Checks that it is the transpose of the other direction, which is unique.

    Args:
        incoming: Any arrays.
        outgoing: Rows that passed `check_outgoing`.
        type_count: The number of types.

    Raises:
        ValueError: An array differs.
    """
    expected = reversed_csr(outgoing, type_count)
    for name in _ARRAYS:
        if not np.array_equal(getattr(incoming, name), getattr(expected, name)):
            raise ValueError(f"incoming.{name} is not the transpose of outgoing")


def check_rising(offsets: NDArray[Any], name: str) -> None:
    """Checks that the numbers are non-decreasing.

    Raises:
        ValueError: They are not.
    """
    if not bool((offsets[1:] >= offsets[:-1]).all()):
        raise ValueError(f"{name} decreases")


def check_below(numbers: NDArray[Any], limit: int, name: str) -> None:
    """Checks that all numbers are in ``0 … limit-1``.

    Raises:
        ValueError: They are not.
    """
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
        raise ValueError(f"{name} holds a number out of range")


def _check_rising_within(
    numbers: NDArray[Any], offsets: NDArray[Any], what: str, *, strictly: bool = False
) -> None:
    """Checks the order between offsets, a million numbers at a time to need little memory."""
    for low in range(1, len(numbers), _PIECE):
        high = min(low + _PIECE, len(numbers))
        later, earlier = numbers[low:high], numbers[low - 1 : high - 1]
        wrong = later <= earlier if strictly else later < earlier
        # In the dtype of the offsets: otherwise searchsorted would cast all of them.
        first, last = np.searchsorted(offsets, np.array((low, high), dtype=offsets.dtype))
        wrong[offsets[first:last].astype(np.int64) - low] = False
        if wrong.any():
            raise ValueError(f"outgoing: {what} are not sorted")
