"""Waiting rows above the host's limit are spilled to disk: the same rows, and no files remain."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import ConfigurationError, MemoryLimitError
from gpugda.execute.pipeline import plan_of
from gpugda.match.embeddings import Masks, StrategyReport
from gpugda.match.extend.segments import waiting as waiting_rows
from gpugda.match.extend.segments.spill_folder import SpillFolder, remove_abandoned
from gpugda.match.extend.segments.waiting import WaitingRows, host_bytes
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Rows
from gpugda.query.parser import parse
from gpugda.query.prepare import prepare
from gpugda.reference.run import run_reference
from gpugda.result.result import Result
from gpugda.result.summary import Summary
from gpugda.thresholds import SegmentLimits
from strategies import multigraphs

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

ALL_TO_DISK = SegmentLimits(reduces=False, max_entries=3, rows_bytes=1, disk_cost=0)
QUERIES = [
    "MATCH (a)-->(b)-->(c)-->(d) RETURN a.id, b.id, c.id, d.id",
    "MATCH (a)-[r]-(b)-[s]-(c)-->(a) RETURN id(r), id(s)",
    "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
    "MATCH (a:A)--(b)--(c) RETURN a.id AS x, count(*) ORDER BY x",
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder for spilled rows in this test."""
    monkeypatch.setenv("GPUGDA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "rows"


def left_in(place):
    return [each for each in place.iterdir() if each.is_dir()] if place.exists() else []


def rows(context, graph, text, limits=ALL_TO_DISK):
    """The rows of a query, and its report."""
    decides = replace(context.profile.thresholds, segments=limits)
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)
    report = StrategyReport()
    try:
        table = plan_of(prepare(text), graph, "extend").pipeline.run(
            graph, strategy, {}, report, None
        )
        return Counter(map(repr, Result(table, Summary("gpu", query=text)).values())), report
    finally:
        strategy.graph.close()


def some_graph():
    rng = np.random.default_rng(5)
    ends = rng.integers(0, 12, (60, 2)).tolist()
    return make_graph(
        [(["A", "B", ""][each % 3], {"id": each}) for each in range(12)],
        [(start, "R", end, {}) for start, end in ends],
    )


@pytest.mark.slow
@pytest.mark.parametrize("text", QUERIES)
def test_spilled_rows_are_read_back_unchanged(context, place, text):
    graph = some_graph()
    found, report = rows(context, graph, text)
    assert found == rows(context, graph, text, SegmentLimits(reduces=False, max_entries=3))[0]
    assert found == rows(context, graph, text, SegmentLimits())[0]
    assert report.spilled_bytes > 0
    assert any("were spilled to disk" in line for line in report.steps)
    assert left_in(place) == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=multigraphs(), text=st.sampled_from(QUERIES), limit=st.integers(1, 200))
def test_random_multigraphs_with_spilling_equal_the_reference(context, place, graph, text, limit):
    graph = make_graph(*graph)
    limits = replace(ALL_TO_DISK, rows_bytes=limit)
    expected = Counter(repr(list(row)) for row in run_reference(parse(text), graph, {}).rows)
    assert rows(context, graph, text, limits)[0] == expected
    assert left_in(place) == []


@pytest.mark.slow
def test_few_rows_or_no_cache_are_not_spilled(context, place, monkeypatch):
    graph, text = some_graph(), QUERIES[0]
    expected, _ = rows(context, graph, text, SegmentLimits())
    # More rows than sending the graph again is worth.
    found, report = rows(context, graph, text, replace(ALL_TO_DISK, disk_cost=1000.0))
    assert (found, report.spilled_bytes) == (expected, 0)
    found, report = rows(context, graph, text, replace(ALL_TO_DISK, share_of_disk=0.0))
    assert (found, report.spilled_bytes) == (expected, 0)
    monkeypatch.setenv("GPUGDA_CACHE_DIR", "off")
    found, report = rows(context, graph, text)
    assert (found, report.spilled_bytes) == (expected, 0)


def test_leaving_early_removes_spilled_files(context, place):
    text = QUERIES[0]
    decides = replace(context.profile.thresholds, segments=ALL_TO_DISK)
    graph = some_graph()
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)
    plan = plan_of(prepare(text), graph, "extend")
    found = strategy.embeddings(
        plan.pattern, Masks({}, {}), Rows(frozenset(range(4)), frozenset()), StrategyReport()
    )
    next(found)
    assert left_in(place)
    found.close()
    assert left_in(place) == []
    strategy.graph.close()


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_interruptions_remove_spilled_files(context, place, monkeypatch, error, number):
    spill, calls = WaitingRows.spill, []

    def interrupted(waiting, tables, nbytes):
        found = spill(waiting, tables, nbytes)
        calls.append(found.path.is_file())
        if len(calls) == number:
            raise error("now")
        return found

    monkeypatch.setattr(WaitingRows, "spill", interrupted)
    with pytest.raises(error):
        rows(context, some_graph(), QUERIES[0])
    assert calls == [True] * number
    assert left_in(place) == []


def test_a_full_disk_is_an_error_and_leaves_no_files(context, place, monkeypatch):
    write = waiting_rows._write
    monkeypatch.setattr(
        waiting_rows, "_write", lambda path, tables: write(Path("/dev/full"), tables)
    )
    with pytest.raises(MemoryLimitError) as raised:
        rows(context, some_graph(), QUERIES[0])
    text = str(raised.value)
    assert "No space left on device" in text
    assert str(place) in text
    assert "bytes more are needed" in text
    assert "GPUGDA_HOST_LIMIT" in text
    assert left_in(place) == []


def test_a_disk_that_becomes_full_is_an_error(context, place, monkeypatch):
    write, calls = waiting_rows._write, []

    def fills(path, tables):
        calls.append(path)
        write(path if len(calls) < 3 else Path("/dev/full"), tables)

    monkeypatch.setattr(waiting_rows, "_write", fills)
    with pytest.raises(MemoryLimitError, match=r"beside [1-9][\d,]* there"):
        rows(context, some_graph(), QUERIES[0])
    assert left_in(place) == []


def test_an_unwritable_folder_is_an_error(context, place, monkeypatch):
    def refused(folder):
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(waiting_rows, "SpillFolder", refused)
    with pytest.raises(MemoryLimitError, match=r"Permission denied.*GPUGDA_CACHE_DIR"):
        rows(context, some_graph(), QUERIES[0])


def test_the_host_limit_bounds_waiting_rows(monkeypatch):
    usual = host_bytes(SegmentLimits())
    monkeypatch.setenv("GPUGDA_HOST_LIMIT", "5MiB")
    assert host_bytes(SegmentLimits()) == 5 << 20 < usual
    assert WaitingRows(SegmentLimits(), 2, 0).exceeds_memory(5 << 19)
    monkeypatch.setenv("GPUGDA_HOST_LIMIT", "much")
    with pytest.raises(ConfigurationError, match="GPUGDA_HOST_LIMIT"):
        host_bytes(SegmentLimits())


CHILD = """
import os, sys, time
from pathlib import Path
from gpugda.match.extend.segments.spill_folder import SpillFolder
kept = SpillFolder(Path(sys.argv[1]))
(kept.path / "0.arrow").write_bytes(b"rows")
print("made", flush=True)
time.sleep(600)
"""


def test_files_of_a_killed_process_are_removed_at_the_next_start(place):
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(place)], stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout.readline() == "made\n"
            remove_abandoned(place)
            assert len(left_in(place)) == 1, "of a living process"
        finally:
            child.send_signal(signal.SIGKILL)
        child.wait()
    own = SpillFolder(place)
    assert len(left_in(place)) == 2
    remove_abandoned(place)
    assert left_in(place) == [own.path]
    own.remove()
    assert left_in(place) == []


def test_files_of_a_reused_process_id_are_kept(place):
    gone = SpillFolder(place)
    host, process, started, rest = gone.path.name.split(".")
    gone.remove()
    (place / f"{host}.{process}.{int(started) + 1}.{rest}").mkdir()
    (place / f"{host}.{process}.{started}.{rest}0").mkdir()  # ours, though it is not locked
    old, new = place / "00000000.1.1.aa", place / "00000000.1.1.ab"  # of another machine
    old.mkdir()
    new.mkdir()
    long_ago = time.time() - 200_000
    os.utime(old, (long_ago, long_ago))
    (place / "other").mkdir()
    remove_abandoned(place)
    expected = {f"{host}.{process}.{started}.{rest}0", "00000000.1.1.ab", "other"}
    assert {each.name for each in left_in(place)} == expected


KILLED = """
import os, signal, sys
import numpy as np
import gpugda
from gpugda.match.extend.segments import waiting
spilled = waiting.WaitingRows.spill
def killed(self, tables, nbytes):
    found = spilled(self, tables, nbytes)
    print(found.path, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
waiting.WaitingRows.spill = killed
random = np.random.default_rng(1)
ends = [random.integers(0, 3000, 120_000) for _ in range(2)]
types = np.full(120_000, "R", dtype=object)
source = gpugda.graph(
    {"id": np.arange(3000)}, {"source": ends[0], "target": ends[1], "type": types}
)
text = "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)"
gpugda.connect(source, memory_limit="1MiB").run(text, engine="gpu").values()
"""


@pytest.mark.slow
def test_a_killed_query_leaves_files_that_are_removed(place):
    environment = os.environ | {"GPUGDA_HOST_LIMIT": "20KiB"}
    child = subprocess.run(
        [sys.executable, "-c", KILLED], env=environment, capture_output=True, text=True, check=False
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert Path(child.stdout.strip()).is_file()
    source = gpugda.graph({"id": [1]}, {"source": [1], "target": [1], "type": ["R"]})
    with gpugda.connect(source) as accelerator:
        accelerator.run("MATCH (a)-->(b) RETURN count(*)", engine="gpu").values()
    assert left_in(place) == []
