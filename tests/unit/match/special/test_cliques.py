"""Cliques that a GPU counts without rows, through a query, against the reference."""

from __future__ import annotations

from itertools import combinations

import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.match.special import tasks, unrestricted
from gpugda.match.special.cliques import count_cliques
from gpugda.plan.bind import bind
from gpugda.query.parser import parse
from gpugda.reference.run import run_reference
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]
CLIQUE = [(a, "R", b, {}) for a, b in combinations(range(6), 2)]


def clique(size, kind=":R"):
    steps = [f"({a})-[{kind}]-({b})" for a, b in combinations("abcdefg"[:size], 2)]
    return f"MATCH {', '.join(steps)} RETURN count(*)"


@pytest.fixture(scope="module")
def accelerator():
    """A device that splits work as a GPU does."""
    opened = open_split(like_cpu=False)
    yield opened
    opened.close()


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", 0)


def found(context, text, ends, nodes=6):
    graph = make_graph([("A", {"x": 1})] * nodes, ends)
    device_graph = DeviceGraph(context, graph)
    plan = plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())
    strategy, report = ExtendStrategy(device_graph), StrategyReport()
    count = count_cliques(plan.bound, graph, strategy, report, None)
    device_graph.close()
    return count, run_reference(parse(text), graph, {}).rows[0][0], list(report.steps)


@pytest.mark.parametrize("more", [[], [(2, "R", 2, {}), (0, "R", 0, {})], [(6, "R", 1, {})]])
@pytest.mark.parametrize(("size", "kind"), [(4, ":R"), (4, ""), (5, ":R")])
def test_cliques_are_counted_from_their_lowest_nodes(accelerator, any_size, size, kind, more):
    count, expected, steps = found(accelerator, clique(size, kind), CLIQUE + more, 7)
    assert count == expected > 0
    what = f"cliques of {size} nodes counted from their node of fewest relationships"
    assert steps == [f"{what}: {count:,} rows"]


@given(data=st.data())
def test_cliques_of_random_multigraphs_equal_the_reference(accelerator, data):
    count = data.draw(st.integers(4, 6))
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.sampled_from("RRRS"), node, st.just({}))
    some = data.draw(st.lists(one, max_size=8))
    whole = [each for each in CLIQUE if max(each[0], each[2]) < count]
    kind = data.draw(st.sampled_from([":R", ""]))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", 0)
        by_kernel, expected, _ = found(accelerator, clique(4, kind), whole[2:] + some, count)
    assert by_kernel in (None, expected)


@pytest.mark.parametrize(
    ("text", "more"),
    [
        (clique(3), []),
        (clique(6), []),
        (clique(4), [(1, "R", 0, {})]),
        (clique(4), [(1, "R", 1, {}), (1, "R", 1, {})]),
        (clique(4, ""), [(1, "S", 0, {})]),
        (clique(4).replace("(a)-[:R]-(b)", "(a)-[:R]->(b)"), []),
        (clique(4).replace("(a)-[:R]-(b)", "(a)-[:R]-(b)-[:R]-(a)"), []),
        (clique(4).replace("(b)", "(b:A)", 1), []),
        (clique(4).replace("RETURN", "WHERE a.x < b.x RETURN"), []),
        (clique(4).replace(", (c)", " MATCH (c)"), []),
    ],
)
def test_other_patterns_are_not_counted_as_cliques(accelerator, any_size, text, more):
    steps = found(accelerator, text, CLIQUE + more)[2]
    assert not any("cliques" in step for step in steps)


def test_cliques_of_a_small_graph_are_joined(accelerator):
    assert found(accelerator, clique(4), CLIQUE)[2] == []


@pytest.mark.parametrize("share", ["gpugda.match.ranked_graph._SHARE", tasks])
def test_cliques_are_joined_if_memory_is_short(accelerator, any_size, monkeypatch, share):
    if share is tasks:
        monkeypatch.setattr(tasks, "_SHARE_FOR_SCRATCH", 0.0)
    else:
        monkeypatch.setattr(share, 0.0)
        monkeypatch.setattr("gpugda.match.ranked_graph._SHARE_IN_WINDOWS", 0.0)
    assert found(accelerator, clique(4), CLIQUE)[2] == []
