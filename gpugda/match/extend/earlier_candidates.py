"""Updates the candidates of an earlier snapshot where the graph changed.

Finding all candidates takes time proportional to the number of nodes. The updated sets may hold
nodes that a full search would remove because their neighbours no longer match: the join removes
their rows. They hold no node that lacks the labels, the degrees or the properties that its query
node requires, and they contain every node of a row. The reason: an unchanged node that was removed
had no matching neighbour among the candidates. It can be in a row only if such a neighbour was
added, and the neighbours of all added nodes are examined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.increments.searching import run_bounds
from gpugda.data.integer_sets import has_nodes, nodes_of
from gpugda.data.patches.sorted_sets import sorted_distinct
from gpugda.data.runs import places_in_runs
from gpugda.data.statistics.node_changes import with_bits
from gpugda.device.graph.node_bitmaps import degrees_of
from gpugda.match.candidates.encode import needed_degrees
from gpugda.match.candidates.label_words import program_bits
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from gpugda.data.csr import CsrParts
    from gpugda.data.data_graph import DataGraph
    from gpugda.data.statistics.node_changes import NodeChanges
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.launch.query_words import Degree
    from gpugda.match.candidates.encode import Encoding
    from gpugda.match.embeddings import Masks
    from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship

    Bits = NDArray[np.uint32]
    Nodes = NDArray[np.int64]

__all__ = ["KnownCandidates", "allowed_nodes", "can_update", "update_candidates"]

_MAX_TOUCHED = 1 << 13
"""Maximum number of changed or added nodes; with more, all candidates are found anew."""
_MAX_ENTRIES = 1 << 16
"""Maximum number of their neighbours."""
_SHARE_TOUCHED = 8
"""At most one in this many candidates may be touched before all are found anew.

The reason: a full search would no longer find some of those that remain.
"""
_FEW_TOUCHED = 1 << 9
"""Number of candidates that may be touched in any case."""


@value(frozen=True, slots=True, eq=False)
class KnownCandidates:
    """The candidates of a query, on the host.

    Args:
        state: State of the graph.
        allowed: Per position of a query node, ``uint32[words]``: the nodes with its labels that
            pass its predicates.
        bits: Per position of a query node, ``uint32[words]``: its candidates.
        needs: Per position of a query node: the degrees that its candidates have.
        explored: True if neighbours were explored.
        touched: Number of candidates that changed or were added since the last full search.
        encoding: The query without its masks, if it was encoded for an update.
    """

    state: NodeChanges
    allowed: Mapping[int, Bits]
    bits: Mapping[int, Bits]
    needs: tuple[tuple[Degree, ...], ...]
    explored: bool
    touched: int = 0
    encoding: Encoding | None = None


def can_update(bound: BoundQuery, masks: Masks) -> bool:
    """True if a query's candidates may be derived from those of an earlier snapshot.

    Relationship predicates may select differently anywhere. For a self-loop, the join assumes that
    candidates have it.
    """
    return not masks.relationships and all(
        each.source != each.target for each in bound.relationships
    )


def allowed_nodes(bound: BoundQuery, masks: Masks, graph: DeviceGraph) -> dict[int, Bits]:
    """See `KnownCandidates.allowed`."""
    found: dict[int, Bits] = {}
    alike: dict[object, Bits] = {}
    for node in bound.nodes:
        mask = masks.nodes.get(node.position)
        key = node.labels, id(mask)
        if key not in alike:
            alike[key] = _allowed(node, mask, graph)
        found[node.position] = alike[key]
    return found


def _allowed(node: BoundNode, mask: Bits | None, graph: DeviceGraph) -> Bits:
    labelled = program_bits(node.labels, graph) if node.labels else None
    if mask is not None:  # masks have no bits past the last node
        return mask if labelled is None else mask & labelled
    if labelled is not None and len(node.labels) == 1:
        return labelled  # of one label: the same object as long as no node gets or loses it
    everything = np.full(graph.words, 0xFFFFFFFF, dtype=np.uint32)
    everything[-1:] >>= np.uint32(-graph.graph.node_count % 32)
    return everything if labelled is None else everything & labelled


def update_candidates(
    earlier: KnownCandidates, bound: BoundQuery, graph: DataGraph, allowed: Mapping[int, Bits]
) -> KnownCandidates | None:
    """The candidates of a snapshot; None if all candidates have to be found anew.

    Args:
        earlier: The candidates of an earlier snapshot.
        bound: The query, which is the same.
        graph: The graph as it is now.
        allowed: As returned by `allowed_nodes`.
    """
    changed = graph.node_changes().since(earlier.state)
    needs = tuple(map(needed_degrees, bound.nodes))
    if changed is None or len(changed) > _MAX_TOUCHED or needs != earlier.needs:
        return None
    change = _Change(earlier, bound, graph, allowed, changed)
    try:
        change.remove_and_queue()
        change.add_queued()
    except _TooManyError:
        return None
    count = sum(int(np.bitwise_count(each).sum()) for each in change.bits.values())
    touched = earlier.touched + change.touched
    if touched * _SHARE_TOUCHED > count and touched > _FEW_TOUCHED:
        return None
    return KnownCandidates(
        graph.node_changes(),
        allowed,
        change.bits,
        needs,
        earlier.explored,
        touched,
        earlier.encoding,
    )


class _TooManyError(Exception):
    """Finding all candidates is cheaper."""


class _Change:
    """One update of all candidates, step by step.

    Attributes:
        bits: Candidates per position of a query node.
        touched: Number of candidates that changed or were added.
    """

    def __init__(
        self,
        earlier: KnownCandidates,
        bound: BoundQuery,
        graph: DataGraph,
        allowed: Mapping[int, Bits],
        changed: Nodes,
    ) -> None:
        self._earlier, self._bound, self._graph = earlier, bound, graph
        self._allowed, self._changed = allowed, changed
        self.bits: dict[int, Bits] = {}
        self.touched = 0
        self._entries = 0
        self._waiting: dict[int, Nodes] = {}
        self._around: dict[int, list[tuple[int, BoundRelationship]]] = {}
        for each in bound.relationships:
            self._around.setdefault(each.source, []).append((each.target, each))
            self._around.setdefault(each.target, []).append((each.source, each))

    def remove_and_queue(self) -> None:
        """Removes nodes that no longer match; queues those that do apart from neighbours."""
        for node in self._bound.nodes:
            position, allowed = node.position, self._allowed[node.position]
            before, bits = self._earlier.allowed[position], self._earlier.bits[position]
            touched = self._changed
            if before is not allowed:
                bits = _padded(bits, len(allowed)) & allowed
                came = allowed & ~_padded(before, len(allowed))
                if int(np.bitwise_count(came).sum()) > _MAX_TOUCHED:
                    raise _TooManyError
                touched = sorted_distinct(touched, nodes_of(came))
            self._touch(int(np.count_nonzero(has_nodes(bits, self._changed))))
            fits = self._fits(node, touched)
            lost = touched[~fits]
            self.bits[position] = with_bits(bits, self._graph.node_count, lost, lost[:0])
            self._wait(position, touched[fits])

    def add_queued(self) -> None:
        """Adds queued nodes that may have matching neighbours; queues the neighbours they need."""
        while self._waiting:
            position, nodes = self._waiting.popitem()
            if not self._earlier.explored:
                self._add(position, nodes)
                continue
            found = []
            for other, each in self._around.get(position, ()):
                owners, neighbours = self._neighbours(each, position, nodes)
                fit = has_nodes(self._allowed[other], neighbours)
                found.append((other, owners[fit], neighbours[fit]))
            stays = np.ones(len(nodes), dtype=np.bool_)
            for _, owners, _ in found:
                stays &= np.bincount(owners, minlength=len(nodes)) > 0
            self._add(position, nodes[stays])
            for other, owners, neighbours in found:
                known = sorted_distinct(neighbours[stays[owners]])
                node = self._bound.nodes[other]
                new = known[~has_nodes(self.bits[other], known)]
                self._wait(other, new[self._fits(node, new)])

    def _add(self, position: int, nodes: Nodes) -> None:
        if len(nodes):
            self._touch(len(nodes))
            bits = self.bits[position]
            self.bits[position] = with_bits(bits, self._graph.node_count, nodes[:0], nodes)

    def _wait(self, position: int, nodes: Nodes) -> None:
        """Queues nodes that match apart from their neighbours and are no candidates yet."""
        new = nodes[~has_nodes(self.bits[position], nodes)]
        if len(new):
            waiting = self._waiting.get(position)
            self._waiting[position] = new if waiting is None else sorted_distinct(waiting, new)

    def _fits(self, node: BoundNode, nodes: Nodes) -> NDArray[np.bool_]:
        fits = has_nodes(self._allowed[node.position], nodes)
        for degree in needed_degrees(node):
            fits[fits] = degrees_of(self._graph, degree, nodes[fits]) >= degree.at_least
        return fits

    def _touch(self, count: int) -> None:
        self.touched += count
        if self.touched > _MAX_TOUCHED:
            raise _TooManyError

    def _neighbours(
        self, each: BoundRelationship, position: int, nodes: Nodes
    ) -> tuple[NDArray[np.intp], Nodes]:
        """Neighbours along a query relationship, and for each the index of its node."""
        found = []
        for csr, start in (
            (self._graph.outgoing.parts, each.source),
            (self._graph.incoming.parts, each.target),
        ):
            if not each.directed or start == position:
                for low, high in _bounds(csr, nodes, each.types):
                    lengths = high - low
                    self._entries += int(lengths.sum())
                    if self._entries > _MAX_ENTRIES:
                        raise _TooManyError
                    owners = np.repeat(np.arange(len(nodes)), lengths)
                    entries = low[owners] + places_in_runs(lengths)
                    found.append((owners, csr.neighbours[entries].astype(np.int64)))
        if not found:
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64)
        owners, neighbours = (np.concatenate(some) for some in zip(*found, strict=True))
        return owners, neighbours


def _bounds(
    csr: CsrParts, nodes: Nodes, types: tuple[int, ...] | None
) -> Iterator[tuple[Nodes, Nodes]]:
    """Yields the bounds of the nodes' entries (first, one past the last), type by type."""
    if types is None:
        yield csr.row_offsets[nodes].astype(np.int64), csr.row_offsets[nodes + 1].astype(np.int64)
        return
    for kind in types:
        _, low, high = run_bounds(csr, nodes, np.full(len(nodes), kind))
        yield low, high.astype(np.int64)


def _padded(bits: Bits, words: int) -> Bits:
    return bits if len(bits) == words else np.pad(bits, (0, words - len(bits)))
