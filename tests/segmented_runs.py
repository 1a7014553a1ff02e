"""Runs queries on a graph in segments, or on the part of it that a join uses."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

from graphs import make_graph

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.execute.pipeline import plan_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.query.prepare import prepare
from gpugda.result.result import Result
from gpugda.result.summary import Summary
from gpugda.thresholds import SegmentLimits

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
# Runs of relationships are loaded together with their parts.
IN_PARTS = {"share_for_directory": 0.0}
# Count plans that read a row's own relationships again, or count nodes per row.
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


def rows(
    context, graph, text, entries=None, rows_bytes=None, limit=None, *, reduces=False, **segments
):
    """The rows and the report. ``entries``: entries per part; None for the whole graph."""
    segments = SegmentLimits(
        reduces=reduces,
        reduces_leaves=reduces,
        max_entries=entries,
        rows_bytes=rows_bytes,
        **segments,
    )
    decides = replace(context.profile.thresholds, segments=segments)
    return run(context, graph, text, decides, limit, whole=entries is None and limit is None)


def once(plan, graph, strategy, report, text):
    """The rows of one run, as text."""
    table = plan.pipeline.run(graph, strategy, {}, report, None)
    return Counter(map(repr, Result(table, Summary("gpu", query=text)).values()))


def run(context, graph, text, decides, limit, *, whole):
    """The rows, as text, and the report. ``whole``: True if the whole graph is on the device."""
    plan = plan_of(prepare(text), graph, "extend")
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides, memory_limit=limit)
    report = StrategyReport()
    try:
        assert strategy.placement().is_whole == whole
        found = once(plan, graph, strategy, report, text)
        if decides.segments.reduces and not whole:  # entries and candidates may be kept
            assert once(plan, graph, strategy, StrategyReport(), text) == found
        return found, report
    finally:
        strategy.graph.close()


def followed(
    context,
    graph,
    text,
    entries,
    rows_bytes=None,
    limit=None,
    *,
    reduces=False,
    packs=False,
    **segments,
):
    """As `rows`, with the count plan that is chosen if nothing is joined first.

    ``packs``: True if there is no room for degrees unless they are packed.
    """
    decides = context.profile.thresholds
    counts = replace(
        decides.count,
        joins_first=False,
        max_first_seconds=0.0,
        search_rows=0.0,
        search_pairs=0.0,
        row_pairs=0.0,
        table_pairs=0.0,
        table_gain=1e9,
        table_cost=0.0,
        pair_pairs=0.0,
        pair_gain=1e9,
    )
    segments = SegmentLimits(
        reduces=reduces,
        reduces_leaves=reduces,
        max_entries=entries,
        rows_bytes=rows_bytes,
        disk_cost=0,
        **segments,
    )
    join = replace(decides.join, share_for_messages=0.0) if packs else decides.join
    decides = replace(decides, segments=segments, count=counts, join=join)
    return run(context, graph, text, decides, limit, whole=entries is None and limit is None)
