"""All strategies on generated graphs: the graphs, the queries, and the command."""

import json
import os
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

from gpugda.errors import ConfigurationError
from gpugda.match.registry import STRATEGIES
from gpugda.ports import SilentProgress
from lab import strategies_measuring
from lab.__main__ import app
from lab.community_plan import plan_communities
from lab.published import PUBLISHED
from lab.random_relationships import quadrants_for
from lab.recipes import RECIPES, make_recipe, recipe_queries
from lab.strategies import run_strategies
from lab.strategies_options import Measured, StrategiesOptions, Timed
from lab.strategies_report import report_of, verdicts
from lab.sweeps import points_of

TINY = {
    "enron": 0.003,
    "gowalla": 0.001,
    "patent": 1e-4,
    "road": 1e-4,
    "watdiv": 1e-5,
    "stwig": 0.02,
    "db": 1e-6,
    "fr": 1e-6,
    "yh": 1e-6,
    "wd": 1e-6,
    "youtube": 1e-3,
    "livejournal": 1e-4,
    "orkut": 1e-4,
    "uk2002": 1e-5,
    "friendster": 1e-4,
    "dbpedia": 1e-5,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", RECIPES)
def test_a_graph_has_the_shape_of_its_recipe(name):
    recipe, scale = RECIPES[name], TINY[name]
    graph = make_recipe(name, scale, 1)
    assert graph.node_count == max(16, round(scale * recipe.nodes))
    assert graph.relationship_count == pytest.approx(scale * recipe.relationships, rel=0.2)
    assert len(graph.types) <= recipe.types
    assert (np.diff(graph.label_offsets) == 1).all()
    again = make_recipe(name, scale, 1)
    assert np.array_equal(graph.outgoing.neighbours, again.outgoing.neighbours)


@pytest.mark.parametrize("name", ["enron", "stwig"])
def test_queries_have_the_size_of_the_recipe_and_depend_on_the_seed(name):
    graph = make_recipe(name, TINY[name], 1)
    patterns, sizes = recipe_queries(name, graph, 5, 1), list(RECIPES[name].query_nodes)
    assert len(set(patterns)) == 5
    assert [each.count(":L") for each in patterns] == (5 * sizes)[:5]
    assert patterns == recipe_queries(name, graph, 5, 1)
    assert patterns != recipe_queries(name, graph, 5, 2)


DRAWN_BY_DEGREE = [name for name in RECIPES if name not in ("road", "stwig", "watdiv", "wd")]


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN_BY_DEGREE)
def test_the_largest_degree_follows_from_the_published_one(name):
    recipe = RECIPES[name]
    scale = 20_000 / recipe.relationships
    graph = make_recipe(name, scale, 1)
    found = (np.diff(graph.outgoing.row_offsets) + np.diff(graph.incoming.row_offsets)).max()
    if recipe.social is None:
        a, b, _ = quadrants_for(recipe.nodes, recipe.relationships, recipe.largest)
        levels = (recipe.nodes - 1).bit_length()
        assert 2 * recipe.relationships * (a + b) ** levels == pytest.approx(recipe.largest)
        expected = 2 * graph.relationship_count * (a + b) ** (graph.node_count - 1).bit_length()
    else:
        expected = plan_communities(recipe.social, scale).degrees[0]
        assert plan_communities(recipe.social).degrees[0] == pytest.approx(recipe.largest, 0.01)
    assert expected / 1.5 < found < expected * 1.5


def test_unknown_recipes_and_scales_are_refused():
    with pytest.raises(ConfigurationError, match="enron, gowalla"):
        make_recipe("nowhere", 1, 1)
    with pytest.raises(ConfigurationError, match="--scale"):
        make_recipe("enron", 0, 1)


@pytest.mark.slow
@pytest.mark.device
def test_every_strategy_finds_the_walk_that_a_query_comes_from(tmp_path):
    options = StrategiesOptions(
        scale=0.002, count=2, repetitions=1, timeout=60, folder=str(tmp_path)
    )
    outcome = run_strategies(options, SilentProgress())
    assert outcome.wrong == []
    found = json.loads((tmp_path / "strategies.json").read_text(encoding="utf-8"))
    names = {run["strategy"] for run in found["runs"]}
    assert names == {
        *STRATEGIES,
        *(f"gsi {each}" for each in ("basic", "+DS", "+PC", "+SO", "+LB", "+DR")),
        *(f"sgsi {each}" for each in ("basic", "+LB", "+histogram")),
    }
    assert len(found["runs"]) == 2 * 2 * len(names)
    assert all("plan" in run["stages"] for run in found["runs"])
    assert all(run["embeddings"] >= 1 for run in found["runs"])
    assert PUBLISHED["enron", "gsi"] in (tmp_path / "strategies.md").read_text(encoding="utf-8")


@pytest.mark.device
def test_the_table_of_pbe_has_a_row_per_pattern(tmp_path):
    options = StrategiesOptions(
        "youtube", 1e-4, 1, ("count",), repetitions=1, timeout=60, folder=str(tmp_path)
    )
    outcome = run_strategies(options, SilentProgress())
    assert outcome.wrong == []
    assert "| q2" not in outcome.table
    head = next(line for line in outcome.table.splitlines() if line.startswith("| count | embed"))
    names = [each.strip() for each in head.strip("|").split("|")][2:]
    assert names == [*STRATEGIES, "pbe basic", "pbe +order", "pbe +sharing"]
    line = next(line for line in outcome.table.splitlines() if line.startswith("| q1 square |"))
    assert int(line.split("|")[2].replace(",", "")) > 0


@pytest.mark.device
def test_the_command_measures_all_strategies(tmp_path):
    arguments = ["strategies", "--graph", "stwig", "--scale", "0.005", "--per-size", "1"]
    arguments += ["--repetitions", "1", "--forms", "count", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "| count | stwig | 1 of 1 |" in result.stdout
    refused = CliRunner().invoke(app, ["strategies", "--graph", "drwho"])
    assert refused.exit_code != 0


@pytest.mark.device
def test_chosen_strategies_alone_are_measured(tmp_path):
    options = StrategiesOptions(
        "stwig", 0.005, 1, ("count",), ("gsi +PC", "extend"), repetitions=1, folder=str(tmp_path)
    )
    table = run_strategies(options, SilentProgress()).table
    assert [line.split("|")[2].strip() for line in table.splitlines()[2:]] == ["extend", "gsi +PC"]
    refused = ["strategies", "--graph", "stwig", "--scale", "0.005", "--strategy", "gis"]
    assert "'gis'; there are: extend" in CliRunner().invoke(app, refused).output


@pytest.mark.device
def test_queries_are_measured_again_within_a_memory_limit(tmp_path):
    arguments = ["strategies", "--graph", "watdiv", "--scale", "0.0005"]
    arguments += ["--per-size", "2", "--repetitions", "1", "--forms", "count"]
    arguments += ["--strategy", "extend", "--within", "0.5", "--out", str(tmp_path)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "| count | extend | 2 of 2 |" in result.stdout
    assert "| count | extend within 0.5 of the graph | 2 of 2 |" in result.stdout


@pytest.mark.device
def test_ctrl_c_reports_the_measurements_so_far(tmp_path, monkeypatch):
    asked = strategies_measuring._question

    def interrupted(graph, pattern, form, name, matcher):
        if pattern == patterns[1]:
            raise KeyboardInterrupt
        return asked(graph, pattern, form, name, matcher)

    options = StrategiesOptions(
        "stwig", 0.005, 3, ("count",), ("extend",), repetitions=1, folder=str(tmp_path)
    )
    patterns = recipe_queries("stwig", make_recipe("stwig", 0.005, 1), 3, 1)
    monkeypatch.setattr(strategies_measuring, "_question", interrupted)
    outcome = run_strategies(options, SilentProgress())
    assert "| count | extend | 1 of 1 |" in outcome.table
    assert any("Ended by hand: 1 of 3 queries were asked." in note for note in outcome.notes)
    assert len(json.loads((tmp_path / "strategies.json").read_text())["runs"]) == 1


@pytest.mark.device
def test_what_was_measured_before_a_signal_to_terminate_is_reported(tmp_path, monkeypatch):
    asked, before = strategies_measuring._question, signal.getsignal(signal.SIGTERM)

    def terminated(graph, pattern, form, name, matcher):
        if pattern == patterns[1]:
            os.kill(os.getpid(), signal.SIGTERM)
        return asked(graph, pattern, form, name, matcher)

    patterns = recipe_queries("stwig", make_recipe("stwig", 0.005, 1), 3, 1)
    monkeypatch.setattr(strategies_measuring, "_question", terminated)
    arguments = ["strategies", "--graph", "stwig", "--scale", "0.005", "--seed", "1"]
    arguments += ["--per-size", "3", "--repetitions", "1", "--forms", "count"]
    result = CliRunner().invoke(app, [*arguments, "--strategy", "extend", "--out", str(tmp_path)])
    assert "| count | extend | 1 of 1 |" in result.stdout
    assert "Ended by hand: 1 of 3 queries were asked." in result.output
    assert signal.getsignal(signal.SIGTERM) is before


def timed(strategy, milliseconds, query=0, outcome="ok"):
    return Timed(query, "count", strategy, outcome, milliseconds / 1000, 1)


def told(options, runs, names):
    return verdicts(
        options,
        Measured(points_of(options.graph, options.scale, options.sweep)[0], runs=runs),
        names,
    )


def test_verdicts_compare_with_published_times():
    options = StrategiesOptions("enron", 1.0)
    runs = [timed("extend", 1), timed("extend", 3, 1), timed("gsi", 56), timed("gpsm", 1)]
    assert told(options, runs, ["extend", "gsi", "gpsm"]) == [
        "Faster than the paper's own system: extend (14 times, 0.028 s there).",
        "Slower than the paper's own system: gsi (0.5 times, 0.028 s there).",
        "extend takes 1/14 of the time of gsi's own system: at most a tenth, as is the goal.",
    ]
    late = [timed("extend", 1), timed("extend", 2, 1, "too long")]
    assert told(options, late, ["extend"]) == [
        "Faster than the paper's own system: none.",
        "Slower than the paper's own system: extend (not all answered, 0.028 s there).",
    ]
    assert told(StrategiesOptions("enron", 0.5), runs, ["extend"]) == []
    slower = told(StrategiesOptions("wd", 1.0), [timed("extend", 50e3)], ["extend"])
    assert slower[-1] == "extend takes 1/2.34 of the time of sgsi's own system: more than a fifth."


def test_verdicts_compare_with_published_times_of_patterns():
    options, runs = (
        StrategiesOptions("friendster", 1.0),
        [timed("pbe", 17e3, 1), timed("pbe", 1, 3)],
    )
    assert told(options, runs, ["pbe"]) == [
        "Faster than the paper's own system: "
        "pbe on q2 square with a tail (100 times, 1.7e+03 s there).",
        "Slower than the paper's own system: none.",
    ]


def test_all_of_the_papers_techniques_have_its_figure_with_and_without_our_order():
    assert PUBLISHED["enron", "gsi +DR"] == PUBLISHED["enron", "gsi"] == "28 ms"
    runs = [timed("gsi +DR", 14), timed("gsi", 7)]
    assert told(StrategiesOptions("enron", 1.0), runs, ["gsi", "gsi +DR"])[0] == (
        "Faster than the paper's own system: gsi (4 times, 0.028 s there), "
        "gsi +DR (2 times, 0.028 s there)."
    )


def test_totals_and_means_count_timeouts_with_their_limit():
    options = StrategiesOptions("enron", 1.0, forms=("count",))
    runs = [timed("extend", 1), timed("extend", 3, 1), timed("gsi", 26)]
    runs += [timed("gsi", 30, 1, "too long"), timed("pbe", 5, 0, "too much memory")]
    point = points_of(options.graph, options.scale, options.sweep)[0]
    measured = [Measured(point, nodes=1, relationships=1, patterns=["a", "b"], runs=runs)]
    rows = [
        [each.strip() for each in line.strip("|\n").split("|")]
        for line in report_of(options, measured, ["extend", "gsi", "pbe"], "").table.splitlines()
    ]
    by_name = {row[1]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}
    assert by_name["extend"]["total s"] == "0.004"
    assert by_name["extend"]["mean ms"] == "2.00"
    assert by_name["extend"]["the paper's figure"] == "28 ms (gsi)"
    assert by_name["extend"]["share of it"] == "0.071"
    assert by_name["gsi"]["too long"] == "1"
    assert by_name["gsi"]["mean ms"] == "≥ 28.00"
    assert by_name["gsi"]["median ms"] == "26.00"
    assert by_name["gsi"]["share of it"] == "≥ 1"
    assert by_name["pbe"]["mean ms"] == "-"
