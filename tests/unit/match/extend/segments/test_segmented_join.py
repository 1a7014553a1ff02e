"""Joins in segments of a few relationships give the same rows as joins of the whole graph."""

from __future__ import annotations

import os
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from segmented_runs import IN_PARTS, PLANS, QUERIES, followed, graph_with_a_hub, rows

from gpugda.device.context import list_devices
from gpugda.device.graph import part_directories
from gpugda.device.graph.segments import whole_bytes
from gpugda.match.extend.segments import degrees
from gpugda.match.extend.segments.views import max_segment_entries
from gpugda.match.extend.segments.waiting import Batch
from gpugda.query.parser import parse
from gpugda.reference.run import run_reference
from strategies import multigraphs

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

FIRST_SEED = int(os.environ.get("GPUGDA_TEST_FIRST_SEED", "0"))


@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES)
def test_segments_give_the_rows_of_the_whole_graph(context, text):
    graph = graph_with_a_hub(FIRST_SEED)
    expected, _ = rows(context, graph, text)
    for entries, rows_bytes, how in (
        (1, 40, {}),
        (7, None, {}),
        (1, None, IN_PARTS),
        (30, 60, IN_PARTS),
    ):
        found, _ = rows(context, graph, text, entries, rows_bytes, **how)
        assert found == expected, (entries, how)


@pytest.mark.slow
@pytest.mark.parametrize("text", PLANS)
def test_count_plans_in_segments_give_the_counts_of_the_whole_graph(context, text):
    graph = graph_with_a_hub(FIRST_SEED)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    for entries, rows_bytes, how in ((1, 40, {}), (7, None, IN_PARTS)):
        found, report = followed(context, graph, text, entries, rows_bytes, **how)
        assert found == expected, (entries, how)
        steps = str(list(report.steps))
        assert "degrees" in steps or "per row" in steps or "looked up" in steps, steps


HOW = st.sampled_from([{}, IN_PARTS])


@given(graph=multigraphs(), text=st.sampled_from(PLANS), entries=st.integers(1, 5), how=HOW)
def test_count_plans_of_random_multigraphs_equal_the_reference(context, graph, text, entries, how):
    graph = make_graph(*graph)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    assert followed(context, graph, text, entries, **how)[0] == expected


@pytest.mark.slow
@given(graph=multigraphs(), text=st.sampled_from(PLANS), entries=st.integers(1, 5), how=HOW)
def test_packed_degrees_of_random_multigraphs_equal_the_reference(
    context, graph, text, entries, how
):
    graph = make_graph(*graph)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    assert followed(context, graph, text, entries, packs=True, **how)[0] == expected


LISTING_LOOPS = [
    "MATCH (a)-->(b)-->(c) RETURN count(*)",
    "MATCH (a:A)-->(b)-->(c:B) RETURN count(*)",
    "MATCH (a)-[:R]->(b)-[:R|S]->(c) RETURN count(*)",
    "MATCH (a)-->(b)-->(c), (d)-->(b)-->(e) RETURN count(*)",
    "MATCH (a)-->(b)-->(c), (b)-->(d)-->(e) RETURN count(*)",
    "MATCH (a)-->(b)-->(c) RETURN b.id AS x, count(*) ORDER BY x",
]


@pytest.mark.slow
@pytest.mark.parametrize("reduces", [False, True], ids=["segments", "kept entries"])
@given(graph=multigraphs(), text=st.sampled_from(LISTING_LOOPS), how=HOW, packs=st.booleans())
def test_listed_loops_replace_reading_rows(context, reduces, graph, text, how, packs):
    graph = make_graph(*graph)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(degrees, "_LISTED_SHARE", 100.0)
        found, _ = followed(context, graph, text, 3, packs=packs, reduces=reduces, **how)
    assert found == expected


def test_nothing_is_sent_to_count_paths_of_two_in_a_graph_with_few_loops(context):
    rng = random.Random(4)
    ends = [(rng.randrange(400), "R", rng.randrange(400), {}) for _ in range(3000)]
    loops = [(7, "R", 7, {}), (7, "R", 7, {}), (399, "R", 399, {})]
    graph = make_graph([("", {"id": each}) for each in range(400)], ends + loops)
    text = "MATCH (a)-->(b)-->(c) RETURN count(*)"
    expected, _ = rows(context, graph, text)
    found, report = followed(context, graph, text, 300)
    assert found == expected
    assert report.sent_bytes == 0


@pytest.mark.parametrize("most", [40, 300, 70_000])
@pytest.mark.parametrize("how", [{}, IN_PARTS], ids=["directory", "in parts"])
def test_packed_degrees_have_the_bytes_that_the_largest_takes(context, most, how):
    """A hub's degree is counted in pieces; few nodes are candidates of its query node."""
    nodes, text = 500, "MATCH (a:A)-->(b:A)-->(c:B), (b)-->(d:B) RETURN count(*)"
    rng = random.Random(most)
    ends = [(rng.randrange(nodes), "R", rng.randrange(nodes), {}) for _ in range(3000)]
    graph = make_graph(
        [("A" if each < 9 else "B", {"id": each}) for each in range(nodes)],
        [
            *ends,
            *((each % 3, "RS"[each % 2], rng.randrange(nodes), {}) for each in range(3 * most)),
        ],
    )
    expected, _ = rows(context, graph, text)
    for packs in (False, True):
        assert followed(context, graph, text, 1 + most // 3, packs=packs, **how)[0] == expected


@given(graph=multigraphs(), text=st.sampled_from(QUERIES), entries=st.integers(1, 5), how=HOW)
def test_rows_of_random_multigraphs_equal_the_reference(context, graph, text, entries, how):
    graph = make_graph(*graph)
    expected, _ = rows(context, graph, text)
    assert rows(context, graph, text, entries, **how)[0] == expected


@pytest.fixture(scope="module")
def misled():
    """Makes nodes whose rows are not loaded appear to have entries of another node."""
    shift, shifts = part_directories._shift, []

    def misleading(workspace, kernels, starts, ranges, shifted, *, alone):
        shifts.append(alone)
        if alone:
            workspace.write(shifted, np.arange(shifted.count, dtype=np.uint32))
        shift(workspace, kernels, starts, ranges, shifted, alone=alone)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_directories, "_shift", misleading)
        yield shifts


@given(graph=multigraphs(), text=st.sampled_from(PLANS), entries=st.integers(1, 5), how=HOW)
def test_count_plans_read_only_loaded_segments(context, misled, graph, text, entries, how):
    graph = make_graph(*graph)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    assert followed(context, graph, text, entries, **how)[0] == expected
    assert all(misled)


@pytest.mark.slow
@given(graph=multigraphs(), text=st.sampled_from(QUERIES), entries=st.integers(1, 5), how=HOW)
def test_joins_read_only_loaded_segments(context, misled, graph, text, entries, how):
    graph = make_graph(*graph)
    query = parse(text)
    expected = Counter(repr(list(row)) for row in run_reference(query, graph, {}).rows)
    found = rows(context, graph, text, entries, **how)[0]
    assert found == expected or "LIMIT" in text
    assert all(misled)


def test_segments_without_counted_nodes_are_not_sent(context):
    """Leaves of few anchors: only the segments that hold these are sent."""
    nodes, text = 400, "MATCH (a)-->(b:A), (b)-->(c:B) RETURN count(*)"
    rng = random.Random(4)
    graph = make_graph(
        [("A" if each < 9 else "B", {"id": each}) for each in range(nodes)],
        [(rng.randrange(nodes), "R", rng.randrange(nodes), {}) for _ in range(3000)],
    )
    expected, _ = rows(context, graph, text)
    found, report = followed(context, graph, text, 300)
    assert found == expected
    assert 0 < report.sent_bytes < 4 * graph.relationship_count


def test_a_graph_larger_than_the_limit_is_joined(context):
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


@pytest.mark.slow
@pytest.mark.parametrize("types", ["R", "RST"])
def test_segments_are_no_longer_than_an_array_may_be(context, monkeypatch, types):
    rng = random.Random(2)
    ends = [(rng.randrange(300), rng.randrange(300)) for _ in range(12_000)]
    graph = make_graph([("", {})] * 300, [(a, rng.choice(types), b, {}) for a, b in ends])
    text = "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)"
    expected, _ = rows(context, graph, text)
    info = replace(context.info, max_allocation_bytes=1 << 12)
    monkeypatch.setattr(context, "info", info)
    found, report = rows(context, graph, text, limit=whole_bytes(graph) * 3 // 4)
    assert found == expected
    assert "segments of" in str(list(report.steps))
    assert "memory limit" not in str(list(report.steps))


@pytest.mark.parametrize("places", [1, 2, 3])
def test_positions_of_all_places_have_32_bits(places):
    most = max_segment_entries({"incoming": 1, "outgoing": places}, 35 << 30)
    assert (1 << 32) - 64 < places * (most + 1) + 1 < 1 << 32
    assert max_segment_entries({"outgoing": places}, 1 << 20) == (1 << 18) // places
    assert max_segment_entries({}, 1 << 20) == 1 << 18


def test_rows_that_need_the_loaded_segment_stay_on_the_device(context, monkeypatch):
    graph, waiting = graph_with_a_hub(1), []
    add = Batch.add

    def candidates_on_host(batch, columns, first):
        waiting.append(int(first[-1]) if columns else 0)
        add(batch, columns, first)

    monkeypatch.setattr(Batch, "add", candidates_on_host)
    text = "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)"
    expected, _ = rows(context, graph, text)
    assert rows(context, graph, text, 7)[0] == expected
    assert 0 < sum(waiting) <= graph.node_count


@pytest.mark.slow
def test_rows_of_a_hubs_segment_are_joined_in_parts(context):
    rng = random.Random(1)
    ends = [(rng.randrange(300), rng.randrange(300)) for _ in range(12_000)]
    ends += [(each % 300, 0) for each in range(4_000)]
    graph = make_graph([("", {})] * 300, [(a, "R", b, {}) for a, b in ends])
    text = "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)"
    expected, _ = rows(context, graph, text)
    found, report = rows(context, graph, text, limit=whole_bytes(graph) // 3)
    assert found == expected
    assert "segments of up to" in str(list(report.steps))
