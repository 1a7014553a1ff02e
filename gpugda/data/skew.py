"""How uneven degrees are, and which come together: what paths of two relationships hang on."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["Kind", "degrees_of_kind", "met_degree"]

Kind: TypeAlias = "tuple[tuple[int, ...] | None, bool | None]"
"""Of a node's relationships: type ids, None for any; whether they start there, None for both."""


def degrees_of_kind(outgoing: Csr, incoming: Csr, kind: Kind) -> NDArray[np.float64]:
    """``float64[n]``: relationships of a kind of each node."""
    types, is_outgoing = kind
    directions = [outgoing] * (is_outgoing is not False) + [incoming] * (is_outgoing is not True)
    degrees = np.zeros(outgoing.node_count)
    for csr in directions:
        if types is None:
            degrees += csr.degrees()
            continue
        for each in types:
            runs = np.flatnonzero(csr.run_types == each)
            # A node has one run of a type at most.
            nodes = np.searchsorted(csr.run_offsets, runs, side="right") - 1
            degrees[nodes] += csr.run_starts[runs + 1] - csr.run_starts[runs]
    return degrees


def met_degree(along: NDArray[np.float64], degrees: NDArray[np.float64]) -> float:
    """Mean degree of the nodes that are met along relationships, each as often as it is met.

    Args:
        along: Per node, how many relationships lead to it.
        degrees: Per node, the degrees.
    """
    total = float(along.sum())
    # A product of matrices would start the threads of a library, which go on spinning: it takes
    # ten times as long, and stops whoever works beside.
    return float(np.einsum("i,i", along, degrees)) / total if total else 0.0
