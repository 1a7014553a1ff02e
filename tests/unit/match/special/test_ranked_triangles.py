"""Triangles that a GPU counts without rows, through a query."""

from __future__ import annotations

from itertools import product

import pytest
from bound_queries import NO_MASKS, all_embeddings
from graphs import make_graph
from hypothesis import given
from kernels.kernel_graphs import any_multigraphs
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.execute.patterns.oriented_count import count_oriented
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.match.special import unrestricted
from gpugda.match.special.ranked_triangles import count_triangles
from gpugda.plan.bind import bind
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

CYCLE = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)"
CHAIN = "MATCH (a)-[:R]->(b)-[:R]->(c)<-[:R]-(a) RETURN count(*)"
MIXED = "MATCH (a)-[:R]->(b)-[:R]-(c)<-[:R]-(a) RETURN count(*)"
ENDS = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 1), (1, 0), (0, 2), (2, 0), (4, 0), (4, 1), (3, 4)]


@pytest.fixture(scope="module")
def accelerator():
    """A device that splits work as a GPU does."""
    opened = open_split(like_cpu=False)
    yield opened
    opened.close()


def found(context, monkeypatch, text, fewest=0, more=(), limit=None):
    monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", fewest)
    graph = make_graph([("A", {"x": 1})] * 5, [(a, "R", b, {}) for a, b in ENDS] + list(more))
    device_graph = DeviceGraph(context, graph)
    plan = plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())
    strategy, report = ExtendStrategy(device_graph, memory_limit=limit), StrategyReport()
    count = count_oriented(plan, graph, strategy, {}, report, None)
    expected = strategy.count(plan, NO_MASKS, StrategyReport())
    kept = strategy.ranked.nbytes
    assert strategy.drop_cached() >= kept
    assert strategy.ranked.nbytes == 0
    device_graph.close()
    return count, expected, list(report.steps), kept


LOOPS = [(2, "R", 2, {}), (0, "R", 0, {}), (0, "R", 0, {}), (0, "R", 0, {}), (0, "R", 2, {})]


@pytest.mark.parametrize("more", [(), [(0, "S", 1, {}), (2, "S", 2, {})], LOOPS[:1], LOOPS])
@pytest.mark.parametrize("text", [CYCLE, CHAIN, MIXED, CYCLE.replace("->", "-")])
def test_triangles_are_counted_from_their_lowest_nodes(accelerator, monkeypatch, text, more):
    count, expected, steps, kept = found(accelerator, monkeypatch, text, more=more)
    assert count == expected > 0
    assert kept
    assert steps == [f"triangles counted from their node of fewest relationships: {count} rows"]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (CYCLE.replace("(b)", "(b:A)", 1), ()),
        (CYCLE.replace("(b)", "(b {x: 1})", 1), ()),
        (CYCLE.replace("RETURN", "WHERE a <> c RETURN"), ()),
        (CYCLE.replace(":R", ":R|S"), [(0, "S", 1, {}), (0, "T", 1, {})]),
        (CYCLE.replace("]->(c)-", "]->(c) MATCH (c)-"), ()),
        ("MATCH (a)-[:R]->(b)-[:R]->(c), (a)-[:R]->(b) RETURN count(*)", ()),
    ],
)
def test_other_patterns_are_not_counted_as_triangles(accelerator, monkeypatch, text, more):
    assert found(accelerator, monkeypatch, text, more=more)[0] is None


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.5, 0.0], ids=["whole", "in segments"])
@given(graph=any_multigraphs(5, 24, "R", first=((0, "R", 1, {}), (0, "R", 0, {}))))
def test_triangles_with_loops_equal_the_reference(accelerator, share, graph):
    """Each direction of each relationship, against the join."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpugda.match.ranked_graph._SHARE", share)
        patch.setattr(unrestricted, "_MIN_RELATIONSHIPS", 0)
        device_graph = DeviceGraph(accelerator, graph)
        strategy = ExtendStrategy(device_graph)
        for ways in product(("-->", "<--", "--"), repeat=3):
            text = "MATCH (a){}(b){}(c){}(a) RETURN count(*)".format(*ways)
            plan = plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())
            found = count_triangles(plan.bound, graph, strategy, StrategyReport(), None)
            assert found == all_embeddings(graph, plan).total(), text
        strategy.drop_cached()
        device_graph.close()


def test_triangles_of_a_small_graph_are_joined(accelerator, monkeypatch):
    assert found(accelerator, monkeypatch, CYCLE, fewest=1 << 17)[0] is None


def test_a_cpu_does_not_use_ranked_lists(monkeypatch):
    context = open_split(like_cpu=True)
    assert found(context, monkeypatch, CYCLE)[0] is None
    context.close()


@pytest.mark.parametrize("more", [(), LOOPS], ids=["no loops", "loops"])
def test_lists_beyond_memory_are_sent_in_segments(accelerator, monkeypatch, more):
    monkeypatch.setattr("gpugda.match.ranked_graph._SHARE", 0.0)
    count, expected, steps, kept = found(accelerator, monkeypatch, CYCLE, more=more)
    assert count == expected > 0
    assert not kept
    assert "lists by rank came in 1 segments" in steps[0]
