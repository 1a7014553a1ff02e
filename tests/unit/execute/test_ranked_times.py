"""Undirected squares and cliques are counted in lists by rank once these were faster."""

from __future__ import annotations

from itertools import combinations

import pytest
from graphs import make_graph
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.execute.patterns.oriented_count import count_oriented
from gpugda.execute.patterns.oriented_form import RankedTimes, Times, times_of
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.match.special import unrestricted
from gpugda.plan.bind import bind
from tests.one_pattern import query_of

SQUARE = "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)"
TRIANGLE = "MATCH (a)--(b)--(c)--(a) RETURN count(*)"
LOOPS = [(1, 1), (2, 2)]


@pytest.mark.parametrize(
    ("others", "is_oriented", "is_due"),
    [
        (Times(), False, False),
        (Times(plain=1.0, plain_runs=2), False, False),
        (Times(plain=1.0, plain_runs=3), False, True),
        (Times(plain=1.0, plain_runs=3), True, False),
        (Times(plain=1.0, plain_runs=16), True, True),
        (Times(oriented=1.0, oriented_runs=3), True, True),
    ],
)
def test_ranked_counts_are_preferred_after_other_forms_were_timed(others, is_oriented, is_due):
    assert RankedTimes().is_preferred(others, is_oriented=is_oriented) is is_due


@pytest.mark.parametrize(("seconds", "stays"), [(0.5, True), (2.0, False)])
def test_ranked_counts_are_kept_if_two_runs_are_faster(seconds, stays):
    times, others = RankedTimes(), Times(plain=1.0, plain_runs=3)
    for _ in range(2):
        assert times.is_preferred(others, is_oriented=False)
        times.note(seconds)
    assert times.is_preferred(others, is_oriented=False) is stays


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize("other", [60.0, 0.0])
@pytest.mark.parametrize(
    ("query", "loops", "before", "counted"),
    [
        # 15 cycles of four in eight orders; two loops, six triangles at each, eight placements.
        (SQUARE, LOOPS, 3, 15 * 8 + 2 * 6 * 8),
        (TRIANGLE, [], 3, 10 * 6),
    ],
)
def test_each_form_counts_five_nodes_in_turn(monkeypatch, query, loops, before, counted, other):
    monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", 0)
    context = open_split(like_cpu=False)
    ends = [*combinations(range(5), 2), *loops]
    graph = make_graph([("", {})] * 5, [(a, "R", b, {}) for a, b in ends])
    device_graph = DeviceGraph(context, graph)
    strategy = ExtendStrategy(device_graph)
    plan = plan_pattern(bind(query_of(query), graph), graph.statistics, "extend", Count())
    found = []
    for _ in range(before + 4):
        found.append(count_oriented(plan, graph, strategy, {}, StrategyReport(), None))
        if found[-1] is None:
            times_of(plan).note(other, is_oriented=not loops)
    device_graph.close()
    context.close()
    assert found[: before + 2] == [None] * before + [counted] * 2
    # If another form is faster, it is used: the oriented graph, which is cheap.
    assert set(found[before + 2 :]) <= ({counted} if other else {counted, None})
    assert plan.kept["ranked times"].runs == (4 if other else 2)
