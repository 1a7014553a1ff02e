"""Measuring, on fake engines with a given behaviour."""

from dataclasses import astuple, replace
from types import SimpleNamespace

import pytest

from gpugda.bench.benchmark import measured_again
from gpugda.bench.cases import Case
from gpugda.bench.findings import case_times, find
from gpugda.bench.measuring import NEW, REPEATED, Pace, measure
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.ports import SilentProgress

PACE = Pace("native", ("native", "gpu", "auto"), 2, 3, 2, 30.0, 10, 1, False, 1)


class FakeEngines:
    """Every engine answers 7, unless `behaviour` is given."""

    def __init__(self, behaviour=None):
        self.behaviour = behaviour or (lambda text, engine: [[7]])
        self.asked = []

    def run(self, text, parameters=None, *, engine, timeout=None):
        self.asked.append((text, engine))
        rows = self.behaviour(text, engine)
        summary = SimpleNamespace(engine=engine, reason="told", timings={"total": 0.001})
        return SimpleNamespace(values=lambda: rows, summary=summary)

    def explain(self, text):
        lines = ("planner cost (asked): gpu, it is faster", "planner density: native, sparse")
        return SimpleNamespace(route=lines)


def a_case(name="q", **settings):
    return Case(name, "dense", 2, 2, "count", ("MATCH (n", ") RETURN count(*)"), **settings)


def measured(engines, cases=None, pace=PACE):
    return measure(engines, cases or [a_case()], pace, SilentProgress())


def test_every_engine_runs_as_often_as_asked():
    found = measured(FakeEngines(), [a_case("p"), a_case("q")])
    assert found.finished
    for case in "pq":
        for engine in PACE.engines:
            mine = [run for run in found.runs if (run.case, run.engine) == (case, engine)]
            assert sorted(run.repetition for run in mine if run.phase == NEW) == [1, 2]
            assert sorted(run.repetition for run in mine if run.phase == REPEATED) == [1, 2, 3]
            assert {run.outcome for run in mine} == {"ok"}
    assert found.answers == {"p": 7, "q": 7}


def test_new_texts_differ_for_each_engine_and_repeated_texts_do_not():
    engines = FakeEngines()
    measured(engines)
    texts = [text for text, _ in engines.asked]
    once = {text for text in texts if texts.count(text) == 1}
    assert len({(text, engine) for text, engine in engines.asked if text in once}) == 6 + 3
    by_engine = {(text, engine) for text, engine in engines.asked if texts.count(text) == 5}
    assert sorted(engine for _, engine in by_engine) == ["auto", "gpu", "native"]


def test_two_benchmarks_share_no_text():
    # A server keeps its plans longer than a benchmark lasts.
    first, second = FakeEngines(), FakeEngines()
    for engines in (first, second):
        pace = replace(PACE, mark=Pace(*astuple(PACE)[:-1]).mark)
        measured(engines, pace=pace)
    assert not {text for text, _ in first.asked} & {text for text, _ in second.asked}


@pytest.mark.parametrize("engine", ["gpu", "auto"])
def test_a_wrong_count_is_found(engine):
    found = measured(FakeEngines(lambda text, asked: [[8 if asked == engine else 7]]))
    (mismatch,) = found.mismatches
    assert (mismatch.engine, mismatch.case.name) == (engine, "q")
    assert "MATCH (n" in mismatch.text


def test_a_single_wrong_count_is_found():
    asked = []

    def behaviour(text, engine):
        asked.append(engine)
        return [[9 if engine == "gpu" and asked.count("gpu") == 7 else 7]]

    assert len(measured(FakeEngines(behaviour)).mismatches) == 1


def test_a_timeout_gives_a_lower_bound():
    def behaviour(text, engine):
        if engine == "native":
            raise QueryTimeoutError("too long")
        return [[7]]

    found = measured(FakeEngines(behaviour))
    native = [run for run in found.runs if run.engine == "native"]
    assert [(run.phase, run.outcome) for run in native] == [
        (NEW, "timeout"),
        (REPEATED, "timeout"),
    ]
    assert found.compared_by == {}
    assert found.answers == {"q": 7}
    for each in case_times([a_case()], found.runs):
        assert each.bound("native", "gpu") == ">="


def test_an_error_is_recorded():
    def behaviour(text, engine):
        if engine == "gpu":
            raise MemoryLimitError("does not fit\nmore")
        return [[7]]

    found = measured(FakeEngines(behaviour))
    notes = {run.note for run in found.runs if run.engine == "gpu"}
    assert "MemoryLimitError: does not fit" in notes
    groups = find([a_case()], found, "native", 1.0).groups
    assert [group.without for group in groups] == [1, 1]
    assert all(group.times["gpu"].count == 0 for group in groups)


def test_cancelling_keeps_the_measurements_so_far():
    asked = []

    def behaviour(text, engine):
        asked.append(text)
        if len(asked) == 9:
            raise KeyboardInterrupt
        return [[7]]

    found = measured(FakeEngines(behaviour))
    assert not found.finished
    assert 0 < len(found.runs) < 15
    assert find([a_case()], found, "native", 1.0).cases  # also with an engine that never ran


def test_an_engine_without_runs_is_left_out():
    found = measured(FakeEngines())
    found.runs = [run for run in found.runs if run.engine != "auto" or run.case == "p"]
    cases = [a_case("q"), a_case("p")]
    found.runs += measured(FakeEngines(), cases[1:]).runs
    groups = find(cases, found, "native", 1.0).groups
    assert {group.times["auto"].count for group in groups} == {1}


def test_query_caches_are_cleared_if_texts_differ_by_a_comment_only():
    engines = FakeEngines()
    assert measured(engines, [a_case(renames=False)]).cleared == 2
    assert ("CALL db.clearQueryCaches()", "native") in engines.asked
    engines = FakeEngines()
    assert measured(engines).cleared == 0


def test_query_caches_that_cannot_be_cleared_are_noted():
    def behaviour(text, engine):
        if text.startswith("CALL"):
            raise ValueError("no right")
        return [[7]]

    found = measured(FakeEngines(behaviour), [a_case(renames=False)])
    assert found.cleared is None
    assert found.finished


def test_both_routing_rules_give_a_verdict():
    found = measured(FakeEngines())
    expected = {"cost": "gpu", "density": "native"}
    assert found.verdicts == {(NEW, "q"): expected, (REPEATED, "q"): expected}


class SlowAuto(FakeEngines):
    """Each query takes 0.1 s on a fake clock, and one second more on `auto` if its case is late."""

    def __init__(self, monkeypatch):
        super().__init__(self.answered)
        self.late, self.wrong, self.seconds = {"q"}, set(), 0.0
        clock = SimpleNamespace(perf_counter=lambda: self.seconds)
        monkeypatch.setattr("gpugda.bench.measuring.time", clock)

    def answered(self, text, engine):
        name = text[-1]
        self.seconds += 1.1 if engine == "auto" and name in self.late else 0.1
        return [[8 if engine == "gpu" and name in self.wrong else 7]]


@pytest.mark.parametrize("late_again", [False, True])
def test_late_cases_are_measured_again_with_new_texts(monkeypatch, late_again):
    """Only late cases are measured again, and no engine has seen their texts."""
    engines = SlowAuto(monkeypatch)
    cases = [
        Case(name, "dense", 2, 2, "count", ("MATCH (n", f") RETURN count(*) AS {name}"))
        for name in "pq"
    ]
    found = measured(engines, cases)
    first = {text for text, _ in engines.asked}
    engines.asked.clear()
    engines.late = {"p", "q"} if late_again else set()
    again = measured_again(engines, cases, found, PACE, SilentProgress())
    asked = {text for text, _ in engines.asked}
    assert asked
    assert {text[-1] for text in asked} == {"q"}
    assert first.isdisjoint(asked)
    assert len([run for run in again.runs if run.phase == NEW]) == 3 * PACE.repetitions
    promises = find(cases, found, "native", 1.0, again).promises
    assert [each.broken for each in promises] == [("q",), ("q",)]
    assert {each.again for each in promises} == {("q",) if late_again else ()}
    assert not found.mismatches


def test_a_wrong_answer_of_the_second_measurement_counts(monkeypatch):
    engines = SlowAuto(monkeypatch)
    case = Case("q", "dense", 2, 2, "count", ("MATCH (n", ") RETURN count(*) AS q"))
    found = measured(engines, [case])
    engines.wrong = {"q"}
    measured_again(engines, [case], found, PACE, SilentProgress())
    assert [each.engine for each in found.mismatches] == ["gpu"] * len(found.mismatches) != []


def test_nothing_is_measured_again_if_no_case_was_late():
    engines = FakeEngines()
    found = measured(engines)
    engines.asked.clear()
    assert measured_again(engines, [a_case()], found, PACE, SilentProgress()) is None
    assert not engines.asked


def test_without_new_texts_the_first_runs_of_a_text_are_its_first():
    engines = FakeEngines()
    found = measured(engines, [a_case("p"), a_case("q")], replace(PACE, new_texts=0, warm_up=0))
    for case in "pq":
        numbers = [run.repetition for run in found.runs if run.case == case]
        assert numbers == sorted(numbers)
    assert {run.phase for run in found.runs} == {REPEATED}
    halves = [{run.case for run in part} for part in (found.runs[:9], found.runs[9:])]
    assert all(len(names) == 1 for names in halves)
