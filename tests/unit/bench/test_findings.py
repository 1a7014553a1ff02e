"""Findings compared with values computed by hand."""

import math

import pytest

from gpugda.bench.cases import Case
from gpugda.bench.findings import find
from gpugda.bench.measuring import NEW, Measured, Run


def a_case(name, nodes=2, density="dense"):
    return Case(name, density, nodes, nodes, "count", ("RETURN 1",))


def runs_of(name, **seconds):
    return [
        Run(name, NEW, engine, number, each, "ok", 1)
        for engine, times in seconds.items()
        for number, each in enumerate(times, 1)
    ]


def findings(cases, runs, export=1.0, verdicts=None, again=()):
    measured = Measured(runs=list(runs), verdicts=verdicts or {})
    return find(cases, measured, "native", export, Measured(runs=list(again)) if again else None)


def test_medians_and_ratios():
    (only,) = findings(
        [a_case("q")], runs_of("q", native=[0.4, 0.1, 0.2], gpu=[0.01, 0.02, 0.9])
    ).cases
    assert only.seconds == {"native": 0.2, "gpu": 0.02}
    assert only.ratio("native", "gpu") == pytest.approx(10)
    assert only.ratio("auto", "gpu") is None


def test_findings_are_grouped_by_size():
    cases = [a_case("a"), a_case("b"), a_case("c", nodes=3)]
    runs = [
        *runs_of("a", native=[0.1], gpu=[0.1]),
        *runs_of("b", native=[0.4], gpu=[0.1]),
        *runs_of("c", native=[1.6], gpu=[0.1]),
    ]
    found = findings(cases, runs)
    assert [(group.nodes, group.cases) for group in found.groups] == [(2, 2), (3, 1)]
    assert found.groups[0].speedup.mean == pytest.approx(2.5)
    assert found.groups[0].geometric == pytest.approx(2)
    overall, long = found.overall
    assert long.density == "native >= 20 ms"
    assert long.cases <= overall.cases
    assert overall.geometric == pytest.approx(4)
    assert overall.times["native"].mean == pytest.approx(0.7)


def test_broken_promises_and_break_even():
    cases = [a_case("a"), a_case("b")]
    runs = [
        *runs_of("a", native=[0.1], gpu=[0.02], auto=[0.02]),
        *runs_of("b", native=[0.01], gpu=[0.05], auto=[0.0131]),
    ]
    (promise,) = findings(cases, runs, export=0.2).promises
    assert promise.broken == ("b",)  # 13.1 ms, where 1.1 * 10 + 2 = 13 are allowed
    assert promise.share == 0.5
    assert promise.worst == pytest.approx(1.31)
    assert promise.auto_regret == pytest.approx(0.0331 / 0.03)
    # A query takes 55 ms natively and 35 ms on the device: 0.2 / 0.02.
    assert promise.break_even == pytest.approx(10, abs=1)


def test_findings_name_the_cases_late_in_both_measurements():
    cases = [a_case(name) for name in "abc"]
    runs = [
        *runs_of("a", native=[0.1], gpu=[0.2], auto=[0.2]),
        *runs_of("b", native=[0.1], gpu=[0.2], auto=[0.2]),
        *runs_of("c", native=[0.1], gpu=[0.1], auto=[0.1]),
    ]
    (promise,) = findings(cases, runs).promises
    assert (promise.broken, promise.again) == (("a", "b"), ())
    again = [
        *runs_of("a", native=[0.1], gpu=[0.1], auto=[0.1]),
        *runs_of("b", native=[0.1], gpu=[0.1], auto=[0.3]),
        *runs_of("c", native=[0.1], gpu=[0.1], auto=[0.3]),
    ]
    (promise,) = findings(cases, runs, again=again).promises
    assert (promise.broken, promise.again) == (("a", "b"), ("b",))
    assert promise.worst == pytest.approx(2), "the second measurement must not change the figures"


def test_the_regret_of_each_routing_rule():
    cases = [a_case("a"), a_case("b")]
    runs = [*runs_of("a", native=[0.3], gpu=[0.1]), *runs_of("b", native=[0.1], gpu=[0.2])]
    for case in ("a", "b"):
        runs += runs_of(case, auto=[0.1])
    verdicts = {
        (NEW, "a"): {"cost": "gpu", "density": "native"},
        (NEW, "b"): {"cost": "native", "density": "gpu"},
    }
    (promise,) = findings(cases, runs, verdicts=verdicts).promises
    assert promise.rule_regrets == pytest.approx({"cost": 1.0, "density": 2.5})


def test_a_native_time_out_breaks_no_promise():
    runs = [
        Run("q", NEW, "native", 1, 1.0, "timeout"),
        *runs_of("q", gpu=[1.9], auto=[2.0]),
    ]
    (promise,) = findings([a_case("q")], runs).promises
    assert promise.broken == ()


def test_break_even_is_infinite_if_the_device_is_slower():
    runs = runs_of("q", native=[0.1], gpu=[0.2], auto=[0.1])
    (promise,) = findings([a_case("q")], runs).promises
    assert promise.break_even == math.inf
