"""The model of seconds on many places: it divides as Exchange does, and its fit finds costs."""

import heapq
import json
from dataclasses import asdict

import numpy as np
import pytest
from typer.testing import CliRunner

from gpugda.match.exchange import by_work
from lab.__main__ import app
from lab.scale_model import Costs, Degrees, balance, fitted, loaded_lines, model_table
from lab.scale_table import Line


def test_degrees_are_those_of_all_relationships():
    degrees = Degrees.of_rmat(1e12)
    assert degrees.work(1) == pytest.approx(2e12, rel=1e-6)
    assert degrees.counts.sum() == 2**36
    assert (np.diff(degrees.degrees) < 0).all()


def test_equal_seeds_divide_evenly():
    equal = Degrees(np.array([16.0]), np.array([1e9]))
    for power in (1.0, 2.0):
        found = balance(equal, 100, power)
        assert found.tasks == 800
        assert found.longest == pytest.approx(1, rel=1e-6)


def test_a_hub_is_one_task():
    degrees = Degrees(np.array([1e6, 1.0]), np.array([1.0, 1e6]))
    found = balance(degrees, 10, 1.0)
    assert found.largest == pytest.approx(10 / 2, rel=0.5)
    assert found.longest >= found.largest


@pytest.mark.parametrize("power", [1.0, 1.5])
@pytest.mark.parametrize("places", [2, 4, 16])
def test_the_model_divides_as_exchange_does(power, places):
    degrees = Degrees.of_rmat(2**21)
    each = np.repeat(degrees.degrees, degrees.counts.astype(np.int64)).astype(np.int64)
    longest = []
    for seed in range(5):
        drawn = np.random.default_rng(seed).permutation(each)
        parts = by_work(np.arange(len(drawn)), drawn + 1, 8 * places)
        busy = [0.0] * places
        for part in parts:
            heapq.heapreplace(busy, busy[0] + float((drawn[part].astype(float) ** power).sum()))
        longest.append(max(busy) * places / sum(busy))
    modelled = [balance(degrees, places, power, seed).longest for seed in range(5)]
    assert np.mean(modelled) == pytest.approx(np.mean(longest), rel=0.15)


def test_the_fit_finds_the_costs():
    costs, lines = Costs(0.01, 0.004, 2e-9), []
    for tasks, places, moved in ((4, 2, 32), (16, 2, 10**7), (32, 4, 10**8), (8, 4, 64)):
        seconds = costs.seconds(0.5, tasks, places, moved)
        lines.append(Line("squares", places, seconds, tasks, (0.25, 0.5), moved, 7))
    found = fitted(lines)
    assert found.fixed == pytest.approx(costs.fixed)
    assert found.task == pytest.approx(costs.task)
    assert found.byte == pytest.approx(costs.byte)
    assert fitted([]) == Costs()


def test_costs_are_not_negative():
    lines = [Line("squares", 2, 0.4, tasks, (0.5,), 8, 7) for tasks in (4, 16)]
    assert fitted(lines) == Costs(0.0, 0.0, 0.0)


def test_more_places_are_not_slower():
    table = model_table(Costs(), 1.0, [1e9], [1, 10, 100])
    seconds = [float(row.split("|")[3].replace(",", "")) for row in table.splitlines()[2:]]
    assert seconds == sorted(seconds, reverse=True)


def test_the_command_reads_what_the_table_wrote(tmp_path):
    file = tmp_path / "lines.json"
    line = Line("squares", 2, 0.6, 16, (0.5, 0.5), 128, 7)
    file.write_text(json.dumps({"lines": [asdict(line)]}))
    assert loaded_lines(file) == [line]
    ran = CliRunner().invoke(app, ["scale-model", "--fit", str(file), "--power", "1.5"])
    assert ran.exit_code == 0, ran.output
    assert "| 1e+12 | 1,000 |" in ran.output
