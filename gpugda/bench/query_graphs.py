"""Random connected query graphs that a data graph holds at least once, by depth-first walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.query.render import name_text

if TYPE_CHECKING:
    from random import Random

    from gpugda.data.data_graph import DataGraph

__all__ = ["RandomQuery", "random_queries"]

_TRIES = 400


@dataclass(frozen=True, slots=True)
class RandomQuery:
    """A query graph taken from a data graph.

    Args:
        labels: Of each query node; empty for none.
        relationships: Source, type and target each, by positions of nodes.
        density: ``sparse`` or ``dense``, as it was asked for.
    """

    labels: tuple[tuple[str, ...], ...]
    relationships: tuple[tuple[int, str, int], ...]
    density: str

    def text(self, form: str, prefix: str = "n") -> str:
        """As Cypher.

        Args:
            form: ``count``, or ``rows`` for the ids of all nodes.
            prefix: Of the variables: another one makes a text that nobody has planned before.
        """
        named: set[int] = set()
        patterns = ", ".join(
            f"{self._node(source, prefix, named)}-[:{name_text(kind)}]->"
            f"{self._node(target, prefix, named)}"
            for source, kind, target in self.relationships
        )
        if form == "count":
            return f"MATCH {patterns} RETURN count(*) AS c"
        columns = ", ".join(f"id({prefix}{place}) AS i{place}" for place in range(len(self.labels)))
        return f"MATCH {patterns} RETURN {columns}"

    def _node(self, place: int, prefix: str, named: set[int]) -> str:
        if place in named:
            return f"({prefix}{place})"
        named.add(place)
        labels = "".join(f":{name_text(label)}" for label in self.labels[place])
        return f"({prefix}{place}{labels})"


def random_queries(
    graph: DataGraph,
    random: Random,
    *,
    nodes: int,
    density: str,
    count: int,
    with_labels: bool = True,
) -> list[RandomQuery]:
    """Up to ``count`` query graphs; fewer where the graph has no such.

    Args:
        graph: Where they are found.
        random: With a seed, so that they can be made again.
        nodes: Number of query nodes, N.
        density: ``sparse`` has N - 1 relationships, ``dense`` up to 2N, as far as there are.
        count: How many.
        with_labels: Whether query nodes ask for their labels.
    """
    found: dict[RandomQuery, None] = {}
    for _ in range(count * _TRIES):
        if len(found) == count:
            break
        made = _walk(graph, random, nodes, density, with_labels)
        if made is not None:
            found[made] = None
    return list(found)


def _walk(
    graph: DataGraph, random: Random, nodes: int, density: str, with_labels: bool
) -> RandomQuery | None:
    if graph.relationship_count == 0:
        return None
    # From an end of a relationship: hubs come often, as they do in patterns that people look for.
    visited = [int(graph.outgoing.neighbours[random.randrange(graph.relationship_count)])]
    chosen: dict[tuple[int, str, int, int], None] = {}
    stack = [visited[0]]
    while len(visited) < nodes and stack:
        steps = [step for step in _steps(graph, stack[-1]) if step[3] not in visited]
        if not steps:
            stack.pop()
            continue
        source, kind, target, other, number = random.choice(steps)
        chosen[source, kind, target, number] = None
        visited.append(other)
        stack.append(other)
    if len(visited) < nodes:
        return None
    if density == "dense":
        chosen = _denser(graph, random, visited, chosen)
        if len(chosen) == nodes - 1 and nodes > 1:
            return None
    places = {node: place for place, node in enumerate(visited)}
    return RandomQuery(
        tuple(graph.node_labels(node) if with_labels else () for node in visited),
        tuple((places[source], kind, places[target]) for source, kind, target, _ in chosen),
        density,
    )


def _denser(
    graph: DataGraph,
    random: Random,
    visited: list[int],
    chosen: dict[tuple[int, str, int, int], None],
) -> dict[tuple[int, str, int, int], None]:
    inside = set(visited)
    others = [
        (source, kind, target, number)
        for node in visited
        for source, kind, target, other, number in _steps(graph, node)
        if source == node and other in inside and (source, kind, target, number) not in chosen
    ]
    random.shuffle(others)
    wanted = 2 * len(visited) - len(chosen)
    return chosen | dict.fromkeys(others[: max(wanted, 0)])


def _steps(graph: DataGraph, node: int) -> list[tuple[int, str, int, int, int]]:
    """Relationships of a node: start, type, end, the other node, relationship index."""
    found = []
    for csr, outgoing in ((graph.outgoing, True), (graph.incoming, False)):
        first, last = int(csr.run_offsets[node]), int(csr.run_offsets[node + 1])
        for run in range(first, last):
            kind = graph.types.names[int(csr.run_types[run])]
            for entry in range(int(csr.run_starts[run]), int(csr.run_starts[run + 1])):
                other = int(csr.neighbours[entry])
                indexes = csr.relationship_indexes
                number = entry if indexes is None else int(indexes[entry])
                ends = (node, other) if outgoing else (other, node)
                found.append((ends[0], kind, ends[1], other, number))
    return found
