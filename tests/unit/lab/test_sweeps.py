"""Sweeps over one number of a recipe: values, graphs that do not fit, tables and verdicts."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from gpugda.bench import report
from gpugda.errors import ConfigurationError
from gpugda.ports import SilentProgress
from lab import graph_limits, strategies
from lab.__main__ import app
from lab.graph_limits import host_bytes, why_too_large
from lab.recipes import RECIPES, make_recipe, recipe_queries
from lab.strategies import run_strategies
from lab.strategies_options import Measured, StrategiesOptions, Timed
from lab.strategies_report import report_of
from lab.sweeps import SWEEPS, points_of

STWIG = RECIPES["stwig"]


def swept(sweep, graph="stwig", scale=1.0):
    return points_of(graph, scale, sweep)


@pytest.mark.parametrize(
    ("sweep", "values"),
    [
        ("nodes", [16_000, 32_000, 64_000, 128_000]),
        ("labels", [4, 8, 16, 32, 64]),
        ("degree", [8, 16, 32, 64, 128]),
        ("query-nodes", [5, 6, 7, 8, 9, 10]),
        ("labels=8,4", [4, 8]),
    ],
)
def test_values_are_those_of_the_paper_or_around_the_recipe(sweep, values):
    assert [each.value for each in swept(sweep)] == values


def test_the_papers_sizes_of_watdiv_are_scaled_and_given_sizes_are_not():
    assert [each.value for each in swept("relationships", "wd", 0.001)] == [
        number * 10**6 for number in range(1, 10)
    ]
    (point,) = swept("nodes=20000", scale=0.1)
    assert point.scale == 1.25
    assert point.recipe == STWIG


def test_a_point_changes_one_number_of_the_recipe():
    (point,) = swept("degree=8", scale=0.5)
    assert (point.recipe, point.scale) == (replace(STWIG, relationships=64_000), 0.5)
    (point,) = swept("query-nodes=7")
    assert point.recipe == replace(STWIG, query_nodes=(7,))
    (point,) = swept("types=3")
    assert point.recipe == replace(STWIG, types=3)
    graph = make_recipe("stwig", 0.01, 1, recipe=swept("labels=5")[0].recipe)
    assert len(graph.labels) == 5


def test_only_the_papers_own_graph_is_beside_its_figures():
    assert [each.as_published for each in swept("relationships", "watdiv")] == [
        *(False, False, True, False, False)
    ]
    assert not any(each.as_published for each in swept("labels", "gowalla", 0.5))


@pytest.mark.parametrize(
    ("graph", "sweep", "said"),
    [
        ("stwig", "lables", "'lables'; there are: nodes, relationships, labels"),
        ("youtube", "labels=2", "there are on youtube: nodes, relationships, degree"),
        ("stwig", "labels=0", "'0'; values are whole numbers from 1 on"),
        ("stwig", "labels=1.5", "'1.5'"),
        ("stwig", "labels=", "''"),
        ("stwig", "degree=nan", "'nan'"),
        ("stwig", "query-nodes=1", "from 2 on"),
        ("watdiv", "types=87", "watdiv has 86 predicates"),
        ("road", "degree=5", "road is a grid, whose degrees are at most 4"),
    ],
)
def test_sweeps_without_a_graph_are_refused(graph, sweep, said):
    with pytest.raises(ConfigurationError, match=said):
        swept(sweep, graph)


@pytest.mark.parametrize("name", RECIPES)
def test_every_sweep_has_values_on_every_graph(name):
    for sweep, it in SWEEPS.items():
        if it.shapes or RECIPES[name].patterns is None:
            points = swept(sweep, name, 0.01)
            assert len({each.value for each in points}) == len(points) > 1


def test_queries_of_a_sweep_over_degrees_are_the_same():
    graphs = [(make_recipe("stwig", 0.02, 1, None, each.recipe), each) for each in swept("degree")]
    queries = {tuple(recipe_queries("stwig", graph, 3, 1, each.recipe)) for graph, each in graphs}
    assert len(queries) == 1


# ------------------------------------------------------------------ graphs that do not fit
def test_a_graph_beyond_32_bits_or_the_memory_is_refused_with_a_scale_that_fits(monkeypatch):
    monkeypatch.setattr(graph_limits, "available_bytes", lambda: 20 * 2**30)
    assert why_too_large("wd", RECIPES["wd"], 0.1) is None
    said = why_too_large("wd", RECIPES["wd"], 1)
    assert "drawing it takes about 46.5 GiB of memory, and 20.0 GiB are free" in said
    fits = float(said.partition("--scale ")[2].partition(" ")[0])
    assert host_bytes(RECIPES["wd"], fits) <= 20 * 2**30 < host_bytes(RECIPES["wd"], 1.1 * fits)
    monkeypatch.setattr(graph_limits, "available_bytes", lambda: None)
    assert why_too_large("wd", RECIPES["wd"], 4) is None
    said = why_too_large("wd", RECIPES["wd"], 5)
    assert "at most 4,294,967,294 of each, because indexes have 32 bits; --scale 4.2 fits" in said
    monkeypatch.setattr(graph_limits, "available_bytes", lambda: 0)
    assert why_too_large("wd", RECIPES["wd"], 1).endswith("0.0 GiB are free.")


def test_a_run_without_a_graph_that_fits_is_refused_before_the_device_opens(monkeypatch, tmp_path):
    monkeypatch.setattr(graph_limits, "available_bytes", lambda: 10**9)
    monkeypatch.delattr(strategies, "DeviceContext")
    with pytest.raises(ConfigurationError, match="wd with 97,000,000 nodes"):
        run_strategies(StrategiesOptions("wd", 1.0, folder=str(tmp_path)), SilentProgress())


def invoked(*arguments):
    return CliRunner().invoke(app, ["strategies", *arguments])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--scale", "0"], "--scale is 0; it must be above 0"),
        (["--scale", "nan"], "--scale is nan"),
        (["--graph", "nowhere"], "--graph is 'nowhere'"),
        (["--strategy", "nothing"], "--strategy is 'nothing'; there are: extend"),
        (["--sweep", "colours"], "--sweep is 'colours'"),
        (["--out", __file__], "cannot be made a folder"),
        (["--timeout", "0"], "timeout"),
    ],
)
def test_bad_options_are_refused_in_one_sentence(arguments, said):
    result = invoked(*arguments)
    assert result.exit_code == 2, result.output
    assert said in result.output
    assert "Traceback" not in result.output


def test_a_folder_that_cannot_be_written_is_refused_at_the_start(monkeypatch, tmp_path):
    def refused(**given):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(report, "TemporaryFile", refused)
    result = invoked("--out", str(tmp_path))
    assert result.exit_code == 2
    assert "cannot be written to: Permission denied." in result.output


# ------------------------------------------------------------------ runs
@pytest.mark.slow
@pytest.mark.device
def test_a_sweep_has_a_table_of_values_by_strategies(tmp_path):
    result = invoked(
        *("--graph", "stwig", "--scale", "0.01", "--sweep", "labels=4,8", "--per-size", "1"),
        *("--repetitions", "1", "--forms", "count", "--strategy", "extend", "--strategy", "gsi"),
        *("--timeout", "60", "--out", str(tmp_path)),
    )
    assert result.exit_code == 0, result.output
    head = "| labels, count | nodes | relationships | extend, mean ms | gsi, mean ms |"
    assert head in result.stdout
    assert "| 4 | 160 |" in result.stdout
    assert "| 8 | 160 |" in result.stdout
    assert "STwig join, section 5.3" in result.output
    assert "Measured here on " in result.output
    assert "extend is the fastest at labels" in result.output
    found = json.loads((tmp_path / "strategies.json").read_text(encoding="utf-8"))
    assert {run["value"] for run in found["runs"]} == {4, 8}
    assert [each["value"] for each in found["graphs"]] == [4, 8]


def outcome_of(folder, sweep):
    """The outcome of one query with `extend` on each graph of a sweep."""
    options = StrategiesOptions(
        "stwig",
        count=1,
        forms=("count",),
        only=("extend",),
        repetitions=1,
        folder=str(folder),
        sweep=sweep,
    )
    return run_strategies(options, SilentProgress())


@pytest.mark.device
def test_a_sweep_goes_on_without_the_graphs_that_do_not_fit(tmp_path):
    outcome = outcome_of(tmp_path, "nodes=160,9000000000")
    assert "| 9,000,000,000 |  |  | - |" in outcome.table
    assert any("nodes 9,000,000,000: stwig with 9,000," in note for note in outcome.notes)
    assert "| 160 | 160 |" in (tmp_path / "strategies.md").read_text(encoding="utf-8")


@pytest.mark.device
def test_a_sweep_ended_by_hand_reports_the_graphs_before(tmp_path, monkeypatch):
    def interrupted(*given):
        if given[1] > 0.015:
            raise KeyboardInterrupt
        return make_recipe(*given)

    monkeypatch.setattr(strategies, "make_recipe", interrupted)
    outcome = outcome_of(tmp_path, "nodes=160,320,480")
    assert "nodes 320: Ended by hand while it was drawn." in outcome.notes
    assert "| 480 |" not in (tmp_path / "strategies.md").read_text(encoding="utf-8")
    assert "| 160 | 160 |" in outcome.table


@pytest.mark.slow
@pytest.mark.device
def test_a_graph_too_small_for_queries_and_one_without_memory_are_reported(tmp_path, monkeypatch):
    options = StrategiesOptions("enron", 1e-4, 1, folder=str(tmp_path), sweep="query-nodes=25")
    said = "query-nodes 25: No random walk reached enough nodes"
    assert any(note.startswith(said) for note in run_strategies(options, SilentProgress()).notes)

    def without_memory(*given):
        raise MemoryError

    monkeypatch.setattr(strategies, "make_recipe", without_memory)
    outcome = run_strategies(options, SilentProgress())
    assert any("host's memory did not suffice" in note for note in outcome.notes)


@pytest.mark.device
def test_a_declined_pattern_is_told_instead_of_a_time(monkeypatch, tmp_path):
    from gpugda_strategies.gsi.strategy import GsiStrategy

    monkeypatch.setattr(GsiStrategy, "can_match", classmethod(lambda *_: "it is too blue"))
    options = StrategiesOptions(
        "stwig", 0.01, 1, ("count",), ("extend", "gsi"), repetitions=1, folder=str(tmp_path)
    )
    outcome = run_strategies(options, SilentProgress())
    runs = json.loads((tmp_path / "strategies.json").read_text(encoding="utf-8"))["runs"]
    assert {run["outcome"] for run in runs} == {"ok", "it is too blue"}
    assert "| count | gsi | 0 of 1 |" in outcome.table


def test_losses_are_told_as_well_as_wins():
    options = StrategiesOptions("stwig", 1.0, forms=("count",), sweep="labels=4,8")
    four, eight = points_of(options.graph, options.scale, options.sweep)
    runs = [Timed(0, "count", "extend", "ok", 1.0, 1), Timed(0, "count", "stwig", "ok", 3.0, 1)]
    slower = [Timed(0, "count", "extend", "ok", 2.0, 1), Timed(0, "count", "stwig", "ok", 1.0, 1)]
    measured = [
        Measured(point, nodes=9, relationships=9, patterns=["a"], runs=some)
        for point, some in ((four, runs), (eight, slower))
    ]
    notes = report_of(options, measured, ["extend", "stwig"], "a device").notes
    assert (
        "count: extend is the fastest at labels 4 (3 times as fast as stwig); "
        "slower than another at 8 (stwig is 2 times as fast)." in notes
    )
    assert "count, times from labels 4 to 8: extend 2 times, stwig 0.333 times." in notes
