"""Compares gpugda with its peers; every count is checked, a wrong one of gpugda fails.

Needs `pip install --group peers`. As a test: `make bench`. By hand, on any device:

    python tests/benchmarks/test_peers.py [--device DEVICE] [--peers ladybug,neug] [--graphs wiki-Vote,umls]
        [--queries paths] [--full]

All queries, on one or two graphs of each kind. A peer's run ends after 1 s or ten times gpugda's time,
at most 10 s; the peer is slower then. `--full`, or GPUGDA_BENCH=full, allows 10 s, runs all engines
more often, and takes all graphs.

`--neo4j URI` adds Neo4j, which loads for minutes. Results are in build/peers.md and build/peers.csv.
"""

from __future__ import annotations

import argparse
import csv
import importlib.metadata
import importlib.util
import math
import os
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

import pytest  # noqa: E402 - in a script run, the tests' folder is not yet on the path
from benchmarks.peer_engines import Answer, Child  # noqa: E402
from benchmarks.peer_graphs import GRAPHS, KNOWLEDGE  # noqa: E402
from benchmarks.peer_oracle import oracle_count  # noqa: E402
from benchmarks.peer_queries import Motif, motifs, star_count  # noqa: E402

BUILD = HERE.parents[1] / "build"
PEERS = {
    # name: module, and its distribution
    "ladybug": ("ladybug", "ladybug"),
    "duckdb": ("duckdb", "duckdb"),
    "arcadedb": ("arcadedb_embedded", "arcadedb-embedded"),
    "gfql": ("graphistry", "graphistry"),
    "turingdb": ("turingdb", "turingdb"),
    "neug": ("neug", "neug"),
}
LIMIT = 10.0
GOAL = 10.0
"""Geometric mean of Ladybug's time ÷ gpugda's."""


@dataclass(frozen=True)
class Effort:
    """Extent of the measurement.

    Args:
        runs: Number of runs of each engine on each query, after a first one.
        max_total_seconds: Total seconds of an engine on a query after which it does not run it again.
        seconds: Time limit of a peer's run, if it is more than ``times`` gpugda's time.
        times: Factor of gpugda's time, see ``seconds``.
        oracle: Processor seconds for the oracle of an unconfirmed count.
    """

    runs: int
    max_total_seconds: float
    seconds: float
    times: float
    oracle: float

    def limit(self, most: float, mine: Figures) -> float:
        """Time limit of a peer's run, derived from gpugda's time."""
        return min(most, max(self.seconds, self.times * max(mine.seconds)))


FULL = Effort(7, 2.0, math.inf, math.inf, 60.0)
SHORT = Effort(2, 0.5, 1.0, GOAL, 20.0)
SHORT_GRAPHS = (
    *("wiki-Vote", "email-Enron", "wiki-Vote labelled", "wiki-Vote undirected"),
    *("WordNet", *KNOWLEDGE),
)
LARGEST_INTEGER = 2**63 - 1


@dataclass
class Figures:
    """Seconds of one engine on one query; excludes the first run unless it is the only one."""

    outcome: str = "ok"
    seconds: list[float] = field(default_factory=list)
    counts: set[int] = field(default_factory=set)

    def add(self, answer: Answer) -> None:
        self.outcome = answer.outcome
        self.seconds.append(answer.seconds)
        if answer.count is not None:
            self.counts.add(answer.count)

    @property
    def best(self) -> float:
        """The minimum; if not all runs succeeded, the last: the limit, if that was reached."""
        return min(self.seconds[1:] or self.seconds) if self.outcome == "ok" else self.seconds[-1]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds[1:] or self.seconds)


@dataclass
class Row:
    """Results of a query.

    Args:
        graph: Name of the graph.
        query: Name of the query.
        figures: Figures by engine.
        count: The count of gpugda and those in ``agreed``; None if no engine finished.
        agreed: Engines with this count.
    """

    graph: str
    query: str
    figures: dict[str, Figures]
    count: int | None = None
    agreed: list[str] = field(default_factory=list)

    @property
    def peers(self) -> list[str]:
        return [name for name in self.figures if name != "gpugda"]

    def ratio(self, peer: str) -> tuple[float, str] | None:
        """Peer's time ÷ gpugda's, and ``=``, or ``>`` or ``<`` if one reached the time limit."""
        mine, other = self.figures["gpugda"], self.figures[peer]
        if mine.outcome == other.outcome == "ok":
            return other.best / mine.best, "="
        if {mine.outcome, other.outcome} == {"ok", "too long"}:
            return other.best / mine.best, ">" if mine.outcome == "ok" else "<"
        return None


# ------------------------------------------------------------------ measuring
def installed_peers() -> list[str]:
    return [name for name, (module, _) in PEERS.items() if importlib.util.find_spec(module)]


def compare(graph: str, asked: argparse.Namespace) -> Iterator[Row]:
    """Runs each query of the graph in turn; each engine loads the graph once."""
    kind, make = GRAPHS[graph]
    started = time.perf_counter()
    made = make()
    if made is None:
        print(f"{graph}: absent (set GPUGDA_SHARED)")
        return
    seconds = time.perf_counter() - started
    print(f"\n{graph}: {len(made.label_set_of):,} nodes, {len(made.source):,} relationships")
    children = [Child(name, made, asked.device) for name in ("gpugda", *asked.peers)]
    children += [Child("neo4j", made, asked.neo4j)] if asked.neo4j else []
    judge = Child("gpsm", made, asked.device)
    try:
        children = [child for child in children if loaded(child)]
        loads = ", ".join(f"{child.name} {child.load_seconds:.2f} s" for child in children)
        print(f"read from its file in {seconds:.2f} s; loaded by {loads}", flush=True)
        for motif in motifs(kind):
            if (star_count(motif, made) or 0) > LARGEST_INTEGER:
                print(f"{graph}: {motif.name}: left out, for Cypher has no integer for its count")
            elif asked.queries in motif.name:
                row = measure(graph, motif, children, judge, asked.limit, asked.effort)
                print(line(row), flush=True)
                yield row
    finally:
        for child in (*children, judge):
            child.stop()


def loaded(child: Child) -> bool:
    """True if the engine has the graph; a peer that cannot load it is left out."""
    try:
        child.start()
    except RuntimeError as error:
        if child.name == "gpugda":
            raise
        print(f"LEFT OUT: {error}")
        return False
    return True


def measure(
    graph: str,
    motif: Motif,
    children: list[Child],
    judge: Child,
    limit: float,
    effort: Effort = FULL,
) -> Row:
    """Rounds in which each engine runs once, in rotating order; gpugda starts."""
    row = Row(graph, motif.name, {child.name: Figures() for child in children})
    active = list(children)
    for number in range(effort.runs + 1):
        for child in active[number % len(active) :] + active[: number % len(active)]:
            figures = row.figures[child.name]
            mine = row.figures["gpugda"]
            own = limit if child.name == "gpugda" else effort.limit(limit, mine)
            figures.add(child.ask(motif, own))
            if figures.outcome != "ok" or sum(figures.seconds) > effort.max_total_seconds:
                active.remove(child)
        if not active:
            break
    opinions = dict(row.figures)
    if (known := star_count(motif, children[0].graph)) is not None:
        opinions["formula"] = Figures(counts={known})
    if (
        unsettled(opinions)
        and (known := oracle_count(motif, children[0].graph, effort.oracle)) is not None
    ):
        opinions["oracle"] = Figures(counts={known})
    if alone(opinions):
        opinions[judge.name] = Figures()
        opinions[judge.name].add(judge.ask(motif, effort.limit(limit, row.figures["gpugda"])))
        judge.stop()
    settle(row, opinions)
    return row


def alone(opinions: dict[str, Figures]) -> bool:
    """True if exactly one engine has counted, so that the count is unconfirmed."""
    return sum(bool(each.counts) for each in opinions.values()) == 1


def unsettled(opinions: dict[str, Figures]) -> bool:
    """True if exactly one has counted, or gpugda's count is contradicted and not confirmed."""
    mine = opinions["gpugda"].counts
    others = [each.counts for name, each in opinions.items() if name != "gpugda" and each.counts]
    return alone(opinions) or bool(mine and others and mine not in others)


def settle(row: Row, opinions: dict[str, Figures]) -> None:
    """Compares the counts. A peer that contradicts gpugda and another engine is marked as wrong.

    If gpugda did not finish and the peers disagree, nothing is compared.

    Raises:
        AssertionError: gpugda failed, or its count is contradicted and not confirmed.
    """
    said = f"{row.graph}, {row.query}: " + ", ".join(
        f"{name} {sorted(each.counts) or each.outcome}" for name, each in opinions.items()
    )
    mine = opinions["gpugda"]
    assert mine.outcome in ("ok", "too long"), said
    counts = mine.counts or set().union(*(each.counts for each in opinions.values()))
    if len(counts) > 1 and not mine.counts:
        print(f"IN DISPUTE: {said}")
        for each in opinions.values():
            each.outcome = "in dispute" if each.counts else each.outcome
        return
    assert len(counts) <= 1, said
    row.count = next(iter(counts), None)
    row.agreed = [name for name, each in opinions.items() if each.counts == counts != set()]
    wrong = [name for name, each in opinions.items() if each.counts - counts]
    assert not wrong or len(row.agreed) > 1, said
    for name in wrong:
        print(f"WRONG: {said}")
        opinions[name].outcome = "wrong"


# ------------------------------------------------------------------ reporting
def milliseconds(figures: Figures) -> str:
    if figures.outcome == "ok":
        return f"{figures.best * 1e3:,.1f}"
    if figures.outcome == "too long":
        return f"> {figures.best * 1e3:,.0f}"
    return figures.outcome if figures.outcome in ("wrong", "in dispute") else "failed"


def times(row: Row, peer: str) -> str:
    ratio = row.ratio(peer)
    if ratio is None:
        return "-"
    value, sign = ratio
    return f"{'' if sign == '=' else sign + ' '}{value:,.{2 if value < 10 else 0}f}"


def line(row: Row) -> str:
    texts = [f"{name} {milliseconds(each)} ms" for name, each in row.figures.items()]
    texts += [f"{times(row, peer)} times {peer}" for peer in row.peers]
    count = "no count" if row.count is None else f"{row.count:,}"
    alone = "; NOT CONFIRMED" if row.agreed == ["gpugda"] else ""
    return f"{row.graph}: {row.query}: {count}; {', '.join(texts)}{alone}"


def geometric_mean(values: Iterable[float]) -> float:
    logs = [math.log(each) for each in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def summary(rows: list[Row], peer: str) -> list[str]:
    ratios = [ratio for row in rows if (ratio := row.ratio(peer)) is not None]
    both = [value for value, sign in ratios if sign == "="]
    slower = [row for row in rows if (found := row.ratio(peer)) is not None and found[0] < 1]
    text = [
        f"**{peer}**: geometric mean {geometric_mean(both):.1f} times over {len(both)} queries that "
        f"both finished; {geometric_mean(value for value, _ in ratios):.1f} times over {len(ratios)} "
        f"if one that ran out of time ({sum(sign != '=' for _, sign in ratios)}) counts with the limit. "
        f"gpugda is slower in {len(slower)}" + (":" if slower else "."),
        "",
    ]
    unusable = [
        f"{row.graph}, {row.query}"
        for row in rows
        if row.figures[peer].outcome not in ("ok", "too long")
    ]
    if unusable:
        text[0] += f" It failed or counted wrongly in {len(unusable)}: {'; '.join(unusable)}."
    slower.sort(key=lambda row: row.ratio(peer) or (0.0, ""))
    text += [f"- {times(row, peer)}: {row.graph}, {row.query}" for row in slower]
    return [*text, ""] if slower else text


def summaries(rows: list[Row]) -> list[str]:
    return [
        text
        for peer in engines_of(rows)[1:]
        for text in summary([row for row in rows if peer in row.figures], peer)
    ]


def machine() -> str:
    model = "processor unknown"
    if (cpuinfo := Path("/proc/cpuinfo")).exists():
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
        model = next((each.split(":")[1].strip() for each in lines if "model name" in each), model)
    versions = ", ".join(
        f"{name} {importlib.metadata.version(PEERS[name][1])}" for name in installed_peers()
    )
    return f"{os.cpu_count()} cores of {model}; {versions}, threads as they choose"


def engines_of(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row.figures))


def support(rows: list[Row]) -> list[str]:
    """A table of engines and queries: graphs with the right count, and other outcomes."""
    engines = engines_of(rows)
    text = [f"| query | {' | '.join(engines)} |", f"| --- |{' --- |' * len(engines)}"]
    names = dict.fromkeys((GRAPHS[row.graph][0], row.query) for row in rows)
    for kind, query in names:
        mine = [row for row in rows if (GRAPHS[row.graph][0], row.query) == (kind, query)]
        cells = [
            _support([row.figures[each] for row in mine if each in row.figures]) for each in engines
        ]
        text.append(f"| {kind}: {query} | {' | '.join(cells)} |")
    return text


def _support(figures: list[Figures]) -> str:
    """A cell such as ``yes``, ``2 of 3; 1 too long`` or ``wrong``."""
    ends = [
        each.outcome if each.outcome in ("ok", "too long", "wrong", "in dispute") else "failed"
        for each in figures
    ]
    if not ends:
        return "did not load"
    if len(set(ends)) == 1:
        return "yes" if ends[0] == "ok" else ends[0]
    others = [f"{ends.count(each)} {each}" for each in dict.fromkeys(ends) if each != "ok"]
    return "; ".join([f"{ends.count('ok')} of {len(ends)}", *others])


def write(rows: list[Row], asked: argparse.Namespace) -> Path:
    """Writes build/peers.md and build/peers.csv."""
    BUILD.mkdir(exist_ok=True)
    text = ["# gpugda and its peers", "", f"{machine()}; device: {asked.device or 'default'}.", ""]
    text += ["Best of some warm runs, milliseconds from the query's text to its count; "]
    text += [f"a run ends after {asked.limit:g} s"]
    if asked.effort is not FULL:
        text[-1] += f", a peer's after {asked.effort.seconds:g} s or "
        text[-1] += f"{asked.effort.times:g} times what gpugda took first"
    text[-1] += ". `times` is the peer's time by gpugda's."
    text.append("")
    text += summaries(rows)
    text += ["Who answers what, over all graphs that a query is for:", "", *support(rows), ""]
    peers = engines_of(rows)[1:]
    heads = ["graph", "query", "count", "gpugda", *(each for p in peers for each in (p, "times"))]
    text += [f"| {' | '.join([*heads, 'agreed'])} |"]
    text += [f"| --- | --- |{' ---: |' * (len(heads) - 2)} --- |"]
    for row in rows:
        cells = [row.graph, row.query, "-" if row.count is None else f"{row.count:,}"]
        cells.append(milliseconds(row.figures["gpugda"]))
        for peer in peers:
            there = peer in row.figures
            cells += [milliseconds(row.figures[peer]), times(row, peer)] if there else ["-", "-"]
        text.append(f"| {' | '.join([*cells, ', '.join(row.agreed) or 'nobody'])} |")
    (BUILD / "peers.md").write_text("\n".join(text) + "\n", encoding="utf-8")
    with (BUILD / "peers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        measured = ("outcome", "best_ms", "median_ms", "runs")
        engines = ("gpugda", *peers)
        writer.writerow(
            ["graph", "query", "count", "agreed"]
            + [f"{engine}_{each}" for engine in engines for each in measured]
        )
        for row in rows:
            cells = [row.graph, row.query, row.count, " ".join(row.agreed)]
            for each in (row.figures.get(engine, Figures("left out", [0.0])) for engine in engines):
                cells += [each.outcome, each.best * 1e3, each.median * 1e3, len(each.seconds)]
            writer.writerow(cells)
    return BUILD / "peers.md"


# ------------------------------------------------------------------ as a test, and by hand
def options(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device")
    parser.add_argument(
        "--peers", default=",".join(installed_peers()), help="names, with commas between"
    )
    parser.add_argument("--neo4j", metavar="URI", help="an empty server, which it will write to")
    parser.add_argument("--graphs", help="names, with commas between (or some of each kind)")
    parser.add_argument("--queries", default="", help="only those with this in their names")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for one run")
    parser.add_argument(
        "--full",
        action="store_true",
        default=os.environ.get("GPUGDA_BENCH") == "full",
        help="all graphs, more runs, and the whole limit for peers (also: GPUGDA_BENCH=full)",
    )
    asked = parser.parse_args(words)
    asked.effort = FULL if asked.full else SHORT
    asked.graphs = asked.graphs or ",".join(GRAPHS if asked.full else SHORT_GRAPHS)
    if unknown := set(asked.graphs.split(",")) - set(GRAPHS):
        parser.error(f"{', '.join(unknown)}: graphs are {', '.join(GRAPHS)}")
    asked.peers = [each for each in asked.peers.split(",") if each]
    if unknown := set(asked.peers) - set(PEERS):
        parser.error(f"{', '.join(unknown)}: peers are {', '.join(PEERS)}")
    if absent := set(asked.peers) - set(installed_peers()):
        parser.error(f"not installed: {', '.join(absent)} (pip install --group peers)")
    return asked


def settled(**counts):
    """The engines that agree, and each outcome, by the counts of each: none for a time-out."""
    figures = {
        name: Figures("ok" if found else "too long", [1.0], found) for name, found in counts.items()
    }
    row = Row("graph", "query", figures)
    settle(row, dict(figures))
    return row.count, [each.outcome for each in figures.values()]


def test_a_peer_is_wrong_only_if_two_counts_contradict_it():
    assert settled(gpugda={1}, ladybug={1}, duckdb=set()) == (1, ["ok", "ok", "too long"])
    assert settled(gpugda={1}, ladybug={2}, duckdb={1}) == (1, ["ok", "wrong", "ok"])
    assert settled(gpugda=set(), ladybug={2}, duckdb={3})[1] == ["too long"] + ["in dispute"] * 2


@pytest.mark.parametrize(
    "counts",
    [
        {"gpugda": {2}, "ladybug": {1}, "duckdb": {1}},
        {"gpugda": {1, 2}, "ladybug": {1}, "duckdb": {1}},
        {"gpugda": {1}, "ladybug": {2}, "duckdb": set()},
    ],
)
def test_a_wrong_count_fails_the_run(counts):
    with pytest.raises(AssertionError):
        settled(**counts)


def test_the_time_limit_of_a_peer_follows_our_time():
    quick, slow = Figures(seconds=[0.2, 0.001]), Figures(seconds=[2.0])
    assert [SHORT.limit(30.0, each) for each in (quick, slow)] == [2.0, 20.0]
    assert SHORT.limit(3.0, slow) == FULL.limit(3.0, quick) == 3.0


def test_supported_queries_of_each_peer():
    ends = {"gpugda": ["ok", "ok"], "ladybug": ["ok", "too long"], "neug": ["wrong", "wrong"]}
    rows = [
        Row(graph, "triangles", {name: Figures(each[at], [1.0]) for name, each in ends.items()})
        for at, graph in enumerate(("wiki-Vote", "email-Enron"))
    ]
    rows[1].figures["gfql"] = Figures("ValueError: no", [0.0])
    assert support(rows) == [
        "| query | gpugda | ladybug | neug | gfql |",
        "| --- | --- | --- | --- | --- |",
        "| plain: triangles | yes | 1 of 2; 1 too long | wrong | failed |",
    ]


@pytest.mark.perf
def test_peers(capsys):
    if "ladybug" not in installed_peers():
        pytest.skip("not installed: ladybug (pip install --group peers)")
    asked = options([])
    with capsys.disabled():
        rows = [row for graph in asked.graphs.split(",") for row in compare(graph, asked)]
        print("\n".join(summaries(rows)))
        print(f"see {write(rows, asked)}")
    ratios = [found for row in rows if (found := row.ratio("ladybug"))]
    assert geometric_mean(value for value, _ in ratios) >= GOAL


def main() -> None:
    asked = options(sys.argv[1:])
    rows: list[Row] = []
    try:
        for graph in asked.graphs.split(","):
            rows += compare(graph, asked)
    finally:
        if rows:
            print("\n".join(["", *summaries(rows)]))
            print(f"see {write(rows, asked)}")


if __name__ == "__main__":
    main()
