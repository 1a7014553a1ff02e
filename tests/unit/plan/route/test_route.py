"""Choice of the engine by cost."""

from dataclasses import replace

import pytest
from graphs import make_graph

from gpugda.execute.pipeline import plan_of
from gpugda.plan.cost import CPU_DEVICE, LOCAL_SERVER, Work
from gpugda.plan.route.cost import (
    device_seconds,
    judge_by_cost,
    native_seconds,
)
from gpugda.plan.route.density import judge_by_density
from gpugda.plan.route.history import Expected, History, Observed, Pace
from gpugda.plan.route.route import RouteInput, route_text
from gpugda.query.prepare import prepare

GRAPH = make_graph(
    [("A", {"x": i}) for i in range(30)],
    [(i, "R", (i * 7 + j) % 30, {}) for i in range(30) for j in range(4)],
)


def question(text, device=CPU_DEVICE, server=LOCAL_SERVER, *, values=None, **changes):
    plan = plan_of(prepare(text), GRAPH, "extend")
    return RouteInput(plan.physical(device, server, values or {}), plan.shape, **changes)


PATH = "MATCH (a)-->(b)-->(c) RETURN count(*)"
DENSE = (
    "MATCH (a)-->(b)-->(c)-->(d)-->(a), (a)-->(c), (b)-->(d), (c)-->(a), (d)-->(b) RETURN count(*)"
)


def test_a_new_dense_query_goes_to_the_device():
    verdict = judge_by_cost(question(DENSE))
    assert verdict.engine == "gpu"
    assert verdict.native_seconds > 0.05  # includes its planning
    assert "ms" in verdict.reason


def test_measured_times_override_estimates():
    fast_there = Observed(device=0.5, native=0.003, planned=True)
    assert judge_by_cost(question(DENSE, observed=fast_there)).engine == "native"
    fast_here = Observed(device=0.003, native=0.5, planned=True)
    assert judge_by_cost(question(DENSE, observed=fast_here)).engine == "gpu"


def test_a_repeated_query_costs_no_planning():
    new = native_seconds(question(DENSE))
    again = native_seconds(question(DENSE, observed=Observed(native_first=new, planned=True)))
    assert again < new / 10


def measured_at(times, **observed):
    """The numbers of runs on an engine before the one after which the other is measured."""
    found = []
    for runs in times:
        both = {name: runs for name in ("device_runs", "native_runs") if name not in observed}
        verdict = judge_by_cost(question(PATH, observed=Observed(**both, **observed)))
        assert verdict.measure != verdict.engine
        if verdict.measure is not None:
            found.append(runs)
    return found


def test_no_query_waits_for_an_engine_that_is_only_to_be_measured():
    slow_here = Observed(device=0.02, device_runs=1023)
    verdict = judge_by_cost(question(DENSE, observed=slow_here))
    assert (verdict.engine, verdict.measure) == ("gpu", "native")
    slow_there = Observed(native=0.02, native_runs=1022, planned=True, device=0.019)
    assert judge_by_cost(question(PATH, observed=slow_there)).engine == "native"


def test_the_database_is_measured_only_if_it_can_help():
    assert judge_by_cost(question(DENSE, observed=Observed(device=0.02))).measure == "native"
    again = Observed(device=0.02, device_runs=3)
    assert judge_by_cost(question(DENSE, observed=again)).measure == "native"
    assert judge_by_cost(question(DENSE, observed=replace(again, device_runs=4))).measure is None
    fast = replace(again, device=0.001)
    assert judge_by_cost(question(DENSE, observed=fast)).measure is None
    slow = replace(LOCAL_SERVER, planning_seconds=1.0)
    assert judge_by_cost(question(DENSE, server=slow, observed=again)).measure is None
    slow = replace(LOCAL_SERVER, expansions_per_second=1.0)
    assert judge_by_cost(question(DENSE, server=slow, observed=again)).measure is None


def test_a_text_of_a_kind_that_is_asked_once_has_to_recur():
    new = Observed(device_first=0.05, recurs=False, pace=Pace(device=50))
    assert judge_by_cost(question(DENSE, observed=new)).measure is None
    assert judge_by_cost(question(DENSE, observed=replace(new, recurs=True))).measure == "native"
    again = replace(new, device_runs=1)
    assert judge_by_cost(question(DENSE, observed=again)).measure == "native"


def test_texts_recur_if_a_quarter_of_the_recent_ones_was_asked_again():
    history, expected = History(), Expected(device=1, first=1, native=1, planning=1)
    for number in range(15):
        history.expect(f"q{number}", expected)
        assert history.observed("new").recurs, "too few to tell"
    history.expect("q15", expected)
    assert not history.observed("new").recurs
    assert not history.observed("q15").recurs
    for number in range(4):
        assert not history.observed("new").recurs
        history.expect(f"q{number}", expected)
    assert history.observed("new").recurs


def test_the_device_is_measured_if_it_may_pay():
    slow_there = Observed(native=0.05, planned=True, native_runs=2)
    cold = question(PATH, observed=slow_there, once=0.25)
    assert (judge_by_cost(cold).engine, judge_by_cost(cold).measure) == ("native", "gpu")
    fast_there = replace(cold, observed=replace(slow_there, native=0.002))
    assert judge_by_cost(fast_there).measure is None
    assert judge_by_cost(replace(cold, once=9.0)).measure is None


def test_the_databases_estimate_may_be_five_times_too_high():
    server = replace(LOCAL_SERVER, expansions_per_second=1e4)
    native = question(PATH, server=server).physical.native_seconds
    for share, wanted in ((0.9, "native"), (0.3, "native"), (0.1, None)):
        observed = Observed(device=share * native, device_runs=3)
        assert judge_by_cost(question(PATH, server=server, observed=observed)).measure == wanted


def test_a_first_run_that_was_far_too_slow_is_not_trusted_a_second_time():
    usual = native_seconds(question(DENSE))  # including planning
    slow = Observed(device=0.03, device_runs=7, native_first=10 * usual, planned=True)
    assert judge_by_cost(question(DENSE, observed=slow)).engine == "gpu"
    assert native_seconds(question(DENSE, observed=slow)) > 5 * usual
    usual_first = replace(slow, native_first=2 * usual)
    assert judge_by_cost(question(DENSE, observed=usual_first)).engine == "native"
    # The server may have been cold: this is measured in the background.
    assert judge_by_cost(question(DENSE, observed=slow)).measure == "native"
    known = replace(slow, native=0.003)
    assert judge_by_cost(question(DENSE, observed=known)).engine == "native"


def test_the_second_run_stays_with_the_database_after_a_slow_first_one():
    """Planning, compiling and reading pages take most of a first run there."""
    estimated = question(PATH).physical.native_seconds
    first = Observed(native_first=100 * estimated, planned=True)
    assert native_seconds(question(PATH, observed=first)) == estimated
    slow = replace(CPU_DEVICE, query_seconds=2 * estimated)
    assert judge_by_cost(question(PATH, slow, observed=first)).engine == "native"
    far_too_slow = replace(first, native_first=5.0)
    assert judge_by_cost(question(PATH, slow, observed=far_too_slow)).engine == "gpu"


def test_a_slow_device_run_has_a_time_limit():
    verdict = judge_by_cost(question(PATH, observed=Observed(native=0.2, planned=True)))
    assert 0.2 < verdict.give_up_after < 2


def test_the_device_joins_a_database_that_is_far_later_than_expected():
    assert judge_by_cost(question(PATH)).join_after == 0.25
    slow_there = replace(LOCAL_SERVER, planning_seconds=1.0)
    soon = judge_by_cost(question(PATH, server=slow_there, once=2.0))
    assert soon.join_after == soon.device_seconds > 2.0
    late = judge_by_cost(question(PATH, server=slow_there, once=100.0))
    assert late.join_after == pytest.approx(5 * late.native_seconds)
    known = Observed(native=0.4, planned=True)
    assert judge_by_cost(question(PATH, observed=known, once=9.0)).join_after == pytest.approx(1.2)
    assert judge_by_density(question(PATH)).join_after is None


def test_the_engine_that_answered_first_is_asked_next():
    history = History()
    history.add_native_given_up("q", 0.3)
    observed = history.observed("q")
    verdict = judge_by_cost(question(PATH, observed=observed))
    assert (verdict.engine, verdict.native_seconds) == ("gpu", 0.3)
    assert "the database takes at least 300 ms" in verdict.reason
    # Whether it is faster the next time is found out in the background, but seldom.
    assert measured_at(range(20), device=0.05, native_given_up=0.3) == [3, 7, 15]
    history.add_native("q", 0.002)
    history.add_native("q", 0.001)
    assert native_seconds(question(PATH, observed=history.observed("q"))) == 0.001


def test_a_run_that_was_given_up_is_not_paid_again():
    history = History()
    history.add_device("q", 0.01)
    history.add_given_up("q", 0.25)
    for _ in range(3):
        history.add_native("q", 2.0)
        assert judge_by_cost(question(PATH, observed=history.observed("q"))).engine == "native"
    given_up = {"device": 0.01, "native": 0.2, "given_up": 0.25, "planned": True}
    assert measured_at(range(20), **given_up) == [2, 6, 14]
    assert measured_at(range(40), **{**given_up, "given_up": 2.5}) == [14, 30]
    history.add_device("q", 0.01)
    assert history.observed("q").given_up is None
    assert judge_by_cost(question(PATH, observed=history.observed("q"))).engine == "gpu"


def test_more_work_never_costs_less():
    base = question("MATCH (a)-->(b) RETURN a.x, b.x")
    root = base.physical.root
    for term in Work._fields:
        more = replace(root, work=root.work._replace(**{term: 1e6}))
        changed = replace(base, physical=replace(base.physical, root=more))
        assert device_seconds(changed) >= device_seconds(base)
        assert native_seconds(changed) >= native_seconds(base)
    more = replace(base, physical=replace(base.physical, root=replace(root, rows=1e6)))
    assert device_seconds(more) > device_seconds(base)
    assert native_seconds(more) > native_seconds(base)


def test_the_probe_costs_nothing_beside_a_longer_query():
    def seconds(probe, work):
        server = replace(LOCAL_SERVER, round_trip_seconds=probe)
        device = replace(CPU_DEVICE, query_seconds=work, prepare_seconds=1e-9)
        return device_seconds(question(PATH, device, server))

    assert seconds(0.001, 0.05) == seconds(0.04, 0.05)
    assert seconds(0.04, 0.001) == pytest.approx(0.04)
    assert seconds(0.04, 0.001) < seconds(0.05, 0.001)


def test_a_limit_lowers_both_costs():
    text = "MATCH (a)-->(b), (c)-->(d), (e)-->(f) RETURN a.x"
    for limited in (question(text + " LIMIT 1"), question(text + " LIMIT $n", values={"n": 1})):
        assert device_seconds(limited) < device_seconds(question(text)) / 10
        assert native_seconds(limited) < native_seconds(question(text)) / 10


@pytest.mark.parametrize(
    ("text", "relationships", "engine"),
    [
        (DENSE, 10**7, "gpu"),
        (PATH, 10**7, "native"),
        (PATH, 1000, "gpu"),
        ("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)", 10**7, "gpu"),
        ("MATCH (a)-->(b)-->(c)-->(d)-->(e)-->(f)-->(a) RETURN count(*)", 10**7, "native"),
        ("MATCH (a:A) RETURN count(*)", 10**7, "native"),
    ],
)
def test_the_density_rule_decides_by_density(text, relationships, engine):
    asked = question(text, relationship_count=relationships)
    verdict = judge_by_density(asked)
    assert verdict.engine == engine
    assert verdict.device_seconds == device_seconds(asked)


def test_both_rules_are_shown_with_the_chosen_one_first():
    asked = question(PATH)
    lines = route_text([judge_by_cost(asked), judge_by_density(asked)], "density")
    assert lines[0].startswith("planner density (asked): ")
    assert lines[1].startswith("planner cost: ")


# ------------------------------------------------------------------ history
def test_the_first_native_run_includes_planning():
    history = History()
    history.add_native("q", 1.0)
    assert history.observed("q") == Observed(native_first=1.0, planned=True)
    history.add_native("q", 0.01)
    assert history.observed("q").native == 0.01


def test_runs_of_unknown_time_are_counted():
    history = History()
    history.add_native("q", None)
    assert history.observed("q") == Observed(planned=True)
    history.add_native("q", None)
    assert history.observed("q") == Observed(planned=True, native_runs=1)
    history.add_native("q", 0.01)
    assert history.observed("q") == Observed(planned=True, native=0.01, native_runs=2)


def test_the_recorded_time_ignores_cold_starts_and_outliers():
    history = History()
    history.add_device("q", 3.0)
    assert history.observed("q") == Observed(device_first=3.0, device_runs=1)
    for seconds, typical in ((0.01, 0.01), (0.02, 0.01), (0.5, 0.02), (0.011, 0.011)):
        history.add_device("q", seconds)
        assert history.observed("q").device == typical
    for _ in range(3):
        history.add_device("q", 0.5)  # the graph has grown
    assert history.observed("q").device == 0.5
    assert history.observed("q").device_runs == 8


def test_a_first_run_on_the_device_bounds_the_later_ones():
    cold = Observed(device_first=0.03, device_runs=1, native=0.0001, planned=True)
    slow = replace(CPU_DEVICE, query_seconds=0.05)
    assert judge_by_cost(question(PATH, slow, observed=cold)).engine == "native"
    assert device_seconds(question(PATH, slow, observed=replace(cold, device_first=0.01))) == 0.01
    assert device_seconds(question(PATH, observed=replace(cold, device_first=8.0))) == 1.0


def test_the_device_has_to_be_clearly_faster_once_the_database_is_known():
    close = Observed(device=0.0028, native=0.003, planned=True, device_runs=6, native_runs=6)
    assert judge_by_cost(question(PATH, observed=close)).engine == "native"
    assert judge_by_cost(question(PATH, observed=replace(close, device=0.0025))).engine == "gpu"


def test_the_slower_engine_is_measured_again_at_growing_intervals():
    there = {"native": 0.0018, "planned": True}
    assert measured_at(range(70), device=0.0028, **there) == [2, 6, 14, 30, 62]
    assert measured_at(range(70), device=0.1, **there) == [14, 30, 62]
    assert measured_at(range(70), device=0.001, **there) == [3, 7, 15, 31, 63]
    assert measured_at(range(70), device=0.0001, **there) == [15, 31, 63]


def test_opening_the_device_counts_as_a_cost():
    known = Observed(device=0.001, native=0.1, planned=True)
    assert judge_by_cost(question(PATH, observed=known)).engine == "gpu"
    closed = question(PATH, observed=known, once=0.25)
    assert judge_by_cost(closed).engine == "native"
    slow = replace(closed, observed=replace(known, native=1.0))
    assert judge_by_cost(slow).engine == "gpu"


def test_known_entities_cost_no_round_trip():
    text = "MATCH (a)-->(b) RETURN a, b"
    unknown = device_seconds(question(text))
    known = device_seconds(question(text, entities_known=True))
    assert known < unknown - LOCAL_SERVER.round_trip_seconds / 2


def test_the_history_is_bounded():
    history = History(texts=2)
    for text in "abc":
        history.add_device(text, 1.0)
    assert history.observed("a") == Observed()
    assert history.observed("c").device_first == 1.0


# ------------------------------------------------------------------ pace
def test_the_times_of_other_texts_correct_the_estimates_of_a_new_one():
    history, expected = History(), Expected(device=0.01, first=0.03, native=0.01, planning=0.1)
    assert history.observed("new").pace == Pace()
    for number in range(4):
        text = f"q{number}"
        history.expect(text, expected)
        history.add_native(text, 3.01)  # plans for 3 s
        history.add_native(text, 0.05)
        history.add_native(text, 0.07)  # says nothing new about other texts
        history.add_device(text, 0.08)
        history.add_device(text, 0.02)
    pace = history.observed("new").pace
    assert pace == Pace(device=2.0, first=2.0, native=5.0, planning=pytest.approx(30, rel=0.1))
    asked = question(PATH)
    paced = replace(asked, observed=Observed(pace=pace))
    physical = asked.physical
    assert native_seconds(paced) == pytest.approx(
        5 * physical.native_seconds + pace.planning * physical.planning_seconds
    )
    assert device_seconds(paced) == pytest.approx(2 * device_seconds(asked))
    slow = replace(CPU_DEVICE, query_seconds=2 * native_seconds(asked))
    assert judge_by_cost(question(PATH, slow)).engine == "native"
    assert judge_by_cost(question(PATH, slow, observed=Observed(pace=pace))).engine == "gpu"


def test_a_first_run_of_the_database_tells_about_its_larger_part():
    history = History()
    for number in range(4):
        history.expect(f"q{number}", Expected(device=1, first=1, native=10.0, planning=0.1))
        history.add_native(f"q{number}", 4.1)
    assert history.observed("new").pace == Pace(native=pytest.approx(0.4))


def test_one_text_is_no_rule():
    history = History()
    history.expect("q", Expected(device=0.01, first=0.01, native=0.01, planning=0.01))
    for _ in range(20):
        history.add_device("q", 5.0)
        history.add_native("q", 5.0)
    assert history.observed("new").pace == Pace()
    history.add_device("never expected", 1.0)
    history.add_native("never expected", 1.0)
    assert history.observed("new").pace == Pace()


def test_ratios_are_bounded_and_recent():
    history = History()
    for number in range(60):
        text, ratio = f"q{number}", 1e9 if number < 30 else 3.0
        history.expect(text, Expected(device=0.01, first=0.0, native=0.01, planning=0.0))
        history.add_device(text, 0.01 * ratio)
        if number == 29:
            assert history.observed("new").pace.first == 100.0
    assert history.observed("new").pace.first == pytest.approx(3.0)
