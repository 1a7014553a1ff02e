"""The benchmark on a server, end to end."""

import csv
import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from gpugda.bench.benchmark import run_benchmark
from gpugda.bench.options import BenchOptions
from gpugda.bench.practice import run as practice
from gpugda.bench.practice.run import PracticeOptions, run_practice
from gpugda.cli.app import app
from gpugda.errors import ConfigurationError
from gpugda.ports import SilentProgress


def connection(server):
    return [
        *("--uri", server.uri),
        *(("-u", server.auth[0], "-p", server.auth[1]) if server.auth else ()),
    ]


def options_for(server, folder, **changed):
    few = {"sizes": (2, 3), "per_size": 2, "repetitions": 1, "warm_up": 0, "exports": 1}
    connect = {"auth": server.auth} if server.auth else {}
    return BenchOptions(
        **{**few, "timeout": 20.0, "folder": str(folder), "connect": connect, **changed}
    )


@pytest.mark.slow
def test_a_quick_benchmark_runs(server, tmp_path):
    server.load(
        [
            "UNWIND range(0, 19) AS i CREATE (:A {i: i})",
            "MATCH (a:A), (b:A) WHERE b.i IN [(a.i + 1) % 20, (a.i + 3) % 20] CREATE (a)-[:R]->(b)",
        ]
    )
    outcome = CliRunner().invoke(
        app, ["bench", "--quick", *connection(server), "--out", str(tmp_path)]
    )
    assert outcome.exit_code == 0, outcome.output
    facts = json.loads((tmp_path / "benchmark.json").read_text(encoding="utf-8"))
    assert facts["baseline"] == "native"
    assert facts["mismatches"] == []
    assert facts["machine"]["server"].startswith("Neo4j")
    assert server.uri not in json.dumps(facts)
    assert {"cost", "density"} == set(facts["promises"][0]["rule_regrets"])
    with (tmp_path / "queries.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["text"] for row in rows} == {"new", "repeated"}
    assert all(float(row["Cypher run time"]) > 0 for row in rows)


@pytest.mark.slow
def test_load_refuses_a_database_with_data(server, shared_data, tmp_path):
    graphs = str(shared_data)
    server.wipe()
    asked = options_for(server, tmp_path, load="drwho", graphs=graphs, forms=("count",))
    assert not run_benchmark(server.uri, asked, SilentProgress()).wrong
    assert server.run("MATCH (n) RETURN count(n)")[0][0] == 1060
    # The second run finds the graph. Then data is added, and nothing may be written.
    assert not run_benchmark(server.uri, asked, SilentProgress()).wrong
    server.run("CREATE (:Mine)")
    with pytest.raises(ConfigurationError, match="Nothing was written"):
        run_benchmark(server.uri, asked, SilentProgress())
    assert server.run("MATCH (n) RETURN count(n)")[0][0] == 1061


@pytest.mark.slow
def test_the_practice_workload_runs_and_writes_into_empty_databases_only(server, tmp_path):
    server.wipe()
    connect = {"auth": server.auth} if server.auth else {}
    asked = PracticeOptions(
        ("films", "cloud"),
        0.02,
        settle=1,
        repetitions=1,
        only="shortest",
        folder=str(tmp_path),
        connect=connect,
    )
    outcome = run_practice(server.uri, asked, SilentProgress())
    assert (outcome.wrong, outcome.finished) == ([], True)
    facts = json.loads((tmp_path / "practice.json").read_text(encoding="utf-8"))
    assert [each["without"] for each in facts["summaries"].values()] == [0, 0]
    assert [len(each["auto"]) for each in facts["queries"]["cloud"]] == [2, 2]
    # The graph of cloud has taken the place of that of films.
    assert server.run("MATCH (n) UNWIND labels(n) AS l WITH l WHERE l = 'Movie' RETURN l") == []
    before = server.run("MATCH (n) RETURN count(n)")
    with pytest.raises(ConfigurationError, match="Nothing was written"):
        run_practice(server.uri, asked, SilentProgress())
    beside = replace(asked, domains=("cloud",), writes_per_second=5)
    assert run_practice(server.uri, beside, SilentProgress()).wrong == []
    assert server.run("MATCH (n) RETURN count(n)") == before


@pytest.mark.slow
@pytest.mark.parametrize("joined", [False, True])
def test_what_another_client_writes_meanwhile_survives(server, tmp_path, monkeypatch, joined):
    server.wipe()
    measure = practice.measure

    def beside(*arguments):
        server.run("CREATE (:Mine)")
        if joined:
            server.run("MATCH (m:Mine) MATCH (n:Movie) WITH m, n LIMIT 1 CREATE (m)-[:SEES]->(n)")
        return measure(*arguments)

    monkeypatch.setattr(practice, "measure", beside)
    asked = PracticeOptions(
        ("films", "cloud"),
        0.02,
        settle=0,
        repetitions=1,
        only="shortest",
        folder=str(tmp_path),
        connect={"auth": server.auth} if server.auth else {},
    )
    told = "Nothing was removed that others wrote" if joined else "Nothing was written"
    with pytest.raises(ConfigurationError, match=told):
        run_practice(server.uri, asked, SilentProgress())
    assert server.run("MATCH (n:Mine) RETURN count(n)")[0][0] == 1
    assert server.run("MATCH (n) RETURN count(n)")[0][0] == 1 + joined
    assert server.run("MATCH ()-[r]->() RETURN count(r)")[0][0] == joined
    assert "films" in (tmp_path / "report.md").read_text(encoding="utf-8")
    named = server.run("SHOW INDEXES YIELD name RETURN name")
    assert not [name for (name,) in named if name.startswith("gpugda_bench_")]
