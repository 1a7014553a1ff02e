"""Groups, order, distinct rows, lists and expressions over a million rows, compared with Polars.

    ROWS=5000000 REPEATS=5 pytest tests/benchmarks/test_tail.py -m perf -s

Times are processor times, the best of three in turn, as other programs share the machine; Polars uses
any number of threads, whose times are added. ROWS and REPEATS in the environment set the number of
rows and of turns; LINES selects the cases whose names contain its text.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from benchmarks.tail_cases import cases, make_table

ROWS = int(os.environ.get("ROWS", "1000000"))
LINES = os.environ.get("LINES", "")
REPEATS = int(os.environ.get("REPEATS", "3"))


def _timed(call: Callable[[], Any]) -> tuple[float, float]:
    """Seconds by the clock, and processor seconds of all cores."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return time.perf_counter() - wall, time.process_time() - processor


@pytest.mark.perf
def test_tail_operators_compared_with_polars() -> None:
    """Prints times without judging them, as other programs share the machine."""
    for name, (ours, theirs) in cases(make_table(ROWS)).items():
        if not re.search(LINES, name):
            continue
        own, other = [], []
        for _ in range(REPEATS):
            own.append(_timed(ours))
            other.append(_timed(theirs))
        wall = min(each[0] for each in own) / min(each[0] for each in other)
        seconds = [min(each[1] for each in side) for side in (own, other)]
        print(
            f"{name:<40} {seconds[0] * 1e3:8.1f} ms, Polars {seconds[1] * 1e3:8.1f} ms:"
            f" {seconds[0] / seconds[1]:5.2f} (wall {wall:5.2f})",
            flush=True,
        )
