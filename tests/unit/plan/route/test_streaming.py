"""Estimated transfers for graphs larger than the device's memory, and their cost in routing."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from graphs import make_graph

import gpugda
from gpugda.answer.device_costs import stored_graph
from gpugda.device.context import choose_device, list_devices
from gpugda.execute.pipeline import plan_of
from gpugda.loading import load
from gpugda.plan.cost import CPU_DEVICE, LOCAL_SERVER
from gpugda.plan.route.cost import device_seconds
from gpugda.plan.route.route import RouteInput
from gpugda.plan.route.streaming import StoredGraph, streaming
from gpugda.query.prepare import prepare
from gpugda.thresholds import SegmentLimits

NODES, RELATIONSHIPS = 300, 30_000


def source():
    ends = np.random.default_rng(1).integers(0, NODES, (2, RELATIONSHIPS))
    types = np.full(RELATIONSHIPS, "R", dtype=object)
    return gpugda.graph(
        {"id": np.arange(NODES)}, {"source": ends[0], "target": ends[1], "type": types}
    )


def plan(text):
    ends = np.random.default_rng(1).integers(0, 60, (600, 2)).tolist()
    graph = make_graph([("A", {"id": n}) for n in range(60)], [(a, "R", b, {}) for a, b in ends])
    return plan_of(prepare(text), graph, "extend"), graph


def sent(text, limit):
    found = streaming(plan(text)[0].pattern, StoredGraph(60, 600, 7200), limit)
    return 0.0 if found is None else found.sent_bytes


PATH = "MATCH (a)-->(b)-->(c) RETURN a.id, c.id"
TRIANGLE = "MATCH (a)-->(b)-->(c)-->(a) RETURN a.id"


def test_a_graph_that_fits_sends_nothing():
    assert streaming(plan(PATH)[0].pattern, StoredGraph(60, 600, 7200), 7200) is None


def test_steps_of_two_relationships_send_the_second_list_again():
    assert sent(PATH, 1800) == 2 * 4 * 600
    assert sent("MATCH (a)-->(b)--(c) RETURN a.id", 1800) > sent(PATH, 1800)
    assert sent(TRIANGLE, 1800) > sent(PATH, 1800)
    assert sent(TRIANGLE, 900) > sent(TRIANGLE, 1800), "more segments"


def labelled():
    ends = np.random.default_rng(1).integers(0, 800, (2, RELATIONSHIPS))
    types = np.full(RELATIONSHIPS, "R", dtype=object)
    labels = np.array([f"L{each % 8}" for each in range(800)], dtype=object)
    return gpugda.graph(
        {"id": np.arange(800), "labels": labels},
        {"source": ends[0], "target": ends[1], "type": types},
    )


def told(data, text, limit):
    """The texts of `explain` and of the summary for a query under a memory limit."""
    with gpugda.connect(data) as roomy:
        assert "segments" not in str(roomy.explain(text))
        expected = roomy.run(text, engine="gpu").values()
    with gpugda.connect(data, memory_limit=limit) as small:
        explained = str(small.explain(text))
        found = small.run(text, engine="gpu")
        assert found.values() == expected
        return explained, list(found.summary.steps)


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
def test_entries_between_candidates_are_expected_to_be_sent_once():
    text = "MATCH (a:L1)-->(b:L2)-->(c:L3)-->(a) RETURN count(*) AS n"
    explained, steps = told(labelled(), text, "180KiB")
    assert "would be sent to the device, once, to keep about 1,406 entries" in explained
    assert any("relationships between candidates" in line for line in steps)


def of_many_types():
    """A hundred types, so that run starts take more memory than relationships."""
    ends = np.random.default_rng(3).integers(0, 20_000, (2, 300_000))
    names = pa.array([f"T{number}" for number in range(100)])
    kinds = pa.DictionaryArray.from_arrays(np.arange(300_000, dtype=np.int32) % 100, names)
    return gpugda.graph(
        {"id": np.arange(20_000)}, {"source": ends[0], "target": ends[1], "type": kinds}
    )


@pytest.mark.slow
@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
def test_the_expected_bytes_of_many_types_are_sent():
    data = of_many_types()
    graph = load(data, None).graph
    stored = stored_graph(graph)
    queries = {
        "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)": False,
        "MATCH (a)-->(b)-->(c) WHERE a.id < 5000 RETURN b.id, count(*)": False,
        "MATCH (a)-[:T1|T2]->(b)-[:T4|T5]->(c)-[:T7|T8]->(a) RETURN a.id": True,
    }
    for share in (2, 3):
        limit = stored.nbytes // share
        assert stored.streams_runs(limit)
        with gpugda.connect(data, memory_limit=limit) as small:
            for text, is_kept in queries.items():
                # The device is open after the query: explain does not open it.
                steps = "\n".join(small.run(text, engine="gpu").summary.steps)
                query = plan_of(prepare(text), graph, "extend")
                expected = streaming(
                    query.pattern, stored, limit, is_gpu=choose_device().type != "cpu"
                )
                assert str(expected) in str(small.explain(text))
                assert is_kept == (expected.kept is not None)
                assert is_kept == ("relationships between candidates" in steps)
                sent = re.search(r"([\d,]+) bytes were sent", steps).group(1)
                assert 0.5 < expected.sent_bytes / int(sent.replace(",", "")) < 2, (text, share)


def test_segments_take_what_rows_leave():
    limits = SegmentLimits()
    assert limits.share_of_pairs(0.0) == limits.share_beside_rows
    assert limits.share_for_pairs < limits.share_of_pairs(0.08) < limits.share_beside_rows
    assert limits.share_of_pairs(1.0) == limits.share_for_pairs


def test_the_router_counts_sent_bytes():
    given = RouteInput(plan(PATH)[0].physical(CPU_DEVICE, LOCAL_SERVER))
    more = replace(given, sent_bytes=CPU_DEVICE.sent_bytes_per_second)
    assert device_seconds(more) == pytest.approx(device_seconds(given) + 1.0)


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
def test_explain_and_summary_show_sent_bytes():
    text = "MATCH (a {id: 5})-->(b)-->(c)-->(a) RETURN count(*) AS n"
    explained, steps = told(source(), text, "260KiB")
    assert "would be sent to the device" in explained
    assert "memory_limit is 260.0 KiB" in explained
    assert any("times the bytes that the joins read" in line for line in steps)
