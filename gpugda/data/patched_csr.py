"""Compressed sparse rows whose arrays are made whole when somebody asks for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpugda.data.csr import Csr, CsrParts
from gpugda.data.patches.patched import Patched, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from gpugda.types import NameId

__all__ = ["csr_of"]


class PatchedCsr(Csr):
    """Looks like any `Csr`."""

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
        """See `Csr`; as all others, whole."""
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
        """See `Csr`; what the arrays take as they are kept, and what they were made of."""
        return sum(
            each.nbytes + (each.base.nbytes if isinstance(each, Patched) else 0)
            for each in self._parts
            if each is not None
        )


def csr_of(parts: CsrParts) -> Csr:
    """Of these arrays."""
    arrays: list[Any] = list(parts)
    return PatchedCsr(parts) if any(isinstance(each, Patched) for each in arrays) else Csr(*arrays)
