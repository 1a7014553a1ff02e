"""Time per pair on a graph with heavy hubs, against a uniform one with as many pairs to test.

As a test: `make bench`. By hand, on any device:

    python tests/benchmarks/test_skew.py [--device DEVICE] [--scale 16]

Directed triangles of an R-MAT graph (a=0.57), and of a random graph with as many nodes and as many
relationships as give the same number of pairs: for each relationship the shorter list of its ends.
Both strategies must count the same. The ratio may be 1.5: cost grows with pairs, not with skew.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import numpy as np  # noqa: E402 - also run by hand, where the tests' folder is not on the path yet
import pytest  # noqa: E402
from benchmarks.test_strategies import (  # noqa: E402
    TRIANGLES,
    as_graph,
    milliseconds,
    rmat_ends,
)

import gpugda  # noqa: E402

MOST = 1.5
STEPS = 12
"""Of the search for the number of relationships."""


def pair_count(source: np.ndarray, target: np.ndarray, nodes: int) -> int:
    degrees = np.bincount(source, minlength=nodes)
    return int(np.minimum(degrees[source], degrees[target]).sum())


def uniform_ends(nodes: int, drawn: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    pairs = np.unique(random.integers(0, nodes, drawn) * nodes + random.integers(0, nodes, drawn))
    pairs = pairs[pairs // nodes != pairs % nodes]
    return pairs // nodes, pairs % nodes


def uniform_with(nodes: int, pairs: int, at_least: int) -> tuple[np.ndarray, np.ndarray]:
    """About so many pairs: never more relationships than would give them."""
    low, high = at_least, 32 * at_least
    for _ in range(STEPS):
        drawn = (low + high) // 2
        few = pair_count(*uniform_ends(nodes, drawn), nodes) < pairs
        low, high = (drawn, high) if few else (low, drawn)
    return uniform_ends(nodes, low)


def nanoseconds_per_pair(
    name: str, ends: tuple[np.ndarray, np.ndarray], nodes: int, device: str | None
) -> float:
    pairs = pair_count(*ends, nodes)
    with gpugda.connect(as_graph(*ends, nodes), device=device) as accelerator:
        _, expected = milliseconds(accelerator, TRIANGLES, "gpsm", None)
        found, _ = milliseconds(accelerator, TRIANGLES, "extend", expected)
        device = accelerator.status()["device"]
    each = found * 1e6 / pairs
    print(
        f"{name}: {len(ends[0]):,} relationships, {pairs:,} pairs, {expected:,} triangles; "
        f"{found:.2f} ms, {each:.3f} ns a pair; {device}",
        flush=True,
    )
    return each


def compare(scale: int, device: str | None) -> float:
    """How many times as long a pair takes on the skewed graph."""
    nodes, skewed = 1 << scale, rmat_ends(scale)
    uniform = uniform_with(nodes, pair_count(*skewed, nodes), len(skewed[0]))
    ratio = nanoseconds_per_pair("R-MAT", skewed, nodes, device) / nanoseconds_per_pair(
        "uniform", uniform, nodes, device
    )
    print(f"scale {scale}: a pair takes {ratio:.2f} times as long where hubs are heavy", flush=True)
    return ratio


@pytest.mark.perf
def test_cost_grows_with_pairs_and_not_with_skew(capsys):
    with capsys.disabled():
        print()
        assert compare(16, None) <= MOST


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--scale", type=int, default=16)
    asked = parser.parse_args()
    compare(asked.scale, asked.device)


if __name__ == "__main__":
    main()
