"""Squares that a GPU counts without rows, through a query."""

from __future__ import annotations

import pytest
from bound_queries import NO_MASKS
from graphs import make_graph
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.match.special import ring_squares, tasks, unrestricted
from gpugda.plan.bind import bind
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

RING = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(d)-[:R]->(a) RETURN count(*)"
UNDIRECTED = "MATCH (a)-[:R]-(b)-[:R]-(c)-[:R]-(d)-[:R]-(a) RETURN count(*)"
TURNED = "MATCH (a)<-[:R]-(b)<-[:R]-(c), (a)-[:R]->(d)-[:R]->(c) RETURN count(*)"
ENDS = [(0, 1), (1, 2), (2, 3), (3, 0), (1, 0), (0, 1), (1, 0), (3, 2), (2, 1), (4, 0), (0, 4)]


@pytest.fixture(scope="module")
def accelerator():
    """A device that splits work as a GPU does."""
    opened = open_split(like_cpu=False)
    yield opened
    opened.close()


def found(context, monkeypatch, text, fewest=0, more=()):
    monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", fewest)
    graph = make_graph([("A", {"x": 1})] * 5, [(a, "R", b, {}) for a, b in ENDS] + list(more))
    device_graph = DeviceGraph(context, graph)
    plan = plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())
    strategy, report = ExtendStrategy(device_graph), StrategyReport()
    ring = ring_squares.count_ring(plan.bound, graph, strategy, report, None)
    expected = strategy.count(plan, NO_MASKS, StrategyReport())
    device_graph.close()
    return ring, expected, list(report.steps)


@pytest.mark.parametrize(
    "more",
    [
        (),
        [(0, "S", 1, {}), (2, "S", 2, {})],
        [(2, "R", 2, {}), (2, "R", 2, {}), (0, "R", 0, {}), (1, "R", 1, {})],
        [(3, "R", 3, {})] * 4,
    ],
)
@pytest.mark.parametrize(
    "text", [RING, TURNED, UNDIRECTED, UNDIRECTED.replace(":R", ""), RING.replace(":R", "")]
)
def test_a_square_is_counted_from_its_highest_node(accelerator, monkeypatch, text, more):
    ring, expected, steps = found(accelerator, monkeypatch, text, more=more)
    assert ring == expected > 0
    assert steps == [f"cycle of 4 nodes counted from the one of most relationships: {ring:,} rows"]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (RING.replace("(a)-[:R]->(b)", "(a)<-[:R]-(b)"), ()),
        (RING.replace("(a)-[:R]->(b)", "(a)-[:R]-(b)"), ()),
        (RING.replace("(b)", "(b:A)", 1), ()),
        (RING.replace("(b)", "(b {x: 1})", 1), ()),
        (RING.replace("RETURN", "WHERE a <> c RETURN"), ()),
        (RING.replace(":R", ":R|S"), [(0, "S", 1, {}), (0, "T", 1, {})]),
        (RING.replace("]->(c)-", "]->(c) MATCH (c)-"), ()),
        ("MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(d) RETURN count(*)", ()),
    ],
)
def test_other_patterns_are_not_counted_as_squares(accelerator, monkeypatch, text, more):
    assert found(accelerator, monkeypatch, text, more=more)[0] is None


def test_squares_of_a_small_graph_are_joined(accelerator, monkeypatch):
    assert found(accelerator, monkeypatch, RING, fewest=1 << 17)[0] is None


def test_a_cpu_does_not_use_ranked_lists(monkeypatch):
    context = open_split(like_cpu=True)
    assert found(context, monkeypatch, RING)[0] is None
    context.close()


def test_squares_are_joined_without_scratch_memory(accelerator, monkeypatch):
    monkeypatch.setattr(tasks, "_SHARE_FOR_SCRATCH", 0.0)
    monkeypatch.setattr(ring_squares, "_SHARE_IF_LARGE", 0.0)
    assert found(accelerator, monkeypatch, RING)[0] is None
