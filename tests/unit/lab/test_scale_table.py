"""The table of queries on several devices: its answers, its figures, and its refusals."""

import json

import pytest
from divided_runs import two_devices
from typer.testing import CliRunner

from gpugda.errors import ConfigurationError
from lab import scale_table as scale_tables
from lab.__main__ import app
from lab.scale_table import (
    QUERIES,
    Line,
    ScaleOptions,
    ScaleOutcome,
    ScaleQuery,
    run_scale,
    scale_table,
)

TINY = {"scale": 9, "cycle_scale": 7, "degree": 4, "walks": 0.005, "repetitions": 1}


@pytest.mark.slow
@pytest.mark.device
def test_both_devices_answer_the_same(tmp_path):
    file, both = tmp_path / "lines.json", ",".join(two_devices())
    sizes = ["--scale", "9", "--cycle-scale", "7", "--degree", "4", "--walks", "0.005"]
    how = ["--devices", both, "--repetitions", "1", "--out", str(file)]
    ran = CliRunner().invoke(app, ["scale-table", *how, *sizes], catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    lines = json.loads(file.read_text())["lines"]
    assert {(each["query"], each["devices"]) for each in lines} == {
        (name, count) for name in QUERIES for count in (1, 2)
    }
    divided = [each for each in lines if each["tasks"]]
    assert {each["query"] for each in divided} >= {
        "labelled squares",
        "rows to Arrow",
        "groups by node",
    }
    assert all(each["devices"] == 2 and each["moved"] and each["places"] for each in divided)
    for name in QUERIES:
        assert f"| {name} | 2 |" in ran.output


@pytest.mark.device
def test_other_answers_are_told(monkeypatch):
    answers = iter(range(100))
    wrong = ScaleQuery("rmat", "MATCH (a:L0)-->(b) RETURN count(*) AS n", is_table=True)
    monkeypatch.setitem(QUERIES, "squares", wrong)
    monkeypatch.setattr(scale_tables, "_digest", lambda _: next(answers))
    outcome = run_scale(ScaleOptions(two_devices(), [1, 2], **TINY, only=["squares"]), print)
    assert [each.split(":")[0] for each in outcome.wrong] == ["squares on 2"]


def test_the_table_compares_with_the_first_number_of_devices():
    outcome = ScaleOutcome(
        [
            Line("squares", 4, 0.5, 16, (0.25, 0.375), 4_000, 7),
            Line("squares", 1, 2.0, 0, (), 0, 7),
            Line("pentagons", 1, 0.01, 0, (), 0, 7),
            Line("pentagons", 4, 0.02, 8, (0.01,), 80, 7),
        ],
        {"R-MAT 9, 4": 1.0},
    )
    table = scale_table(outcome)
    assert "| squares | 4 | 0.500 | 4.00 | 16 | 0.375 s | 0.312 s | 4,000 |" in table
    assert "4 devices, 1 divided queries of 0.1 s or more: 4.00 times as fast" in table
    assert "opened R-MAT 9, 4: 1.0 s" in table


@pytest.mark.parametrize(
    "asked",
    [{"counts": [1, 3]}, {"counts": []}, {"counts": [0]}, {"counts": [1], "only": ["hexagons"]}],
)
def test_what_cannot_be_measured_is_refused(asked):
    with pytest.raises(ConfigurationError):
        run_scale(ScaleOptions([0, 1], **asked), print)
