"""Compares the strategies on graphs with heavy hubs; every count is checked, a wrong one fails.

As a test: `make bench`. By hand, on any device:

    python tests/benchmarks/test_strategies.py [--device DEVICE] [--scales 16,20] [--slow]

R-MAT graphs (a=0.57, b=c=0.19) are generated; their triangle counts are known. On the real graphs
beside the checkout the strategies must agree. `--slow` runs gpsm on everything, too. On a
CPU, strategies are compared by processor time of all cores.
"""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402 - in a script run, the tests' folder is not yet on the path
import pytest  # noqa: E402
from rmat_draws import rmat_draws  # noqa: E402

import gpugda  # noqa: E402
from gpugda.data.integer_sets import unique_values  # noqa: E402
from gpugda.device.context import DeviceContext, choose_device  # noqa: E402
from gpugda.ports import GraphSource  # noqa: E402

SNAP = Path(os.environ.get("GPUGDA_SHARED", HERE.parents[2] / "shared")) / "data" / "snap"
TRIANGLES = "MATCH (a)-->(b)-->(c), (a)-->(c) RETURN count(*)"
UNDIRECTED = {14: 129_671, 18: 2_093_821, 20: 8_383_422}
"""Number of relationships by scale."""
RMAT = {
    # scale: (relationships drawn, relationships left, triangles)
    16: (1_000_000, 913_473, 21_341_738),
    20: (16_000_000, 15_361_413, 514_254_981),
    22: (67_000_000, 65_138_992, 2_715_559_002),
}
QUERIES = {
    "triangles": TRIANGLES,
    "cycles of 3": "MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)",
    "diamonds": "MATCH (a)-->(b)-->(d), (a)-->(c)-->(d), (b)-->(c) RETURN count(*)",
    "squares": "MATCH (a)-->(b)-->(c)-->(d)-->(a) RETURN count(*)",
    "4-cliques": (
        "MATCH (a)-->(b), (a)-->(c), (a)-->(d), (b)-->(c), (b)-->(d), (c)-->(d) RETURN count(*)"
    ),
    "paths of 2": "MATCH (a)-->(b)-->(c) RETURN count(*)",
    "paths of 3": "MATCH (a)-->(b)-->(c)-->(d) RETURN count(*)",
}
COUNTS = {
    "wiki-Vote.csv.xz": (746555, 131925, 9062521, 5072288, 3660704, 4542782, 202692874),
    "email-Enron.txt.xz": (
        4362264,
        4362264,
        150475368,
        None,
        56199336,
        51501448,
        4733063120,
    ),
}
SLOW_FOR_GPSM = {"email-Enron.txt.xz": {"diamonds", "squares", "4-cliques"}}
REPEATS = 5


def rmat(scale: int) -> GraphSource:
    return as_graph(*rmat_ends(scale), 1 << scale)


def rmat_ends(scale: int) -> tuple[np.ndarray, np.ndarray]:
    drawn = RMAT[scale][0] or 16 << scale
    nodes = 1 << scale
    source, target = rmat_draws(drawn, scale, (0.57, 0.76, 0.95))
    pairs = unique_values(source * nodes + target)
    pairs = pairs[pairs // nodes != pairs % nodes]
    assert RMAT[scale][1] in (None, len(pairs)), f"{len(pairs)} relationships: another generator"
    return pairs // nodes, pairs % nodes


def undirected_ends(scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Relationships from the lower to the higher node: 8 draws per node, less skewed."""
    nodes = 1 << scale
    source, target = rmat_draws(8 * nodes, scale, (0.45, 0.67, 0.89))
    low, high = np.minimum(source, target), np.maximum(source, target)
    pairs = unique_values((low * nodes + high)[low != high])
    assert UNDIRECTED.get(scale, len(pairs)) == len(pairs), f"{len(pairs)}: another generator"
    return pairs // nodes, pairs % nodes


def snap(name: str) -> GraphSource | None:
    pairs = snap_ends(name)
    if pairs is None:
        return None
    nodes, ends = np.unique(pairs, return_inverse=True)
    ends = ends.reshape(pairs.shape)
    return as_graph(ends[:, 0], ends[:, 1], len(nodes))


def snap_ends(name: str) -> np.ndarray | None:
    """Rows of source and target node from the file; None if it is absent."""
    if not (SNAP / name).exists():
        return None
    with lzma.open(SNAP / name, "rt") as lines:
        text = [line.replace(",", " ").split()[:2] for line in lines if line[0].isdigit()]
    return np.array(text, dtype=np.int64)


def as_graph(source: np.ndarray, target: np.ndarray, nodes: int) -> GraphSource:
    types = np.full(len(source), "R", dtype=object)
    return gpugda.graph(
        {"id": np.arange(nodes)}, {"source": source, "target": target, "type": types}
    )


def clock_of(device: str | None) -> Callable[[], float]:
    """Processor time of all cores on a CPU, as other programs may share the machine; else the clock."""
    context = DeviceContext(choose_device(device))
    is_cpu = context.is_cpu
    context.close()
    return time.process_time if is_cpu else time.perf_counter


def milliseconds(
    accelerator: gpugda.Accelerator,
    query: str,
    strategy: str,
    expected: int | None,
    clock: Callable[[], float] = time.perf_counter,
    repeats: int = REPEATS,
) -> tuple[float, int]:
    """The minimum of some runs, and the count, which must be the expected one in each."""
    times = []
    for _ in range(repeats):
        started = clock()
        answer = accelerator.run(query, engine="gpu", strategy=strategy).values()[0][0]
        times.append((clock() - started) * 1e3)
        expected = answer if expected is None else expected
        assert answer == expected, f"{query}: {strategy} counts {answer}, expected {expected}"
        if len(times) > 1 and times[-1] > 2000:  # the first one may compile
            break
    return min(times), answer


def compare(
    name: str, accelerator: gpugda.Accelerator, device: str | None = None, *, slow: bool
) -> dict[str, dict[str, float]]:
    figures, clock = {}, clock_of(device)
    for (motif, query), expected in zip(QUERIES.items(), COUNTS[name], strict=True):
        strategies = ["extend", "gpsm"]
        if motif in SLOW_FOR_GPSM.get(name, ()) and not slow:
            strategies.remove("gpsm")
        times, count = {}, expected
        for strategy in strategies:
            times[strategy], count = milliseconds(accelerator, query, strategy, count, clock)
        figures[motif] = times
        text = ", ".join(f"{strategy} {each:.1f} ms" for strategy, each in times.items())
        ratio = f", {times['gpsm'] / times['extend']:.1f} times" if "gpsm" in times else ""
        print(f"{name}: {motif}: {count:,} rows; {text}{ratio}", flush=True)
    return figures


def triangles(scale: int, device: str | None) -> float:
    with gpugda.connect(rmat(scale), device=device) as accelerator:
        found, count = milliseconds(accelerator, TRIANGLES, "extend", RMAT[scale][2])
        device = accelerator.status()["device"]
        print(f"R-MAT {scale}: {count:,} triangles; extend {found:.2f} ms; {device}", flush=True)
        return found


@pytest.mark.perf
@pytest.mark.parametrize("name", COUNTS)
def test_extend_is_faster(name, capsys):
    source = snap(name)
    if source is None:
        pytest.skip(f"{name} is not beside the checkout (set GPUGDA_SHARED)")
    with capsys.disabled(), gpugda.connect(source) as accelerator:
        print()
        for motif, times in compare(name, accelerator, slow=False).items():
            assert times["extend"] <= times.get("gpsm", times["extend"]), motif


@pytest.mark.perf
def test_triangles_by_strategy(capsys):
    with capsys.disabled():
        triangles(16, None)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--scales", default="16")
    parser.add_argument("--slow", action="store_true")
    asked = parser.parse_args()
    for scale in asked.scales.split(","):
        triangles(int(scale), asked.device)
    for name in COUNTS:
        source = snap(name)
        if source is None:
            print(f"{name}: absent")
            continue
        with gpugda.connect(source, device=asked.device) as accelerator:
            compare(name, accelerator, asked.device, slow=asked.slow)


if __name__ == "__main__":
    main()
