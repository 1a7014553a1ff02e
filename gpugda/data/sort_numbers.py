"""Sorts many numbers, on hosts with several cores in threads.

Each thread sorts an equal part, then takes its range of values from all parts and sorts that: twice
the work of one sort, so that fewer than four threads gain nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.threads import core_count, in_threads, pieces_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["sort_numbers"]

_FEWEST_THREADS: Final = 4
_FEWEST_NUMBERS: Final = 1 << 22
_SAMPLES: Final = 64
"""Of each part, from which the borders between the threads' ranges are chosen."""


def sort_numbers(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The numbers sorted: the array itself, or, sorted in threads, another. The array is given up.

    Args:
        numbers: ``uint64``; its order is lost.
    """
    threads = core_count()
    if threads < _FEWEST_THREADS or len(numbers) < _FEWEST_NUMBERS:
        numbers.sort()
        return numbers
    return _sorted_in_threads(numbers, threads)


def _sorted_in_threads(numbers: NDArray[np.uint64], threads: int) -> NDArray[np.uint64]:
    parts = [numbers[each] for each in pieces_of(len(numbers), -(-len(numbers) // threads))]
    in_threads(lambda part: part.sort(), parts)
    borders = _borders(parts)
    cuts = np.array([[0, *np.searchsorted(part, borders), len(part)] for part in parts])
    ends = np.cumsum(np.diff(cuts).sum(axis=0))
    found = np.empty_like(numbers)

    def merge(place: int) -> None:
        end = int(ends[place])
        begin = int(ends[place - 1]) if place else 0
        taken = [part[cut[place] : cut[place + 1]] for part, cut in zip(parts, cuts, strict=True)]
        np.concatenate(taken, out=found[begin:end])
        found[begin:end].sort()

    in_threads(merge, range(len(ends)))
    return found


def _borders(parts: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """One number less than there are parts, between ranges of about as many numbers each."""
    samples = np.concatenate([part[:: max(1, len(part) // _SAMPLES)] for part in parts])
    samples.sort()
    places = np.arange(1, len(parts)) * len(samples) // len(parts)
    borders: NDArray[np.uint64] = samples[places]
    return borders
