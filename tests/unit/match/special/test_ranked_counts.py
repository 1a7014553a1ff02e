"""Shares of counts in ranked lists, which add up to the whole whatever room a device has."""

from __future__ import annotations

import random

import pytest
from bound_queries import NO_MASKS
from graphs import make_graph
from split_devices import open_split

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.match.share import Share
from gpugda.match.special import ring_squares, unrestricted
from gpugda.match.special.ranked_counts import ranked_count
from gpugda.plan.bind import bind
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

TEXTS = {
    "triangle": "MATCH (a)-->(b)-->(c)<--(a) RETURN count(*)",
    "undirected triangle": "MATCH (a)--(b)--(c)--(a) RETURN count(*)",
    "ring": "MATCH (a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)",
    "undirected ring": "MATCH (a)--(b)--(c)--(d)--(a) RETURN count(*)",
    "clique": "MATCH (a)--(b)--(c)--(a), (a)--(d)--(b), (c)--(d) RETURN count(*)",
}


@pytest.fixture(scope="module")
def accelerator():
    """A device that splits work as a GPU does."""
    opened = open_split(like_cpu=False)
    yield opened
    opened.close()


@pytest.fixture
def ranked(monkeypatch):
    """Ranked lists serve small graphs, and some of their nodes have many paths."""
    monkeypatch.setattr(unrestricted, "_MIN_RELATIONSHIPS", 0)
    monkeypatch.setattr(ring_squares, "_MIN_PATHS", 20)
    monkeypatch.setattr(ring_squares, "_PATHS_OF_BATCH", 40)


def simple_graph(nodes=24, relationships=110, loops=()):
    drawn = random.Random(5)
    pairs = [(a, b) for a in range(nodes) for b in range(a)]
    ends = [pair[:: drawn.choice((1, -1))] for pair in drawn.sample(pairs, relationships)]
    return make_graph([("", {})] * nodes, [(a, "R", b, {}) for a, b in [*ends, *loops]])


def counts(context, text, graph, of):
    device_graph = DeviceGraph(context, graph)
    plan = plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())
    engine = ExtendStrategy(device_graph)
    counted = ranked_count(plan.bound, engine)
    assert counted is not None
    parts = [counted.count_share(engine, StrategyReport(), None, Share(n, of)) for n in range(of)]
    expected = engine.count(plan, NO_MASKS, StrategyReport())
    device_graph.close()
    assert None not in parts
    return parts, expected, counted.wraps


@pytest.mark.parametrize("of", [1, 2, 5, 40])
@pytest.mark.parametrize("loops", [(), ((1, 1), (4, 4), (9, 9))], ids=["simple", "loops"])
@pytest.mark.parametrize("name", TEXTS)
def test_the_counts_of_all_shares_add_up(accelerator, ranked, name, loops, of):
    graph = simple_graph(loops=loops)
    parts, expected, wraps = counts(accelerator, TEXTS[name], graph, of)
    assert sum(parts) % wraps == expected > 0
    assert of == 1 or sum(part > 0 for part in parts) > 1


def test_shares_without_room_for_hubs_are_refused(accelerator, ranked, monkeypatch):
    """Otherwise they would take other nodes than the shares of a device with room."""

    def no_room(*_):
        raise MemoryLimitError("no room")

    monkeypatch.setattr(ring_squares, "_two_link_paths", no_room)
    assert counts(accelerator, TEXTS["ring"], simple_graph(), 1)[0]
    with pytest.raises(MemoryLimitError):
        counts(accelerator, TEXTS["ring"], simple_graph(), 2)


def test_other_patterns_and_devices_have_no_ranked_count(accelerator, ranked):
    graph = simple_graph()
    text = TEXTS["ring"].replace("(b)", "(b {x: 1})")
    device_graph = DeviceGraph(accelerator, graph)
    plan = plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())
    assert ranked_count(plan.bound, ExtendStrategy(device_graph)) is None
    device_graph.close()
    opened = open_split(like_cpu=True)
    on_cpu = DeviceGraph(opened, graph)
    plan = plan_pattern(bind(query_of(TEXTS["ring"]), graph), graph.statistics, "extend", Count())
    assert ranked_count(plan.bound, ExtendStrategy(on_cpu)) is None
    on_cpu.close()
    opened.close()
