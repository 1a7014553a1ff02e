"""Counts on a graph larger than the `memory_limit`, compared with the same counts in memory.

As a test: `make bench`. By hand, on any device:

    python tests/benchmarks/test_out_of_core.py [--device DEVICE] [--scale 17] [--factor 16] [--uniform]

The graph is R-MAT, or uniform, with distinct relationships of one type and eight labels; the limit is a
quarter of its size on the device. Both must count the same. A query may take four times as long. Times by
the clock and of the processor are the best of some runs; on a CPU, the latter includes the kernels.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402 - in a script run, the tests' folder is not yet on the path
import pyarrow as pa  # noqa: E402
import pytest  # noqa: E402

import gpugda  # noqa: E402
from gpugda.data.data_graph import DataGraph  # noqa: E402
from gpugda.device.context import DeviceContext, choose_device  # noqa: E402
from gpugda.device.graph.device_graph import DeviceGraph  # noqa: E402
from gpugda.device.graph.segments import whole_bytes  # noqa: E402
from gpugda.execute.pipeline import plan_of  # noqa: E402
from gpugda.loading import load  # noqa: E402
from gpugda.match.embeddings import StrategyReport  # noqa: E402
from gpugda.match.extend.strategy import ExtendStrategy  # noqa: E402
from gpugda.query.prepare import prepare  # noqa: E402
from gpugda.result.result import Result  # noqa: E402
from gpugda.result.summary import Summary  # noqa: E402

LABELS = 8
LIMIT_SHARE = 4
REPEATS = 3
LONG = 8.0
"""Seconds: a query that takes this long runs once."""
QUARTERS = (146, 49, 49)
"""Of 256: probabilities of the matrix quadrants for each bit of a relationship's ends."""
QUERIES = {
    "two-paths": "MATCH (a)-->(b)-->(c) RETURN count(*)",
    "two-paths, labels": "MATCH (a:L1)-->(b:L2)-->(c:L3) RETURN count(*)",
    "triangles": "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
    "triangles, labels": "MATCH (a:L1)-->(b:L2)-->(c:L3)-->(a) RETURN count(*)",
    "six nodes, a tree": (
        "MATCH (a:L0)-->(b:L1)-->(c:L2), (b)-->(d:L3), (d)-->(e:L4), (c)-->(f:L5) RETURN count(*)"
    ),
    "six nodes, cycles": (
        "MATCH (a:L0)-->(b:L1)-->(c:L2)-->(a), (c)-->(d:L3)-->(e:L4)-->(f:L5)-->(c) RETURN count(*)"
    ),
}


@dataclass(frozen=True)
class Figures:
    """Figures of one query in one mode, in memory or beyond; ``sent``: bytes of the last run."""

    wall: float
    process: float
    count: int
    sent: int


def ends(scale: int, factor: int, *, uniform: bool) -> tuple[np.ndarray, np.ndarray]:
    random, drawn = np.random.default_rng(1), factor << scale
    if uniform:
        nodes = 1 << scale
        return random.integers(0, nodes, drawn, np.int32), random.integers(
            0, nodes, drawn, np.int32
        )
    source, target = np.zeros(drawn, np.int32), np.zeros(drawn, np.int32)
    a, b, c = np.cumsum(QUARTERS)
    for _ in range(scale):
        quadrant = random.integers(0, 256, drawn, np.uint8)
        source = 2 * source + (quadrant >= b)
        target = 2 * target + (((quadrant >= a) & (quadrant < b)) | (quadrant >= c))
    return source, target


def apart(source: np.ndarray, target: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Removes loops and duplicates."""
    pairs = np.sort(source * np.int64(nodes) + target)
    pairs = pairs[np.flatnonzero(np.diff(pairs, prepend=-1))]
    pairs = pairs[pairs // nodes != pairs % nodes]
    return (pairs // nodes).astype(np.int32), (pairs % nodes).astype(np.int32)


def data_graph(scale: int, factor: int, *, uniform: bool) -> DataGraph:
    nodes = 1 << scale
    source, target = apart(*ends(scale, factor, uniform=uniform), nodes)
    names = pa.array([f"L{number}" for number in range(LABELS)])
    labels = np.random.default_rng(2).integers(0, LABELS, nodes).astype(np.int32)
    types = pa.DictionaryArray.from_arrays(np.zeros(len(source), np.int32), pa.array(["R"]))
    found = gpugda.graph(
        pa.table({"id": np.arange(nodes), "labels": names.take(pa.array(labels))}),
        pa.table({"source": source, "target": target, "type": types}),
    )
    return load(found, None).graph


def measured(
    context: DeviceContext, graph: DataGraph, text: str, limit: int | None, *, steps: bool = False
) -> Figures:
    strategy = ExtendStrategy(DeviceGraph(context, graph), memory_limit=limit)
    plan = plan_of(prepare(text), graph, "extend")
    wall, process = [], []
    for _ in range(REPEATS):
        report = StrategyReport()
        started = time.perf_counter(), time.process_time()
        table = plan.pipeline.run(graph, strategy, {}, report, None)
        wall.append(time.perf_counter() - started[0])
        process.append(time.process_time() - started[1])
        if wall[-1] > LONG:
            break
    strategy.graph.close()
    if steps:
        print(*(f"    {each}" for each in report.steps), sep="\n")
        print("   ", {name: round(seconds, 3) for name, seconds in report.timings.items()})
    count = int(Result(table, Summary("gpu", query=text)).values()[0][0])
    return Figures(min(wall), min(process), count, report.sent_bytes)


def compare(context: DeviceContext, graph: DataGraph, only: str, *, steps: bool) -> list[float]:
    """Ratios of each query's time beyond the limit to that in memory; on a CPU, processor time."""
    size = whole_bytes(graph)
    print(f"{graph.relationship_count:,} relationships, {size:,} bytes, {context.info.name}")
    times = []
    for name, text in QUERIES.items():
        if only not in name:
            continue
        here = measured(context, graph, text, None, steps=steps)
        parts = measured(context, graph, text, size // LIMIT_SHARE, steps=steps)
        assert parts.count == here.count, f"{name}: {parts.count} in parts, else {here.count}"
        one, other = (each.process if context.is_cpu else each.wall for each in (here, parts))
        times.append(other / one)
        print(
            f"{name}: {here.count:,} rows; in memory {here.wall * 1e3:.1f} ms "
            f"(processor {here.process * 1e3:.1f}), in parts {parts.wall * 1e3:.1f} "
            f"({parts.process * 1e3:.1f}): {times[-1]:.1f} times; sent {parts.sent / 1e6:.1f} MB, "
            f"{parts.sent / parts.wall / 1e9:.2f} GB/s",
            flush=True,
        )
    return times


@pytest.mark.perf
@pytest.mark.parametrize("uniform", [True, False], ids=["uniform", "R-MAT"])
def test_the_slowdown_beyond_the_memory_limit_is_bounded(
    capsys: pytest.CaptureFixture[str], uniform: bool
) -> None:
    with capsys.disabled():
        print()
        graph = data_graph(16 if uniform else 13, 16, uniform=uniform)
        times = compare(DeviceContext(choose_device(None)), graph, "", steps=False)
        assert float(np.exp(np.mean(np.log(times)))) < 16


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--scale", type=int, default=17)
    parser.add_argument("--factor", type=int, default=16)
    parser.add_argument("--uniform", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--steps", action="store_true")
    asked = parser.parse_args()
    context = DeviceContext(choose_device(asked.device))
    started = time.perf_counter()
    graph = data_graph(asked.scale, asked.factor, uniform=asked.uniform)
    print(f"made in {time.perf_counter() - started:.1f} s", flush=True)
    compare(context, graph, asked.only, steps=asked.steps)


if __name__ == "__main__":
    main()
