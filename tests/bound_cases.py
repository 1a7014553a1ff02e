"""Hypothesis cases for all strategies: a small multigraph, a bound query and masks."""

import numpy as np
from bound_queries import Node, Relationship, make_plan
from graphs import make_graph
from hypothesis import strategies as st

from gpugda.match.embeddings import Masks
from gpugda.match.need import Rows
from gpugda.plan.plan import LabelOp, RowTest


@st.composite
def cases(draw):
    """A multigraph, a query over it, masks, and the wanted columns."""
    node_count = draw(st.integers(1, 6))
    names = st.lists(st.sampled_from("ABC"), unique=True, max_size=3).map(":".join)
    nodes = [(draw(names), {}) for _ in range(node_count)]
    node = st.integers(0, node_count - 1)
    one = st.tuples(node, st.sampled_from("RST"), node, st.just({}))
    relationships = draw(st.lists(one, min_size=draw(st.sampled_from([0, 3, 6])), max_size=9))
    graph = make_graph(nodes, relationships)
    plan = draw(plans(len(graph.labels), len(graph.types)))
    masks = Masks(
        draw(masks_for(len(plan.bound.nodes), graph.node_count)),
        draw(masks_for(len(plan.bound.relationships), graph.relationship_count)),
    )
    wanted = Rows(
        frozenset(draw(st.sets(st.sampled_from(range(len(plan.bound.nodes)))))),
        frozenset(
            draw(st.sets(st.sampled_from(range(len(plan.bound.relationships)))))
            if plan.bound.relationships
            else ()
        ),
    )
    return graph, plan, masks, wanted


@st.composite
def plans(draw, labels, types):
    size = draw(st.integers(1, 4))
    nodes = [
        Node(draw(programs(labels)), draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])))
        for _ in range(size)
    ]
    position = st.integers(0, size - 1)
    some_types = st.none()
    if types:
        some_types |= st.sets(st.integers(0, types - 1), min_size=1).map(lambda t: tuple(sorted(t)))
    relationship = st.builds(
        Relationship, position, position, some_types, st.booleans(), st.sampled_from([0, 0, 0, 1])
    )
    relationships = draw(st.lists(relationship, max_size=4))
    tests = draw(st.lists(row_tests(size, len(relationships)), max_size=2))
    return make_plan(nodes, relationships, tests, degrees=draw(st.booleans()))


@st.composite
def row_tests(draw, nodes, relationships):
    on_nodes = relationships == 0 or draw(st.booleans())
    position = st.integers(0, (nodes if on_nodes else relationships) - 1)
    return RowTest(on_nodes, draw(position), draw(position), draw(st.integers(0, 3)) == 0)


@st.composite
def programs(draw, labels):
    if draw(st.integers(0, 2)):
        return ()
    leaves = [(LabelOp.ANY, 0), (LabelOp.NONE, 0)] + [
        (LabelOp.LABEL, at) for at in range(labels)
    ] * 3
    program = [draw(st.sampled_from(leaves))]
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()):
            program.append((LabelOp.NOT, 0))
        program.append(draw(st.sampled_from(leaves)))
        program.append((draw(st.sampled_from([LabelOp.AND, LabelOp.OR])), 0))
    return tuple(program)


@st.composite
def masks_for(draw, positions, count):
    masks = {}
    for position in range(positions):
        if draw(st.integers(0, 3)) == 0:
            bits = draw(st.integers(0, 2**count - 1)) | draw(st.integers(0, 2**count - 1))
            masks[position] = np.array([bits], dtype=np.uint32)[: -(-count // 32)]
    return masks
