"""The practice workload: its graphs and queries, how it is measured, and its figures."""

import json
import math
import re
import time

import pytest
from fake_bench_database import FakeGraphDatabase
from typer.testing import CliRunner

import gpugda
from gpugda.bench.answers import answer_of, difference
from gpugda.bench.measuring import Measured, Run
from gpugda.bench.practice import run as practice
from gpugda.bench.practice.domains import DOMAINS, domain_cases, domain_graph
from gpugda.bench.practice.figures import practice_table, query_times, summarised
from gpugda.bench.practice.run import PracticeOptions, run_practice
from gpugda.cli.app import app
from gpugda.errors import ConfigurationError, SourceError
from gpugda.ports import SilentProgress

SMALL = 0.05


@pytest.mark.device
@pytest.mark.parametrize(
    "domain",
    [
        pytest.param(domain, marks=() if domain == "cloud" else pytest.mark.slow)
        for domain in DOMAINS
    ],
)
def test_the_device_answers_every_query_as_the_reference_does(domain):
    cases, empty = domain_cases(domain), []
    with gpugda.connect(domain_graph(domain, SMALL)) as accelerator:
        for case in cases:
            expected, found = (
                accelerator.run(case.text("x"), case.parameters, engine=engine).values()
                for engine in ("reference", "gpu")
            )
            answers = (
                answer_of(rows, 10_000, lists_unordered=case.lists_unordered)
                for rows in (expected, found)
            )
            assert difference(*answers, case.row_limit) == ("", "rows"), case.name
            if not expected:
                empty.append(case.name)
    assert len(empty) < len(cases) / 4, empty


@pytest.mark.parametrize("domain", DOMAINS)
def test_each_domain_has_thirty_queries_or_more_with_names_and_parameters(domain):
    cases = domain_cases(domain)
    assert len({case.name for case in cases}) == len(cases) >= 30
    for case in cases:
        assert set(re.findall(r"\$(\w+)", case.text(""))) == set(case.parameters), case.name


@pytest.mark.parametrize("domain", DOMAINS)
def test_equal_scales_and_seeds_give_equal_graphs(domain):
    def rows(scale, seed):
        with gpugda.connect(domain_graph(domain, scale, seed)) as accelerator:
            text = "MATCH (a)-[r]->(b) RETURN a.id, type(r), b.id, properties(r) AS p"
            return sorted(map(repr, accelerator.run(text, engine="reference").values()))

    first = rows(SMALL, 1)
    assert first == rows(SMALL, 1) != rows(SMALL, 2)
    assert 20_000 * SMALL * 0.7 < len(first) < 20_000 * SMALL * 1.5


def run(engine, number, seconds, took="", outcome="ok"):
    return Run("q", "repeated", engine, number, seconds, outcome, 3, took or engine)


def test_figures_keep_first_runs_apart_and_take_lower_medians():
    seconds = {
        "native": [0.5, 0.1, 0.1, 0.3],
        "gpu": [1.0, 0.1, 0.05, 0.02],
        "auto": [0.6, 0.05, 0.2, 0.4],
    }
    took = ["native", "gpu", "gpu", "native"]
    runs = [
        run(engine, number, each, took[number - 1] if engine == "auto" else "")
        for engine, times in seconds.items()
        for number, each in enumerate(times, start=1)
    ]
    (times,) = query_times(Measured(runs), "native", 2)
    assert (times.took, times.rows, times.late_first, times.late) == ("nggn", 3, 1, True)
    found = summarised([times])
    assert (found.queries, found.without, found.slower) == (1, 0, 0)
    assert (found.device, found.device_first, found.auto) == pytest.approx((5, 0.5, 0.5))
    assert (found.late_first, found.late, found.regret) == pytest.approx((0.5, 1, 10))
    assert "| q | 100 | 1e+03 | 20 | 600 50 200 400 (late) | nggn | 3 |" in practice_table(
        {"d": [times]}, "Neo4j"
    )


def test_a_query_without_an_answer_is_only_counted():
    runs = [run("native", 1, 0.1), run("gpu", 1, 0.1, outcome="error"), run("auto", 1, 0.1)]
    found = summarised(query_times(Measured(runs), "native", 2))
    assert (found.queries, found.without) == (1, 1)
    assert all(map(math.isnan, (found.device, found.late_first, found.late, found.regret)))


def test_without_first_runs_their_figures_are_empty():
    runs = [run(engine, 1, 0.1) for engine in ("native", "gpu", "auto")]
    (times,) = query_times(Measured(runs), "native", 0)
    assert times.late_first == 0
    found = summarised([times])
    assert (found.device, found.late) == pytest.approx((1, 0))
    assert math.isnan(found.device_first)
    assert math.isnan(found.late_first)
    assert "| d | 1 | 0 | 1.00 | - | 1.00 | 0 | - | 0.0% | 1.00 |" in practice_table(
        {"d": [times]}, "Neo4j"
    )


@pytest.mark.slow
@pytest.mark.device
def test_it_runs_beside_the_reference_engine_without_a_server(tmp_path):
    arguments = ["bench", "--workload", "practice", "--domain", "films", "--scale", "0.03"]
    arguments += ["--settle", "1", "--repetitions", "1", "--out", str(tmp_path)]
    outcome = CliRunner().invoke(app, arguments, env={"GPUGDA_SOURCE": "", "NEO4J_URI": ""})
    assert outcome.exit_code == 0, outcome.output
    facts = json.loads((tmp_path / "practice.json").read_text(encoding="utf-8"))
    assert facts["summaries"]["films"]["queries"] == len(domain_cases("films"))
    assert facts["summaries"]["films"]["without"] == 0
    assert "reference ÷ device" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert (tmp_path / "films-runs.csv").exists()


def test_unknown_domains_and_workloads_are_refused():
    with pytest.raises(ConfigurationError, match="directory"):
        run_practice(None, PracticeOptions(("nothing",)), SilentProgress())
    outcome = CliRunner().invoke(app, ["bench", "--workload", "nothing"])
    assert outcome.exit_code != 0
    assert "applications, practice" in outcome.output


# ------------------------------------------------------------------ on a database
URI = "bolt://x"


@pytest.fixture
def database(monkeypatch):
    """A database in memory, in which nothing is measured."""
    found = FakeGraphDatabase()
    monkeypatch.setattr(practice, "connect", found.connect)
    measured_by(monkeypatch, lambda cases: None)
    return found


def measured_by(monkeypatch, happens, **facts):
    """Lets something happen while a domain is measured."""

    def measure(accelerator, cases, pace, progress):
        happens(cases)
        runs = [
            Run(case.name, "repeated", engine, 1, 0.1, "ok", 1, engine)
            for case in cases
            for engine in pace.engines
        ]
        return Measured(runs, **{"finished": True, **facts})

    monkeypatch.setattr(practice, "measure", measure)


def options_for(folder, *domains, **changed):
    return PracticeOptions(domains or ("films",), 0.01, folder=str(folder), **changed)


def practised(folder, *domains, **changed):
    return run_practice(URI, options_for(folder, *domains, **changed), SilentProgress())


def facts_in(folder):
    def refuse(name):
        raise AssertionError(f"JSON has no {name}")

    text = (folder / "practice.json").read_text(encoding="utf-8")
    return json.loads(text, parse_constant=refuse)


def test_the_last_domain_stays_without_indexes(database, tmp_path):
    assert practised(tmp_path, "films", "cloud", "films").finished
    labels = {label for each in database.nodes.values() for label in each}
    assert "Movie" not in labels  # the second "films" is no third domain
    assert labels
    assert list(facts_in(tmp_path)["summaries"]) == ["films", "cloud"]
    assert database.indexes == {}


def test_a_node_that_another_client_writes_survives(database, tmp_path, monkeypatch, caplog):
    measured_by(monkeypatch, lambda cases: database.create("Mine"))
    with pytest.raises(ConfigurationError, match=r"Nothing was written.*--replace") as refused:
        practised(tmp_path, "films", "cloud", replace=True)
    assert "--load" not in str(refused.value)
    assert [*database.nodes.values()] == [("Mine",)]
    # What was measured before is in the report, which says why there is no more.
    assert list(facts_in(tmp_path)["summaries"]) == ["films"]
    assert "ended early (ConfigurationError)" in (tmp_path / "report.md").read_text("utf-8")


def test_only_replace_deletes_what_was_there(database, tmp_path):
    database.create("Mine")
    with pytest.raises(ConfigurationError, match="--replace"):
        practised(tmp_path)
    assert [*database.nodes.values()] == [("Mine",)]
    practised(tmp_path, replace=True)
    assert ("Mine",) not in database.nodes.values()


def test_a_graph_that_was_there_is_not_removed_for_the_next(database, tmp_path):
    practised(tmp_path)
    before = dict(database.nodes)
    assert practised(tmp_path).finished
    with pytest.raises(ConfigurationError, match="Name --domain films alone, or name an empty"):
        practised(tmp_path, "films", "cloud")
    assert database.nodes == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_error_drops_the_indexes_and_says_what_stays(
    database, tmp_path, monkeypatch, caplog, error
):
    def fails(cases):
        assert database.indexes
        raise error

    measured_by(monkeypatch, fails)
    with pytest.raises(error):
        practised(tmp_path)
    assert database.indexes == {}
    assert "the graph of films, or a part of it, is still in the database" in caplog.text


def test_a_cancelled_run_says_what_stays(database, tmp_path, monkeypatch, caplog):
    measured_by(monkeypatch, lambda cases: None, finished=False)
    assert not practised(tmp_path, "films", "cloud").finished
    assert "the graph of films, or a part of it, is still in the database" in caplog.text


def test_queries_are_found_before_anything_is_written(database, tmp_path):
    with pytest.raises(ConfigurationError, match="No query of films has 'nowhere'"):
        practised(tmp_path, only="nowhere", replace=True)
    assert database.connected == []
    only = domain_cases("films")[0].name
    practised(tmp_path, "cloud", "films", only=only)
    assert list(facts_in(tmp_path)["summaries"]) == ["films"]
    assert "cloud" not in (tmp_path / "report.md").read_text("utf-8")


def test_figures_of_nothing_are_null_in_json(database, tmp_path):
    practised(tmp_path, settle=0, timeout=math.inf)
    facts = facts_in(tmp_path)
    assert facts["summaries"]["films"]["late_first"] is None
    assert facts["options"]["timeout"] is None


@pytest.mark.parametrize(("cleared", "told"), [(None, True), (3, False)])
def test_the_report_says_if_query_caches_were_not_emptied(
    database, tmp_path, monkeypatch, cleared, told
):
    measured_by(monkeypatch, lambda cases: None, cleared=cleared)
    outcome = practised(tmp_path)
    assert ("refused to empty its query caches (films)" in "\n".join(outcome.lines)) == told
    assert facts_in(tmp_path)["caches_cleared"] == {"films": cleared}


def test_a_client_that_fails_while_writing_fails_the_run(database, tmp_path, monkeypatch):
    database.refused = "SET n.number"
    measured_by(monkeypatch, lambda cases: time.sleep(0.1))
    with pytest.raises(SourceError, match=r"--writes-per-second.* the client is gone"):
        practised(tmp_path, writes_per_second=200)
    assert ("GpugdaBenchWriter",) not in database.nodes.values()
    assert list(facts_in(tmp_path)["summaries"]) == ["films"]


def test_the_writing_client_removes_its_own_node_only(database, tmp_path, monkeypatch):
    measured_by(monkeypatch, lambda cases: database.create("GpugdaBenchWriter"))
    practised(tmp_path, writes_per_second=200)
    assert [*database.nodes.values()].count(("GpugdaBenchWriter",)) == 1


# ------------------------------------------------------------------ the command's options
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--domain", "films"), "--domain needs --workload practice"),
        (("--workload", "applications", "--replace"), "--replace needs --workload practice"),
        (("--scale", "2", "--quick"), "--scale needs --workload practice"),
        (("--workload", "practice", "--quick"), "--quick is not for --workload practice"),
        (("--workload", "practice", "--load", "pole"), "--load is not for --workload practice"),
        (("--workload", "practice", "--sizes", "2-6"), "--sizes is not for --workload practice"),
        (("--workload", "applications", "--queries", "q"), "--queries is not for --workload app"),
        (("--workload", "practice", "--uri", "sample:wordnet"), "'sample:wordnet' is no database"),
        (("--workload", "practice", "--replace"), "are for a database: name it with --uri"),
    ],
)
def test_options_that_would_be_ignored_are_refused(tmp_path, arguments, told):
    outcome = CliRunner().invoke(app, ["bench", *arguments, "--out", str(tmp_path / "out")])
    assert outcome.exit_code == 2, outcome.output
    assert told in outcome.output
    assert not (tmp_path / "out").exists()
