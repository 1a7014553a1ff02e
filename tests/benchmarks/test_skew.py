"""Time per pair on a graph with heavy hubs, compared with a uniform one with as many pairs.

As a test: `make bench`. By hand, on any device:

    python tests/benchmarks/test_skew.py [--device DEVICE] [--scale 16]

Counts directed triangles of an R-MAT graph (a=0.57), and of a random graph with as many nodes and
with the number of relationships that gives as many pairs: per relationship, the shorter list of its
ends. Both strategies must count the same. The ratio may be 1.5: cost grows with pairs, not with skew.
On a CPU, times are processor times of all cores.

The roofline: a pair reads the four bytes of a neighbour. The figure is the share of the device's
memory bandwidth that this uses. Above 100 %, caches hold the lists, or fewer pairs were tested.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np  # noqa: E402 - in a script run, the tests' folder is not yet on the path
import pytest  # noqa: E402
from benchmarks.test_strategies import (  # noqa: E402
    TRIANGLES,
    as_graph,
    clock_of,
    milliseconds,
    rmat_ends,
)

import gpugda  # noqa: E402
from gpugda.device.context import DeviceContext, choose_device  # noqa: E402
from gpugda.device.memory.buffers import MemoryBudget, Workspace  # noqa: E402

MAX_RATIO = 1.5
ENTRY_BYTES = 4
COPIED, COPIES, REPEATS = 1 << 28, 4, 5
"""Bytes of the array; number of copies timed together; number of repeats."""
STEPS = 12
"""Steps of the binary search for the number of relationships."""


def pair_count(source: np.ndarray, target: np.ndarray, nodes: int) -> int:
    degrees = np.bincount(source, minlength=nodes)
    return int(np.minimum(degrees[source], degrees[target]).sum())


def uniform_ends(nodes: int, drawn: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    pairs = np.unique(random.integers(0, nodes, drawn) * nodes + random.integers(0, nodes, drawn))
    pairs = pairs[pairs // nodes != pairs % nodes]
    return pairs // nodes, pairs % nodes


def uniform_with(nodes: int, pairs: int, at_least: int) -> tuple[np.ndarray, np.ndarray]:
    """A uniform graph with about ``pairs`` pairs, at most; never more relationships than needed."""
    low, high = at_least, 32 * at_least
    for _ in range(STEPS):
        drawn = (low + high) // 2
        few = pair_count(*uniform_ends(nodes, drawn), nodes) < pairs
        low, high = (drawn, high) if few else (low, drawn)
    return uniform_ends(nodes, low)


def read_bandwidth(device: str | None, clock: Callable[[], float]) -> float:
    """Bytes per second that the device's memory reads, or writes, while an array is copied."""
    context, times = DeviceContext(choose_device(device)), []
    with Workspace(context, MemoryBudget(4 * COPIED)) as workspace:
        source, target = (workspace.allocate(COPIED // 4, np.uint32) for _ in range(2))
        for each in (source, target):
            workspace.fill(each, 1)
        for _ in range(REPEATS):
            context.finish()
            started = clock()
            for _ in range(COPIES):
                workspace.copy(source, target, 0)
            context.finish()
            times.append(clock() - started)
    context.close()
    return 2 * COPIES * COPIED / min(times)


def nanoseconds_per_pair(
    name: str,
    ends: tuple[np.ndarray, np.ndarray],
    nodes: int,
    device: str | None,
    bandwidth: float,
    clock: Callable[[], float],
) -> float:
    pairs = pair_count(*ends, nodes)
    with gpugda.connect(as_graph(*ends, nodes), device=device) as accelerator:
        _, expected = milliseconds(accelerator, TRIANGLES, "gpsm", None, repeats=1)
        found, _ = milliseconds(accelerator, TRIANGLES, "extend", expected, clock)
        device = accelerator.status()["device"]
    each = found * 1e6 / pairs
    print(
        f"{name}: {len(ends[0]):,} relationships, {pairs:,} pairs, {expected:,} triangles; "
        f"{found:.2f} ms, {each:.3f} ns a pair, "
        f"{ENTRY_BYTES / each / bandwidth * 1e9:.0%} of the bandwidth; {device}",
        flush=True,
    )
    return each


def compare(scale: int, device: str | None) -> float:
    """Ratio of the time per pair on the skewed graph to that on the uniform graph."""
    nodes, skewed = 1 << scale, rmat_ends(scale)
    uniform = uniform_with(nodes, pair_count(*skewed, nodes), len(skewed[0]))
    clock = clock_of(device)
    bandwidth = read_bandwidth(device, clock)
    print(f"memory bandwidth: {bandwidth / 1e9:,.0f} GB/s", flush=True)
    graphs = (("R-MAT", skewed), ("uniform", uniform))
    each = [
        nanoseconds_per_pair(name, ends, nodes, device, bandwidth, clock) for name, ends in graphs
    ]
    ratio = each[0] / each[1]
    print(f"scale {scale}: a pair takes {ratio:.2f} times as long where hubs are heavy", flush=True)
    return ratio


@pytest.mark.perf
def test_cost_grows_with_pairs_and_not_with_skew(capsys):
    with capsys.disabled():
        print()
        assert compare(16, None) <= MAX_RATIO


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--scale", type=int, default=16)
    asked = parser.parse_args()
    compare(asked.scale, asked.device)


if __name__ == "__main__":
    main()
