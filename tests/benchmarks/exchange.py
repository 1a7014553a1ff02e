"""Times one core beside two: ``POCL_DEVICES="basic basic" python tests/benchmarks/exchange.py``.

Each of these devices of PoCL runs in the thread that asks it, so on one core. Prints medians of
seconds, of their paired ratio, and of the ratio of processor times: both ways do the same work if
that is 1, and two free cores then take half the time. Last come short queries with one device and
with ``devices="all"``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import gpugda
from gpugda.match import exchange
from gpugda.match.exchange import ExchangeLimits

LONG = {
    "diamonds": "MATCH (a:A)-->(b:B)-->(c:C)<--(d)<--(a) RETURN count(*)",
    "cycles of 4, by node": "MATCH (a:A)-->(b)-->(c:C)-->(d:B)-->(a) RETURN a.id, count(*)",
    "cycles of 5": "MATCH (a:A)-->(b:B)-->(c:C)-->(d:A)-->(e:B)-->(a) RETURN count(*)",
    "ordered triangles": "MATCH (a)-->(b)-->(c)-->(a) WHERE a.id < b.id < c.id RETURN count(*)",
}
SHORT = {
    "look-up": "MATCH (a:A)-->(b:B) WHERE a.id < 2000 RETURN b.id, count(*)",
    "rows": "MATCH (a:A)-->(b)-->(c:C) WHERE b.id < 9000 RETURN a, b, c",
}


def graph(nodes: int, relationships: int) -> Any:
    random = np.random.default_rng(1)
    ends = (random.random((2, relationships)) ** 1.5 * nodes).astype(np.int64)
    labels = [["A", "B", "C"][number % 3] for number in range(nodes)]
    table = {"source": ends[0], "target": ends[1], "type": ["R"] * relationships}
    return gpugda.graph({"id": np.arange(nodes), "labels": labels}, table)


def spent(accelerator: Any, text: str) -> tuple[float, float, list[str]]:
    """Seconds, seconds of processors, and what was divided."""
    processors, started = time.process_time(), time.perf_counter()
    steps = accelerator.run(text).summary.steps
    seconds, used = time.perf_counter() - started, time.process_time() - processors
    return seconds, used, [each for each in steps if each.startswith("exchange")]


def compare(one: Any, both: Any, queries: dict[str, str], rounds: int) -> Iterator[str]:
    for what, text in queries.items():
        pairs = [(spent(one, text), spent(both, text)) for _ in range(rounds + 5)][5:]
        medians = [statistics.median(each[side][0] for each in pairs) for side in (0, 1)]
        faster = statistics.median(alone[0] / divided[0] for alone, divided in pairs)
        work = statistics.median(divided[1] / alone[1] for alone, divided in pairs)
        times = f"{medians[0]:.3f} s, {medians[1]:.3f} s, {faster:.2f} times as fast"
        yield f"{what}: {times}, {work:.2f} of the work; {'; '.join(pairs[-1][1][2])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--relationships", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    source = graph(options.nodes, options.relationships)
    one = gpugda.connect(source, device=0)
    for line in compare(one, gpugda.connect(source, devices="all"), SHORT, options.rounds * 8):
        print(line, flush=True)
    exchange.LIMITS = ExchangeLimits(min_seconds=0.0)
    for line in compare(one, gpugda.connect(source, devices="all"), LONG, options.rounds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
