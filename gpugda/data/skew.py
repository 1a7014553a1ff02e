"""How uneven degrees are, and which come together: what paths of two relationships hang on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["Kind", "degree_skews", "degrees_of_kind", "met_degree"]

Kind: TypeAlias = "tuple[tuple[int, ...] | None, bool | None]"
"""Of a node's relationships: type ids, None for any; whether they start there, None for both."""


def degree_skews(csr: Csr, type_count: int) -> tuple[float, ...]:
    """The degree of nodes that are met along relationships, in mean degrees.

    Per type id, and last for any type. Nodes without such a relationship do not count for the mean;
    where all degrees are the same it is 1.
    """
    kinds = csr.run_types.astype(np.int64)
    lengths = np.diff(csr.run_starts).astype(np.float64)
    per_type = _skews(
        np.bincount(kinds, minlength=type_count),
        np.bincount(kinds, weights=lengths, minlength=type_count),
        np.bincount(kinds, weights=lengths**2, minlength=type_count),
    )
    degrees = csr.degrees().astype(np.float64)
    any_type = _skews(
        np.count_nonzero(degrees, keepdims=True),
        degrees.sum(keepdims=True),
        (degrees**2).sum(keepdims=True),
    )
    return (*per_type.tolist(), *any_type.tolist())


def _skews(nodes: NDArray[Any], sums: NDArray[Any], squares: NDArray[Any]) -> NDArray[np.float64]:
    skews = np.ones(len(sums))
    np.divide(nodes * squares, sums**2, out=skews, where=sums > 0)
    return skews


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
    return float(along @ degrees) / total if total else 0.0
