"""Label programs: as words that the device evaluates, or as bitmaps evaluated on the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from gpugda.device.graph.device_graph import ANY_LABEL
from gpugda.device.launch.query_words import LABEL_STACK
from gpugda.match.candidates.selections import bitmap_of
from gpugda.plan.plan import LabelOp

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.launch.query_words import Degree
    from gpugda.match.embeddings import Masks
    from gpugda.plan.plan import BoundNode, BoundQuery

__all__ = [
    "all_node_masks",
    "evaluated",
    "label_words",
    "labels_read",
    "passing_bits",
    "program_bits",
]

_Bits = TypeVar("_Bits", np.uint32, np.bool_)

_ANY: Final = LabelOp.ANY  # looked up once: enum access is slow compared with its use here
_LABELS: Final = (LabelOp.LABEL, LabelOp.ANY)
_LabelProgram = tuple[tuple[LabelOp, int], ...]


def labels_read(program: _LabelProgram) -> list[int]:
    """The labels whose bitmaps the device reads to evaluate a program."""
    if not _fits_stack(program):
        return []
    return [_bitmap_of(operation, label) for operation, label in program if operation in _LABELS]


def _bitmap_of(operation: LabelOp, label: int) -> int:
    return ANY_LABEL if operation is _ANY else label


def label_words(
    node: BoundNode, degrees: Sequence[Degree], slots: Mapping[int | Degree, int]
) -> tuple[tuple[int, int], ...]:
    """A node's label program, with conjuncts for those degrees that have bitmaps."""
    words: list[tuple[int, int]] = []
    if _fits_stack(node.labels):
        words += [
            (operation.value, slots.get(_bitmap_of(operation, label), 0))
            for operation, label in node.labels
        ]
    for need in degrees:
        if need in slots:
            both = [(LabelOp.AND.value, 0)] if words else []
            words += [(LabelOp.LABEL.value, slots[need]), *both]
    return tuple(words)


def _fits_stack(program: _LabelProgram) -> bool:
    """True if the device's stack is deep enough for the program."""
    if len(program) <= LABEL_STACK:
        return True
    depth = deepest = 0
    for operation, _ in program:
        if operation in (LabelOp.AND, LabelOp.OR):
            depth -= 1
        elif operation is not LabelOp.NOT:
            depth += 1
        deepest = max(deepest, depth)
    return deepest <= LABEL_STACK


def all_node_masks(
    bound: BoundQuery, masks: Masks, graph: DeviceGraph
) -> dict[int, NDArray[np.uint32]]:
    """The masks of nodes, combined with label programs that are too deep for the device."""
    node_masks = dict(masks.nodes)
    for node in bound.nodes:
        if not _fits_stack(node.labels):
            bits = program_bits(node.labels, graph)
            node_masks[node.position] = bits & node_masks.get(node.position, bits)
    return node_masks


def program_bits(program: _LabelProgram, graph: DeviceGraph) -> NDArray[np.uint32]:
    """``uint32[words]``: nodes that pass a label program; bits past the last node may be set."""

    def bits_of(operation: LabelOp, label: int) -> NDArray[np.uint32]:
        if operation is LabelOp.NONE:
            return np.zeros(graph.words, dtype=np.uint32)
        bits: NDArray[np.uint32] = graph.label_bits(_bitmap_of(operation, label))
        return bits

    return evaluated(program, bits_of)


def evaluated(
    program: _LabelProgram, bits_of: Callable[[LabelOp, int], NDArray[_Bits]]
) -> NDArray[_Bits]:
    """What a label program makes of the bits, or flags, of ``LABEL``, ``ANY`` and ``NONE``."""
    stack: list[NDArray[_Bits]] = []
    for operation, label in program:
        if operation is LabelOp.NOT:
            stack.append(~stack.pop())
        elif operation in (LabelOp.AND, LabelOp.OR):
            last, first = stack.pop(), stack.pop()
            stack.append(first & last if operation is LabelOp.AND else first | last)
        else:
            stack.append(bits_of(operation, label))
    return stack[0]


def passing_bits(
    bound: BoundQuery, masks: Masks, position: int, graph: DeviceGraph
) -> NDArray[np.uint32]:
    """``uint32[words]``: nodes that pass a query node's labels and predicates."""
    mask, labels = masks.nodes.get(position), bound.nodes[position].labels
    if mask is None:
        mask = bitmap_of(np.ones(graph.graph.node_count, dtype=np.bool_))
    return mask & program_bits(labels, graph) if labels else mask
