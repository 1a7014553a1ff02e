"""Rows per second from run() to the last row read, for each reading method; all are checked.

As a test: `make bench`. By hand, on any device:

    python tests/benchmarks/test_rows.py [--device DEVICE] [--rows 50000000] [--objects 1000000]
                                         [--against FOLDER]

`--against` names a folder that contains another gpugda (`pip install --target`): both take turns, and
the ratio of their rates is printed.

The graph is generated: node i leads to the next D nodes of a ring, so that every path of two
relationships is known; an answer is right if it contains each of them once.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import gpugda

if TYPE_CHECKING:
    pass

DEGREE = 16
PATHS = "MATCH (a)-->(b)-->(c) RETURN "
NODES, IDS = f"{PATHS}a, b, c", f"{PATHS}id(a) AS a, id(b) AS b, id(c) AS c"
NAMES = f"{PATHS}a.name AS a, b.name AS b, c.name AS c"
MIXED = f"{PATHS}a.weight AS a, b.name AS b, id(c) AS c"
REPEATS = 3
NEEDED = {"to_df": ("pandas",), "to_polars": ("polars",)}


def ring(rows: int) -> gpugda.ports.GraphSource:
    count = max(rows // DEGREE**2, 2 * DEGREE + 1)
    nodes = np.arange(count)
    source = np.repeat(nodes, DEGREE)
    target = (source + np.tile(np.arange(1, DEGREE + 1), count)) % count
    names = [f"{node:08d}" for node in range(count)]
    return gpugda.graph(
        {"id": nodes, "name": names, "weight": nodes / 2},
        {"source": source, "target": target, "type": np.full(len(source), "R", dtype=object)},
    )


# ------------------------------------------------------------------ the nodes of the rows
def plain(rows: Any) -> np.ndarray:
    return np.array(rows, dtype=np.int64).T


def of_nodes(rows: Any) -> np.ndarray:
    return plain([[node["id"] for node in row] for row in rows])


def of_names(rows: Any) -> np.ndarray:
    return plain([[int(name) for name in row] for row in rows])


def of_mixed(rows: Any) -> np.ndarray:
    return plain([[int(2 * weight), int(name), number] for weight, name, number in rows])


def of_columns(table: Any) -> np.ndarray:
    return np.array([np.asarray(table[name]) for name in "abc"]).astype(np.int64)


def of_texts(table: Any) -> np.ndarray:
    import pyarrow.compute as pc

    columns = [pc.replace_substring(table[name], "n", "") for name in "abc"]
    return np.array([np.asarray(column.cast("int64")) for column in columns])


def is_right(found: np.ndarray, nodes: int) -> bool:
    """True if each path of two relationships is present once."""
    a, b, c = found
    first, second = (b - a) % nodes - 1, (c - b) % nodes - 1
    if len(a) != nodes * DEGREE**2 or min(first.min(), second.min()) < 0:
        return False
    if max(first.max(), second.max()) >= DEGREE:
        return False
    times = np.bincount((a * DEGREE + first) * DEGREE + second, minlength=len(a))
    return bool((times == 1).all())


# ------------------------------------------------------------------ reading methods
Read = "tuple[str, Callable[[Result], Any], Callable[[Any], np.ndarray]]"
ARROW: dict[str, Read] = {
    "to_arrow, nodes as indexes": (NODES, lambda result: result.to_arrow("index"), of_columns),
    "to_arrow, id()": (IDS, lambda result: result.to_arrow(), of_columns),
    "to_arrow, nodes as element ids": (NODES, lambda result: result.to_arrow("id"), of_texts),
    "to_arrow, texts": (NAMES, lambda result: result.to_arrow(), of_texts),
    "to_polars, id()": (IDS, lambda result: result.to_polars(), of_columns),
    "to_df, id()": (IDS, lambda result: result.to_df(), of_columns),
}
OBJECTS: dict[str, Read] = {
    "values, id()": (IDS, lambda result: result.values(), plain),
    "values, nodes": (NODES, lambda result: result.values(), of_nodes),
    "values, texts": (NAMES, lambda result: result.values(), of_names),
    "values, float, text, integer": (MIXED, lambda result: result.values(), of_mixed),
    "Records, id()": (IDS, list, plain),
    "Records, nodes": (NODES, list, of_nodes),
    "Records, texts": (NAMES, list, of_names),
    "data, id()": (IDS, lambda result: result.data(), lambda rows: plain([*map(values_of, rows)])),
    "to_df, texts": (NAMES, lambda result: result.to_df(), lambda frame: of_names(frame.values)),
}


def values_of(row: dict[str, Any]) -> list[Any]:
    return list(row.values())


def rates(
    ways: dict[str, Read],
    rows: int,
    device: str | None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Rows per second, the best of some runs; skips methods whose packages are not installed."""
    found = {}
    with gpugda.connect(ring(rows), device=device) as accelerator:
        for name, (query, read, nodes_of) in ways.items():
            if not all(map(find_spec, NEEDED.get(name.split(",")[0], ()))):
                continue
            best = 0.0
            for repeat in range(REPEATS):
                started = clock()
                result = accelerator.run(query, engine="gpu")
                answer = read(result)
                best = max(best, result.row_count / (clock() - started))
                if repeat == 0:
                    nodes = result.row_count // DEGREE**2
                    assert is_right(nodes_of(answer), nodes), f"{name}: a wrong answer"
                del answer, result
            found[name] = best
    return found


def plain_rate(rows: int) -> float:
    """Rows per second of the shortest Python loop that makes lists from existing columns."""
    columns = [np.arange(rows, dtype=np.int64) for _ in range(3)]
    best = 0.0
    for _ in range(REPEATS):
        started = time.process_time()
        made = list(map(list, zip(*(column.tolist() for column in columns), strict=True)))
        best = max(best, len(made) / (time.process_time() - started))
        del made
    return best


@pytest.mark.perf
def test_rows(capsys):
    # Processor time of all cores, which is meaningful on a shared machine.
    clock = time.process_time
    arrow, objects = rates(ARROW, 4_000_000, None, clock), rates(OBJECTS, 400_000, None, clock)
    loop = plain_rate(400_000)
    with capsys.disabled():
        print()
        report({"a plain loop": loop, **arrow, **objects})
    assert arrow["to_arrow, nodes as indexes"] > 10 * loop
    assert arrow["to_arrow, id()"] > 5 * loop
    assert objects["values, id()"] > loop
    assert objects["Records, id()"] > 0.5 * loop


# ------------------------------------------------------------------ by hand
def report(found: dict[str, float], other: dict[str, float] | None = None) -> None:
    for name, rate in found.items():
        ratio = f", {rate / other[name]:.2f} times {other[name] / 1e6:.3f}" if other else ""
        print(f"{name}: {rate / 1e6:.3f} million rows/s{ratio}", flush=True)


def in_turns(folder: str, arguments: list[str]) -> tuple[dict[str, float], dict[str, float]]:
    """The best rates of this gpugda and of the other."""
    best: tuple[dict[str, float], dict[str, float]] = ({}, {})
    for _ in range(2):
        for mine, path in zip(best, ("", folder), strict=True):
            paths = [path] if path else []
            paths += filter(None, [os.environ.get("PYTHONPATH")])
            done = subprocess.run(
                [sys.executable, __file__, "--json", *arguments],
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
                stdout=subprocess.PIPE,
                check=True,
            )
            for name, rate in json.loads(done.stdout.splitlines()[-1]).items():
                mine[name] = max(rate, mine.get(name, 0.0))
    return best


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("--objects", type=int, default=400_000)
    parser.add_argument("--against")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", help="ways whose name holds this")
    asked = parser.parse_args()
    if asked.against:
        again = ["--rows", str(asked.rows), "--objects", str(asked.objects), "--only", asked.only]
        again += ["--device", asked.device] if asked.device else []
        report(*in_turns(asked.against, again))
        return
    found = {}
    for ways, rows in ((ARROW, asked.rows), (OBJECTS, asked.objects)):
        some = {name: way for name, way in ways.items() if asked.only in name}
        found |= rates(some, rows, asked.device)
    if asked.json:
        print(json.dumps(found))
    else:
        report(found)


if __name__ == "__main__":
    main()
