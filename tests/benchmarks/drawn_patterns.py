"""Draws patterns of many kinds from a data graph; most have at least one embedding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from gpugda.bench.random_queries import Adjacency, random_queries
from gpugda.data.data_graph import DataGraph

__all__ = ["Pattern", "drawn_patterns"]

Pattern = tuple[str, str, list[str]]
"""Kind, text, and names of the nodes."""
CYCLES = {
    "triangle": "a-b b-c a-c",
    "square": "a-b b-c c-d d-a",
    "square with a tail": "a-b b-c c-d d-a d-e",
    "square with a diagonal": "a-b b-c c-d d-a a-c",
    "4-clique": "a-b a-c a-d b-c b-d c-d",
    "house": "a-b b-c c-d d-a a-e b-e",
    "two triangles": "a-b b-c a-c c-d d-e c-e",
    "pentagon": "a-b b-c c-d d-e e-a",
}
WALKS = (4, 8, 12)
TRIES = 50


def drawn_patterns(graph: DataGraph, per_kind: int, rng: np.random.Generator) -> list[Pattern]:
    """Patterns of all kinds, some of each."""
    drawing = _Drawing(graph, rng)
    found = [each for _ in range(per_kind) for each in drawing.around_a_node()]
    found += drawing.cycles()
    found += drawing.chains()
    for size in (4, 6, 8):
        for each in random_queries(graph, size, "dense", per_kind, int(rng.integers(1000))):
            labels = [_labelled(f"n{at}", names) for at, names in enumerate(each.labels)]
            parts = [f"(n{a})-[:`{kind}`]->(n{b})" for a, kind, b in each.relationships]
            text = ", ".join([*labels, *parts])
            found.append((f"dense {size}", text, [f"n{at}" for at in range(size)]))
    return list({each[1]: each for each in found}.values())


def _labelled(name: str, labels: Sequence[str]) -> str:
    return f"({name}{''.join(f':`{each}`' for each in labels)})"


class _Drawing:
    def __init__(self, graph: DataGraph, rng: np.random.Generator) -> None:
        self._graph, self._rng = graph, rng
        self._around = Adjacency(graph)
        self._roots = self._around.roots()
        types = np.bincount(graph.relationship_types(), minlength=len(graph.types))
        order = [int(each) for each in np.argsort(-types) if types[each]]
        self._types = [graph.types.names[each] for each in order]
        counted: dict[str, int] = {}
        for node in rng.integers(graph.node_count, size=2000).tolist():
            for label in graph.node_labels(node):
                counted[label] = counted.get(label, 0) + 1
        self._labels = sorted(counted, key=lambda name: (-counted[name], name))

    # ------------------------------------------------------------------ parts of the graph
    def around_a_node(self) -> Iterator[Pattern]:
        """Walks, paths, stars and trees that the graph contains."""
        for size in WALKS:
            for directed in (True, False):
                way = "directed" if directed else "undirected"
                yield from self._text(f"walk {size}, {way}", self._walk(size), directed)
        for size in (3, 4, 5):
            path = self._walk(size, straight=True)
            ends = {0, size - 1}
            yield from self._text(f"path {size}, ends labelled", path, True, ends)
            yield from self._text(f"path {size}, one end labelled", path, True, {0})
            yield from self._text(f"path {size}, no labels", path, False, set())
        for size in (4, 5):
            star = self._grown(size, star=True)
            yield from self._text(f"star {size}", star, True)
            yield from self._text(f"star {size}, centre labelled", star, True, {0})
        tree = self._grown(7, star=False)
        yield from self._text("tree 7", tree, True)
        yield from self._text("tree 7, leaves without labels", tree, False, {0, 1, 2})

    def _walk(
        self, size: int, *, straight: bool = False
    ) -> tuple[list[int], list[tuple[int, int, str]]] | None:
        for _ in range(TRIES):
            node = int(self._rng.choice(self._roots))
            nodes, followed = [node], dict[int, None]()
            for _ in range(20 * size):
                if len(nodes) == size:
                    return nodes, self._ends(nodes, followed)
                relationships, others = self._around.around(node)
                at = int(self._rng.integers(len(others)))
                if straight and int(others[at]) in nodes:
                    continue
                node = int(others[at])
                followed[int(relationships[at])] = None
                if node not in nodes:
                    nodes.append(node)
        return None

    def _grown(
        self, size: int, *, star: bool
    ) -> tuple[list[int], list[tuple[int, int, str]]] | None:
        for _ in range(TRIES):
            nodes, followed = [int(self._rng.choice(self._roots))], dict[int, None]()
            for _ in range(20 * size):
                if len(nodes) == size:
                    return nodes, self._ends(nodes, followed)
                node = nodes[0] if star else int(self._rng.choice(nodes))
                relationships, others = self._around.around(node)
                at = int(self._rng.integers(len(others)))
                if int(others[at]) not in nodes:
                    nodes.append(int(others[at]))
                    followed[int(relationships[at])] = None
        return None

    def _ends(self, nodes: list[int], followed: dict[int, None]) -> list[tuple[int, int, str]]:
        place = {node: at for at, node in enumerate(nodes)}
        around = self._around
        return [
            (
                place[int(around.starts[each])],
                place[int(around.ends[each])],
                around.type_name(each),
            )
            for each in followed
        ]

    def _text(
        self,
        kind: str,
        part: tuple[list[int], list[tuple[int, int, str]]] | None,
        directed: bool,
        labelled: set[int] | None = None,
    ) -> Iterator[Pattern]:
        if part is None:
            return
        nodes, ends = part
        names = [f"n{at}" for at in range(len(nodes))]
        parts = [
            _labelled(names[at], self._graph.node_labels(node))
            for at, node in enumerate(nodes)
            if labelled is None or at in labelled
        ]
        arrow = "->" if directed else "-"
        parts += [f"({names[a]})-[:`{kind_}`]{arrow}({names[b]})" for a, b, kind_ in ends]
        yield kind, ", ".join(parts), names

    # ------------------------------------------------------------------ patterns by their form
    def cycles(self) -> Iterator[Pattern]:
        """Cycles and cliques: of any nodes, of one type, of one label, of different labels."""
        for name, ends in CYCLES.items():
            pairs = [each.split("-") for each in ends.split()]
            nodes = sorted({each for pair in pairs for each in pair})
            for arrow in ("->", "-"):
                way = "directed" if arrow == "->" else "undirected"
                plain = ", ".join(f"({a})-{arrow}({b})" for a, b in pairs)
                yield f"{name}, {way}", plain, nodes
                if len(self._types) > 1:
                    typed = ", ".join(f"({a})-[:`{self._types[0]}`]{arrow}({b})" for a, b in pairs)
                    yield f"{name} of one type, {way}", typed, nodes
                    if self._labels:
                        text = f"(a:`{self._labels[0]}`), {typed}"
                        yield f"{name} of one type, one label, {way}", text, nodes
                if self._labels:
                    chosen = self._rng.choice(self._labels[:5], len(nodes)).tolist()
                    labels = [
                        _labelled(*each) for each in zip(nodes, [[x] for x in chosen], strict=True)
                    ]
                    yield f"{name} of labels, {way}", ", ".join([*labels, plain]), nodes

    def chains(self) -> Iterator[Pattern]:
        """Paths of frequent and rare types, with and without labels at the ends."""
        if len(self._types) < 2:
            return
        most, next_, rare = (
            self._types[0],
            self._types[1],
            self._types[min(len(self._types) - 1, len(self._types) // 2)],
        )
        for name, kinds in {
            "frequent, frequent": (most, most),
            "rare, frequent": (rare, most),
            "frequent, rare, frequent": (most, rare, most),
            "frequent, next, rare": (most, next_, rare),
        }.items():
            nodes = [f"n{at}" for at in range(len(kinds) + 1)]
            steps = "".join(
                f"-[:`{kind}`]->({node})" for kind, node in zip(kinds, nodes[1:], strict=True)
            )
            yield f"chain {name}", f"(n0){steps}", nodes
            for ends in ((0, 3), (0, 0), (9, 2)):
                if len(self._labels) > max(ends):
                    first, last = (self._labels[each] for each in ends)
                    text = f"(n0:`{first}`){steps}, (n{len(kinds)}:`{last}`)"
                    yield f"chain {name}, labels {ends[0]} and {ends[1]}", text, nodes
