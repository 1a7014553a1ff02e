import numpy as np
import pytest

import gpugda
from gpugda.device.context import list_devices
from gpugda.match import embeddings
from gpugda.match.embeddings import JoinProgress


class Watcher:
    def __init__(self):
        self.phases = []
        self.done = 0

    def phase(self, name, total=None):
        self.phases.append((name, total))
        self.done = 0

    def advance(self, amount):
        assert amount > 0
        self.done += amount


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(embeddings, "_QUIET_SECONDS", 0.0)


def test_progress_covers_nested_windows(at_once):
    watcher = Watcher()
    progress = JoinProgress(watcher)
    progress.enter(0, 0, 10, 20)
    progress.enter(1, 0, 1, 4)
    progress.leave(1)
    assert (watcher.phases, watcher.done) == ([("joining", 1000)], 125)
    progress.enter(1, 1, 4, 4)
    progress.leave(1)
    assert watcher.done == 500
    progress.leave(0)
    assert watcher.done == 500
    progress.enter(0, 10, 20, 20)
    progress.leave(0)
    assert watcher.done == 1000


def test_quick_queries_report_no_progress():
    watcher = Watcher()
    progress = JoinProgress(watcher)
    progress.enter(0, 0, 1, 1)
    progress.leave(0)
    assert watcher.phases == []


@pytest.mark.device
@pytest.mark.skipif(not list_devices(), reason="no OpenCL device")
@pytest.mark.parametrize("answer", ["count(*)", "count(DISTINCT d)"])
def test_progress_reaches_the_end_of_a_query(at_once, answer):
    n, watcher = 30, Watcher()
    ends = {"source": np.repeat(np.arange(n), n), "target": np.tile(np.arange(n), n)}
    columns = {**ends, "type": np.full(n * n, "R", dtype=object)}
    graph = gpugda.graph({"id": np.arange(n)}, columns)
    with gpugda.connect(graph, memory_limit="128KiB", progress=watcher) as accelerator:
        accelerator.run(f"MATCH (a)-->(b)-->(c)-->(d) RETURN {answer}", engine="gpu")
    assert watcher.phases[-1] == ("joining", 1000)
    assert watcher.done == 1000
