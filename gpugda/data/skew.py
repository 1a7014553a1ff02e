"""Skew and correlation of degrees, for estimates of paths of length two."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["Kind", "degrees_of_kind", "reached_degree"]

Kind: TypeAlias = "tuple[tuple[int, ...] | None, bool | None]"
"""Kind of a node's relationships: type ids (None: any), and True if outgoing (None: both)."""


def degrees_of_kind(outgoing: Csr, incoming: Csr, kind: Kind) -> NDArray[np.float64]:
    """``float64[n]``: degree of each node over relationships of a kind."""
    types, is_outgoing = kind
    directions = [outgoing] * (is_outgoing is not False) + [incoming] * (is_outgoing is not True)
    degrees = np.zeros(outgoing.node_count)
    for csr in directions:
        if types is None:
            degrees += csr.degrees()
            continue
        for each in types:
            runs = np.flatnonzero(csr.run_types == each)
            # A node has at most one run of a type.
            nodes = np.searchsorted(csr.run_offsets, runs, side="right") - 1
            degrees[nodes] += csr.run_starts[runs + 1] - csr.run_starts[runs]
    return degrees


def reached_degree(
    along: NDArray[np.float64],
    degrees: NDArray[np.float64],
    weights: NDArray[np.float64] | None = None,
) -> float:
    """Mean degree of the nodes reached along relationships, weighted by how often each is reached.

    Args:
        along: Per node, the number of relationships that lead to it.
        degrees: Per node, its degree.
        weights: Number of nodes that each stands for; None: only itself.
    """
    if weights is not None:
        along = along * weights
    total = float(along.sum())
    # Not a matrix product: BLAS would start threads that busy-wait, which takes ten times as long
    # and slows down other work on the machine.
    return float(np.einsum("i,i", along, degrees)) / total if total else 0.0
