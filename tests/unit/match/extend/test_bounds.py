"""Limits of memory and time are kept, or refused with what was asked for."""

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from bound_queries import NO_MASKS, Node, Relationship, all_embeddings, found_by, make_plan
from soon import ends_in

import gpugda
from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.ports import GraphBatches

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

MEBIBYTE = 1 << 20


def graph_of(nodes, starts, ends, types=("R",)):
    everyone = NodeBatch(nodes, pa.array(np.arange(nodes)), np.zeros(nodes, np.int32), ((),), {})
    codes = (np.arange(len(starts)) % len(types)).astype(np.int32)
    batch = RelationshipBatch(len(starts), pa.array(starts), pa.array(ends), codes, types)
    return build_data_graph(GraphBatches([everyone], [batch]))


def complete(nodes, *, parallel=1, types=("R",)):
    """A complete graph, including self-loops."""
    starts = np.tile(np.repeat(np.arange(nodes), nodes), parallel)
    ends = np.tile(np.arange(nodes), nodes * parallel)
    return graph_of(nodes, starts, ends, types)


def source_of(nodes, starts, ends):
    columns = {"source": starts, "target": ends, "type": np.full(len(starts), "R", dtype=object)}
    return gpugda.graph({"id": np.arange(nodes)}, columns)


def complete_source(nodes):
    return source_of(nodes, np.repeat(np.arange(nodes), nodes), np.tile(np.arange(nodes), nodes))


def star_source(leaves, *, incoming=False):
    hub, ends = np.zeros(leaves, dtype=np.int64), np.arange(1, leaves + 1)
    return source_of(leaves + 1, *((ends, hub) if incoming else (hub, ends)))


# ------------------------------------------------------------------ a limit that is too small
SHAPES = {
    "path": (3, [Relationship(0, 1), Relationship(1, 2)]),
    "triangle": (3, [Relationship(0, 1), Relationship(1, 2), Relationship(2, 0)]),
    "undirected": (3, [Relationship(0, 1, directed=False), Relationship(1, 2, directed=False)]),
    "parallel": (2, [Relationship(0, 1), Relationship(0, 1, (0, 1))]),
    "product": (3, [Relationship(0, 1)]),
}


def rows_with(context, graph, plan, limit):
    strategy = ExtendStrategy(DeviceGraph(context, graph), memory_limit=limit)
    try:
        return found_by(strategy, plan, NO_MASKS), strategy.count(plan, NO_MASKS, StrategyReport())
    finally:
        strategy.graph.close()


@pytest.mark.parametrize("step", [0.25, pytest.param(0.1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", SHAPES)
def test_each_memory_limit_gives_all_rows_or_says_what_it_asked_for(context, shape, step):
    nodes, relationships = SHAPES[shape]
    graph = complete(9, parallel=2 if shape == "parallel" else 1, types=("R", "S"))
    plan = make_plan([Node()] * nodes, relationships)
    expected = all_embeddings(graph, plan)
    right = (expected, expected.total())
    refused = 0
    for limit in (2.0 ** np.arange(9, 18, step)).astype(int).tolist():
        try:
            assert rows_with(context, graph, plan, limit) == right
        except MemoryLimitError as error:
            refused += 1
            assert re.search(r"[\d,]+ bytes", str(error))  # noqa: PT017 - most limits suffice
    assert refused
    assert rows_with(context, graph, plan, 1 << 18) == right


# ------------------------------------------------------------------ many rows in little memory
PATH = "MATCH (a)-->(b)-->(c)-->(d)"


def paths_from_a_node(n):
    """The number of paths of three distinct relationships in a complete graph with self-loops."""
    return n**3 - 3 * n + 2


@pytest.mark.slow
def test_10_to_the_11_rows_are_counted_in_256_mebibytes(budgets):
    # Half of them pass. The comparison forces a join: otherwise this would be a sum of a few
    # counts.
    assert 700 * paths_from_a_node(700) // 2 > 10**11
    text = f"{PATH} WHERE a.id <= d.id RETURN count(DISTINCT d), count(DISTINCT c)"
    with gpugda.connect(complete_source(700), memory_limit="256MiB") as accelerator:
        accelerator.run("MATCH (a)-->(b) RETURN count(*)", engine="gpu")
        resident = PeakResident()
        with ends_in(), pytest.raises(QueryTimeoutError):
            accelerator.run(text, engine="gpu", timeout=3)
        grown = resident.stop()
    assert all(budget.peak <= 256 * MEBIBYTE for budget in budgets)
    # The device is the host here; the tail's columns and PoCL's own memory are added to that.
    assert grown < 512 * MEBIBYTE


@pytest.mark.parametrize("limit", ["64KiB", "1MiB", "256MiB"])
def test_groups_and_counts_are_right_for_any_chunk_size(limit, budgets):
    n = 40
    with gpugda.connect(complete_source(n), memory_limit=limit) as accelerator:
        groups = accelerator.run(f"{PATH} RETURN a.id, count(*) ORDER BY a.id", engine="gpu")
        assert groups.values() == [[a, paths_from_a_node(n)] for a in range(n)]
        count = accelerator.run(f"{PATH} RETURN count(*)", engine="gpu").single().value()
        assert count == n * paths_from_a_node(n)
    assert all(budget.peak <= budget.limit_bytes for budget in budgets)


@pytest.mark.parametrize("window", [(0, 5), (700, 300), (62_000, 10_000), (10**6, 5)])
def test_skip_and_limit_work_across_chunks(window):
    n, (skip, limit) = 40, window
    text = f"MATCH (a)-->(b)-->(c) RETURN a.id, b.id, c.id SKIP {skip} LIMIT {limit}"
    with gpugda.connect(complete_source(n), memory_limit="64KiB") as accelerator:
        found = [tuple(row) for row in accelerator.run(text, engine="gpu").values()]
    total = n**3 - n  # without those that take a self-loop twice
    assert len(found) == max(0, min(limit, total - skip))
    assert len(set(found)) == len(found)
    assert all(not (a == b == c) and max(a, b, c) < n for a, b, c in found)


@pytest.mark.parametrize("incoming", [False, True], ids=["from the hub", "to the hub"])
def test_a_row_longer_than_a_chunk_is_joined(incoming):
    # Each of 5,000 leaves has 4,999 others: no row fits in a chunk of a few hundred places.
    leaves = 5_000
    with gpugda.connect(star_source(leaves, incoming=incoming), memory_limit="256KiB") as hub:
        arrows = ("<--", "-->") if not incoming else ("-->", "<--")
        text = f"MATCH (b){arrows[0]}(a){arrows[1]}(c) RETURN"
        assert hub.run(f"{text} count(*)", engine="gpu").single().value() == leaves * (leaves - 1)
        found = hub.run(f"{text} b.id, c.id SKIP 4998 LIMIT 20000", engine="gpu").values()
        assert len({tuple(row) for row in found}) == 20_000
        assert all(b != c and b > 0 and c > 0 for b, c in found)
        ends = hub.run("MATCH (a)--(b) RETURN a, count(*) ORDER BY count(*) DESC LIMIT 2").values()
        assert (ends[0][0]["id"], ends[0][1], ends[1][1]) == (0, leaves, 1)


TWO = """
import sys
sys.path.insert(0, {folder!r})
import gpugda
from test_bounds import PATH, complete_source
with gpugda.connect(complete_source(50), memory_limit="64MiB") as accelerator:
    sys.stdin.read(1)
    groups = accelerator.run(f"{{PATH}} RETURN a.id, count(*) ORDER BY a.id", engine="gpu")
    count = accelerator.run(f"{{PATH}} RETURN count(*)", engine="gpu").single().value()
    print(count, sum(each for _, each in groups.values()))
"""


@pytest.mark.slow
def test_two_processes_share_a_device():
    folder = Path(__file__).parent
    command = [sys.executable, "-c", TWO.format(folder=str(folder))]
    path = os.pathsep.join([str(folder.parents[2]), os.environ.get("PYTHONPATH", "")])
    both = [
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
        for _ in range(2)
    ]
    for process in both:  # both processes have read their graphs when they start
        process.stdin.write(b"!")
        process.stdin.flush()
    expected = 50 * paths_from_a_node(50)
    for process in both:
        answer = process.communicate(timeout=120)[0].split()
        assert [int(each) for each in answer] == [expected, expected]


class PeakResident:
    """Measures the growth of this process's resident memory."""

    def __init__(self):
        self._begin = self._peak = _resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def stop(self):
        self._stop.set()
        self._thread.join()
        return self._peak - self._begin

    def _watch(self):
        while not self._stop.wait(0.01):
            self._peak = max(self._peak, _resident())


def _resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")
