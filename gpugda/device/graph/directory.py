"""The arrays of a CSR as kernels read them: two loads lead from a node and a type to its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.patches.patched import Array

__all__ = [
    "CSR_ARRAYS",
    "FEW_RUNS",
    "GRAPH_ARGUMENTS",
    "NEIGHBOURS",
    "RUN_OFFSETS",
    "RUN_STARTS",
    "RUN_TYPES",
    "arrays_of",
    "csr_arrays",
    "numbers_of",
    "run_starts",
]

FEW_RUNS = 16
"""Binary search in longer rows ends at this many runs; same value as in ``csr.h``."""
NEIGHBOURS, RUN_OFFSETS, RUN_TYPES, RUN_STARTS = range(4)
"""Positions of the arrays among those of a direction in ``GRAPH_PARAMETERS``."""
CSR_ARRAYS = 4
GRAPH_ARGUMENTS = 2 * CSR_ARRAYS + 2
"""Number of arguments: outgoing arrays, incoming arrays, relationship indexes (incoming first)."""


def arrays_of(direction: int) -> slice:
    """Positions of a direction's arrays among all arguments: 0 for outgoing, 1 for incoming."""
    return slice(CSR_ARRAYS * direction, CSR_ARRAYS * (direction + 1))


def numbers_of(direction: int) -> int:
    """Position of a direction's relationship indexes among all arguments."""
    return GRAPH_ARGUMENTS - 1 - direction


def run_starts(csr: Csr, type_count: int) -> NDArray[np.uint32]:
    """Starts of the runs that kernels know: in a graph of one type, each row is a run."""
    return csr.row_offsets if type_count <= 1 else csr.run_starts


def csr_arrays(csr: Csr, type_count: int) -> tuple[Array | None, ...]:
    """The arrays that ``csr.h`` names, for one direction of a graph with ``type_count`` types.

    Returns:
        Neighbours ``uint32[m]``; run offsets ``uint32[n+1]`` and run types ``uint16[runs]`` or
            ``uint32[runs]``, both None if there is only one type; run starts ``uint32[runs+1]``, or
            ``uint32[n+1]`` for one type. The arrays may be patched ones.
    """
    parts = csr.parts
    if type_count <= 1:
        return parts.neighbours, None, None, parts.row_offsets
    return parts.neighbours, parts.run_offsets, parts.run_types, parts.run_starts
