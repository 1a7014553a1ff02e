"""Segments of vertex signatures on the device; launcher of ``sgsi_signatures.cl``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.device.launch.gsi_signatures import GROUPS_PER_WORD
from gpugda.device.program import get_kernel

if TYPE_CHECKING:
    from gpugda.device.context import DeviceContext
    from gpugda.device.memory.buffers import DeviceArray

__all__ = ["SegmentSignatures", "SignatureSegment"]

_FILE = "sgsi_signatures.cl"


@dataclass(frozen=True, slots=True, eq=False)
class SignatureSegment:
    """Some words of the signatures of some data nodes.

    Args:
        values: ``uint32[word_count * node_count]``, column-first.
        node_count: How many nodes.
        first_word: The first of the words.
        word_count: How many words.
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
        """Adds what nodes see along entries, once each.

        Args:
            entries: ``uint32`` owners from the segment's first node on, ``uint16`` types,
                ``uint32`` labels of the neighbours.
            count: How many.
            direction: 1 where relationships start at the owner, 2 where they end there.
            segment: With all words; zeros at first.
            adds_any: Also that there is a neighbour, whatever its label?
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
        """Takes candidates of the segment's nodes away from a matrix of a bitmap per row.

        ``asked`` holds a signature per row, and how many words one has.
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
