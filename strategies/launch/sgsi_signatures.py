"""Segments of vertex signatures on the device; launcher of ``sgsi_signatures.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.launch.gsi_signatures import GROUPS_PER_WORD

from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["SegmentSignatures", "SignatureSegment"]

_FILE = "gpugda_strategies/opencl/sgsi_signatures.cl"


@dataclass(frozen=True, slots=True, eq=False)
class SignatureSegment:
    """A range of words of the signatures of a range of data nodes.

    Args:
        values: ``uint32[word_count * node_count]``, column-first.
        node_count: The number of nodes.
        first_word: The first of the words.
        word_count: The number of words.
    """

    values: DeviceArray
    node_count: int
    first_word: int
    word_count: int


class SegmentSignatures:
    """Makes segments of signatures and filters candidates by them."""

    def __init__(self, context: DeviceContext) -> None:
        self._add = get_kernel(context, _FILE, "add_entries", "bbbQIIbQI")
        self._check = get_kernel(context, _FILE, "check_segment", "bQIbIIIIb")

    def add(
        self,
        entries: tuple[DeviceArray, DeviceArray, DeviceArray],
        count: int,
        direction: int,
        segment: SignatureSegment,
        *,
        adds_any: bool,
    ) -> None:
        """Adds each entry to the signature of its owner.

        Args:
            entries: ``uint32`` owners counted from the segment's first node, ``uint16`` types,
                ``uint32`` labels of the neighbours.
            count: The number of entries.
            direction: 1 if relationships start at the owner, 2 if they end there.
            segment: The segment with all words, initially 0.
            adds_any: True to add also a neighbour of any label.
        """
        groups = segment.word_count * GROUPS_PER_WORD
        target = (segment.values, segment.node_count, groups)
        self._add(count, *entries, count, direction, int(adds_any), *target)

    def check(
        self,
        segment: SignatureSegment,
        asked: tuple[DeviceArray, int],
        rows: int,
        matrix: DeviceArray,
    ) -> None:
        """Removes candidates among the segment's nodes from a matrix with a bitmap per row.

        ``asked``: the required signature of each row, and the number of words of each.
        """
        nodes = segment.node_count
        self._check(
            rows * nodes,
            segment.values,
            nodes,
            segment.word_count,
            *asked,
            segment.first_word,
            rows,
            -(-nodes // 32),
            matrix,
        )
