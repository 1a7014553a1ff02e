"""Requests for another plan after a run, the choice of the plan, and learned rates."""

import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.plan.bind import bind
from gpugda.plan.join.join_cost import JoinCost
from gpugda.plan.join.join_rates import ExpectedCandidates, Rates
from gpugda.plan.plan_feedback import PlanFeedback
from tests.one_pattern import query_of

GRAPH = make_graph(
    [("A", {})] * 60,
    [(i, "R", (i * 7 + 1) % 60, {}) for i in range(60)]
    + [(i, "S", (i * 11 + 3) % 60, {}) for i in range(60)],
)
KITE = "(a)-[:R]->(b)-[:S]->(c), (a)-[:S]->(c), (c)-[:R]->(d)"


def pattern():
    return bind(query_of(f"MATCH {KITE} RETURN count(*)"), GRAPH)


def judged(feedback, rows, expected, plan, *, work=None, seconds=1.0):
    work = sum(rows) if work is None else work
    return feedback.judge(rows, expected, plan, work=work, seconds=seconds)


def test_a_run_as_estimated_keeps_its_plan():
    feedback = PlanFeedback(100)
    assert judged(feedback, [50, 300], [50, 200], "first") == (None, False)
    assert not feedback.should_judge([10_000])
    assert not feedback.replan_reason


def test_runs_of_few_rows_are_not_judged():
    assert not PlanFeedback(100).should_judge([30, 60])


def test_two_more_plans_are_tried_and_the_one_with_the_fewest_rows_is_kept():
    feedback = PlanFeedback(100)
    assert judged(feedback, [10, 900], [10, 20], "first") == (None, True)
    assert feedback.replan_reason == "planned again: 910 rows, 30 estimated"
    assert judged(feedback, [10, 500], [10, 20], "second") == (None, True)
    assert judged(feedback, [10, 700], [10, 20], "third") == ("second", False)
    assert not feedback.should_judge([10, 500])


def test_a_worse_plan_is_reverted():
    feedback = PlanFeedback(100)
    assert judged(feedback, [10, 900], [10, 20], "first") == (None, True)
    assert feedback.should_judge([1, 2])  # despite few rows: the choice of the plan is still open
    assert judged(feedback, [10, 950], [10, 900], "second") == ("first", False)


def test_a_plan_with_fewer_rows_but_more_time_is_reverted():
    feedback = PlanFeedback(100)
    assert judged(feedback, [10, 900], [10, 20], "first", seconds=0.1) == (None, True)
    assert judged(feedback, [10, 30], [10, 20], "second", seconds=0.2) == ("first", False)


def test_no_plan_is_tried_after_a_slower_one():
    feedback = PlanFeedback(100)
    assert judged(feedback, [10, 900], [10, 20], "first", seconds=0.1) == (None, True)
    assert judged(feedback, [10, 800], [10, 20], "second", seconds=0.2) == ("first", False)
    assert not feedback.should_judge([10, 900])


def test_a_trial_plan_has_a_time_limit():
    feedback = PlanFeedback(100)
    assert feedback.trial_seconds is None
    assert judged(feedback, [10, 900], [10, 20], "first", seconds=0.2) == (None, True)
    assert feedback.trial_seconds == pytest.approx(0.3)
    assert feedback.give_up() == "first"
    assert feedback.trial_seconds is None
    assert not feedback.should_judge([10, 900])
    assert feedback.give_up() is None


def test_a_trial_has_at_least_the_planning_time():
    feedback = PlanFeedback(100)
    assert judged(feedback, [10, 900], [10, 20], "first", seconds=1e-4) == (None, True)
    assert feedback.trial_seconds == pytest.approx(0.02)


def test_rows_of_messages_count_as_rows():
    feedback = PlanFeedback(100)
    assert judged(feedback, [10, 900], [10, 20], "first") == (None, True)
    assert judged(feedback, [10, 30], [10, 20], "second", work=1000) == ("first", False)


def test_a_better_plan_is_kept():
    feedback = PlanFeedback(100)
    assert judged(feedback, [10, 900], [10, 20], "first") == (None, True)
    assert judged(feedback, [10, 30], [10, 20], "second") == (None, False)
    assert not feedback.should_judge([10, 900])


def test_corrections_of_several_runs_are_multiplied():
    feedback = PlanFeedback(100)
    feedback.correct({(0, 0, True): 3.0})
    feedback.correct({(0, 0, True): 2.0, (1, 0, False): 0.5})
    assert feedback.corrections == {(0, 0, True): 6.0, (1, 0, False): 0.5}


@given(
    st.permutations(range(4)),
    st.lists(st.integers(1, 40), min_size=4, max_size=4),
    st.booleans(),
)
def test_corrected_rates_estimate_the_measured_rows(order, feedback, explored):
    bound = pattern()
    candidates = ExpectedCandidates([60, 60, 60, 60], explored=explored)
    if any(not _connected(order[:end]) for end in range(2, 5)):
        return
    rows = [60, *feedback[1:]]
    corrections = JoinCost(bound, order, Rates(bound, candidates)).corrections(rows)
    corrected = Rates(bound, candidates, corrections)
    assert JoinCost(bound, order, corrected).rows() == pytest.approx(rows)


def _connected(nodes):
    ends = [(0, 1), (1, 2), (0, 2), (2, 3)]
    return any(nodes[-1] in pair and {*pair} <= {*nodes} for pair in ends)
