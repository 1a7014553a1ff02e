"""A graph with more types and labels than 16 bits number: every strategy, and snapshots."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from graphs import ListedBatches, make_graph, node_batch

from gpugda.data.batches import RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.execute.pipeline import plan_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.registry import STRATEGIES
from gpugda.query.parser import parse
from gpugda.query.prepare import prepare
from gpugda.reference.run import run_reference
from gpugda.result.result import Result
from gpugda.result.summary import Summary
from gpugda.snapshot.opening import open_snapshot
from gpugda.snapshot.store import save_snapshot

NAMES = 124_000
"""As many types as DBpedia has."""
NODES = 41
COMMON = list(range(NAMES - 30, NAMES))
QUERIES = [
    "MATCH ()-[r:T123999]->() RETURN count(*)",
    "MATCH (a)-[:T123999|T58463|T0]->(b)-[r]->(c) RETURN count(*)",
    "MATCH (a:L123998)-[r:T123990]-(b)--(c:L123997) RETURN a.id, type(r), b.id, count(*)",
    "MATCH (a)-[:T123991]->(b)-[:T123992]->(c)-->(a) RETURN a.id, b.id, c.id",
    "MATCH (a)--(b)--(c)--(a) RETURN count(*)",
    "MATCH (a {id: 0})-[r]-(b) RETURN type(r), size(labels(b)), count(*)",
]


def made_graph(joined):
    """A graph in which few types have relationships: rare ones, and thirty at a hub.

    They connect the first ``joined`` nodes; the last node has all labels.
    """
    found = random.Random(1)
    codes = [*range(0, NAMES, NAMES // 60), 58_463]
    codes += [code for code in COMMON for _ in range(5)]
    ends = [(found.randrange(joined), found.randrange(joined)) for _ in codes]
    codes += COMMON * 2
    ends += [(0, found.randrange(joined)) for _ in COMMON]
    ends += [(found.randrange(joined), 0) for _ in COMMON]
    labels = [(f"L{found.choice((5, 123_997, 123_998))}",) for _ in range(NODES - 1)]
    labels.append(tuple(f"L{each}" for each in range(NAMES)))
    sources, targets = zip(*ends, strict=True)
    relationships = RelationshipBatch(
        count=len(codes),
        source_ids=pa.array(sources),
        target_ids=pa.array(targets),
        type_codes=np.array(codes, dtype=np.int32),
        type_names=tuple(f"T{each}" for each in range(NAMES)),
    )
    nodes = [(each, {"id": number}) for number, each in enumerate(labels)]
    return build_data_graph(ListedBatches([node_batch(nodes)], [relationships]))


@pytest.fixture(scope="module")
def graph():
    """A graph whose relationships connect all nodes: the last one counts for each label."""
    return made_graph(NODES)


@pytest.mark.slow
@pytest.mark.parametrize("joined", [NODES - 1, pytest.param(NODES, marks=pytest.mark.slow)])
def test_ids_are_as_wide_as_needed(joined, request, tmp_path):
    graph = request.getfixturevalue("graph") if joined == NODES else made_graph(joined)
    few = make_graph([("A", {}), ("B", {})], [(0, "R", 1, {}), (0, "S", 1, {})])
    assert (few.outgoing.run_types.dtype, few.label_ids.dtype) == (np.uint16, np.uint16)
    assert (len(graph.types), len(graph.labels)) == (NAMES, NAMES)
    graph.outgoing.check()
    graph.incoming.check()
    path = tmp_path / "wide"
    save_snapshot(graph, path)
    opened = open_snapshot(path)
    for one, other in zip(graph.incoming.parts, opened.incoming.parts, strict=True):
        np.testing.assert_array_equal(one, other)
    assert opened.node_labels(40) == graph.node_labels(40)
    assert opened.relationship_types().tolist() == graph.relationship_types().tolist()


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_distinguishes_types_and_labels(context, graph, name):
    strategy = STRATEGIES[name](DeviceGraph(context, graph))
    try:
        for text in QUERIES:
            expected = Counter(
                repr(list(row)) for row in run_reference(parse(text), graph, {}).rows
            )
            plan = plan_of(prepare(text), graph, name)
            table = plan.pipeline.run(graph, strategy, {}, StrategyReport(), None)
            assert (
                Counter(map(repr, Result(table, Summary("gpu", query=text)).values())) == expected
            )
    finally:
        strategy.graph.close()
