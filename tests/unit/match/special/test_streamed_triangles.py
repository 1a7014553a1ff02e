"""Triangles of a graph beyond the memory limit, through a query and with segments of any size."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from bound_queries import NO_MASKS
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph import segments
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.ranked_lists import RankedKernels
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.execute.patterns.oriented_count import count_oriented
from gpugda.match import upward_lists
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.match.special import ranked_triangles, streamed_triangles, unrestricted
from gpugda.match.special.ranked_triangles import expected_triangles
from gpugda.match.special.streamed_triangles import count_streamed
from gpugda.plan.bind import bind
from gpugda.thresholds import GPU, SegmentLimits, Thresholds
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

CYCLE = "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)"
CHAIN = "MATCH (a)-[:R]->(b)-[:R]->(c)<-[:R]-(a) RETURN count(*)"
MIXED = "MATCH (a)-[:R]->(b)-[:R]-(c)<-[:R]-(a) RETURN count(*)"
UNDIRECTED = CYCLE.replace("->", "-")
IN_SEGMENTS = Thresholds(GPU.count, GPU.join, GPU.filter, GPU.paths, SegmentLimits(max_entries=64))


@pytest.fixture(scope="module")
def accelerator():
    """A device that splits work as a GPU does."""
    opened = open_split(like_cpu=False)
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def small_graphs(monkeypatch):
    monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", 0)


def skewed(nodes=200, count=1500, more=()):
    """A graph with parallel relationships, self-loops and a hub."""
    random = np.random.default_rng(3)
    ends = (random.random((count, 2)) ** 2 * nodes).astype(int)
    rows = [(a, "R", b, {}) for a, b in ends.tolist()]
    return make_graph([("A", {})] * nodes, rows + list(more))


def plan_of(text, graph):
    return plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())


def found(context, graph, text, **options):
    """The count, the count of a join in memory, and the report of the former."""
    device_graph, plan = DeviceGraph(context, graph), plan_of(text, graph)
    strategy, report = ExtendStrategy(device_graph, **options), StrategyReport()
    count = count_oriented(plan, graph, strategy, {}, report, None)
    device_graph.close()
    whole = DeviceGraph(context, graph)
    expected = ExtendStrategy(whole).count(plan, NO_MASKS, StrategyReport())
    whole.close()
    return count, expected, report


@pytest.mark.parametrize("more", [(), [(0, "S", 1, {}), (2, "S", 2, {})]])
@pytest.mark.parametrize("text", [CYCLE, CHAIN, MIXED, UNDIRECTED])
def test_triangles_are_counted_in_segments(accelerator, text, more):
    graph = skewed(more=more)
    count, expected, report = found(accelerator, graph, text, thresholds=IN_SEGMENTS)
    assert count == expected > 0
    statistics = graph.statistics
    assert statistics.loop_counts[0] > 0
    entries = statistics.type_counts[0] - statistics.loop_counts[0]
    starts = report.sent_bytes // 4 - entries
    assert 1 < starts <= 2 * graph.node_count + 1
    assert report.steps[0] == (
        f"triangles counted from their node of fewest relationships: {count:,} rows; "
        f"lists by rank came in 1 segments, {report.sent_bytes:,} bytes"
    )


@pytest.mark.slow
def test_triangles_are_counted_below_the_size_of_the_lists(accelerator):
    """Lists are then made in several windows, and counted in several segments."""
    graph = skewed(nodes=1_000, count=60_000)
    limit = 12 * graph.relationship_count // 4
    count, expected, report = found(accelerator, graph, CYCLE, memory_limit=limit)
    assert count == expected > 0
    segments = int(report.steps[0].split(" segments")[0].split()[-1])
    assert segments > 2
    assert report.sent_bytes > 4 * graph.relationship_count


def nodes_with_lists(lists):
    """The number of nodes up to the last one with a list."""
    return int(np.flatnonzero(np.diff(lists.starts[::2])).max(initial=-1)) + 1


@given(data=st.data())
def test_triangles_are_counted_in_segments_of_any_size(accelerator, data):
    count = data.draw(st.integers(2, 9))
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.just("R"), node, st.just({}))
    some = data.draw(st.lists(one, max_size=40))
    graph = make_graph([("", {})] * count, [(0, "R", 1, {}), *some])
    text = data.draw(st.sampled_from([CYCLE, CHAIN, MIXED, UNDIRECTED]))
    plan = plan_of(text, graph)
    weights = ranked_triangles.weights_of(plan.bound)
    device_graph = DeviceGraph(accelerator, graph)
    strategy = ExtendStrategy(device_graph, thresholds=IN_SEGMENTS)
    expected = strategy.count(plan, NO_MASKS, StrategyReport())
    with strategy.running(StrategyReport(), None) as run, run.locked():
        lists = strategy.upward.lists(run, 0)
        words = lists.starts[::2].astype(int) + 2 * np.arange(count + 1)
        longest = 1 + int(np.diff(words[: 1 + nodes_with_lists(lists)]).max(initial=0))
        most = data.draw(st.integers(longest, max(longest, int(words[-1]))))
        looks_up = graph.parallel_counts()[0] > 1
        result = count_streamed(run, lists, weights, looks_up=looks_up, most=most)
        loop_weights = ranked_triangles.loop_weights_of(plan.bound)
        assert result.rows + ranked_triangles._with_loops(graph, 0, loop_weights) == expected
        assert result.segments >= len(lists.neighbours) // most
        if longest > 3:
            fewer = longest - 1
            assert count_streamed(run, lists, weights, looks_up=looks_up, most=fewer) is None
    device_graph.close()


def test_each_pair_of_segments_is_visited_once():
    for count in range(1, 9):
        pairs = streamed_triangles._pairs(count)
        assert sorted(pairs) == [(low, each) for low in range(count) for each in range(low + 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("share", "units"), [(2, None), (4, 132)])
def test_the_expected_bytes_are_sent(accelerator, share, units, monkeypatch):
    """A large device has more totals, which take a fifth of the smallest limit here."""
    if units is not None:
        monkeypatch.setattr(accelerator, "info", replace(accelerator.info, compute_units=units))
    graph = skewed(nodes=1_000, count=60_000)
    limit = 12 * graph.relationship_count // share
    device_graph, plan = DeviceGraph(accelerator, graph), plan_of(CYCLE, graph)
    strategy = ExtendStrategy(device_graph, memory_limit=limit)
    given = plan.bound, graph, 12 * graph.relationship_count, limit, strategy.upward.has
    given = *given, accelerator.info.compute_units
    before = expected_triangles(*given)
    assert "once, to make these" in str(before)
    report = StrategyReport()
    count_oriented(plan, graph, strategy, {}, report, None)
    after = expected_triangles(*given)
    device_graph.close()
    assert before.sent_bytes == after.sent_bytes + before.making_bytes
    told = re.search(r"came in ([\d,]+) segments, ([\d,]+) bytes", report.steps[0])
    segments, sent = (int(each.replace(",", "")) for each in told.groups())
    assert abs(after.segments - segments) <= 1 + segments // 3
    assert after.sent_bytes == pytest.approx(sent, rel=0.25)
    assert f"in {after.segments:,} segments of lists of upper neighbours" in str(after)


@pytest.mark.parametrize(
    "text",
    [
        CYCLE.replace("count(*)", "count(*), 1").replace("(a)", "(a:A)"),
        CYCLE.replace("[:R]", "[:R|S]"),
        "MATCH (a)-[:R]->(b)-[:R]->(c) RETURN count(*)",
    ],
)
def test_no_lists_are_expected_for_other_patterns(text):
    graph = skewed(more=[(0, "S", 1, {}), (2, "S", 2, {})])
    bound = bind(query_of(text), graph)
    assert expected_triangles(bound, graph, 100_000, 20_000, lambda _: False, 2) is None


def test_lists_beyond_the_host_memory_are_not_made(accelerator, monkeypatch):
    monkeypatch.setenv("GPUGDA_HOST_LIMIT", "1000")
    assert found(accelerator, skewed(), CYCLE, thresholds=IN_SEGMENTS)[0] is None


def test_the_host_makes_lists_that_need_many_windows(accelerator, monkeypatch):
    monkeypatch.setattr(upward_lists, "_MAX_WINDOWS", 0)
    count, expected, _ = found(accelerator, skewed(), CYCLE, thresholds=IN_SEGMENTS)
    assert count == expected > 0


@pytest.mark.slow
@pytest.mark.parametrize(("text", "loops"), [(CYCLE, ()), (UNDIRECTED, [(3, "R", 3, {})] * 2)])
def test_triangles_of_a_sparse_graph_without_directory(accelerator, text, loops):
    """The host makes the lists, and their starts come with segments: nothing grows with nodes."""
    graph = skewed(nodes=20_000, count=60_000, more=loops)
    limit = segments.whole_bytes(graph) // 4
    assert segments.directory_bytes(graph) > 0.4 * limit
    count, expected, report = found(accelerator, graph, text, memory_limit=limit)
    assert count == expected > 0
    segments_sent = int(report.steps[0].split(" segments")[0].split()[-1])
    assert segments_sent > 2


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0, 1])
def test_the_host_needs_room_to_make_lists(accelerator, monkeypatch, missing):
    graph = skewed(nodes=20_000, count=60_000)
    room = upward_lists.HOST_BYTES * graph.relationship_count
    monkeypatch.setenv("GPUGDA_HOST_LIMIT", str(room - missing))
    device_graph, plan = DeviceGraph(accelerator, graph), plan_of(CYCLE, graph)
    strategy = ExtendStrategy(device_graph, memory_limit=segments.whole_bytes(graph) // 4)
    count = count_oriented(plan, graph, strategy, {}, StrategyReport(), None)
    device_graph.close()
    assert (count is None) == bool(missing)


def test_lists_are_made_once(accelerator):
    graph = skewed()
    device_graph, plan = DeviceGraph(accelerator, graph), plan_of(CYCLE, graph)
    strategy = ExtendStrategy(device_graph, thresholds=IN_SEGMENTS)
    reports = [StrategyReport(), StrategyReport()]
    counts = {count_oriented(plan, graph, strategy, {}, each, None) for each in reports}
    device_graph.close()
    assert len(counts) == 1
    assert ["rank" in each.timings for each in reports] == [True, False]


def no_room(*_):
    raise MemoryLimitError("ranks of nodes")


@pytest.mark.parametrize("more", [(), [(0, "S", 1, {}), (2, "S", 2, {})]])
def test_the_host_ranks_nodes_if_the_device_lacks_memory(accelerator, monkeypatch, more):
    graph = skewed(more=more)
    device_graph = DeviceGraph(accelerator, graph)
    directory = device_graph.directory_arguments(MemoryBudget(1 << 30))
    with Workspace(accelerator, MemoryBudget(1 << 30)) as workspace:
        kernels, most = RankedKernels(accelerator), 2 * graph.relationship_count
        _, ranks = kernels.ranks(workspace, directory, 0, graph.node_count, most)
        assert workspace.download(ranks).tolist() == upward_lists.host_ranks(graph, 0).tolist()
    device_graph.close()
    monkeypatch.setattr(RankedKernels, "ranks", no_room)
    count, expected, report = found(accelerator, graph, CYCLE, thresholds=IN_SEGMENTS)
    assert count == expected > 0
    assert "lists by rank came in 1 segments" in report.steps[0]


def test_a_timeout_while_making_lists_frees_their_memory(accelerator, monkeypatch):
    graph = skewed()
    device_graph, plan = DeviceGraph(accelerator, graph), plan_of(CYCLE, graph)
    strategy = ExtendStrategy(device_graph, thresholds=IN_SEGMENTS)
    places, write = [], upward_lists._Maker._write

    def late(maker, starts, first, last, target):
        places.append(target)
        if len(places) == 1:
            raise QueryTimeoutError("late")
        write(maker, starts, first, last, target)

    monkeypatch.setattr(upward_lists._Maker, "_write", late)
    with pytest.raises(QueryTimeoutError):
        count_oriented(plan, graph, strategy, {}, StrategyReport(), None)
    found = count_oriented(plan, graph, strategy, {}, StrategyReport(), None)
    assert found == strategy.count(plan, NO_MASKS, StrategyReport()) > 0
    assert len({id(each) for each in places}) == 1
    assert strategy.upward._begun == {}
    device_graph.close()


@pytest.mark.parametrize("count", [*range(9), 40])
def test_the_number_of_sent_segments_is_that_of_the_order_of_pairs(count):
    pairs, sent = streamed_triangles._pairs(count), 0
    assert sorted(pairs) == [(low, other) for low in range(count) for other in range(low + 1)]
    held = [None] * min(streamed_triangles._PLACES, count)
    for pair, following in zip(pairs, [*pairs[1:], ()], strict=False):
        for wanted, needed in ((pair, pair), (following, {*pair, *following})):
            for segment, place in streamed_triangles._places(held, wanted, needed):
                held[place] = segment
                sent += 1
        assert set(pair) <= set(held)
    assert streamed_triangles.sent_segments(count) == sent
