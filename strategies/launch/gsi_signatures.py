"""Vertex signatures on the device; launcher of ``gsi_signatures.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["GROUPS_PER_WORD", "SignatureKernels", "SignatureTable"]

_FILE = "gpugda_strategies/opencl/gsi_signatures.cl"
GROUPS_PER_WORD = 16


@dataclass(frozen=True, slots=True, eq=False)
class SignatureTable:
    """Signatures of all data nodes.

    Args:
        values: ``uint32[word_count * node_count]``.
        word_count: Words of a signature.
        node_count: The number of data nodes.
        column_first: True for word-major order (the first words of all nodes come first), False for
            node-major order.
    """

    values: DeviceArray
    word_count: int
    node_count: int
    column_first: bool

    @property
    def strides(self) -> tuple[int, int]:
        """Stride between the words of a signature, and between nodes."""
        return (self.node_count, 1) if self.column_first else (1, self.word_count)


class SignatureKernels:
    """Makes signatures and filters candidates by them."""

    def __init__(self, context: DeviceContext) -> None:
        self._add = get_kernel(context, _FILE, "add_to_signatures", "bbbQbbbQQI")
        self._check = get_kernel(context, _FILE, "check_signatures", "bQQIbIQIb")

    def add(
        self,
        relationships: tuple[DeviceArray, DeviceArray, DeviceArray],
        count: int,
        labels: tuple[DeviceArray, DeviceArray],
        table: SignatureTable,
    ) -> None:
        """Adds each relationship to the signatures of its ends.

        Args:
            relationships: ``uint32`` starts and ends, ``uint16`` types.
            count: The number of relationships.
            labels: ``uint32[n+1]`` offsets and ``uint16`` label ids of the nodes.
            table: The signatures, initially 0.
        """
        groups = table.word_count * GROUPS_PER_WORD
        self._add(count, *relationships, count, *labels, table.values, *table.strides, groups)

    def check(
        self, table: SignatureTable, asked: DeviceArray, rows: int, words: int, matrix: DeviceArray
    ) -> None:
        """Removes candidates from a matrix of ``rows`` bitmaps of ``words`` words each.

        ``asked``: the required signature of each row.
        """
        self._check(
            rows * table.node_count,
            table.values,
            *table.strides,
            table.word_count,
            asked,
            rows,
            table.node_count,
            words,
            matrix,
        )
