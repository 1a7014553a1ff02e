"""Walks on the host: the embeddings of small patterns, against trying every assignment."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from bound_cases import cases
from bound_queries import NO_MASKS, Node, Relationship, all_embeddings, make_plan
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda
from gpugda.data.patches.patched import Patched
from gpugda.match.walk import may_walk, walk

MANY = 1 << 20


def embeddings_of(walked):
    """(nodes, relationships) of each row, in order of position."""
    count = len(walked.rows)
    nodes, arrows = (
        [columns[position].tolist() for position in sorted(columns)]
        for columns in (walked.nodes, walked.relationships)
    )
    return [
        (tuple(column[row] for column in nodes), tuple(column[row] for column in arrows))
        for row in range(count)
    ]


@given(case=cases())
def test_walks_find_what_trying_all_assignments_finds(case):
    graph, plan, masks, _ = case
    walked = walk(plan.bound, masks, graph, MANY)
    assert Counter(embeddings_of(walked)) == all_embeddings(graph, plan, masks)


@given(case=cases(), data=st.data())
def test_each_row_given_gets_its_own_embeddings(case, data):
    graph, plan, masks, _ = case
    positions = data.draw(st.sets(st.sampled_from(range(len(plan.bound.nodes))), min_size=1))
    node = st.integers(0, graph.node_count - 1)
    rows = data.draw(st.lists(st.tuples(*[node] * len(positions)), max_size=4))
    columns = np.array(rows, dtype=np.uint32).reshape(len(rows), len(positions))
    bound = {position: columns[:, place] for place, position in enumerate(sorted(positions))}
    walked = walk(plan.bound, masks, graph, MANY, bound)
    found = Counter(zip(walked.rows.tolist(), embeddings_of(walked), strict=True))
    expected = Counter()
    for number, row in enumerate(rows):
        for each, count in all_embeddings(graph, plan, masks).items():
            if tuple(each[0][position] for position in sorted(positions)) == row:
                expected[number, each] += count
    assert found == expected


def star(leaves):
    return make_graph(
        [("Hub", {})] + [("", {})] * leaves, [(0, "R", 1 + i, {}) for i in range(leaves)]
    )


def test_a_walk_gives_up_before_it_reads_too_much():
    graph, plan = star(50), make_plan([Node(), Node()], [Relationship(0, 1)])
    given_hub = {0: np.zeros(1, dtype=np.uint32)}
    assert walk(plan.bound, NO_MASKS, graph, 49, given_hub) is None
    assert len(walk(plan.bound, NO_MASKS, graph, 51, given_hub).rows) == 50


def test_a_walk_does_not_begin_where_rows_are_expected_to_grow():
    plan = make_plan([Node(cardinality=1e6), Node(cardinality=1e6)], [Relationship(0, 1)])
    assert not may_walk(plan.bound, 1000)
    assert may_walk(plan.bound, 1000, [0])
    assert not may_walk(
        make_plan([Node()] * 40, [Relationship(0, i) for i in range(1, 40)]).bound, 1000
    )


def test_rows_of_changed_arrays_are_read_without_making_them_whole(monkeypatch):
    graph, plan = star(5), make_plan([Node(), Node()], [Relationship(0, 1)])
    patched = Patched.of(graph.outgoing.neighbours)
    parts = graph.outgoing.parts._replace(neighbours=patched)
    monkeypatch.setattr(type(graph.outgoing), "parts", parts)
    walked = walk(plan.bound, NO_MASKS, graph, MANY, {0: np.zeros(1, dtype=np.uint32)})
    assert walked.nodes[1].tolist() == [1, 2, 3, 4, 5]


# ------------------------------------------------------------------ queries
PEOPLE = [
    {
        "id": np.arange(4),
        "labels": [["P"]] * 4,
        "name": ["a", "b", "c", "d"],
        "age": [1, 2, 3, None],
    }
]
KNOWS = {"KNOWS": {"source": [0, 0, 1, 2, 3], "target": [1, 2, 2, 3, 3]}}
LOOK_UPS = [
    "MATCH (a:P {name: 'a'})-[:KNOWS]->(b) RETURN b.name",
    "MATCH (a:P {name: 'a'})-[:KNOWS]->(b)-[:KNOWS]->(c) WHERE c.age > b.age RETURN b.name, c.name",
    "MATCH (a:P {name: 'a'}) OPTIONAL MATCH (a)-->(b) WHERE b.age = 3 RETURN collect(b.name)",
    "MATCH (a:P {name: 'd'}) OPTIONAL MATCH (a)<-[r:KNOWS]-(b) WHERE a <> b RETURN a.name, b.name",
    "MATCH (a:P {name: 'd'})-[r:KNOWS]-(b) RETURN b.name, count(*)",
    "MATCH (a:P) WITH a ORDER BY a.name LIMIT 2 MATCH (a)-[:KNOWS]->(b) RETURN a.name, count(b)",
    "MATCH (a:P {name: 'a'})-[:KNOWS]->(b) WITH b MATCH (b)-[:KNOWS]->(c) RETURN DISTINCT c.name",
    "MATCH (a:P {name: 'a'}), (b:P {name: 'c'}) MATCH (a)-[r]->(b) RETURN type(r), a.name + b.name",
    "MATCH (a:P), (b:P) WITH a, b MATCH (a {name: 'a'})-[r]->(b {age: 3}) RETURN a.name, b.name",
    "OPTIONAL MATCH (a:P {name: 'x'}) MATCH (a)-[:KNOWS]->(b) RETURN b.name",
    "MATCH (a:P {name: 'c'})-[:KNOWS]->(b)-[:KNOWS]->(c) RETURN count(*)",
    "MATCH (a:P) WHERE a.age + 1 > 2 MATCH (a)-->(b) WHERE 10 / b.age > 3 RETURN a.name, b.name",
]


@pytest.fixture
def people(walks):
    with gpugda.connect(gpugda.graph(PEOPLE, KNOWS)) as accelerator:
        yield accelerator


@pytest.mark.device
@pytest.mark.parametrize("text", LOOK_UPS)
def test_look_ups_launch_nothing(people, text):
    found = people.run(text, engine="gpu")
    expected = people.run(text, engine="reference").values()
    assert sorted(map(repr, found.values())) == sorted(map(repr, expected))
    assert not any("extend" in line or "nodes (" in line for line in found.summary.steps)


@pytest.mark.device
def test_steps_of_a_walk_are_told(people):
    steps = people.run(LOOK_UPS[0], engine="gpu").summary.steps
    assert list(steps) == [
        "walk on the host to (a): 1 row",
        "walk on the host to (b) along (a)-[]->(b): 2 rows",
    ]
