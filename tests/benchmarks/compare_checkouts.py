"""Compares two checkouts of gpugda in one run: each query runs on both in turn.

    python tests/benchmarks/compare_checkouts.py BEFORE [--after CHECKOUT] [--families generated,undirected]
        [--graphs wiki-Vote] [--rounds 3] [--limit 5] [--json FILE]

Compares processor times of all threads, as load on the machine hardly affects them. Each query
runs as a new text (twice) and as a repeated one; a query that seems slower runs up to three times
more. Answers must be equal. Prints per family the geometric mean of before ÷ after (above 1: faster
now), and each query that takes 5 % and 1 ms more than before, or less than two thirds.

Each checkout runs in its own environment (``.venv``) if it has one: an editable installation
would otherwise use the kernels of its own tree.

| family | graphs | queries |
| --- | --- | --- |
| peers | those of `peer_graphs.py` | `peer_queries.txt` |
| generated | Dr Who, Yeast, POLE | random walks of 2 to 16 nodes: counts, rows, groups, DISTINCT |
| undirected | wiki-Vote, email-Enron, R-MAT 14 and 16 | those of `test_symmetric.py` and larger ones |
| lsqb | the social network, a quarter of the scale | the nine queries |
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

HERE = Path(__file__).resolve().parent

if TYPE_CHECKING:
    from collections.abc import Iterator

    import gpugda
    from gpugda.ports import GraphSource

PATTERNS = {
    "triangle": "0-1 1-2 0-2",
    "4-clique": "0-1 0-2 0-3 1-2 1-3 2-3",
    "diamond": "0-1 0-2 1-2 1-3 2-3",
    "square": "0-1 1-2 2-3 0-3",
    "path of 3": "0-1 1-2 2-3",
    "path of 4": "0-1 1-2 2-3 3-4",
    "square with a tail": "0-1 1-2 2-3 0-3 3-4",
    "triangle with a tail": "0-1 1-2 0-2 2-3",
    "bow tie": "0-1 1-2 0-2 2-3 3-4 2-4",
    "house": "0-1 1-2 2-3 0-3 2-4 3-4",
    "5-clique but for one": "0-1 0-2 0-3 0-4 1-3 1-4 2-3 2-4 3-4",
}
TOO_LONG = ("square with a tail", "house")
SIZES = (2, 3, 4, 5, 6, 8, 12, 16)
LOOKED_AT = 2e-3
SLOWER, SLOWER_SECONDS = 1.05, 1e-3
FASTER = 1.5
MORE_ROUNDS = 3
SIZES_SEED = 7


# ------------------------------------------------------------------ in a checkout
def sources(family: str) -> dict[str, Any]:
    """Functions that make the graphs of a family."""
    sys.path.insert(0, str(HERE.parent))
    if family == "generated":
        from gpugda.bench.graphs import graph_source, graphs_folder

        folder = graphs_folder(None)
        return {
            name: lambda name=name: graph_source(name, folder)
            for name in ("drwho", "yeast", "pole")
        }
    if family == "lsqb":
        from lab.lsqb_engines import SocialSource

        return {"social network": lambda: SocialSource(0.25, 1)}
    from benchmarks.peer_graphs import GRAPHS

    if family == "peers":
        return {name: lambda made=made: as_source(made()) for name, (_, made) in GRAPHS.items()}
    from benchmarks.test_strategies import as_graph, snap, undirected_ends

    found: dict[str, Any] = {
        "wiki-Vote": lambda: snap("wiki-Vote.csv.xz"),
        "email-Enron": lambda: snap("email-Enron.txt.xz"),
    }
    for scale in (14, 16):
        found[f"R-MAT {scale}"] = lambda scale=scale: as_graph(*undirected_ends(scale), 1 << scale)
    return found


def as_source(graph: Any) -> GraphSource | None:
    """A peers' graph as a source for gpugda."""
    import numpy as np

    import gpugda

    if graph is None:
        return None
    labels = np.empty(len(graph.label_sets), dtype=object)
    labels[:] = [list(each) for each in graph.label_sets]
    types = np.array(graph.types, dtype=object)
    return gpugda.graph(
        {
            "id": np.arange(len(graph.label_set_of)),
            "labels": labels[graph.label_set_of].tolist(),
            **graph.node_columns,
        },
        {
            "source": graph.source,
            "target": graph.target,
            "type": types[graph.type_of],
            **graph.relationship_columns,
        },
    )


def texts(family: str, name: str) -> Iterator[tuple[str, str]]:
    """Name and text of each query for a graph."""
    if family == "generated":
        yield from generated(name)
    elif family == "lsqb":
        from lab.lsqb_queries import LSQB

        yield from ((each.name, each.cypher) for each in LSQB)
    elif family == "peers":
        from benchmarks.peer_graphs import GRAPHS
        from benchmarks.peer_queries import motifs

        yield from ((each.name, each.text) for each in motifs(GRAPHS[name][0]))
    else:
        for pattern, steps in PATTERNS.items():
            pairs = [each.split("-") for each in steps.split()]
            for sign, how in (("--", ""), ("-->", ", directed")):
                if sign == "--" and pattern in TOO_LONG:
                    continue
                path = ", ".join(f"(v{one}){sign}(v{other})" for one, other in pairs)
                yield pattern + how, f"MATCH {path} RETURN count(*)"


def generated(name: str) -> Iterator[tuple[str, str]]:
    from gpugda.bench.cases import cases_of
    from gpugda.bench.graphs import graph_source, graphs_folder
    from gpugda.bench.random_queries import DENSITIES, random_queries
    from gpugda.loading import load
    from gpugda.ports import SilentProgress

    graph = load(graph_source(name, graphs_folder(None)), SilentProgress()).graph
    for size in SIZES:
        for density in DENSITIES:
            queries = random_queries(graph, size, density, 2, SIZES_SEED)
            cases = cases_of(queries, [{} for _ in queries], ("count", "rows"), 100)
            for number, each in enumerate(cases):
                yield f"{density} {size}, {number} {each.form}", each.text("")
            if size > 5 or not queries:
                continue
            match = next(each for each in reversed(cases) if each.form == "count").text("")
            match = match.split(" RETURN ")[0]
            yield (
                f"{density} {size} groups",
                f"{match} RETURN n_0 AS a, count(*) AS c ORDER BY c DESC, a LIMIT 10",
            )
            yield f"{density} {size} distinct", f"{match} RETURN DISTINCT n_0 AS a"


def serve(family: str, name: str, limit: float) -> None:
    """Reads lines with a text and a tag from standard input; writes its times and the answer."""
    import gpugda

    source = sources(family)[name]()
    if source is None:
        print(json.dumps({"absent": True}), flush=True)
        return
    with gpugda.connect(source, cache=False) as accelerator:
        for warm in ("MATCH (a)-->(b) RETURN count(*)", "MATCH (a)-->(b) RETURN a, b LIMIT 5"):
            accelerator.run(warm, engine="gpu").values()
        print(json.dumps({"gpugda": gpugda.__file__}), flush=True)
        for line in sys.stdin:
            print(json.dumps(measured(accelerator, *json.loads(line), limit)), flush=True)


def measured(accelerator: gpugda.Accelerator, text: str, tag: str, limit: float) -> dict[str, Any]:
    """Processor seconds: of the text as a new one, and the minimum of its repetitions."""
    try:
        new, rows = once(accelerator, f"{text} /* {tag} */", limit)
        again, stop = [], time.perf_counter() + 0.06
        # The plan is made when a query runs for the second time.
        while len(again) < 3 or (len(again) < 12 and time.perf_counter() < stop):
            again.append(once(accelerator, f"{text} /* {tag} */", limit)[0])
            if again[-1] > 0.7:
                break
    except Exception as error:
        return {"failed": type(error).__name__}
    is_count = len(rows) == 1 and isinstance(rows[0][0], int)
    return {
        "new": new,
        "again": min(again[1:] or again),
        "answer": rows[0][0] if is_count else len(rows),
    }


def once(accelerator: gpugda.Accelerator, text: str, limit: float) -> tuple[float, list[Any]]:
    started = time.process_time()
    rows = accelerator.run(text, engine="gpu", timeout=limit).values()
    return time.process_time() - started, rows


# ------------------------------------------------------------------ beside both
@dataclass
class Compared:
    """Results for one query: minimum seconds before and after, and the answers."""

    new: list[float] = field(default_factory=lambda: [math.inf, math.inf])
    again: list[float] = field(default_factory=lambda: [math.inf, math.inf])
    answers: list[set[str]] = field(default_factory=lambda: [set(), set()])

    def add(self, side: int, found: dict[str, Any]) -> None:
        self.answers[side].add(str(found.get("answer", found.get("failed"))))
        self.new[side] = min(self.new[side], found.get("new", math.inf))
        self.again[side] = min(self.again[side], found.get("again", math.inf))

    @property
    def is_measured(self) -> bool:
        return all(map(math.isfinite, [*self.new, *self.again]))

    @property
    def is_slower(self) -> bool:
        return is_slower(*self.new) or is_slower(*self.again)


def is_slower(before: float, after: float) -> bool:
    return after > SLOWER * before and after - before > SLOWER_SECONDS


class Served:
    """A checkout in its own process."""

    def __init__(self, checkout: Path, family: str, name: str, limit: float) -> None:
        own = checkout / ".venv" / "bin" / "python"
        command = [
            str(own) if own.exists() else sys.executable,
            str(HERE / Path(__file__).name),
            str(checkout),
            "--serve",
            family,
        ]
        self._process = subprocess.Popen(
            [*command, "--graphs", name, "--limit", str(limit)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(checkout)},
        )
        self.ready = self._read()

    def ask(self, text: str, tag: str) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([text, tag]) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"failed": "the process ended"}

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def compare(
    family: str, name: str, checkouts: list[Path], asked: argparse.Namespace
) -> dict[str, Compared]:
    """Runs the queries on one graph in both checkouts."""
    found: dict[str, Compared] = {}
    served = [Served(each, family, name, asked.limit) for each in checkouts]
    try:
        if any("gpugda" not in each.ready for each in served):
            print(f"{name}: {served[0].ready}, {served[1].ready}", flush=True)
            return found
        assert served[0].ready != served[1].ready, served[0].ready
        for query, text in texts(family, name):
            compared = found[f"{name}: {query}"] = Compared()
            for number in range(asked.rounds + MORE_ROUNDS):
                if number >= asked.rounds and not compared.is_slower:
                    break
                for side in (0, 1) if number % 2 else (1, 0):
                    compared.add(side, served[side].ask(text, f"{number}"))
                if not compared.is_measured or (max(compared.again) > 1 and not compared.is_slower):
                    break
    finally:
        for each in served:
            each.close()
    return found


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def report(title: str, found: dict[str, Compared]) -> None:
    measured = {name: each for name, each in found.items() if each.is_measured}
    for name, each in found.items():
        if len(set.union(*each.answers)) > 1:
            print(f"  DIFFERENT {name}: {each.answers}")
        elif name not in measured:
            print(f"  neither: {name}: {each.answers[0]}")
    for what in ("new", "again"):
        pairs = {name: getattr(each, what) for name, each in measured.items()}
        long = [each for each in pairs.values() if max(each) >= LOOKED_AT]
        print(
            f"{title}, {what}: {len(pairs)} queries {mean([a / b for a, b in pairs.values()]):.3f},"
            f" {len(long)} of 2 ms or more {mean([a / b for a, b in long]):.3f}"
        )
        changed = sorted(pairs.items(), key=lambda each: each[1][0] / each[1][1])
        for name, (before, after) in changed:
            is_faster = before > FASTER * after and before >= LOOKED_AT
            if is_slower(before, after) or is_faster:
                print(f"    {1e3 * before:.2f} to {1e3 * after:.2f} ms: {name}")
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("before", type=Path)
    parser.add_argument("--after", type=Path, default=HERE.parents[1])
    parser.add_argument("--families", default="peers,generated,undirected,lsqb")
    parser.add_argument("--graphs")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--limit", type=float, default=5.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--serve")
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.serve, asked.graphs, asked.limit)
        return
    checkouts = [asked.before.resolve(), asked.after.resolve()]
    found: dict[str, dict[str, Compared]] = {}
    for family in asked.families.split(","):
        names = [
            each for each in sources(family) if not asked.graphs or each in asked.graphs.split(",")
        ]
        found[family] = {}
        for name in names:
            each = compare(family, name, checkouts, asked)
            report(f"{family}, {name}", each)
            found[family] |= each
    for family, each in found.items():
        report(f"ALL {family}", each)
    if asked.json:
        every = {
            name: [each.new, each.again] for one in found.values() for name, each in one.items()
        }
        asked.json.write_text(json.dumps(every, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
