"""SGSI's join against trying every assignment, with many segments, subtables and tiny limits."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from bound_cases import cases
from bound_queries import (
    NO_MASKS,
    Node,
    Relationship,
    check_case,
    checked,
    count,
    make_plan,
)
from gpugda_strategies.gsi.options import GsiOptions
from gpugda_strategies.gsi.strategy import GsiStrategy
from gpugda_strategies.sgsi.options import SgsiOptions, sgsi_variants
from gpugda_strategies.sgsi.strategy import SgsiStrategy
from graphs import make_graph
from hub_cases import HUB_PLANS, hub_graph
from hypothesis import given
from hypothesis import strategies as st

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.uploads import Uploads
from gpugda.errors import DeviceError, MemoryLimitError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.need import Count, Rows
from gpugda.plan.plan import LabelOp, RowTest

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

NOTHING = Rows(frozenset(), frozenset())
LONG = GsiOptions(launch_from=3, group_from=2, share_from=1, group_fill=15, signature_words=2)

VARIANTS = {
    "all": SgsiOptions(),
    **sgsi_variants(),
    "without signatures": SgsiOptions(lists=GsiOptions(signatures=False)),
    "a segment per entry": SgsiOptions(segment_entries=1, segment_nodes=32),
    "segments of three": SgsiOptions(segment_entries=3, bucket_words=5),
    "subtables of two rows": SgsiOptions(rows=2),
    "few places": SgsiOptions(segment_entries=2, places=2, rows=3),
    "long rows": SgsiOptions(lists=LONG, histogram=False, segment_entries=4),
    "everything small": SgsiOptions(
        lists=LONG, segment_entries=2, rows=2, places=3, bucket_words=1
    ),
}


def strategy_for(context, graph, **settings):
    return SgsiStrategy(DeviceGraph(context, graph), **settings)


def check(context, graph, plan, masks=NO_MASKS, **settings):
    return checked(strategy_for(context, graph, **settings), graph, plan, masks)


@given(case=cases(), variant=st.sampled_from(sorted(VARIANTS)))
def test_random_queries_equal_the_reference(context, case, variant):
    check_case(strategy_for(context, case[0], options=VARIANTS[variant]), case)


@given(case=cases(), variant=st.sampled_from(sorted(VARIANTS)), rows=st.sampled_from([1, 3]))
def test_random_queries_with_short_host_tables_equal_the_reference(context, case, variant, rows):
    # A step goes deeper while the previous one still has pieces of its subtable to process.
    strategy = strategy_for(context, case[0], options=VARIANTS[variant])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("gpugda_strategies.sgsi.windows._MAX_BYTES", 8 * rows)
        check_case(strategy, case)


# ------------------------------------------------------------------ memory
def named_limit(context, graph, plan, **settings):
    """The smallest limit, as named by the error for a smaller one."""
    device_graph = DeviceGraph(context, graph)
    with pytest.raises(MemoryLimitError, match="the smallest that works is") as raised:
        count(SgsiStrategy(device_graph, memory_limit=1, **settings), plan)
    return int(re.search("works is ([0-9,]+)", str(raised.value))[1].replace(",", ""))


@given(case=cases(), entries=st.sampled_from([None, 1, 5]))
def test_random_queries_fit_the_smallest_named_limit(context, case, entries):
    graph, plan, _, _ = case
    if not graph.node_count or not plan.bound.nodes or not graph.relationship_count:
        return
    options = SgsiOptions(segment_entries=entries)
    limit = named_limit(context, graph, plan, options=options) if plan.bound.nodes else 1
    device_graph = DeviceGraph(context, graph)
    strategy = SgsiStrategy(device_graph, memory_limit=limit, options=options)
    check_case(strategy, case)
    with pytest.raises(MemoryLimitError, match=f"the smallest that works is {limit:,}"):
        count(SgsiStrategy(device_graph, memory_limit=limit - 1, options=options), plan)


@pytest.mark.slow
@pytest.mark.parametrize("name", HUB_PLANS)
def test_a_hub_over_many_segments_is_joined(context, budgets, name):
    graph, plan = hub_graph(400), HUB_PLANS[name]
    device_graph = DeviceGraph(context, graph)
    expected = count(GsiStrategy(device_graph), plan)
    assert expected > 100
    sizes = GsiOptions(launch_from=300, group_from=64, share_from=32)
    for options in (
        SgsiOptions(lists=sizes, histogram=False, segment_entries=200, places=500),
        SgsiOptions(segment_entries=90, rows=1100, places=2000),
        SgsiOptions(lists=GsiOptions(load_balance=False), segment_entries=1000),
    ):
        assert count(SgsiStrategy(device_graph, options=options), plan) == expected
    limit = 4 * named_limit(context, graph, plan)
    report = StrategyReport()
    tight = SgsiStrategy(device_graph, memory_limit=limit)
    assert tight.count(plan, NO_MASKS, report) == expected
    assert budgets[-1].peak <= limit
    assert int(report.steps[-1].split()[0]) > 1, report.steps[-1]


def test_segments_stay_for_later_queries_until_memory_is_needed(context, budgets):
    graph = hub_graph(400)
    device_graph = DeviceGraph(context, graph)
    plan = HUB_PLANS["triangles"]
    strategy = SgsiStrategy(device_graph)
    sent = []
    for _ in range(2):
        report = StrategyReport()
        strategy.count(plan, NO_MASKS, report)
        sent.append(report.steps[-1])
    assert sent[0] != sent[1]
    assert sent[1].endswith(": 0 sent to the device (0 bytes)")
    assert strategy.cached_bytes() > 0
    freed = strategy.drop_cached()
    assert freed > 0
    assert strategy.cached_bytes() == 0


def test_segments_that_were_not_sent_are_not_kept(context, monkeypatch):
    graph, plan = hub_graph(200), HUB_PLANS["two paths"]
    device_graph, options = DeviceGraph(context, graph), SgsiOptions(segment_entries=90)
    expected = count(SgsiStrategy(device_graph), plan)
    begin, left = Uploads.begin, []

    def begun(*arguments):
        left.append(left.pop() - 1)
        if left == [0]:
            raise DeviceError("out of resources")
        return begin(*arguments)

    monkeypatch.setattr(Uploads, "begin", begun)
    for number in range(1, 9):
        left[:] = [number]
        strategy = SgsiStrategy(device_graph, options=options)
        with pytest.raises(DeviceError):
            count(strategy, plan)
        assert count(strategy, plan) == expected, number


def test_threads_share_a_strategy_and_its_segments(context):
    graph = hub_graph(300)
    device_graph = DeviceGraph(context, graph)
    plans = [
        make_plan([Node()] * 2, [Relationship(0, 1, types, directed)])
        for types in ((0,), (1,), None)
        for directed in (True, False)
    ]
    expected = [count(GsiStrategy(device_graph), plan) for plan in plans]
    limit = 3 * named_limit(context, graph, plans[-1])
    strategy = SgsiStrategy(device_graph, memory_limit=limit)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda plan: count(strategy, plan), plans * 4))
    assert found == expected * 4


def test_explain_and_profile_show_segments_and_bytes():
    nodes = {"id": list(range(300)), "labels": [["A"]] * 300}
    chain = {"source": list(range(299)), "target": list(range(1, 300)), "type": ["R"] * 299}
    text = "MATCH (a)-[:R]->(b)-[:R]->(c) RETURN count(*) AS n"
    with gpugda.connect(gpugda.graph(nodes, chain), memory_limit=60_000) as accelerator:
        explained = str(accelerator.explain(text, strategy="sgsi"))
        assert "lists of 299 entries, 2.3 KiB or more, are cut into segments" in explained
        result = accelerator.run(text, engine="gpu", strategy="sgsi")
        assert result.single()["n"] == 298
        assert "segments of 2 partitions" in str(accelerator.profile(text, strategy="sgsi"))


# ------------------------------------------------------------------ single cases
@pytest.mark.parametrize("k", [1, 2, 5])
def test_pairs_of_parallel_relationships_are_counted(context, k):
    graph = make_graph([("", {}), ("", {})], [(0, "R", 1, {})] * k)
    plan = make_plan([Node(), Node()], [Relationship(0, 1, (0,)), Relationship(0, 1, (0,))])
    for entries in (None, 1, 2):
        options = SgsiOptions(segment_entries=entries)
        assert check(context, graph, plan, options=options) == k * (k - 1)


def test_small_host_tables_give_all_rows(context, monkeypatch):
    monkeypatch.setattr("gpugda_strategies.sgsi.windows._MAX_BYTES", 24)
    nodes = 5
    graph = make_graph(
        [("", {})] * nodes, [(a, "R", b, {}) for a in range(nodes) for b in range(nodes)]
    )
    relationships = [Relationship(0, 1), Relationship(1, 2), Relationship(2, 0)]
    plan = make_plan([Node()] * 4, relationships, [RowTest(True, 0, 3, False)])
    check(context, graph, plan)


def test_a_limit_makes_few_rows(context):
    graph = make_graph([("", {})] * 3000)
    plan = make_plan([Node(), Node()])
    need = Rows(frozenset({0, 1}), frozenset(), enough=1)
    chunks = strategy_for(context, graph).embeddings(plan, NO_MASKS, need, StrategyReport())
    assert next(chunks).row_count < 5000
    chunks.close()


@pytest.mark.parametrize("nodes", [None, 32])
def test_signatures_remove_candidates(context, nodes):
    graph = make_graph([("A", {})] * 40 + [("B", {})], [(at, "R", 40, {}) for at in range(7)])
    plan = make_plan(
        [Node(((LabelOp.LABEL, 0),)), Node(((LabelOp.LABEL, 1),))], [Relationship(0, 1, (0,))]
    )
    for signatures, left in ((True, 7), (False, 40)):
        options = SgsiOptions(lists=GsiOptions(signatures=signatures), segment_nodes=nodes)
        report = StrategyReport()
        strategy = strategy_for(context, graph, options=options)
        assert strategy.count(plan, NO_MASKS, report) == 7
        assert report.candidates == {0: left, 1: 1}
    assert report.steps[-2].endswith("7 rows")


def test_many_types_are_joined(context):
    kinds = 5000
    graph = make_graph([("", {})] * 3, [(0, f"T{at}", 1 + at % 2, {}) for at in range(kinds)])
    for types, found in (((4242,), 1), (tuple(range(0, kinds, 5)), 1000), (None, kinds)):
        plan = make_plan([Node()] * 2, [Relationship(0, 1, types)])
        assert count(strategy_for(context, graph), plan) == found


def test_too_many_relationships_are_refused(context):
    del context
    one = make_plan([Node()] * 2, [Relationship(0, 1)]).bound
    assert SgsiStrategy.can_match(one, Count()) is None
    many = replace(one, relationships=one.relationships * 30_001)
    assert "takes 30,000" in SgsiStrategy.can_match(many, Count())
