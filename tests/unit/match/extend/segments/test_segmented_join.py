"""Joins of a graph in segments of a few relationships: the rows of the same join of all of it."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace

import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from strategies import multigraphs

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.segments import whole_bytes
from gpugda.errors import MemoryLimitError
from gpugda.execute.pipeline import plan_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.query.parser import parse
from gpugda.query.prepare import prepare
from gpugda.reference.run import run_reference
from gpugda.result.result import Result
from gpugda.result.summary import Summary
from gpugda.thresholds import SegmentLimits

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

FIRST_SEED = int(os.environ.get("GPUGDA_TEST_FIRST_SEED", "0"))
QUERIES = [
    "MATCH (a)-->(b)-->(c) RETURN count(*)",
    "MATCH (a)-->(b:A)-->(c:A) RETURN count(*)",
    "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
    "MATCH (a)--(b)--(c)--(a) RETURN count(*)",
    "MATCH (a)-[r]->(b)<-[s]-(c) RETURN a.id, id(r), id(s), c.id",
    "MATCH (a)-[r]-(b)-[s]-(c) RETURN id(a), id(r), id(s)",
    "MATCH (a)-->(b)-->(c)-->(d), (a)-->(c), (a)-->(d), (b)-->(d) RETURN count(*)",
    "MATCH (a)-[r:R]-(b)-[:S]->(c), (a)--(c) WHERE a.id <> c.id RETURN id(r), count(*)",
    "MATCH (a)-[r]->(a), (a)--(b) RETURN id(a), id(r), id(b)",
    "MATCH (a)--(b), (c)-->(d) WHERE a.id = 1 AND c.id = 2 RETURN b.id, d.id",
    "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "MATCH (a:A)-->(b)<--(c), (b)-[:R]->(d) RETURN DISTINCT a.id, d.id",
    "MATCH (a)-->(b)-->(c) RETURN a.id, c.id ORDER BY a.id, c.id LIMIT 3",
    "MATCH (a)--(b)--(c) RETURN a.id AS x, count(*) ORDER BY x",
]
# Count plans that look at a row's own relationships again, or count nodes per row.
PLANS = [
    "MATCH (a)-->(b)-->(c) WHERE a.id < 20 RETURN count(*)",
    "MATCH (a)--(b)-->(c:A) RETURN count(*)",
    "MATCH (a)<--(b)--(c), (b)--(d), (b)-->(e) RETURN count(*)",
    "MATCH (a)-->(b)-->(c)-->(d) RETURN count(*)",
    "MATCH (a:A)--(b)--(c)--(d), (c)--(e) RETURN count(*)",
    "MATCH (a)-->(b)-->(c), (b)-->(d), (d)-->(e), (c)-->(f:A) RETURN count(*)",
    "MATCH (a)-->(b)-->(c)-->(d)-->(e) RETURN b.id AS x, count(*) ORDER BY x",
    "MATCH (a)-[:R]-(b)-[:S]-(c)-[:R]-(d)-[:R|S]-(e) RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a), (c)-[:S]->(d)-[:S]->(e)-[:S]->(c) RETURN count(*)",
    "MATCH (a)--(b)--(c)--(d)--(a), (c)--(e) RETURN c.id AS x, count(*) ORDER BY x",
]


def graph_with_a_hub(seed):
    """Node 0 has a quarter of all relationships; there are loops and parallel ones."""
    rng = random.Random(seed)
    ends = [(rng.randrange(12), rng.randrange(12)) for _ in range(45)]
    hub = [(0, rng.randrange(12)) for _ in range(15)]
    ends += [rng.choice([each, each[::-1]]) for each in hub]
    return make_graph(
        [(rng.choice(["A", "B", ""]), {"id": number}) for number in range(13)],
        [(start, rng.choice("RRS"), end, {}) for start, end in ends],
    )


def rows(context, graph, text, entries=None, rows_bytes=None, limit=None):
    """What comes of a query, and its report; ``entries``: of a part, None for the whole graph."""
    segments = SegmentLimits(most_entries=entries, rows_bytes=rows_bytes)
    decides = replace(context.profile.thresholds, segments=segments)
    return run(context, graph, text, decides, limit, whole=entries is None and limit is None)


def run(context, graph, text, decides, limit, *, whole):
    """The rows, as texts, and the report; ``whole``: whether all of the graph is on the device."""
    plan = plan_of(prepare(text), graph, "extend")
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides, memory_limit=limit)
    report = StrategyReport()
    try:
        assert strategy.placement().is_whole == whole
        table = plan.runnable.run(graph, strategy, {}, report, None)
        found = Counter(map(repr, Result(table, Summary("gpu", query=text)).values()))
        return found, report
    finally:
        strategy.graph.close()


@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES)
def test_parts_give_the_rows_of_the_whole(context, text):
    for seed in range(FIRST_SEED, FIRST_SEED + 2):
        graph = graph_with_a_hub(seed)
        expected, _ = rows(context, graph, text)
        for entries, rows_bytes in ((1, None), (7, 60), (30, None)):
            assert rows(context, graph, text, entries, rows_bytes)[0] == expected, (seed, entries)


def followed(context, graph, text, entries, rows_bytes=None, limit=None):
    """As `rows`, by the count plan that is found where nothing is joined first."""
    decides = context.profile.thresholds
    counts = replace(
        decides.count,
        tries_at_once=False,
        most_first_seconds=0.0,
        search_rows=0.0,
        search_pairs=0.0,
        row_pairs=0.0,
        table_pairs=0.0,
        table_gain=1e9,
        table_cost=0.0,
        pair_pairs=0.0,
        pair_gain=1e9,
    )
    segments = SegmentLimits(most_entries=entries, rows_bytes=rows_bytes, disk_cost=0)
    decides = replace(decides, segments=segments, count=counts)
    return run(context, graph, text, decides, limit, whole=entries is None and limit is None)


@pytest.mark.slow
@pytest.mark.parametrize("text", PLANS)
def test_count_plans_of_parts(context, text):
    for seed in range(FIRST_SEED, FIRST_SEED + 2):
        graph = graph_with_a_hub(seed)
        expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
        for entries, rows_bytes in ((1, 40), (7, None)):
            found, report = followed(context, graph, text, entries, rows_bytes)
            assert found == expected, (seed, entries)
            steps = str(list(report.steps))
            assert "degrees" in steps or "per row" in steps or "looked up" in steps, steps


@given(graph=multigraphs(), text=st.sampled_from(PLANS), entries=st.integers(1, 5))
def test_count_plans_of_any_multigraph(context, graph, text, entries):
    graph = make_graph(*graph)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    assert followed(context, graph, text, entries)[0] == expected


@given(graph=multigraphs(), text=st.sampled_from(QUERIES), entries=st.integers(1, 5))
def test_any_multigraph(context, graph, text, entries):
    graph = make_graph(*graph)
    expected, _ = rows(context, graph, text)
    assert rows(context, graph, text, entries)[0] == expected


def test_a_graph_larger_than_the_limit(context):
    rng = random.Random(1)
    ends = [(rng.randrange(400), rng.randrange(400)) for _ in range(30_000)]
    graph = make_graph(
        [("A", {"id": each}) for each in range(400)], [(a, "R", b, {}) for a, b in ends]
    )
    text = "MATCH (a)-->(b)-->(c) WHERE a.id < 9 AND c.id < 9 RETURN a.id, b.id, c.id"
    expected, _ = rows(context, graph, text)
    found, report = rows(context, graph, text, limit=whole_bytes(graph) // 4)
    assert found == expected
    assert report.sent_bytes > 0
    assert any("segments" in line for line in report.steps)


def test_a_limit_too_small_names_one_that_suffices(context):
    graph = graph_with_a_hub(3)
    text = "MATCH (a)-->(b)-->(c)-->(a) RETURN a.id, b.id, c.id"
    expected, _ = rows(context, graph, text)
    with pytest.raises(MemoryLimitError, match=r"memory_limit .*bytes") as raised:
        rows(context, graph, text, limit=500)
    words = str(raised.value).removesuffix(" is enough").removesuffix(" bytes").split()
    plan = plan_of(prepare(text), graph, "extend")
    strategy = ExtendStrategy(
        DeviceGraph(context, graph), memory_limit=int(words[-1].replace(",", ""))
    )
    table = plan.runnable.run(graph, strategy, {}, StrategyReport(), None)
    found = Counter(map(repr, Result(table, Summary("gpu", query=text)).values()))
    strategy.graph.close()
    assert found == expected


def test_a_limit_below_the_directory_of_many_types_names_one_that_suffices(context):
    rng = random.Random(2)
    ends = [(rng.randrange(300), rng.randrange(300)) for _ in range(6000)]
    graph = make_graph(
        [(["A", ""][each % 2], {"id": each}) for each in range(300)],
        [(a, f"T{number % 3000}", b, {}) for number, (a, b) in enumerate(ends)],
    )
    text = "MATCH (a:A)-->(b)-->(c) WHERE a.id < 20 RETURN a.id, c.id"
    expected, _ = rows(context, graph, text)
    with pytest.raises(MemoryLimitError, match=r"memory_limit .*bytes") as raised:
        rows(context, graph, text, limit=40_000)
    words = str(raised.value).removesuffix(" is enough").removesuffix(" bytes").split()
    enough = int(words[-1].replace(",", ""))
    found, report = rows(context, graph, text, limit=min(enough, whole_bytes(graph) - 1))
    assert found == expected
    assert report.sent_bytes > 0
