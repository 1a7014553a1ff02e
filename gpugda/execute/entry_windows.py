"""Reads the adjacency of many nodes in windows of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data import runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["entries_of", "windows_of"]

_MAX_ENTRIES = 1 << 20


def windows_of(counts: NDArray[np.int64], most: int | None = None) -> Iterator[tuple[int, int]]:
    """Bounds of windows of rows whose counts add up to at most ``most``; at least one row each."""
    return runs.windows_of(counts, _MAX_ENTRIES if most is None else most)


def entries_of(
    offsets: NDArray[np.int64], nodes: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The adjacency entries of nodes: for each entry the position of its node, and the entry."""
    firsts = offsets[nodes]
    counts = offsets[nodes + 1] - firsts
    places = np.repeat(np.arange(len(nodes)), counts)
    return places, firsts[places] + runs.places_in_runs(counts)
