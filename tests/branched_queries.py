"""Query graphs made of parts that share one or two nodes, and data graphs for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from string import ascii_letters
from typing import Any

import numpy as np
from bound_queries import Node, Relationship, make_plan, some_masks, some_tests
from graphs import make_graph
from hypothesis import assume
from hypothesis import strategies as st

from gpugda.data.data_graph import DataGraph
from gpugda.plan.plan import LabelOp, Plan, RowTest


def a_graph(
    seed: int = 0,
    *,
    loops: bool = True,
    nodes: int = 4,
    relationships: int = 30,
    types: str = "RST",
    parallel: bool = True,
) -> DataGraph:
    """A random multigraph without labels."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes, (2, relationships))
    if not loops:
        ends = ends[:, ends[0] != ends[1]]
    kinds = random.integers(0, len(types), ends.shape[1])
    rows = list(zip(*ends.tolist(), kinds.tolist(), strict=True))
    if not parallel:
        rows = list({(frozenset(row[:2]), row[2]): row for row in rows}.values())
    return make_graph([("", {})] * nodes, [(a, types[kind], b, {}) for a, b, kind in rows])


def cycle(*nodes: int, kind: int, directed: bool = True, clause: int = 0) -> list[Relationship]:
    """A query relationship from each node to the next one, and from the last one to the first."""
    return [
        Relationship(a, b, (kind,), directed, clause)
        for a, b in zip(nodes, (*nodes[1:], nodes[0]), strict=True)
    ]


def path(*nodes: int, kind: int, directed: bool = True, clause: int = 0) -> list[Relationship]:
    """A query relationship from each node to the next one."""
    return cycle(*nodes, kind=kind, directed=directed, clause=clause)[:-1]


def plan_of(relationships: Sequence[Relationship], tests: Sequence[RowTest] = ()) -> Plan:
    """A plan over nodes without labels."""
    size = 1 + max(max(each.source, each.target) for each in relationships)
    return make_plan([Node()] * size, relationships, tests)


# Number of nodes that a part adds.
AT_ONE = {"pair": 1, "triangle": 2, "path": 2, "leaf": 1, "loop": 0}
FORMS = AT_ONE | {"bridge": 1, "long bridge": 2, "edge": 0}
MAX_WAYS = 5_000
"""Largest number of assignments per example: they are enumerated in Python."""
BETWEEN = ["bridge", "bridge", "bridge", "long bridge", "edge", "leaf", "pair"]


@st.composite
def branched_queries(draw: st.DrawFn, alike: bool = False) -> Any:
    """Multigraphs, and query graphs made of small parts that share one or two nodes.

    alike: True if relationships of different parts often have the same type.

    Returns a data graph, a plan, masks, and query nodes to group by.
    """
    node_count = draw(st.integers(1, 5))
    place = st.integers(0, node_count - 1)
    names = draw(st.sampled_from(["R", "RS", "RST"]))
    labels = st.sampled_from(draw(st.sampled_from([[""], ["A", "B"], ["", "A", "B", "A:B"]])))
    rows = draw(st.lists(st.tuples(place, st.sampled_from(names), place), min_size=1, max_size=10))
    if draw(st.booleans()):
        rows = sorted({row for row in rows if row[0] < row[2]}) or [(0, "R", node_count - 1)]
    graph = make_graph(
        [(draw(labels), {}) for _ in range(node_count)], [(*row, {}) for row in rows]
    )
    kinds, size = len(graph.types), draw(st.integers(1, 2))
    has_two_roots, relationships = size == 2, []
    for number in range(draw(st.integers(2, 4))):
        anchor = 0 if has_two_roots and draw(st.booleans()) else draw(st.integers(0, size - 1))
        own = 0 if alike else number % kinds
        kind = draw(st.sampled_from([(own,), (own,), None]))
        clause = draw(st.sampled_from([0, 0, number]))
        directed = draw(st.booleans())
        form = draw(st.sampled_from(BETWEEN if has_two_roots else [*FORMS]))
        new = FORMS[form]
        nodes = [anchor, *range(size, size + new)]
        pairs = list(pairwise(nodes))
        if form in ("pair", "triangle", "loop"):
            pairs.append((nodes[-1], anchor))
        if form in ("bridge", "long bridge", "edge"):
            end = st.integers(0, size - 1)
            pairs.append((nodes[-1], 1 if has_two_roots and draw(st.booleans()) else draw(end)))
        relationships += [Relationship(a, b, kind, directed, clause) for a, b in pairs]
        size += new
        if len(relationships) >= 5:
            break
    assume(_ways(graph, relationships) <= MAX_WAYS)
    programs = [(), *(((LabelOp.LABEL, each),) for each in range(len(graph.labels)))]
    nodes = [Node(draw(st.sampled_from(programs))) for _ in range(size)]
    tests = draw(some_tests(size, len(relationships)))
    masks = draw(some_masks(graph, size, len(relationships)))
    grouped = tuple(sorted(draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=2))))
    return (
        graph,
        make_plan(nodes, relationships, tests, degrees=draw(st.booleans())),
        masks,
        grouped,
    )


def _ways(graph: DataGraph, relationships: Sequence[Relationship]) -> float:
    """Number of embeddings if relationships may repeat and labels are ignored.

    An upper bound of the assignments that the exhaustive search tries.
    """
    ends = graph.start_nodes(), graph.outgoing.neighbours
    matrices = []
    for each in relationships:
        fits = np.isin(graph.relationship_types(), range(99) if each.types is None else each.types)
        between = np.zeros((graph.node_count, graph.node_count))
        np.add.at(between, tuple(side[fits] for side in ends), 1)
        matrices.append(between if each.directed else between + between.T)
    pairs = ",".join(ascii_letters[r.source] + ascii_letters[r.target] for r in relationships)
    return float(np.einsum(f"{pairs}->", *matrices, optimize=True))
