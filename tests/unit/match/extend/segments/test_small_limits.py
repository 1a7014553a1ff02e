"""Limits far below the size of a sparse graph: what grows with all nodes comes in windows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from segmented_runs import rows

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.segments import whole_bytes
from gpugda.loading import load

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NODES, RELATIONSHIPS = 20_000, 60_000
QUERIES = [
    "MATCH (a)-->(b)-->(c) RETURN count(*)",
    "MATCH (a)-->(b)-->(c) RETURN a.p AS x, count(*) ORDER BY x",
    "MATCH (a), (b)-->(c) WHERE a.id < 3 AND b.id <> 7 RETURN a.id AS x, count(*) ORDER BY x",
    "MATCH (a)-[r]->(b) WHERE a.id <> 5 RETURN id(r), b.p",
    "MATCH (a)-->(b)-->(c) WHERE a.p < c.p RETURN count(*)",
    "MATCH (a) WHERE a.id <> 5 RETURN a.p AS x, count(*) ORDER BY x",
]


TYPED = [
    "MATCH (a)-[:R0]->(b)-[:R1|R2]->(c) RETURN count(*)",
    "MATCH (a)-[:R0]-(b)-[r:R1]->(c) WHERE a.id < 900 RETURN id(r), c.p",
    "MATCH (a)-->(b)-[:R1]->(c)-->(a) RETURN count(*)",
    "MATCH (a)--(b) WHERE a.id < 90 RETURN DISTINCT a.p AS x, b.p AS y ORDER BY x, y",
    "MATCH (a) WHERE a.id < 90 OPTIONAL MATCH (a)-[:R2]->(b) RETURN a.id AS x, b.id AS y",
]


@cache
def uniform_graph(nodes=NODES, relationships=RELATIONSHIPS, type_count=1):
    random = np.random.default_rng(4)
    ends = [random.integers(0, nodes, relationships) for _ in range(2)]
    types = np.array([f"R{each % type_count}" for each in range(relationships)], dtype=object)
    found = gpugda.graph(
        {"id": np.arange(nodes), "p": np.arange(nodes) % 10},
        {"source": ends[0], "target": ends[1], "type": types},
    )
    return load(found, None).graph


@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES)
def test_a_ninth_of_a_sparse_graph_is_enough(context, text):
    """A list of all nodes takes 80,000 bytes, and the limit is 98,000."""
    graph = uniform_graph()
    limit = whole_bytes(graph) // 9
    expected, _ = rows(context, graph, text)
    found, _ = rows(context, graph, text, limit=limit)
    assert found == expected


@pytest.mark.parametrize("type_count", [3, 100])
@pytest.mark.parametrize("text", [*QUERIES, *TYPED])
def test_several_types_need_no_more_per_node_than_one(context, text, type_count):
    """The run offsets of all nodes would take 160,000 bytes, and the limit is 98,000."""
    graph = uniform_graph(type_count=type_count)
    expected, _ = rows(context, graph, text)
    found, _ = rows(context, graph, text, limit=whole_bytes(uniform_graph()) // 9)
    assert found == expected


@pytest.mark.slow
def test_segments_give_up_places_and_become_smaller_where_they_do_not_fit(context):
    """With a place for the next one, 256 segments take 75,000 bytes."""
    graph, text = uniform_graph(2000, 300_000), "MATCH (a)-->(b)<--(c) WHERE a.id < 1 RETURN a, c"
    expected, _ = rows(context, graph, text)
    found, _ = rows(context, graph, text, limit=62_000)
    assert found == expected
