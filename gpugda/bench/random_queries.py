"""Generates random connected query graphs by a depth-first walk on the data graph.

Each is a copy of a part of the data graph, so it has at least one embedding: the nodes of the
walk, and distinct relationships between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.bench.adjacency import Adjacency

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.data.data_graph import DataGraph

__all__ = ["DENSITIES", "RandomQuery", "random_queries"]

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
