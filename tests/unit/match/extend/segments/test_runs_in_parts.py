"""Graphs with so many types that their directory of run starts does not fit the device, either."""

from __future__ import annotations

import functools
import random
from collections import Counter

import numpy as np
import pytest
from graphs import make_graph
from segmented_runs import IN_PARTS, followed, rows

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.segments import directory_bytes, whole_bytes
from gpugda.errors import MemoryLimitError
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.query.parser import parse
from gpugda.reference.run import run_reference

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NODES = 300
TYPED = [
    "MATCH (a)-->(b)-->(c) WHERE a.id < 20 RETURN a.id, c.id",
    "MATCH (a)-[r:T7|T8]-(b)-->(c) RETURN id(r), c.id",
    "MATCH (a)-[:T1]->(b) RETURN a.id, count(*)",
    "MATCH (a {id: 0})-[r:T3]-(b) RETURN b.id, id(r)",
    "MATCH (a)-[:T1|T2]->(b)-[:T3|T4]->(c) RETURN count(*)",
    "MATCH (a)-[:T1]->(b)-->(c)-->(a) RETURN count(*)",
    "MATCH (a)-[:T1|T2]-(b), (b)-[:T1]-(c), (b)-[:T3]->(d) RETURN count(*)",
]


@functools.cache
def graph_of_types(types, relationships=6_000, seed=2):
    """A graph without labels; node 0 has a tenth of all relationships, of very many types."""
    rng = random.Random(seed)
    ends = [(rng.randrange(NODES), rng.randrange(NODES)) for _ in range(relationships)]
    ends += [(0, each % NODES)[:: rng.choice((1, -1))] for each in range(relationships // 10)]
    return make_graph(
        [("", {"id": each}) for each in range(NODES)],
        [(a, f"T{number % types}", b, {}) for number, (a, b) in enumerate(ends)],
    )


@functools.cache
def referred(text, types, relationships=6_000):
    """Reference rows in `graph_of_types`, cached: they take longer than a join."""
    graph = graph_of_types(types, relationships)
    return Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)


@pytest.mark.slow
@pytest.mark.parametrize("text", TYPED)
def test_a_limit_below_the_size_of_the_directory_suffices(context, text):
    graph = graph_of_types(1_000, 7_000)
    limit = 75_000  # a large GPU uses most of it for its many work groups
    assert directory_bytes(graph) > 2 * limit
    expected = referred(text, 1_000, 7_000)
    assert rows(context, graph, text, limit=limit)[0] == expected
    assert followed(context, graph, text, None, limit=limit)[0] == expected


@pytest.mark.parametrize("text", TYPED)
def test_parts_of_a_row_have_the_right_runs(context, text):
    graph = graph_of_types(90, 300)
    expected = referred(text, 90, 300)
    for entries in (9, 37):
        assert rows(context, graph, text, entries, **IN_PARTS)[0] == expected, entries


@pytest.mark.slow
@pytest.mark.one_split
def test_more_than_65536_types_are_joined(context):
    """Every relationship has a separate type."""
    if not context.is_cpu:
        pytest.skip("most of a minute, for types that both splits encode alike")
    rng, count = random.Random(5), 66_000
    ends = np.array([(rng.randrange(2_000), rng.randrange(2_000)) for _ in range(count)])
    ends[::11, 1] = 7
    graph = make_graph(
        [("", {"id": each}) for each in range(2_000)],
        [(a, f"T{number}", b, {}) for number, (a, b) in enumerate(ends.tolist())],
    )
    assert graph.outgoing.run_types.dtype == np.uint32
    limit = whole_bytes(graph) // 8
    outgoing, incoming = (np.bincount(each, minlength=2_000) for each in ends.T)
    loops = int((ends[:, 0] == ends[:, 1]).sum())
    paths = int((outgoing * incoming).sum()) - loops
    text = "MATCH (a)-->(b)-->(c) RETURN count(*)"
    assert rows(context, graph, text, limit=limit)[0] == Counter([f"[{paths}]"])
    text = f"MATCH (a)-[r:T{count - 1}]->(b) RETURN a.id, b.id"
    assert rows(context, graph, text, limit=limit)[0] == Counter([repr(ends[-1].tolist())])
    text = "MATCH (a)-->(b)-[:T22|T33|T44]->(c) RETURN count(*)"
    starts = ends[[22, 33, 44], 0]
    after = int(incoming[starts].sum() - (ends[[22, 33, 44], 1] == starts).sum())
    assert rows(context, graph, text, limit=limit)[0] == Counter([f"[{after}]"])


def test_a_limit_below_a_segment_is_refused_with_what_a_segment_needs(context):
    with pytest.raises(MemoryLimitError, match=r"smallest parts, .* need [\d,]+ bytes, of which"):
        rows(context, graph_of_types(3_000), TYPED[0], limit=5_000)


@pytest.mark.slow
def test_runs_are_sent_with_segments_if_memory_is_short(context):
    graph, text = graph_of_types(3_000), TYPED[0]
    limit = directory_bytes(graph) - 30_000
    always = {"share_for_directory": 10.0, "share_for_runs": 10.0}
    assert rows(context, graph, text, limit=limit, **always)[0] == referred(text, 3_000)
    device_graph = DeviceGraph(context, graph)
    decides = context.profile.thresholds
    strategy = ExtendStrategy(device_graph, memory_limit=limit, thresholds=decides)
    assert not strategy.placement().has_directory
    device_graph.close()
