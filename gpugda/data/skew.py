"""How uneven degrees are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr

__all__ = ["degree_skews"]


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
