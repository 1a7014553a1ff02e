"""Graphs that are built on the device that will answer."""

from dataclasses import replace

import numpy as np
import pytest

import gpugda
from gpugda.device import context as device_context
from gpugda.errors import DeviceError
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
    """The device takes its work as a GPU does, and few relationships are many."""
    opened = device_context.DeviceContext.__init__

    def init(self, info, *, like_cpu=None):
        opened(self, info, like_cpu=False if like_cpu is None else like_cpu)

    monkeypatch.setattr(device_context.DeviceContext, "__init__", init)
    monkeypatch.setattr(session, "_SORTED_FROM", 1)
    profile = device_context.GPU
    monkeypatch.setattr(device_context, "GPU", replace(profile, sorted_from=1))


@pytest.mark.device
def test_a_gpu_sorts_the_relationships_and_answers_as_the_reference_does(like_gpu, monkeypatch):
    real, sorted_there = session.build_rows, []

    def build_rows(*arguments, **settings):
        found = real(*arguments, **settings)
        sorted_there.append(found is not None)
        return found

    monkeypatch.setattr(session, "build_rows", build_rows)
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
    found = DeviceSession(None, None, "once").sort_rows(1, 1, nodes, types, nodes, with_order=False)
    assert found is None
    with connected() as graph:
        assert graph.run(TEXT, engine="reference").values()
