"""From options to the folder of results, on an embedded graph."""

import csv
import json
import platform
import sys
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

import gpugda
from gpugda.accelerator import Accelerator
from gpugda.bench.benchmark import run_benchmark
from gpugda.bench.options import BenchOptions, parse_forms, parse_sizes
from gpugda.bench.tables import THESIS_COLUMNS
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import SilentProgress

pytestmark = [
    pytest.mark.device,
    # Matplotlib warns if placing the legend takes a second, as it may on a busy machine.
    pytest.mark.filterwarnings("ignore:Creating legend with loc:UserWarning"),
]


def options(folder, **changed):
    few = {"sizes": (2, 3), "per_size": 1, "repetitions": 1, "warm_up": 0, "exports": 1}
    return BenchOptions(**{**few, "timeout": 20.0, "folder": str(folder), **changed})


@pytest.fixture(scope="module")
def outcome(ring_source, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bench") / "out"
    return run_benchmark(ring_source, options(folder), SilentProgress())


def read_csv(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.slow  # draws many plots
def test_the_results_folder_holds_tables_and_a_report(outcome):
    assert not outcome.wrong
    assert outcome.measured.finished
    queries = read_csv(outcome.folder / "queries.csv")
    assert tuple(queries[0])[: len(THESIS_COLUMNS)] == THESIS_COLUMNS
    assert len(queries) == 2 * 2 * 1 * 3 * 2  # sizes, densities, queries, forms, phases
    assert all(int(row["Result count"]) >= 1 for row in queries)
    assert {row["compared_by"] for row in queries} <= {"rows", "hash", "count"}
    assert all(float(row["GPUGDA run time"]) > 0 for row in queries)
    assert len(read_csv(outcome.folder / "runs.csv")) == len(outcome.measured.runs)
    report = (outcome.folder / "report.md").read_text(encoding="utf-8")
    assert "No wrong answer" in report
    assert "## Dense queries by size" in report


@pytest.mark.slow  # draws many plots
def test_the_machine_is_described_without_names_or_paths(outcome):
    text = (outcome.folder / "benchmark.json").read_text(encoding="utf-8")
    facts = json.loads(text)
    assert facts["machine"]["device"]["name"]
    assert facts["machine"]["versions"]["gpugda"]
    assert facts["options"]["seed"] == 1
    assert str(outcome.folder.parent) not in text
    assert platform.node() not in text or len(platform.node()) < 4


@pytest.mark.slow  # draws many plots
def test_plots_are_drawn_if_matplotlib_is_installed(outcome):
    pytest.importorskip("matplotlib")
    names = {path.name for path in (outcome.folder / "plots").iterdir()}
    assert {"break-even-new.png", "break-even-new.svg", "time-by-size-dense-new.png"} <= names


def test_no_plots_are_drawn_without_matplotlib(ring_source, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.delitem(sys.modules, "gpugda.bench.plots", raising=False)
    outcome = run_benchmark(ring_source, options(tmp_path / "out"), SilentProgress())
    assert any("gpugda[bench]" in note for note in outcome.notes)
    assert "![" not in (outcome.folder / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_queries_of_a_file_are_measured(ring_source, tmp_path):
    queries = tmp_path / "mine.cypher"
    queries.write_text("MATCH (a)-[:NEXT]->(b) WHERE a.size > $n RETURN a, b.size; RETURN 1 AS x")
    (tmp_path / "p.json").write_text('{"n": 2}')
    asked = options(tmp_path / "out", queries=str(queries), parameters=str(tmp_path / "p.json"))
    outcome = run_benchmark(ring_source, asked, SilentProgress())
    assert outcome.measured.answers["query-001"] == 3
    assert not outcome.wrong
    report = (outcome.folder / "report.md").read_text(encoding="utf-8")
    row = next(line for line in report.splitlines() if line.startswith("| MATCH (a)-[:NEXT]->(b)"))
    assert row.split(" | ")[1] == "3"
    assert row.endswith("| gpu | yes |")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"load": "drwho"}, "writes a graph into a database"),
        ({"indexes": True}, "only together with --load"),
    ],
)
def test_wrong_options_are_refused(ring_source, tmp_path, changed, message):
    with pytest.raises(ConfigurationError, match=message):
        run_benchmark(ring_source, options(tmp_path, **changed), SilentProgress())


def test_sizes_and_forms_are_parsed():
    assert parse_sizes("2-4,8") == (2, 3, 4, 8)
    assert parse_forms(["rows,count"]) == ("count", "rows")
    assert parse_forms([]) == ("count", "rows", "predicate")
    for text in ("", "a", "0", "3-2", "40"):
        with pytest.raises(ConfigurationError):
            parse_sizes(text)
    with pytest.raises(ConfigurationError, match="unknown"):
        parse_forms(["paths"])


def test_missing_graphs_are_refused(tmp_path, monkeypatch):
    from gpugda.bench.graphs import graph_source, graphs_folder

    monkeypatch.delenv("GPUGDA_SHARED", raising=False)
    with pytest.raises(ConfigurationError, match="--graphs FOLDER"):
        graph_source("drwho", graphs_folder(None))
    with pytest.raises(SourceError, match=r"drwho\.graphml\.xz"):
        graph_source("drwho", tmp_path)
    with pytest.raises(ConfigurationError, match="there are: drwho, yeast"):
        graph_source("imdb", tmp_path)


# ------------------------------------------------------------------ the command
def run(*arguments):
    from gpugda.cli.app import app

    return CliRunner().invoke(app, ["bench", *map(str, arguments)])


@pytest.mark.slow
def test_a_wrong_answer_fails_the_command(ring_source, tmp_path, monkeypatch):
    with gpugda.connect(ring_source) as accelerator:
        accelerator.save(tmp_path / "ring")

    real = Accelerator.run

    def lies(self, query, parameters=None, **options):
        result = real(self, query, parameters, **options)
        if options.get("engine") == "gpu" and "count" in query:
            return SimpleNamespace(values=lambda: [[123456]], summary=result.summary)
        return result

    monkeypatch.setattr(Accelerator, "run", lies)
    outcome = run(
        *("--quick", "--uri", tmp_path / "ring", "--per-size", 1, "--sizes", 2),
        *("--forms", "count", "--out", tmp_path / "out"),
    )
    assert outcome.exit_code == 1, outcome.output
    assert "WRONG" in outcome.output
    assert "MATCH (n" in outcome.output
    assert "WRONG ANSWERS" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")


def test_a_graph_together_with_a_server_is_refused(tmp_path):
    outcome = run("--graph", "sample:wordnet", "--uri", "bolt://x", "--out", tmp_path)
    assert outcome.exit_code == 2
    assert "without a server" in outcome.output
