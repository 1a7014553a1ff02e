"""The practice workload: its graphs and queries, how it is measured, and its figures."""

import json
import re

import pytest
from typer.testing import CliRunner

import gpugda
from gpugda.bench.answers import answer_of, difference
from gpugda.bench.measuring import Measured, Run
from gpugda.bench.practice.domains import DOMAINS, domain_cases, domain_graph
from gpugda.bench.practice.figures import practice_table, query_times, summarised
from gpugda.bench.practice.run import PracticeOptions, run_practice
from gpugda.cli.app import app
from gpugda.errors import ConfigurationError
from gpugda.ports import SilentProgress

SMALL = 0.05


@pytest.mark.device
@pytest.mark.parametrize("domain", DOMAINS)
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
    assert (found.queries, found.without, found.late) == (1, 1, 0)


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
