"""Tables fetched while the next one is computed, against trying every assignment."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from bound_queries import NO_MASKS, Node, Relationship, all_embeddings, everything, found_by
from bound_queries import make_plan as plan_of
from forced_plans import variant
from gpugda_strategies.gpsm.strategy import GpsmStrategy
from graphs import make_graph
from split_devices import open_split

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.staging import Staging
from gpugda.errors import DeviceError, MemoryLimitError
from gpugda.match.embeddings import StrategyReport

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

GRAPH = make_graph(
    [("", {})] * 12, [(i, "R", (i + step) % 12, {}) for i in range(12) for step in (0, 1, 1, 5)]
)
PLAN = plan_of([Node(), Node(), Node()], [Relationship(0, 1), Relationship(1, 2)])


@pytest.fixture(scope="module")
def context():
    """A device treated as having its own memory, so that every table but the first is copied."""
    opened = open_split(like_cpu=False)
    opened.profile = replace(opened.profile, aside_bytes=0, staging_bytes=64)
    yield opened
    opened.close()


SmallWindows = variant(join={"first_window": 20, "largest_last_window": 40})


@pytest.fixture
def fetched(monkeypatch):
    """The names of the fetching threads."""
    monkeypatch.setattr("gpugda_strategies.device_windows._FIRST_WINDOW", 20)
    threads = []
    download = Staging.download

    def noted(self, *arguments):
        threads.append(threading.current_thread().name)
        return download(self, *arguments)

    monkeypatch.setattr(Staging, "download", noted)
    return threads


@pytest.mark.parametrize("kind", [SmallWindows, GpsmStrategy])
def test_all_rows_are_fetched_once(context, fetched, kind):
    strategy = kind(DeviceGraph(context, GRAPH))
    assert found_by(strategy, PLAN, NO_MASKS) == all_embeddings(GRAPH, PLAN, NO_MASKS)
    assert len(fetched) > 5
    assert all(name.startswith("gpugda-fetch") for name in fetched)


def test_rows_are_fetched_without_memory_for_a_copy(context, fetched, monkeypatch):
    monkeypatch.setattr("gpugda.match.fetching._SHARE_FOR_COPY", 1 << 40)
    strategy = SmallWindows(DeviceGraph(context, GRAPH))
    assert found_by(strategy, PLAN, NO_MASKS) == all_embeddings(GRAPH, PLAN, NO_MASKS)
    assert not fetched


@pytest.mark.parametrize("kind", [SmallWindows, GpsmStrategy])
def test_a_copy_leaves_memory_for_the_join(context, fetched, monkeypatch, kind):
    device_graph = DeviceGraph(context, GRAPH)

    def outcome(limit):
        strategy = kind(device_graph, memory_limit=device_graph.nbytes + limit)
        try:
            return found_by(strategy, PLAN, NO_MASKS)
        except MemoryLimitError:
            return None

    limits = [*range(3_000, 20_000, 1_000), 30_000, 50_000]
    with_copies = [outcome(limit) for limit in limits]
    assert fetched
    monkeypatch.setattr("gpugda.match.fetching._SHARE_FOR_COPY", 1 << 40)
    assert with_copies == [outcome(limit) for limit in limits]
    assert with_copies[-1] == all_embeddings(GRAPH, PLAN, NO_MASKS)


@pytest.mark.parametrize("taken", [1, 2, 3])
def test_leaving_early_waits_for_the_fetch_in_progress(context, fetched, taken):
    strategy = SmallWindows(DeviceGraph(context, GRAPH))
    chunks = strategy.embeddings(PLAN, NO_MASKS, everything(PLAN), StrategyReport())
    with closing(chunks):
        for _, chunk in zip(range(taken), chunks, strict=False):
            assert chunk.row_count
    assert not [each for each in threading.enumerate() if each.name.startswith("gpugda-fetch")]
    assert found_by(strategy, PLAN, NO_MASKS) == all_embeddings(GRAPH, PLAN, NO_MASKS)


def test_the_first_table_does_not_wait_for_the_second(context, fetched):
    strategy = SmallWindows(DeviceGraph(context, GRAPH))
    report = StrategyReport()
    with closing(strategy.embeddings(PLAN, NO_MASKS, everything(PLAN), report)) as chunks:
        first = next(chunks)
    assert 0 < first.row_count <= 40
    assert not fetched


def test_an_error_in_the_thread_is_raised(context, fetched, monkeypatch):
    def fail(*arguments):
        raise DeviceError("it broke")

    monkeypatch.setattr(Staging, "download", fail)
    strategy = SmallWindows(DeviceGraph(context, GRAPH))
    with pytest.raises(DeviceError, match="it broke"):
        list(strategy.embeddings(PLAN, NO_MASKS, everything(PLAN), StrategyReport()))


def test_earlier_chunks_keep_their_values(context, fetched):
    """The copy is overwritten while earlier chunks are still held."""
    strategy = SmallWindows(DeviceGraph(context, GRAPH))
    chunks = strategy.embeddings(PLAN, NO_MASKS, everything(PLAN), StrategyReport())
    held, copies = [], []
    for chunk in chunks:
        held.append(chunk)
        copies.append({each: column.copy() for each, column in chunk.nodes.items()})
    for chunk, copied in zip(held, copies, strict=True):
        for position, column in chunk.nodes.items():
            np.testing.assert_array_equal(column, copied[position])


@pytest.mark.parametrize(("sources", "targets"), [(100, 100), (50, 200), (100, 200)])
def test_a_full_array_of_a_narrower_step_is_fetched(sources, targets):
    """The join's arrays are as wide as its widest step: the last step may not fill them."""
    hub, count = sources, sources + 1 + targets
    graph = gpugda.graph(
        nodes={
            "id": list(range(count)),
            "labels": [*["A"] * sources, "B", *["C"] * targets],
        },
        relationships={
            "source": [*range(sources), *[hub] * targets],
            "target": [*[hub] * sources, *range(hub + 1, count)],
            "type": ["R"] * (sources + targets),
        },
    )
    with gpugda.connect(graph) as opened:
        found = opened.run("MATCH (a:A)-->(b:B)-->(c:C) WHERE a.id < c.id RETURN c.id AS id")
        ids = Counter(record["id"] for record in found)
    assert ids == dict.fromkeys(range(hub + 1, count), sources)
