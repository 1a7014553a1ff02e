"""Node signatures (the paper's vertex signatures) of the data graph and of query nodes.

A query relationship constrains its neighbour by keys: its type or any, its direction or either, a
label that the neighbour must have or any. A data relationship has all keys that a query
relationship it matches can have, and the relationships of one clause are distinct: so a data node
has at least as many keys in each group as each clause requires. Of several clauses the maximum is
required.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from gpugda_strategies.launch.gsi_signatures import GROUPS_PER_WORD, SignatureTable

from gpugda.data.patches.patched import whole
from gpugda.data.threads import in_threads_ahead, pieces_of
from gpugda.plan.plan import LabelOp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.launch.gsi_signatures import SignatureKernels
    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import Workspace
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["make_signatures", "query_signatures", "required_labels", "signature_bytes"]

_ANYTHING = 0xFFFFFFFF
_STARTS_HERE, _ENDS_HERE, _EITHER_WAY = 1, 2, 3
_PIECE = 1 << 20
"""Relationships that are sent to the device at once."""
_WORD = 0xFFFFFFFF
_Label = tuple[tuple[LabelOp, int], ...]


def signature_bytes(graph: DataGraph, options: GsiOptions) -> int:
    """Bytes of the table."""
    return 4 * options.signature_words * max(graph.node_count, 64)


def make_signatures(
    run: Run, kernels: SignatureKernels, owner: Workspace, options: GsiOptions
) -> SignatureTable:
    """The table of all data nodes, in the owner's memory.

    Raises:
        MemoryLimitError: There is no room for the input arrays.
    """
    graph, workspace = run.graph.graph, run.workspace
    values = owner.allocate(signature_bytes(graph, options) // 4, np.uint32, "node signatures")
    owner.fill(values, 0)
    words = options.signature_words
    table = SignatureTable(values, words, graph.node_count, options.column_first)
    labels = (
        workspace.upload(whole(graph.label_offsets).astype(np.uint32), "labels of nodes"),
        workspace.upload(whole(graph.label_ids), "labels of nodes"),
    )
    csr = graph.outgoing

    def read(piece: slice) -> tuple[NDArray[Any], ...]:
        starts, types = csr.entries(piece)
        return starts, csr.neighbours[piece], types

    for columns in in_threads_ahead(read, pieces_of(graph.relationship_count, _PIECE)):
        run.check_deadline()
        sent = [workspace.upload(each, "relationships") for each in columns]
        kernels.add((sent[0], sent[1], sent[2]), len(columns[0]), labels, table)
        workspace.release(*sent)
    workspace.release(*labels)
    return table


def required_labels(program: _Label) -> frozenset[int]:
    """Labels that a label program requires in any case: those it only joins by AND."""
    stack: list[frozenset[int]] = []
    for operation, label in program:
        if operation is LabelOp.LABEL:
            stack.append(frozenset((label,)))
        elif operation is LabelOp.NOT:
            stack[-1] = frozenset()
        elif operation in (LabelOp.AND, LabelOp.OR):
            right, left = stack.pop(), stack.pop()
            stack.append(left | right if operation is LabelOp.AND else left & right)
        else:
            stack.append(frozenset())
    return stack[0] if stack else frozenset()


def query_signatures(
    bound: BoundQuery, rows: dict[int, int], options: GsiOptions
) -> NDArray[np.uint32]:
    """``uint32[rows * words]``: the required signature of each query node, by its matrix row."""
    group_count = options.signature_words * GROUPS_PER_WORD
    labels = [required_labels(node.labels) for node in bound.nodes]
    asked: dict[tuple[int, int], Counter[int]] = {}
    for each in bound.relationships:
        for node, neighbour, direction in _ends(each):
            groups = asked.setdefault((node, each.clause), Counter())
            for key in _keys(each, direction, labels[neighbour]):
                groups[_hash(*key) * group_count >> 32] += 1
    found = np.zeros((len(rows), options.signature_words), dtype=np.uint32)
    for (node, _), groups in asked.items():
        for group, count in groups.items():
            word, shift = divmod(group, GROUPS_PER_WORD)
            found[rows[node], word] |= np.uint32((3 if count > 1 else 1) << 2 * shift)
    return found.reshape(-1)


def _ends(each: BoundRelationship) -> Iterator[tuple[int, int, int]]:
    """The query node, its neighbour, and the relationship's direction seen from the node."""
    if each.directed:
        yield each.source, each.target, _STARTS_HERE
        yield each.target, each.source, _ENDS_HERE
        return
    yield each.source, each.target, _EITHER_WAY
    if each.source != each.target:
        yield each.target, each.source, _EITHER_WAY


def _keys(
    each: BoundRelationship, direction: int, labels: frozenset[int]
) -> Iterator[tuple[int, int, int]]:
    types = {_ANYTHING}
    if each.types is not None and len(each.types) == 1:
        types.add(each.types[0])
    return product(sorted(types), sorted({direction, _EITHER_WAY}), sorted({_ANYTHING, *labels}))


@lru_cache(maxsize=4096)
def _hash(kind: int, direction: int, label: int) -> int:
    """Must equal ``key_hash`` in ``gsi_signatures.cl``."""
    value = kind * 0x9E3779B1 & _WORD ^ label * 0x85EBCA6B & _WORD ^ direction * 0xC2B2AE35 & _WORD
    value ^= value >> 15
    value = value * 0x2C1B3C6D & _WORD
    value ^= value >> 12
    value = value * 0x297A2D39 & _WORD
    return value ^ value >> 15
