"""PBE's patterns on one of its graphs, generated: for runs of minutes on a machine that is lent.

    python tests/benchmarks/pbe_graphs.py friendster --scale 1 --patterns q3,q6,q5,q2 --timeout 100

Every line is written when it is known, also to a file in the folder OUT of the environment, beside
the stacks of all threads every 20 seconds: a run that is ended from outside shows where it was.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gpugda.bench.machine import peak_bytes
from gpugda.config import requested_device
from gpugda.data.sorting import SortedRows, Unsorted
from gpugda.device.context import DeviceContext, choose_device
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.row_building import build_rows
from gpugda.match.embeddings import StrategyReport
from gpugda.match.registry import STRATEGIES
from lab.pbe_patterns import PBE_PATTERNS
from lab.recipes import make_recipe
from lab.strategies_measuring import _question

STARTED = time.perf_counter()


def main() -> None:
    """Draws the graph, then asks every pattern of every strategy."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graph")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--patterns", default=",".join(each.split()[0] for each in PBE_PATTERNS))
    parser.add_argument("--strategies", default="extend")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds per query")
    parser.add_argument("--runs", type=int, default=3, help="of each query, if they are short")
    given = parser.parse_args()
    folder = Path(os.environ.get("OUT") or tempfile.mkdtemp())
    stem = f"{given.graph}-{given.scale:g}"
    with (folder / f"{stem}.stacks").open("w") as stacks, (folder / stem).open("w") as lines:

        def say(text: str) -> None:
            line = f"{time.perf_counter() - STARTED:8.2f} s  {text}"
            print(line, flush=True)
            print(line, file=lines, flush=True)

        faulthandler.dump_traceback_later(20, repeat=True, file=stacks)
        try:
            measure(given, say)
        finally:
            faulthandler.cancel_dump_traceback_later()


def measure(given: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Draws, asks and reports."""
    context = DeviceContext(choose_device(requested_device(None)))
    say(f"device: {context.info.name}")

    def sort(unsorted: Unsorted, *, with_order: bool) -> SortedRows | None:
        wanted_from = context.profile.sorted_from
        say(f"drawn: {len(unsorted.starts):,} relationships; {memory()}")
        if wanted_from is None or len(unsorted.starts) < wanted_from:
            return None
        found = build_rows(context, unsorted, with_order=with_order)
        say(f"sorted: {'on the device' if found else 'no room on the device'}; {memory()}")
        return found

    graph = make_recipe(given.graph, given.scale, 1, sort)
    say(
        f"built: {graph.node_count:,} nodes, {graph.relationship_count:,} relationships; {memory()}"
    )
    titles = {title.split()[0]: title for title in PBE_PATTERNS}
    for name in given.strategies.split(","):
        matcher = STRATEGIES[name](DeviceGraph(context, graph))
        for title in [titles[each] for each in given.patterns.split(",")]:
            started = time.perf_counter()
            _, ask = _question(graph, PBE_PATTERNS[title], "count", name, matcher)
            planned = time.perf_counter() - started
            for number in range(given.runs):
                started, report = time.perf_counter(), StrategyReport()
                try:
                    found = f"{ask(report, time.monotonic() + given.timeout):,}"
                except Exception as error:  # reported; the next pattern is asked
                    found = f"{type(error).__name__}: {error}"[:200]
                seconds = time.perf_counter() - started
                stages = ", ".join(
                    f"{stage} {taken:.3f}" for stage, taken in report.timings.items()
                )
                say(f"{name}, {title}, run {number}: {found}; {seconds:.4f} s ({stages})")
                if not number:
                    say(f"    planned in {planned:.3f} s; " + "; ".join(report.steps)[:300])
                if not found[0].isdigit() or seconds > given.timeout / 8:
                    break
    say(f"end; {memory()}")


def memory() -> str:
    """The process's peak of memory."""
    return f"at most {(peak_bytes() or 0) / 2**30:.1f} GiB"


if __name__ == "__main__":
    main()
