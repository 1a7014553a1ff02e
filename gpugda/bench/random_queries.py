"""Generates random connected query graphs by a depth-first walk on the data graph.

Each is a copy of a part of the data graph, so it has at least one embedding: the nodes of the
walk, and distinct relationships between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph


__all__ = ["DENSITIES", "Adjacency", "RandomQuery", "random_queries"]


class Adjacency:
    """Access to the relationships of each node of a data graph.

    Args:
        graph: The data graph.
    """

    def __init__(self, graph: DataGraph) -> None:
        self.graph = graph
        self.starts = graph.start_nodes()
        self.ends = graph.outgoing.neighbours
        self._types = graph.relationship_types()
        self._from_incoming = graph.incoming.relationship_indexes

    def roots(self) -> NDArray[np.int64]:
        """Indexes of the nodes that have a relationship."""
        degrees = self.graph.outgoing.degrees() + self.graph.incoming.degrees()
        return np.flatnonzero(degrees)

    def tightness(self) -> NDArray[np.float64]:
        """Per node, the maximum number of its relationships with one node, itself included."""
        n = self.graph.node_count
        low = np.minimum(self.starts, self.ends).astype(np.int64)
        high = np.maximum(self.starts, self.ends).astype(np.int64)
        pairs, counts = np.unique(low * n + high, return_counts=True)
        most = np.zeros(n)
        np.maximum.at(most, pairs // max(n, 1), counts)
        np.maximum.at(most, pairs % max(n, 1), counts)
        return most

    def type_name(self, relationship: int) -> str:
        """The relationship's type."""
        return self.graph.types.names[int(self._types[relationship])]

    def around(self, node: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Relationships of a node in both directions (a loop twice), and their other ends."""
        out = np.arange(*self._row(self.graph.outgoing.row_offsets, node), dtype=np.int64)
        first, last = self._row(self.graph.incoming.row_offsets, node)
        into = self._incoming(first, last)
        others = np.concatenate([self.ends[out], self.starts[into]]).astype(np.int64)
        return np.concatenate([out, into]), others

    def among(self, nodes: Iterable[int]) -> NDArray[np.int64]:
        """Indexes of all relationships with both ends among these nodes, ascending."""
        members = np.array(sorted(nodes), dtype=np.int64)
        found = []
        for node in members.tolist():
            out = np.arange(*self._row(self.graph.outgoing.row_offsets, node), dtype=np.int64)
            found.append(out[np.isin(self.ends[out], members)])
        return np.concatenate(found)

    def _incoming(self, first: int, last: int) -> NDArray[np.int64]:
        if self._from_incoming is None:  # None: entry i is relationship i
            return np.arange(first, last, dtype=np.int64)
        return self._from_incoming[first:last].astype(np.int64)

    @staticmethod
    def _row(offsets: NDArray[np.uint32], node: int) -> tuple[int, int]:
        return int(offsets[node]), int(offsets[node + 1])


DENSITIES = ("dense", "sparse")

_ROOTS_TRIED = 40
"""Maximum number of roots per query graph; the densest result is taken."""

_LOOKED_AT = 24
"""Number of a node's relationships from which a step of the walk chooses."""


@dataclass(frozen=True, slots=True)
class RandomQuery:
    """A connected query graph, and one of its embeddings in the data graph.

    Args:
        density: ``dense`` or ``sparse``.
        labels: Labels of each query node, as of the data node.
        relationships: Source, type and target; source and target are positions of query nodes.
        wanted: The requested number of relationships.
        node_indexes: Data nodes of the embedding.
        relationship_indexes: Relationships of the embedding, all distinct.
    """

    density: str
    labels: tuple[tuple[str, ...], ...]
    relationships: tuple[tuple[int, str, int], ...]
    wanted: int
    node_indexes: tuple[int, ...]
    relationship_indexes: tuple[int, ...]


def random_queries(
    graph: DataGraph, node_count: int, density: str, count: int, seed: int
) -> list[RandomQuery]:
    """Query graphs of one size, reproducible by graph and seed.

    Sparse ones are trees of ``node_count - 1`` relationships; dense ones have up to twice as many
    relationships as nodes, as far as the graph allows. Texts repeat only if no others are found;
    there are fewer than ``count`` only if the graph has no connected part of this size.
    """
    rng = np.random.default_rng([seed, node_count, DENSITIES.index(density)])
    walker = _Walker(graph, rng)
    found: dict[object, RandomQuery] = {}
    again: list[RandomQuery] = []
    for _ in range(10 * count):
        if len(found) == count:
            break
        made = walker.query(node_count, density)
        if made is None:
            continue
        key = (made.labels, made.relationships)
        if key in found:
            again.append(made)
        else:
            found[key] = made
    return [*found.values(), *again][:count]


class _Walker:
    def __init__(self, graph: DataGraph, rng: np.random.Generator) -> None:
        self._graph = graph
        self._around = Adjacency(graph)
        self._roots = self._around.roots()
        weights = self._around.tightness()[self._roots] ** 2
        self._tight = weights / weights.sum() if len(weights) else weights
        self._rng = rng

    def query(self, node_count: int, density: str) -> RandomQuery | None:
        """One query graph; None if no root led to one."""
        dense = density == "dense"
        wanted = 2 * node_count if dense else node_count - 1
        best: RandomQuery | None = None
        for attempt in range(_ROOTS_TRIED if len(self._roots) else 0):
            # Every other root is drawn by parallel relationships: the densest parts start there.
            weights = self._tight if dense and attempt % 2 else None
            root = int(self._rng.choice(self._roots, p=weights))
            walked = self._walk(root, node_count, greedy=dense)
            if walked is None:
                continue
            made = self._made(*walked, wanted, density)
            if best is None or len(made.relationships) > len(best.relationships):
                best = made
            if len(best.relationships) == wanted:
                break
        return best

    def _walk(
        self, root: int, node_count: int, *, greedy: bool
    ) -> tuple[list[int], list[int]] | None:
        """Nodes and the relationships to them, depth first; None if there are too few."""
        nodes, tree, path = [root], [], [root]
        while path and len(nodes) < node_count:
            step = self._step(path[-1], nodes, greedy=greedy)
            if step is None:
                path.pop()
                continue
            relationship, node = step
            tree.append(relationship)
            nodes.append(node)
            path.append(node)
        return (nodes, tree) if len(nodes) == node_count else None

    def _step(self, node: int, nodes: Sequence[int], *, greedy: bool) -> tuple[int, int] | None:
        """A relationship to a new node; greedy: prefers one with many relationships to the rest."""
        relationships, others = self._around.around(node)
        fresh = np.flatnonzero(~np.isin(others, np.array(nodes)))
        if not len(fresh):
            return None
        chosen = self._rng.permutation(fresh)[: _LOOKED_AT if greedy else 1]
        if greedy and len(chosen) > 1:
            ties = [self._ties(int(others[place]), nodes) for place in chosen]
            # The random choice keeps the query graphs different from one another.
            weights = np.array(ties, dtype=np.float64) ** 2
            place = self._rng.choice(chosen, p=weights / weights.sum())
        else:
            place = chosen[0]
        return int(relationships[place]), int(others[place])

    def _ties(self, node: int, nodes: Sequence[int]) -> int:
        others = self._around.around(node)[1]
        return int(np.isin(others, np.array([*nodes, node])).sum())

    def _made(self, nodes: list[int], tree: list[int], wanted: int, density: str) -> RandomQuery:
        chosen = list(tree)
        if wanted > len(tree):
            rest = np.setdiff1d(self._around.among(nodes), np.array(tree, dtype=np.int64))
            chosen += self._rng.permutation(rest)[: wanted - len(tree)].tolist()
        place = {node: position for position, node in enumerate(nodes)}
        around = self._around
        return RandomQuery(
            density,
            tuple(self._graph.node_labels(node) for node in nodes),
            tuple(
                (
                    place[int(around.starts[each])],
                    around.type_name(each),
                    place[int(around.ends[each])],
                )
                for each in chosen
            ),
            wanted,
            tuple(nodes),
            tuple(chosen),
        )
