"""Counts on a graph of up to billions of relationships, in memory and beyond the `memory_limit`.

As a test: `make bench`. By hand, on any device:

    python tests/benchmarks/test_large_graphs.py [--device DEVICE] [--relationships 500000000]
        [--nodes 16000000] [--loops] [--share 4] [--only TEXT] [--seconds 60] [--steps] [--lists]

The graph is uniform with four hubs, one type and eight labels; threads draw it. ``--share 4`` has the
limit at a quarter of its size on the device. Each query runs once for the first time and then again, in
memory and beyond; both must count the same. Printed as soon as they are known, for both: seconds by the
clock (and of the processor), bytes sent, their rate, its share of the bandwidth that page-locked copies
reach in this run, and the shares of the time in which kernels ran, and in which kernels ran or data was
sent. ``--lists`` has a CPU work as a GPU does.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402 - in a script run, the tests' folder is not yet on the path
import pyarrow as pa  # noqa: E402
import pyopencl as cl  # noqa: E402
import pytest  # noqa: E402
from test_out_of_core import LABELS, QUERIES  # noqa: E402

import gpugda  # noqa: E402
from gpugda.data.build import SilentProgress  # noqa: E402
from gpugda.data.data_graph import DataGraph  # noqa: E402
from gpugda.data.sorting import SortedRows, Unsorted  # noqa: E402
from gpugda.data.threads import in_threads, pieces_of  # noqa: E402
from gpugda.device.context import DeviceContext, choose_device  # noqa: E402
from gpugda.device.graph.device_graph import DeviceGraph  # noqa: E402
from gpugda.device.graph.row_building import build_rows  # noqa: E402
from gpugda.device.graph.segments import whole_bytes  # noqa: E402
from gpugda.device.memory.buffers import MemoryBudget, Workspace  # noqa: E402
from gpugda.device.memory.uploads import PageLocked  # noqa: E402
from gpugda.errors import GpugdaError  # noqa: E402
from gpugda.execute.pipeline import plan_of  # noqa: E402
from gpugda.loading import load  # noqa: E402
from gpugda.match.embeddings import StrategyReport  # noqa: E402
from gpugda.match.extend.strategy import ExtendStrategy  # noqa: E402
from gpugda.query.prepare import prepare  # noqa: E402
from gpugda.result.result import Result  # noqa: E402
from gpugda.result.summary import Summary  # noqa: E402

RUNS = 3
PIECE = 1 << 22
HUBS, HUB_SHARE = 4, 1 << 10
"""Hubs, and the fraction (1/n) of all relationships that leave them, and that lead to them."""
COPIED, COPIES = 1 << 26, 8
"""Bytes of the copies that measure the bus, and how many."""


@dataclass
class Recorded:
    """What the device did, as pairs of its clock's nanoseconds; only if its queues are profiled."""

    kernels: list[Any] = field(default_factory=list)
    copies: list[Any] = field(default_factory=list)

    def clear(self) -> None:
        self.kernels.clear()
        self.copies.clear()

    def shares(self, seconds: float) -> tuple[float, float]:
        """Shares of the time in which kernels ran, and in which kernels ran or data was copied."""
        kernels, copies = (
            [(each.profile.start, each.profile.end) for each in events]
            for events in (self.kernels, self.copies)
        )
        return covered(kernels) / seconds, covered([*kernels, *copies]) / seconds


def covered(spans: Sequence[tuple[int, int]]) -> float:
    """Seconds that are in any of the spans of nanoseconds."""
    total, until = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total / 1e9


@contextmanager
def profiled() -> Iterator[Recorded]:
    """Queues that are opened meanwhile note when commands began and ended."""
    recorded, patch = Recorded(), pytest.MonkeyPatch()
    launch, copy, queue = cl.enqueue_nd_range_kernel, cl.enqueue_copy, cl.CommandQueue

    def noted_launch(*given: Any, **named: Any) -> Any:
        event = launch(*given, **named)
        recorded.kernels.append(event)
        return event

    def noted_copy(*given: Any, **named: Any) -> Any:
        event = copy(*given, **named)
        if event is not None:
            recorded.copies.append(event)
        return event

    patch.setattr(cl, "enqueue_nd_range_kernel", noted_launch)
    patch.setattr(cl, "enqueue_copy", noted_copy)
    properties = cl.command_queue_properties.PROFILING_ENABLE
    patch.setattr(cl, "CommandQueue", lambda context: queue(context, properties=properties))
    try:
        yield recorded
    finally:
        patch.undo()


@dataclass(frozen=True)
class Figures:
    """Figures of one query in one mode; seconds by the clock and of the processor."""

    first: float
    first_process: float
    again: float
    process: float
    first_sent: int
    sent: int
    busy: float
    used: float
    count: int


def ends(nodes: int, count: int, *, loops: bool) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of relationships, drawn by threads."""
    pieces = pieces_of(count, PIECE)
    randoms = np.random.default_rng(1).spawn(len(pieces))
    source, target = np.empty(count, np.uint32), np.empty(count, np.uint32)

    def draw(number: int) -> None:
        random, piece = randoms[number], pieces[number]
        size = piece.stop - piece.start
        starts = random.integers(0, nodes, size, np.uint32)
        others = random.integers(0, nodes, size, np.uint32)
        starts[: size // HUB_SHARE] %= HUBS
        others[-(size // HUB_SHARE) - 1 : -1] %= HUBS
        if not loops:
            others[starts == others] ^= 1
        source[piece], target[piece] = starts, others

    in_threads(draw, range(len(pieces)))
    return source, target


def data_graph(context: DeviceContext, nodes: int, count: int, *, loops: bool) -> DataGraph:
    source, target = ends(nodes, count, loops=loops)
    print(f"drawn, {time.perf_counter() - STARTED:.1f} s", flush=True)
    names = pa.array([f"L{number}" for number in range(LABELS)])
    labels = np.random.default_rng(2).integers(0, LABELS, nodes).astype(np.int32)
    types = pa.DictionaryArray.from_arrays(pa.array(np.zeros(count, np.int8)), pa.array(["R"]))
    found = gpugda.graph(
        pa.table({"id": np.arange(nodes), "labels": names.take(pa.array(labels))}),
        pa.table({"source": source, "target": target, "type": types}),
    )

    def sort(given: Unsorted, *, with_order: bool) -> SortedRows | None:
        if context.profile.sorted_from is None:
            return None
        return build_rows(context, given, with_order=with_order)

    return load(found, SilentProgress(), sorter=sort).graph


def bus_rate(context: DeviceContext) -> float:
    """Bytes per second from page-locked memory, the best of some copies."""
    locked = PageLocked(context, COPIED)
    found = locked.empty(COPIED // 4, np.uint32)
    values = np.zeros(COPIED // 4, np.uint32) if found is None else found
    values[:] = 1
    times = []
    with Workspace(context, MemoryBudget(2 * COPIED)) as workspace:
        array = workspace.allocate(len(values), np.uint32)
        for _ in range(COPIES):
            started = time.perf_counter()
            workspace.write(array, values)
            context.finish()
            times.append(time.perf_counter() - started)
    locked.close()
    return COPIED / min(times)


def measured(
    strategy: ExtendStrategy, text: str, seconds: float, recorded: Recorded, *, steps: bool
) -> Figures:
    graph, context = strategy.graph.graph, strategy.graph.context
    plan = plan_of(prepare(text), graph, "extend")
    figures = []
    for run in range(RUNS):
        report = StrategyReport()
        recorded.clear()
        started = time.perf_counter(), time.process_time()
        deadline = time.monotonic() + seconds
        table = plan.pipeline.run(graph, strategy, {}, report, deadline)
        wall, process = (
            time.perf_counter() - started[0],
            time.process_time() - started[1],
        )
        context.finish()
        shares = recorded.shares(wall)
        if steps and run < 2:
            print(*(f"    {each}" for each in report.steps), sep="\n")
            print("   ", {name: round(spent, 3) for name, spent in report.timings.items()})
        figures.append((wall, process, report.sent_bytes, shares))
        if sum(each[0] for each in figures[1:]) > seconds / 4:
            break
    count = int(Result(table, Summary("gpu", query=text)).values()[0][0])
    wall, process, sent, (busy, used) = min(figures[1:])
    return Figures(*figures[0][:2], wall, process, figures[0][2], sent, busy, used, count)


def shown(mode: str, found: Figures, rate: float) -> None:
    speed = found.sent / found.again
    print(
        f"  {mode}: first {found.first:.3f} s ({found.first_process:.2f}), then {found.again:.4f} "
        f"({found.process:.3f}); sent {found.first_sent / 1e9:.2f} GB, then {found.sent / 1e9:.2f}: "
        f"{speed / 1e9:.1f} GB/s, {speed / rate:.0%} of the bus; kernels {found.busy:.0%} of the time, "
        f"with copies {found.used:.0%}",
        flush=True,
    )


def compare(
    context: DeviceContext,
    graph: DataGraph,
    recorded: Recorded,
    *,
    share: float = 4,
    only: str = "",
    seconds: float = 60.0,
    steps: bool = False,
) -> dict[str, float]:
    """How many times as long repeated queries take beyond the limit as in memory."""
    size, rate = whole_bytes(graph), bus_rate(context)
    print(
        f"{graph.relationship_count:,} relationships, {graph.node_count:,} nodes, {size:,} bytes, "
        f"{context.info.name}; the bus takes {rate / 1e9:.1f} GB/s",
        flush=True,
    )
    here: dict[str, Figures] = {}
    times: dict[str, float] = {}
    for mode, limit in (("in memory", None), (f"1/{share:g} as limit", int(size / share))):
        strategy = ExtendStrategy(DeviceGraph(context, graph), memory_limit=limit)
        for name, text in QUERIES.items():
            if only not in name:
                continue
            print(f"{name}, {time.perf_counter() - STARTED:.1f} s", flush=True)
            try:
                found = measured(strategy, text, seconds, recorded, steps=steps)
            except GpugdaError as error:
                print(f"  {mode}: {type(error).__name__}: {error}", flush=True)
                continue
            shown(mode, found, rate)
            if limit is None:
                here[name] = found
                print(f"  {found.count:,} rows", flush=True)
            elif name in here:
                assert found.count == here[name].count, f"{found.count}, else {here[name].count}"
                value = "process" if context.is_cpu or context.is_pocl else "again"
                times[name] = getattr(found, value) / getattr(here[name], value)
                print(f"  {times[name]:.1f} times as long as in memory", flush=True)
        strategy.graph.close()
    return times


@pytest.mark.perf
@pytest.mark.parametrize("loops", [False, True], ids=["no-loops", "loops"])
def test_large_uniform_graphs_count_the_same_beyond_the_limit(
    capsys: pytest.CaptureFixture[str], loops: bool
) -> None:
    with capsys.disabled(), profiled() as recorded:
        print()
        context = DeviceContext(choose_device(None))
        graph = data_graph(context, 1 << 15, 1 << 20, loops=loops)
        times = compare(context, graph, recorded)
        assert len(times) == len(QUERIES)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--relationships", type=int, default=1 << 22)
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--loops", action="store_true")
    parser.add_argument("--share", type=float, default=4)
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--lists", action="store_true")
    asked = parser.parse_args()
    nodes = asked.nodes or asked.relationships // 32
    with profiled() as recorded:
        context = DeviceContext(
            choose_device(asked.device), like_cpu=False if asked.lists else None
        )
        graph = data_graph(context, nodes, asked.relationships, loops=asked.loops)
        print(f"built, {time.perf_counter() - STARTED:.1f} s", flush=True)
        compare(
            context,
            graph,
            recorded,
            share=asked.share,
            only=asked.only,
            seconds=asked.seconds,
            steps=asked.steps,
        )
    print(f"done, {time.perf_counter() - STARTED:.1f} s")


STARTED = time.perf_counter()

if __name__ == "__main__":
    main()
