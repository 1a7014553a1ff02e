"""Queries on real graphs, with times by stage; every count is checked, a wrong one fails.

As a test: `make bench`. By hand, on any device: python tests/benchmarks/test_queries.py [DEVICE]
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import pytest  # noqa: E402 - in a script run, the tests' folder is not yet on the path

import gpugda  # noqa: E402

SHARED = Path(os.environ.get("GPUGDA_SHARED", HERE.parents[2] / "shared"))
STAGES = [
    "parse",
    "plan",
    "masks",
    "filter",
    "relationships",
    "join",
    "fetch",
    "tail",
    "materialise",
]
RUNS = 30


@dataclass(frozen=True)
class Case:
    graph: str
    name: str
    limit_ms: float | None
    expected: int
    query: str


def cases() -> list[Case]:
    found = []
    for line in (HERE / "queries.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            graph, name, limit, expected, query = (part.strip() for part in line.split("|", 4))
            found.append(
                Case(graph, name, None if limit == "-" else float(limit), int(expected), query)
            )
    return found


def source(graph: str) -> object | None:
    """The source of a graph; None if it is absent."""
    if graph == "wordnet":
        return "sample:wordnet"
    if graph == "drwho":
        path = SHARED / "data" / "drwho" / "drwho.graphml.xz"
        return path if path.exists() else None
    path = SHARED / "data" / "yeast-ppi" / "Yeast.zip"
    if not path.exists():
        return None
    from gpugda_adapters.pajek import read_pajek

    return gpugda.graph(*read_pajek(path))


def measure(accelerator: gpugda.Accelerator, case: Case) -> dict[str, float]:
    """Median milliseconds: cold (first run), total, and each stage; checks the answer in every run."""
    totals, stages = [], []
    for _ in range(RUNS + 2):
        started = time.perf_counter()
        result = accelerator.run(case.query, engine="gpu")
        rows = result.values()
        totals.append((time.perf_counter() - started) * 1e3)
        stages.append(result.summary.timings)
        is_count = "count(" in case.query
        answer = rows[0][0] if is_count else len(rows)
        assert answer == case.expected, f"{case.name}: {answer}, expected {case.expected}"
    warm = stages[2:]
    figures = {"first": totals[0], "total": statistics.median(totals[2:])}
    figures |= {
        stage: statistics.median(timings.get(stage, 0.0) * 1e3 for timings in warm)
        for stage in STAGES
    }
    return figures


def table_line(name: str, figures: dict[str, float] | None = None) -> str:
    columns = ["total", *STAGES, "first"]
    texts = [f"{figures[c]:.2f}" for c in columns] if figures else [c[:8] for c in columns]
    return f"{name:<28}" + "".join(f"{text:>9}" for text in texts)


@pytest.fixture(scope="module")
def accelerators():
    opened: dict[str, gpugda.Accelerator] = {}

    def get(graph: str) -> gpugda.Accelerator:
        if graph not in opened:
            found = source(graph)
            if found is None:
                pytest.skip(f"the graph {graph} is not beside the checkout (set GPUGDA_SHARED)")
            opened[graph] = gpugda.connect(found)
        return opened[graph]

    yield get
    for accelerator in opened.values():
        accelerator.close()


@pytest.mark.perf
@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.graph}: {case.name}")
def test_query(case, accelerators, capsys):
    figures = measure(accelerators(case.graph), case)
    with capsys.disabled():
        print()
        print(table_line("milliseconds"))
        print(table_line(f"{case.graph}: {case.name}"[:28], figures))
    if case.limit_ms is not None:
        assert figures["total"] <= case.limit_ms
        kernels = figures["filter"] + figures["relationships"] + figures["join"]
        assert figures["total"] - kernels <= 5


@pytest.mark.perf
def test_loading_the_sample(capsys):
    times = []
    for _ in range(5):
        started = time.perf_counter()
        gpugda.connect("sample:wordnet").close()
        times.append(time.perf_counter() - started)
    with capsys.disabled():
        print(
            f"\nloading the sample: first {times[0]:.2f} s, median {statistics.median(times):.2f} s"
        )
    assert statistics.median(times) <= 1.5


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else None
    figures, opened = {}, {}
    print(table_line("milliseconds, median"))
    for case in cases():
        if case.graph not in opened:
            found = source(case.graph)
            opened[case.graph] = found and gpugda.connect(found, device=device)
        accelerator = opened[case.graph]
        if not accelerator:
            print(f"{case.graph}: absent")
            continue
        figures[case.name] = measure(accelerator, case)
        print(table_line(f"{case.graph}: {case.name}"[:28], figures[case.name]))
    device_name = next(a for a in opened.values() if a).status()["device"]
    print(f"device: {device_name}; all counts as expected")
    print(json.dumps({"device": device_name, "milliseconds": figures}))


if __name__ == "__main__":
    main()
