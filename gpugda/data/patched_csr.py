"""Compressed sparse rows over patched arrays, which are materialised when read as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.csr import Csr, CsrParts
from gpugda.data.patches.patched import Patched, stored_bytes, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpugda.types import NameId

__all__ = ["csr_of"]


class PatchedCsr(Csr):
    """A `Csr` over patched arrays."""

    __slots__ = ("_parts",)
    _parts: CsrParts

    def __init__(self, parts: CsrParts) -> None:
        object.__setattr__(self, "_parts", parts)

    @property
    def parts(self) -> CsrParts:
        """See `Csr`."""
        return self._parts

    @property
    def row_offsets(self) -> NDArray[np.uint32]:
        """See `Csr`; materialised, like all the arrays below."""
        return whole(self._parts.row_offsets)

    @property
    def neighbours(self) -> NDArray[np.uint32]:
        """See `Csr`."""
        return whole(self._parts.neighbours)

    @property
    def relationship_indexes(self) -> NDArray[np.uint32] | None:
        """See `Csr`."""
        indexes = self._parts.relationship_indexes
        return None if indexes is None else whole(indexes)

    @property
    def run_offsets(self) -> NDArray[np.uint32]:
        """See `Csr`."""
        return whole(self._parts.run_offsets)

    @property
    def run_types(self) -> NDArray[NameId]:
        """See `Csr`."""
        return whole(self._parts.run_types)

    @property
    def run_starts(self) -> NDArray[np.uint32]:
        """See `Csr`."""
        return whole(self._parts.run_starts)

    @property
    def node_count(self) -> int:
        """See `Csr`."""
        return len(self._parts.row_offsets) - 1

    @property
    def relationship_count(self) -> int:
        """See `Csr`."""
        return len(self._parts.neighbours)

    @property
    def nbytes(self) -> int:
        """See `Csr`; size of the arrays as stored, and of their bases."""
        return sum(stored_bytes(each) for each in self._parts if each is not None)


def csr_of(parts: CsrParts) -> Csr:
    """A `Csr` of these arrays, patched or not."""
    arrays: list[Any] = list(parts)
    return PatchedCsr(parts) if any(isinstance(each, Patched) for each in arrays) else Csr(*arrays)
