"""Undirected patterns without labels, counted in the oriented graph and in the original graph.

As a test: `make bench`. By hand, on any device:

    python tests/benchmarks/test_symmetric.py [--device DEVICE] [--scales 14,16] [--snap]

The graphs are R-MAT (a=0.45, b=c=0.22, 8 draws a node), undirected, without loops and duplicates;
`--snap` adds real ones that lie beside the checkout. Both forms must count the same.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402 - in a script run, the tests' folder is not yet on the path
import pytest  # noqa: E402
from test_strategies import as_graph, snap, undirected_ends  # noqa: E402

from gpugda.data.build import SilentProgress, build_data_graph  # noqa: E402
from gpugda.data.data_graph import DataGraph  # noqa: E402
from gpugda.device.context import DeviceContext, choose_device  # noqa: E402
from gpugda.device.graph.device_graph import DeviceGraph  # noqa: E402
from gpugda.execute.patterns.matching import select  # noqa: E402
from gpugda.execute.patterns.oriented_count import count_oriented  # noqa: E402
from gpugda.execute.patterns.oriented_form import add_unoriented_seconds  # noqa: E402
from gpugda.match.embeddings import StrategyReport  # noqa: E402
from gpugda.match.extend.strategy import ExtendStrategy  # noqa: E402
from gpugda.match.need import Count  # noqa: E402
from gpugda.match.registry import plan_pattern  # noqa: E402
from gpugda.plan.bind import bind  # noqa: E402
from gpugda.ports import GraphSource  # noqa: E402
from tests.one_pattern import query_of  # noqa: E402

PATTERNS = {
    "triangle": "0-1 1-2 0-2",
    "4-clique": "0-1 0-2 0-3 1-2 1-3 2-3",
    "diamond": "0-1 0-2 1-2 1-3 2-3",
    "square": "0-1 1-2 2-3 0-3",
    "house and a chord": "0-1 0-2 1-3 2-4 3-4 2-3 1-4",
    "5-clique but for one": "0-1 0-2 0-3 0-4 1-3 1-4 2-3 2-4 3-4",
    "5-clique": "0-1 0-2 0-3 0-4 1-2 1-3 1-4 2-3 2-4 3-4",
}
SNAP = ("wiki-Vote.csv.xz", "email-Enron.txt.xz")
REPEATS = 5


def read(source: GraphSource) -> DataGraph:
    with source.read(SilentProgress()) as batches:
        return build_data_graph(batches)


def text(pattern: str) -> str:
    steps = [each.split("-") for each in pattern.split()]
    return f"MATCH {', '.join(f'(v{one})--(v{other})' for one, other in steps)} RETURN count(*)"


def best(count: Callable[[], int | None]) -> tuple[float, int | None]:
    times, found = [], None
    for _ in range(REPEATS):
        started = time.perf_counter()
        found = count()
        times.append((time.perf_counter() - started) * 1e3)
        if len(times) > 1 and times[-1] > 2000:  # the first one may compile
            break
    return min(times), found


def compare(name: str, graph: DataGraph, context: DeviceContext) -> dict[str, tuple[float, float]]:
    """Milliseconds in the original and in the oriented graph, per pattern."""
    figures = {}
    device_graph = DeviceGraph(context, graph)
    strategy = ExtendStrategy(device_graph)
    for pattern, steps in PATTERNS.items():
        plan = plan_pattern(bind(query_of(text(steps)), graph), graph.statistics, "extend", Count())

        def as_it_is(plan=plan):
            selected = select(plan, graph, strategy, {}, StrategyReport(), None)
            return strategy.count(selected.plan, selected.masks, StrategyReport())

        def upwards(plan=plan):
            return count_oriented(plan, graph, strategy, {}, StrategyReport(), None)

        before, count = best(as_it_is)
        add_unoriented_seconds(plan, graph, 3600.0)
        started = time.perf_counter()
        if (found := upwards()) is None:
            print(f"{name}: {pattern}: {count:,} rows; {before:.1f} ms, not oriented", flush=True)
            continue
        first = (time.perf_counter() - started) * 1e3
        after, again = best(upwards)
        assert found == again == count, f"{name}: {pattern}: {again} oriented, else {count}"
        figures[pattern] = before, after
        print(
            f"{name}: {pattern}: {count:,} rows; as it is {before:.1f} ms, oriented {after:.1f} ms"
            f" (first {first:.1f}), {before / after:.1f} times",
            flush=True,
        )
    strategy.drop_second_graph()
    device_graph.close()
    return figures


def mean(figures: dict[str, tuple[float, float]]) -> float:
    return float(np.exp(np.mean([np.log(before / after) for before, after in figures.values()])))


def rmat(scale: int, context: DeviceContext) -> float:
    graph = read(as_graph(*undirected_ends(scale), 1 << scale))
    figures = compare(f"R-MAT {scale}", graph, context)
    print(f"R-MAT {scale}: geometric mean {mean(figures):.2f} times", flush=True)
    return mean(figures)


@pytest.mark.perf
def test_the_oriented_graph_pays(capsys):
    with capsys.disabled():
        print()
        assert rmat(14, DeviceContext(choose_device(None))) > 1.5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--scales", default="14")
    parser.add_argument("--snap", action="store_true")
    asked = parser.parse_args()
    context = DeviceContext(choose_device(asked.device))
    print(context.info.name)
    for scale in asked.scales.split(","):
        rmat(int(scale), context)
    for name in SNAP if asked.snap else ():
        source = snap(name)
        if source is None:
            print(f"{name}: absent")
            continue
        print(f"{name}: {mean(compare(name, read(source), context)):.2f} times", flush=True)


if __name__ == "__main__":
    main()
