"""Graphs that are built on the device that will answer."""

import threading
from dataclasses import replace

import numpy as np
import pytest

import gpugda
from gpugda.data.build import SilentProgress
from gpugda.data.sorting import Unsorted
from gpugda.device import context as device_context
from gpugda.device.graph import row_building
from gpugda.errors import DeviceError, MemoryLimitError, SourceError
from gpugda.loading import load
from gpugda.match import session
from gpugda.match.session import DeviceSession

TEXT = """
    MATCH (a)-[r]->(b)-[s:S]->(c)
    RETURN a.id AS a, r.n AS r, type(r) AS kind, s.n AS s, c.id AS c ORDER BY a, r, s
"""


def connected():
    random = np.random.default_rng(3)
    ids = random.permutation(70) * 1000 - 5
    relationships = {
        "source": random.choice(ids, 600),
        "target": random.choice(ids, 600),
        "type": random.choice(["R", "S", "T"], 600).tolist(),
        "n": np.arange(600),
    }
    return gpugda.connect(gpugda.graph({"id": ids}, relationships))


@pytest.fixture
def like_gpu(monkeypatch):
    """The device splits work as a GPU does, and few relationships count as many."""
    opened = device_context.DeviceContext.__init__

    def init(self, info, *, like_cpu=None, made=None):
        opened(self, info, like_cpu=False if like_cpu is None else like_cpu, made=made)

    monkeypatch.setattr(device_context.DeviceContext, "__init__", init)
    monkeypatch.setattr(session, "_SORTED_FROM", 1)
    profile = device_context.GPU
    monkeypatch.setattr(device_context, "GPU", replace(profile, sorted_from=1))


@pytest.mark.slow
@pytest.mark.device
def test_a_graph_sorted_on_a_gpu_answers_as_the_reference(like_gpu, monkeypatch):
    real, sorted_there = row_building.build_rows, []

    def build_rows(*arguments, **settings):
        found = real(*arguments, **settings)
        sorted_there.append(found is not None)
        return found

    monkeypatch.setattr(row_building, "build_rows", build_rows)
    with connected() as graph:
        assert sorted_there == [True]
        rows = graph.run(TEXT).values()
        assert rows == graph.run(TEXT, engine="reference").values()
        assert len(rows) > 600


@pytest.mark.device
def test_few_relationships_open_no_device(monkeypatch):
    monkeypatch.setattr(session, "choose_device", lambda wanted: pytest.fail("opened"))
    with connected() as graph:
        assert graph.run(TEXT, engine="reference").values()


def test_without_a_device_the_host_sorts(monkeypatch):
    def refuse(wanted):
        raise DeviceError("no device")

    monkeypatch.setattr(session, "_SORTED_FROM", 1)
    monkeypatch.setattr(session, "choose_device", refuse)
    nodes = np.zeros(3, dtype=np.uint32)
    types = np.zeros(3, dtype=np.uint16)
    given = Unsorted(1, 1, nodes, types, nodes)
    found = DeviceSession(None, None, "once").sort_rows(given, with_order=False)
    assert found is None
    with connected() as graph:
        assert graph.run(TEXT, engine="reference").values()


def tables(source, target, kinds, ids):
    relationships = {"source": source, "target": target, "type": kinds}
    return gpugda.graph({"id": ids}, relationships)


MANY = [f"T{number % 300}" for number in range(900)]
EDGE_CASES = {
    "nothing": lambda: tables([], [], [], []),
    "no relationships": lambda: tables([], [], [], [1, 2]),
    "one node with loops": lambda: tables([7] * 3, [7] * 3, ["R", "S", "R"], [7]),
    "texts": lambda: tables(list("cabb"), list("abcc"), list("RSRR"), list("bca")),
    "huge ids": lambda: tables([2**63 - 1, -(2**63)], [5, 5], ["R", "R"], [5, -(2**63), 2**63 - 1]),
    "many types": lambda: tables([3, 2, 1] * 300, [1, 1, 3] * 300, MANY, [3, 1, 2]),
    "parallel": lambda: tables([1] * 50, [2, 1] * 25, ["R"] * 50, [2, 1]),
}


def arrays_of(graph):
    found = [graph.outgoing.parts, graph.incoming.parts]
    return [None if each is None else each.tolist() for parts in found for each in parts]


@pytest.mark.device
@pytest.mark.parametrize("name", EDGE_CASES)
def test_a_graph_sorted_on_a_gpu_equals_the_hosts(like_gpu, name):
    source = EDGE_CASES[name]()
    device = DeviceSession(None, None, "once")
    found = load(source, SilentProgress(), sorter=device.sort_rows).graph
    expected = load(source, SilentProgress()).graph
    assert arrays_of(found) == arrays_of(expected)
    assert found.statistics == expected.statistics
    assert device.is_open == bool(found.relationship_count)
    device.close()


@pytest.mark.device
def test_a_missing_end_is_named_before_sorting(like_gpu):
    device = DeviceSession(None, None, "once")
    with pytest.raises(SourceError, match="relationships, row 2: no node has the id 9"):
        load(tables([1, 1], [2, 9], ["R", "R"], [1, 2]), SilentProgress(), sorter=device.sort_rows)
    assert not device.is_open


@pytest.mark.device
def test_no_query_begins_while_entries_are_freed(monkeypatch):
    """Its kept steps would refer to freed arrays, and follow more links than segments allow."""
    with connected() as graph:
        expected, others, waited = graph.run(TEXT, engine="gpu").values(), [], []

        def dropped(strategy):
            freed = drop(strategy)
            others.append(threading.Thread(target=lambda: graph.run(TEXT, engine="gpu")))
            others[-1].start()
            others[-1].join(0.3)
            waited.append(others[-1].is_alive())
            return freed

        with graph._session.strategy("extend", graph._answers.loaded.graph) as strategy:
            drop = type(strategy).drop_cached
            monkeypatch.setattr(type(strategy), "drop_cached", dropped)
            strategy._segment(MemoryLimitError("nothing is left"))
            monkeypatch.undo()
        others[0].join()
        assert waited == [True]
        assert graph.run(TEXT, engine="gpu").values() == expected
