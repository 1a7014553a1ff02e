"""Where the time of one query goes: kernels by the device's own clock, host calls by the host's.

    python tests/benchmarks/profile_query.py [--device NVIDIA] [--scale 16] [--query "MATCH …"]
        [--specialised-from PAIRS] [--no-lists] [--fused]

Prints wall times without profiling, then per kernel its launches and device time in one run, the
blocking reads and writes, and the host functions that take longest.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pyopencl as cl
from test_strategies import TRIANGLES, rmat, snap

import gpugda
from gpugda.device import extend, program
from gpugda.execute import extend as extend_strategy
from gpugda.execute import extend_join


def wall(accelerator: gpugda.Accelerator, query: str, runs: int) -> tuple[list[float], Any]:
    times, answer = [], None
    for _ in range(runs):
        started = time.perf_counter()
        answer = accelerator.run(query, engine="gpu").values()
        times.append((time.perf_counter() - started) * 1e3)
    return times, answer[0] if answer else None


class Watch:
    """Collects events of launches and copies, with the host's time for each call."""

    def __init__(self) -> None:
        self.launches: dict[str, list[Any]] = defaultdict(list)
        self.host: dict[str, list[float]] = defaultdict(list)
        self.kernel = ""

    def __enter__(self) -> Watch:
        self.before = cl.enqueue_nd_range_kernel, cl.enqueue_copy, program.Kernel._launch
        launch, copy, whole = self.before

        def launched(queue, kernel, *rest, **more):
            event = launch(queue, kernel, *rest, **more)
            self.launches[kernel.function_name].append(event)
            return event

        def copied(*rest, **more):
            started = time.perf_counter()
            event = copy(*rest, **more)
            kind = "read" if hasattr(rest[1], "ctypes") else "write"
            kind += ", waiting" if more.get("is_blocking", True) else ""
            self.host[kind].append(time.perf_counter() - started)
            return event

        def timed(kernel, *rest):
            started = time.perf_counter()
            whole(kernel, *rest)
            self.host["launches"].append(time.perf_counter() - started)

        cl.enqueue_nd_range_kernel, cl.enqueue_copy = launched, copied
        program.Kernel._launch = timed
        return self

    def __exit__(self, *_: object) -> None:
        cl.enqueue_nd_range_kernel, cl.enqueue_copy, program.Kernel._launch = self.before

    def report(self) -> None:
        total = 0.0
        for name, events in self.launches.items():
            times = [(each.profile.end - each.profile.start) / 1e6 for each in events]
            total += sum(times)
            print(f"    {name:28} {len(times):4} launches {sum(times):9.3f} ms on the device")
        print(f"    {'all kernels':28} {'':13} {total:9.3f} ms on the device")
        for name, times in self.host.items():
            print(f"    {name:28} {len(times):4} calls    {sum(times) * 1e3:9.3f} ms on the host")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--scale", type=int, default=16)
    parser.add_argument("--graph", help="a file beside the checkout instead of R-MAT")
    parser.add_argument("--query", action="append")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--modes", default="explore,general,own,lists,own lists")
    parser.add_argument("--host", action="store_true")
    asked = parser.parse_args()
    source = snap(asked.graph) if asked.graph else rmat(asked.scale)
    with gpugda.connect(source, device=asked.device) as accelerator:
        print(accelerator.status()["device"], asked.graph or f"R-MAT {asked.scale}", flush=True)
        for query in asked.query or [TRIANGLES]:
            for mode in asked.modes.split(","):
                extend.SPECIALISED_FROM = 1 if "own" in mode else 1 << 62
                extend_strategy.EXPLORE_ALWAYS = mode == "explore"
                extend_join.LISTED = "lists" in mode
                times, answer = wall(accelerator, query, asked.runs)
                text = ", ".join(f"{each:.2f}" for each in times)
                print(f"  {mode}: {query}: {answer}; {text} ms", flush=True)
                context = accelerator_context(accelerator)
                queue = context.queue
                context.queue = cl.CommandQueue(
                    context.context, properties=cl.command_queue_properties.PROFILING_ENABLE
                )
                wall(accelerator, query, 1)
                with Watch() as watch:
                    wall(accelerator, query, 1)
                    watch.report()
                context.queue = queue
            if asked.host:
                profile = cProfile.Profile()
                profile.enable()
                wall(accelerator, query, 5)
                profile.disable()
                pstats.Stats(profile).sort_stats("tottime").print_stats(25)


def accelerator_context(accelerator: gpugda.Accelerator) -> Any:
    session = next(
        each for each in vars(accelerator).values() if type(each).__name__ == "DeviceSession"
    )
    return session._context


if __name__ == "__main__":
    main()
