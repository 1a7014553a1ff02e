"""Evaluates predicates over one variable for all nodes or relationships at once.

A predicate that is a type error for some node must not raise: possibly no row holds that node. The
mask keeps such nodes, and the predicates are returned as conditions on the result's rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.data.statistics.node_changes import with_bits
from gpugda.data.values.columns import Column, ColumnKind
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.operands import Flags, check_faults, either
from gpugda.expressions.parameters import Parameters
from gpugda.match.candidates.indexed_nodes import indexed_nodes
from gpugda.match.candidates.mask_keys import mask_key
from gpugda.match.embeddings import Masks
from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship, LabelOp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.values.property_store import CachedMask

__all__ = ["bitmap_of", "bitmap_of_nodes", "make_masks", "mask_query", "rarest_label"]

_FEW = 16
"""A label is selective if fewer than one in this many nodes has it."""

_FEW_BITS = 256
"""Bits are set one by one if they are fewer than one in this many nodes."""


def mask_query(
    bound: BoundQuery,
    graph: DataGraph,
    parameters: Mapping[str, Any],
    limit_to: Mapping[int, NDArray[np.uint32]] | None = None,
) -> tuple[Masks, BoundQuery]:
    """The masks, and the query that remains to be evaluated on rows.

    Args:
        bound: The query whose nodes and relationships have predicates.
        graph: The data graph.
        parameters: Values by name.
        limit_to: Per query node position, the only nodes that matter, if known.

    Returns:
        The masks, and ``bound`` with further residuals: the predicates that were a type error for
        some node or relationship. The tail must be given this one.

    Raises:
        ParameterMissingError: A parameter has no value.
    """
    maker = _MaskMaker(graph, Parameters(parameters, bound.query.text), bound.query.text)
    nodes, relationships = {}, {}
    for node in bound.nodes:
        if node.predicates:
            rows = (limit_to or {}).get(node.position)
            nodes[node.position] = maker.of_node(node, rows)
    for relationship in bound.relationships:
        if relationship.predicates:
            relationships[relationship.position] = maker.of_relationship(relationship)
    if maker.doubtful:
        bound = replace(bound, residuals=(*bound.residuals, *maker.doubtful))
    return Masks(nodes, relationships), bound


def make_masks(
    bound: BoundQuery,
    graph: DataGraph,
    parameters: Mapping[str, Any],
    limit_to: Mapping[int, NDArray[np.uint32]] | None = None,
) -> Masks:
    """The masks alone.

    Raises:
        CypherTypeError: A predicate is a type error for some node or relationship, even if no row
            would hold it; `mask_query` distinguishes these cases.
    """
    masks, rest = mask_query(bound, graph, parameters, limit_to)
    if len(rest.residuals) > len(bound.residuals):
        maker = _MaskMaker(graph, Parameters(parameters, bound.query.text), bound.query.text)
        maker.raise_first(bound)
    return masks


class _MaskMaker:
    def __init__(self, graph: DataGraph, parameters: Parameters, text: str) -> None:
        self.graph = graph
        self.parameters = parameters
        self.text = text
        self.cache: dict[Any, Any] = {}
        self.doubtful: list[Any] = []

    def of_node(self, node: BoundNode, rows: NDArray[np.uint32] | None) -> NDArray[np.uint32]:
        if rows is None:
            rows = _labelled(node, self.graph)
        if rows is None:
            return self._of_all(node)
        return self._mask(node, ColumnKind.NODE, self.graph.node_count, rows)

    def _of_all(self, node: BoundNode) -> NDArray[np.uint32]:
        """The mask of a node without label restriction, reused from an earlier query if kept."""
        kept = self.graph.node_properties.mask_cache
        key = mask_key(node.predicates, node.name, self.parameters)
        known = None if key is None else kept.get(key)
        if known is not None and not len(known.stale):
            return known.bits
        found = None if known is None else self._brought_up(node, known)
        if found is None:
            doubtful = len(self.doubtful)
            rows = indexed_nodes(node.predicates, self.graph, self.parameters)
            found = self._mask(node, ColumnKind.NODE, self.graph.node_count, rows)
            if len(self.doubtful) > doubtful:
                return found
        if key is not None:
            kept.put(key, found, key.reads)
        return found

    def _brought_up(self, node: BoundNode, known: CachedMask) -> NDArray[np.uint32] | None:
        """A kept mask with updated bits of changed nodes; None if one of them is a type error."""
        count, stale = self.graph.node_count, known.stale
        environment = self._environment(
            node.name, ColumnKind.NODE, count, stale.astype(np.uint32), cache={}
        )
        truth = evaluate_truth(node.predicates, environment)
        if any(np.any(fault.rows) for fault in truth.faults):
            return None
        return with_bits(known.bits, count, stale, stale[np.broadcast_to(truth.holds, len(stale))])

    def of_relationship(self, relationship: BoundRelationship) -> NDArray[np.uint32]:
        count = self.graph.relationship_count
        return self._mask(relationship, ColumnKind.RELATIONSHIP, count, None)

    def raise_first(self, bound: BoundQuery) -> None:
        for node in bound.nodes:
            rows = _labelled(node, self.graph)
            self._check(node, ColumnKind.NODE, self.graph.node_count, rows)
        for relationship in bound.relationships:
            count = self.graph.relationship_count
            self._check(relationship, ColumnKind.RELATIONSHIP, count, None)

    def _check(
        self,
        bound: BoundNode | BoundRelationship,
        kind: ColumnKind,
        count: int,
        rows: NDArray[np.uint32] | None,
    ) -> None:
        environment = self._environment(bound.name, kind, count, rows)
        truth = evaluate_truth(bound.predicates, environment)
        check_faults(truth.faults, environment.row_count)

    def _mask(
        self,
        bound: BoundNode | BoundRelationship,
        kind: ColumnKind,
        count: int,
        rows: NDArray[np.uint32] | None,
    ) -> NDArray[np.uint32]:
        environment = self._environment(bound.name, kind, count, rows)
        truth = evaluate_truth(bound.predicates, environment)
        kept = truth.holds
        if any(np.any(fault.rows) for fault in truth.faults):
            self.doubtful.extend(bound.predicates)
            for fault in truth.faults:
                kept = either(kept, fault.rows)
        return _bitmap(kept, count, rows)

    def _environment(
        self,
        name: str,
        kind: ColumnKind,
        count: int,
        rows: NDArray[np.uint32] | None,
        cache: dict[Any, Any] | None = None,
    ) -> Environment:
        indexes = np.arange(count, dtype=np.uint32) if rows is None else rows
        return Environment(
            len(indexes),
            self.parameters,
            self.text,
            self.graph,
            {name: Column(kind, indexes)},
            everything=rows is None,
            cache=self.cache if cache is None else cache,
        )


def rarest_label(node: BoundNode, graph: DataGraph) -> int | None:
    """The rarest of the labels that a node must have; None if it needs none, or one of several."""
    if any(operation not in (LabelOp.LABEL, LabelOp.AND) for operation, _ in node.labels):
        return None
    labels = [label for operation, label in node.labels if operation is LabelOp.LABEL]
    return min(labels, key=graph.statistics.nodes_with, default=None)


def _labelled(node: BoundNode, graph: DataGraph) -> NDArray[np.uint32] | None:
    """The nodes of the rarest label that the node must have; None unless they are few."""
    label = rarest_label(node, graph)
    if label is None or graph.statistics.nodes_with(label) * _FEW > graph.node_count:
        return None
    bits = graph.label_bits(label).view(np.uint8)
    flags = np.unpackbits(bits, count=graph.node_count, bitorder="little")
    return np.flatnonzero(flags).astype(np.uint32)


def bitmap_of(flags: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """A bitmap: flag ``i`` is bit ``i % 32`` of word ``i // 32``."""
    return _bitmap(flags, len(flags), None)


def bitmap_of_nodes(nodes: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
    """A bitmap of ``count`` nodes with the bits of these."""
    return _bitmap(True, count, nodes)


def _bitmap(kept: Flags, count: int, rows: NDArray[np.uint32] | None) -> NDArray[np.uint32]:
    if rows is None:
        flags = np.full(count, kept) if isinstance(kept, bool) else kept
    elif len(rows) * _FEW_BITS < count:
        words = np.zeros((count + 31) // 32, dtype=np.uint32)
        found = rows if kept is True else rows[:0] if kept is False else rows[kept]
        np.bitwise_or.at(words, found >> 5, np.uint32(1) << (found & 31))
        return words
    else:
        flags = np.zeros(count, dtype=np.bool_)
        flags[rows] = kept
    packed = np.zeros((count + 31) // 32 * 4, dtype=np.uint8)
    packed[: (count + 7) // 8] = np.packbits(flags, bitorder="little")
    return packed.view(np.uint32)
