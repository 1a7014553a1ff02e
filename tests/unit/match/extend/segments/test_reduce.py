"""Joins of the entries between candidates alone give the same rows as joins of the whole graph."""

import os
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from segmented_runs import IN_PARTS, PLANS, QUERIES, followed, graph_with_a_hub, rows, run

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.segments import directory_bytes, whole_bytes
from gpugda.errors import MemoryLimitError
from gpugda.execute.pipeline import plan_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.segments import reduce
from gpugda.match.extend.segments.reduce import semi_joined
from gpugda.match.extend.segments.reducer import Reducer
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.query.parser import parse
from gpugda.query.prepare import prepare
from gpugda.reference.run import run_reference
from gpugda.result.result import Result
from gpugda.result.summary import Summary
from gpugda.thresholds import SegmentLimits
from strategies import multigraphs

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

FIRST_SEED = int(os.environ.get("GPUGDA_TEST_FIRST_SEED", "0"))
LABELLED = [
    "MATCH (a:A)-->(b:B)-->(c:A) RETURN count(*)",
    "MATCH (a:A)--(b:B)-->(c:A), (b)<--(d:A) RETURN b.id AS x, count(*) ORDER BY x",
    "MATCH (a:A)-->(b:B)-->(c:A)-->(a) RETURN count(*)",
    "MATCH (a:A)-[r]-(b:B)-[s]-(c:A) RETURN id(a), id(r), id(s), id(c)",
    "MATCH (a:A)-->(b:B)-->(c:A), (b)-->(d:B), (d)-->(e:A), (c)-->(f:B) RETURN count(*)",
    "MATCH (a:A)-->(b:B)-->(c)-->(a), (c)-->(d:A)-->(e:B)-->(c) RETURN a.id, d.id, count(*)",
    "MATCH (a:A)-[:R]->(b:B)<-[:S]-(c:A)-[r]-(a) RETURN id(r), count(*)",
    "MATCH (a:A)-->(a)-->(b:B)-->(c) RETURN a.id, b.id, c.id",
]


@pytest.mark.parametrize("text", [*LABELLED, *QUERIES])
def test_entries_between_candidates_give_the_same_rows(context, text):
    graph = graph_with_a_hub(FIRST_SEED)
    expected, _ = rows(context, graph, text)
    assert rows(context, graph, text, 5, reduces=True)[0] == expected


@given(graph=multigraphs(), text=st.sampled_from([*LABELLED, *QUERIES]), entries=st.integers(1, 5))
def test_rows_of_random_multigraphs_equal_the_reference(context, graph, text, entries):
    graph = make_graph(*graph)
    expected, _ = rows(context, graph, text)
    assert rows(context, graph, text, entries, reduces=True)[0] == expected


@given(
    graph=multigraphs(),
    text=st.sampled_from([*PLANS, *LABELLED]),
    entries=st.integers(1, 5),
    packs=st.booleans(),
)
def test_count_plans_of_random_multigraphs_equal_the_reference(
    context, graph, text, entries, packs
):
    graph = make_graph(*graph)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    found = followed(context, graph, text, entries, reduces=True, packs=packs)
    assert found[0] == expected


@given(graph=multigraphs(), text=st.sampled_from([*LABELLED, *QUERIES]), entries=st.integers(1, 5))
def test_runs_sent_with_entries_give_the_same_rows(context, graph, text, entries):
    graph = make_graph(*graph)
    expected, _ = rows(context, graph, text)
    assert rows(context, graph, text, entries, reduces=True, **IN_PARTS)[0] == expected


@given(graph=multigraphs(), text=st.sampled_from([*PLANS, *LABELLED]), entries=st.integers(1, 5))
def test_count_plans_with_runs_sent_with_entries(context, graph, text, entries):
    graph = make_graph(*graph)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    found = followed(context, graph, text, entries, reduces=True, **IN_PARTS)
    assert found[0] == expected


@pytest.mark.parametrize("short_of", ["_chunk_arrays", "_kept"])
def test_segments_are_sent_if_there_is_no_room_to_select_entries(context, monkeypatch, short_of):
    done = getattr(Reducer, short_of)

    def refused(*arguments):
        done(*arguments)
        raise MemoryLimitError("nothing is left")

    graph, text = graph_with_a_hub(1), QUERIES[2]
    expected, _ = rows(context, graph, text)
    monkeypatch.setattr(Reducer, short_of, refused)
    found, report = rows(context, graph, text, 7, reduces=True)
    assert found == expected
    assert "segments of" in str(list(report.steps))
    assert "memory limit" not in str(list(report.steps))


@given(data=st.data(), text=st.sampled_from(LABELLED), entries=st.integers(1, 5))
def test_rows_without_entries_are_dropped_in_a_graph_of_one_type(context, data, text, entries):
    """Most of the candidates have no entry; some relationships are self-loops, or parallel."""
    text = text.replace(":S", ":R")
    node = st.integers(0, 40)
    ends = data.draw(st.lists(st.tuples(node, node), max_size=30))
    labels = data.draw(st.lists(st.sampled_from(["A", "B"]), min_size=41, max_size=41))
    nodes = [(label, {"id": number}) for number, label in enumerate(labels)]
    graph = make_graph(nodes, [(a, "R", b, {}) for a, b in [*ends, *ends[:5], (0, 1)]])
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    assert followed(context, graph, text, entries, reduces=True)[0] == expected


def large(types):
    """One node in eight has the label; relationships of several types, some of them parallel."""
    found = random.Random(types)
    ends = [(found.randrange(800), found.randrange(800)) for _ in range(30_000)]
    return make_graph(
        [(f"L{each % 8}", {"id": each}) for each in range(800)],
        [(a, f"R{number % types}", b, {}) for number, (a, b) in enumerate(ends)],
    )


@pytest.mark.parametrize(("types", "share"), [(1, 0.5), (3, 0.5), (20, 0.99)])
def test_a_graph_larger_than_the_limit_is_sent_once(context, types, share):
    graph = large(types)
    text = "MATCH (a:L1)-[r]->(b:L2)-[:R0]->(c:L3)-->(a) RETURN id(r), a.id, b.id, c.id"
    expected, _ = rows(context, graph, text)
    limit = int(share * whole_bytes(graph))
    found, report = rows(context, graph, text, limit=limit, reduces=True)
    assert found == expected
    assert "relationships between candidates" in str(list(report.steps))
    assert 0 < report.sent_bytes <= whole_bytes(graph)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[r:R1|R2|R3|R4]->(b)-[:R11|R22|R33]->(c)-[:R5|R55|R555]->(a) RETURN id(r), c.id",
        "MATCH (a:L1)-[r:R1|R2|R3]-(b)-[s:R4|R5]-(c) RETURN id(r), id(s)",
        "MATCH (a:L1)-[r]->(b:L2)-->(c:L3)-->(a) RETURN id(r), a.id, b.id, c.id",
    ],
)
def test_runs_of_many_types_are_sent_with_entries(context, text):
    """Chunks are shorter than the graph, whose directory exceeds the limit."""
    graph = large(700)
    expected, _ = rows(context, graph, text)
    limit = directory_bytes(graph) // 2
    found, report = rows(context, graph, text, limit=limit, reduces=True)
    assert found == expected
    assert "relationships between candidates" in str(list(report.steps))
    assert 0 < report.sent_bytes <= whole_bytes(graph)


def test_a_gpu_counts_leaves_in_reduced_lists(context):
    graph = large(1)
    text = "MATCH (a:L1)-->(b:L2)-->(c:L3) RETURN count(*)"
    expected, _ = rows(context, graph, text)
    limit = whole_bytes(graph) // 2
    decides = context.profile.thresholds
    found, report = run(context, graph, text, decides, limit, whole=False)
    assert found == expected
    kept = "relationships between candidates" in str(list(report.steps))
    assert kept == (not context.is_cpu)


def under_a_limit(context, text):
    """The report of a query if half of the graph fits."""
    graph = large(1)
    expected, _ = rows(context, graph, text)
    found, report = rows(context, graph, text, limit=whole_bytes(graph) // 2, reduces=True)
    assert found == expected
    return report


def test_few_rows_load_few_segments(context):
    report = under_a_limit(context, "MATCH (a:L1)-->(b:L2) WHERE a.id = 1 RETURN b.id")
    assert "relationships between candidates" not in str(list(report.steps))
    assert report.sent_bytes < 30_000 * 4


@pytest.mark.slow
def test_entries_beyond_memory_are_sent_in_segments(context):
    report = under_a_limit(context, "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)")
    assert "segments of up to" in str(list(report.steps))


def strategy_of(context, graph, share):
    segments = SegmentLimits(reduces=True, reduces_leaves=True)
    decides = replace(context.profile.thresholds, segments=segments)
    limit = int(share * whole_bytes(graph))
    return ExtendStrategy(DeviceGraph(context, graph), thresholds=decides, memory_limit=limit)


def asked(strategy, plan):
    report = StrategyReport()
    table = plan.pipeline.run(strategy.graph.graph, strategy, {}, report, None)
    return Counter(map(repr, Result(table, Summary("gpu", query="")).values())), report


@pytest.mark.slow
def test_reduced_entries_stay_until_memory_is_needed(context):
    graph = large(3)
    texts = [
        f"MATCH (a:L{each})-[r]->(b:L2)-[:R0]->(c:L3)-->(a) RETURN id(r), a.id, b.id, c.id"
        for each in range(8)
    ]
    plans = [plan_of(prepare(text), graph, "extend") for text in texts]
    strategy = strategy_of(context, graph, 0.5)
    try:
        for plan, text in zip(plans, texts, strict=True):
            expected, _ = rows(context, graph, text)
            first, second = asked(strategy, plan), asked(strategy, plan)
            assert first[0] == second[0] == expected
            assert first[1].sent_bytes > 0
            assert second[1].sent_bytes == 0
            assert "kept from an earlier run" in str(list(second[1].steps))
        pairs = "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)"
        expected, _ = rows(context, graph, pairs)
        found, report = asked(strategy, plan_of(prepare(pairs), graph, "extend"))
        assert found == expected
        assert "segments of up to" in str(list(report.steps))
        again, report = asked(strategy, plans[0])
        assert again == rows(context, graph, texts[0])[0]
        assert report.sent_bytes > 0
    finally:
        strategy.graph.close()


@pytest.mark.parametrize("types", [3, 700])
def test_entries_of_a_repeated_small_query_stay(context, types):
    """Few rows need few segments; with a hundred types or more, runs come with the entries."""
    graph = large(types)
    text = "MATCH (a:L1)-[:R0]->(b)-->(c:L2) WHERE a.id = 1 RETURN b.id, c.id"
    expected, _ = rows(context, graph, text)
    strategy = strategy_of(context, graph, 0.4)
    plan = plan_of(prepare(text), graph, "extend")
    try:
        first, second, third = (asked(strategy, plan) for _ in range(3))
    finally:
        strategy.graph.close()
    assert first[0] == second[0] == third[0] == expected
    assert "segments of up to" in str(list(first[1].steps))
    assert "relationships between candidates" in str(list(second[1].steps))
    assert first[1].sent_bytes > 0
    assert third[1].sent_bytes == 0


def kept_query(context, graph, text, limit):
    """The query as it is kept after one run, and its strategy."""
    segments = SegmentLimits(reduces=True, reduces_leaves=True)
    decides = replace(context.profile.thresholds, segments=segments)
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides, memory_limit=limit)
    plan_of(prepare(text), graph, "extend").pipeline.run(
        graph, strategy, {}, StrategyReport(), None
    )
    (query,) = strategy._kept.all()
    return query, strategy


def test_candidates_that_no_kept_entry_connects_are_removed(context):
    graph = large(1)
    text = "MATCH (a:L1)-[:R0]->(b:L2)-[:R0]->(c:L3)-->(a) WHERE a.id < 100 RETURN a.id, b.id, c.id"
    query, strategy = kept_query(context, graph, text, int(0.5 * whole_bytes(graph)))
    starts, ends = graph.start_nodes(), graph.outgoing.neighbours
    ids = np.arange(800)
    left = [(ids % 8 == 1) & (ids < 100), ids % 8 == 2, ids % 8 == 3]
    for _ in range(4):
        for one, other in ((0, 1), (1, 2), (2, 0)):
            follows = left[one][starts] & left[other][ends]
            left[one] = left[one] & np.isin(ids, starts[follows])
            left[other] = left[other] & np.isin(ids, ends[follows])
    rows = query.candidates.rows
    counts = [query.candidates.counts[rows[position]] for position in range(3)]
    assert all(least <= found for least, found in zip(map(np.sum, left), counts, strict=True))
    assert sum(counts) < 13 + 100 + 100
    strategy.graph.close()


def test_candidates_stay_without_room_for_semi_joins(context, monkeypatch):
    removed = []

    def no_room(run, candidates, reduced, least):
        removed.append(semi_joined(run, candidates, reduced, run.workspace.available + 1))
        return removed[-1]

    monkeypatch.setattr(reduce, "semi_joined", no_room)
    graph = large(1)
    text = "MATCH (a:L1)-[:R0]->(b:L2)-[:R0]->(c:L3)-->(a) RETURN a.id, b.id, c.id"
    query, strategy = kept_query(context, graph, text, int(0.5 * whole_bytes(graph)))
    assert removed == [None]
    assert query.candidates.counts == [100, 100, 100]
    assert query.reduced is not None
    strategy.graph.close()
