"""Times on a large GPU, from `run` to the last value, each figure compared with its aim.

    python tests/benchmarks/gpu_figures.py [--device DEVICE] [--parts undirected,texts] [--json FILE]

| part | what | aim |
| --- | --- | --- |
| undirected | seven undirected patterns without labels on R-MAT 18 and 20 | gMatch's time on the same GPU |
| directed | triangles, rings and squares on R-MAT 22, 65 million relationships | 100 ms; squares 2 s |
| real | undirected cliques and squares on ego-twitter | 10 ms |
| texts | query graphs of 8 to 16 nodes on Yeast and on a power law, each text for the first time | 15 ms; 3 ms for 16 nodes |
| process | a new process, with and without cached kernels: from `connect` to the answer | 0.3 s; 2 s |

A count must be equal in every run, and equal to the known one if there is one; `test_symmetric.py` is
the oracle of the others. gMatch's times (PVLDB 19, 2026) are from an H200, with its preparation, on
graphs of the same recipe. The first run is a separate figure; the best of the others is the figure.

A new process opens a graph that takes two seconds to read, without kernels, and a small one with
kernels; the figure excludes the time to read, which another process without a device measures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import numpy as np  # noqa: E402 - in a script run, the tests' folder is not yet on the path
from test_large_counts import labelled_graph  # noqa: E402
from test_strategies import (  # noqa: E402
    QUERIES,
    RMAT,
    as_graph,
    rmat_ends,
    snap,
    undirected_ends,
)
from test_symmetric import PATTERNS, text  # noqa: E402

import gpugda  # noqa: E402
from gpugda.bench.cases import cases_of  # noqa: E402
from gpugda.bench.graphs import graph_source, graphs_folder  # noqa: E402
from gpugda.bench.random_queries import DENSITIES, random_queries  # noqa: E402
from gpugda.data.data_graph import DataGraph  # noqa: E402
from gpugda.loading import load  # noqa: E402
from gpugda.ports import SilentProgress  # noqa: E402

GMATCH = {18: (4, 5, 8, 40, 26, 10, 11), 20: (14, 13, 32, 212, 51, 30, 13)}
"""Milliseconds by scale, in the order of `PATTERNS`."""
DIRECTED = {"triangles": 100.0, "cycles of 3": 100.0, "squares": 2000.0, "paths of 2": None}
REAL = {"triangle": None, "4-clique": 10.0, "square": 10.0, "5-clique": None}
RUNS, MIN_RUNS = 24, 6
LONG = 0.5
"""Seconds: a query that takes this long twice in a row gets few runs. One long run may have made a graph."""
SIZES = {8: 15.0, 10: 15.0, 12: 15.0, 16: 3.0}
TEXTS = 8
"""Number of query graphs of each size and density."""
POWER_LAW_LABELS = 8


@dataclass(frozen=True)
class Figure:
    """Milliseconds; ``first`` is the first run's time, ``aim`` is None if there is no aim."""

    part: str
    name: str
    milliseconds: float
    first: float
    aim: float | None
    count: int | None = None


def warm(
    accelerator: gpugda.Accelerator, query: str, expected: int | None
) -> tuple[float, float, int]:
    """Milliseconds of the first and of the fastest run, and the count."""
    times: list[float] = []
    while len(times) < MIN_RUNS or (len(times) < RUNS and min(times[-2:]) < LONG):
        started = time.perf_counter()
        found = accelerator.run(query, engine="gpu").values()[0][0]
        times.append(time.perf_counter() - started)
        expected = found if expected is None else expected
        assert found == expected, f"{query}: {found}, expected {expected}"
    assert expected is not None
    return times[0] * 1e3, min(times[1:]) * 1e3, expected


def undirected(device: str | None) -> Iterator[Figure]:
    for scale, published in GMATCH.items():
        graph = as_graph(*undirected_ends(scale), 1 << scale)
        with gpugda.connect(graph, device=device) as accelerator:
            for (pattern, steps), aim in zip(PATTERNS.items(), published, strict=True):
                first, best, found = warm(accelerator, text(steps), None)
                yield Figure("undirected", f"R-MAT {scale}, {pattern}", best, first, aim, found)


def directed(device: str | None) -> Iterator[Figure]:
    source, target = rmat_ends(22)
    graph = as_graph(source, target, 1 << 22)
    started = time.perf_counter()
    with gpugda.connect(graph, device=device) as accelerator:
        opened = (time.perf_counter() - started) * 1e3
        yield Figure("directed", "R-MAT 22, opened", opened, opened, None, len(source))
        counts = {"triangles": RMAT[22][2]}
        for name, aim in DIRECTED.items():
            first, best, found = warm(accelerator, QUERIES[name], counts.get(name))
            yield Figure("directed", f"R-MAT 22, {name}", best, first, aim, found)


def real(device: str | None) -> Iterator[Figure]:
    graph = snap("ego-twitter-undirected.csv.xz")
    if graph is None:
        print("ego-twitter: absent", flush=True)
        return
    with gpugda.connect(graph, device=device) as accelerator:
        for pattern, aim in REAL.items():
            first, best, found = warm(accelerator, text(PATTERNS[pattern]), None)
            yield Figure("real", f"ego-twitter, {pattern}", best, first, aim, found)


# ------------------------------------------------------------------ texts that no cache contains
def texts(device: str | None) -> Iterator[Figure]:
    sources = {"power law": labelled_graph(POWER_LAW_LABELS)}
    if (folder := graphs_folder(None)) is not None:
        sources["Yeast"] = graph_source("yeast", folder)
    for name, source in sources.items():
        graph = load(source, SilentProgress()).graph
        with gpugda.connect(source, device=device) as accelerator:
            for size, aim in SIZES.items():
                for density in DENSITIES:
                    times = new_texts(accelerator, graph, size, density)
                    what = f"{name}, {size} nodes, {density}: median of {len(times)}"
                    yield Figure("texts", what, statistics.median(times), max(times), aim)


def new_texts(
    accelerator: gpugda.Accelerator, graph: DataGraph, size: int, density: str
) -> list[float]:
    """Milliseconds of each text's first run; earlier texts have compiled the kernels."""
    queries = random_queries(graph, size, density, TEXTS + 4, 3)
    cases = cases_of(queries, [{} for _ in queries], ("count",), 100)
    times = []
    for number, case in enumerate(cases):
        started = time.perf_counter()
        found = accelerator.run(case.text("a"), engine="gpu").values()
        took = (time.perf_counter() - started) * 1e3
        again = accelerator.run(case.text("b"), engine="gpu").values()
        assert found == again, f"{case.name}: {found}, then {again}"
        if number >= 4:
            times.append(took)
    return times


# ------------------------------------------------------------------ new processes
CHILD = """
import json, sys, time
import numpy as np, gpugda
from gpugda.loading import load
ends = np.load(sys.argv[1])
types = np.full(ends.shape[1], "R", dtype=object)
graph = gpugda.graph(
    {"id": np.arange(int(ends.max()) + 1)}, {"source": ends[0], "target": ends[1], "type": types}
)
times, asked, started = {}, json.loads(sys.argv[3]), time.perf_counter()
if not asked:
    load(graph, None)
    times["read"] = time.perf_counter() - started
else:
    accelerator = gpugda.connect(graph, device=sys.argv[2] or None, cache=False)
    for name, query in asked.items():
        accelerator.run(query, engine="gpu").values()
        times[name] = time.perf_counter() - started
        started = time.perf_counter()
    accelerator.close()
print(json.dumps(times))
"""
ASKED = {
    "connect and count": "MATCH (a)-->(b)-->(c) RETURN count(*)",
    "then rows": "MATCH (a)-->(b)-->(c) RETURN a, b LIMIT 5",
    "then groups": "MATCH (a)-->(b) RETURN a, count(*) AS c ORDER BY c DESC LIMIT 5",
}
READ_SCALE, SMALL_SCALE = 20, 10
"""Scale of the graph that takes long to read, and of the small one."""
EMPTY_RUNS, KEPT_RUNS = 2, 4


def process(device: str | None) -> Iterator[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        for kept, scale, aim in (("empty cache", READ_SCALE, 2e3), ("kept", SMALL_SCALE, 300.0)):
            ends = Path(folder) / f"{scale}.npy"
            np.save(ends, np.stack(undirected_ends(scale)))
            read = child(ends, device, Path(folder) / "cache", {})["read"]
            runs = []
            for run in range(EMPTY_RUNS if kept == "empty cache" else KEPT_RUNS + 1):
                cache = f"cache {run}" if kept == "empty cache" else "cache"
                runs.append(child(ends, device, Path(folder) / cache, ASKED))
            for name in ASKED:
                is_first = name == "connect and count"
                took = [1e3 * (each[name] - read * is_first) for each in runs]
                what = f"{kept}, {name}" + f", beyond {read:.1f} s of reading" * is_first
                yield Figure("process", what, min(took), took[0], aim if is_first else None)


def child(ends: Path, device: str | None, cache: Path, asked: dict[str, str]) -> dict[str, float]:
    """Seconds by stage in a new process with its caches in a folder."""
    kept = {name: str(cache) for name in ("GPUGDA_CACHE_DIR", "XDG_CACHE_HOME", "CUDA_CACHE_PATH")}
    cache.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(ends), device or "", json.dumps(asked)],
        env=os.environ | kept,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    times: dict[str, float] = json.loads(done.stdout)
    return times


PARTS = {
    "undirected": undirected,
    "directed": directed,
    "real": real,
    "texts": texts,
    "process": process,
}


def line(figure: Figure) -> str:
    met = "" if figure.aim is None else f"; aim {figure.aim:g}"
    met += " (missed)" if figure.aim is not None and figure.milliseconds > figure.aim else ""
    count = "" if figure.count is None else f", {figure.count:,}"
    return f"{figure.name}{count}: {figure.milliseconds:.2f} ms (first {figure.first:.1f}){met}"


def mean_share(figures: list[Figure]) -> float:
    """Geometric mean of time ÷ aim."""
    shares = [np.log(each.milliseconds / each.aim) for each in figures if each.aim]
    return float(np.exp(np.mean(shares)))


def main() -> None:
    parser = argparse.ArgumentParser(description="Figures of one device beside their aims.")
    parser.add_argument("--device")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--json", help="file for all figures")
    asked = parser.parse_args()
    found: list[Figure] = []
    for part in asked.parts.split(","):
        started = time.perf_counter()
        for figure in PARTS[part](asked.device):
            found.append(figure)
            print(line(figure), flush=True)
        mine = [each for each in found if each.part == part]
        if any(each.aim for each in mine):
            print(f"{part}: {mean_share(mine):.2f} of the aims, geometric mean", flush=True)
        print(f"{part}: {time.perf_counter() - started:.0f} s", flush=True)
        if asked.json:
            Path(asked.json).write_text(json.dumps([asdict(each) for each in found], indent=1))


if __name__ == "__main__":
    main()
