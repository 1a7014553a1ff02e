"""How long a plain join is tried before a plan is searched, and how long the search may take."""

import math
import time
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from bound_queries import NO_MASKS, all_embeddings
from branched_queries import a_graph, branched_queries, path, plan_of
from counted_groups import expected_groups, groups
from forced_plans import NOT_AT_ONCE, thresholds, windows_of
from hypothesis import event, given
from hypothesis import strategies as st

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.graph.placement import WholePlacement
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.attempts import Attempts
from gpugda.match.extend.groups import GroupSums
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Groups
from gpugda.match.run import Run
from gpugda.plan.counting.count_plan import Attempt, Eliminate, Join, Search
from gpugda.plan.counting.problem import CountProblem
from gpugda.plan.counting.search import CountSearch, first_plan
from gpugda.plan.join.join_cost import JoinCost
from gpugda.plan.join.join_rates import ExpectedCandidates, Rates
from gpugda.thresholds import CPU

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

PATHS = plan_of(path(0, 1, 2, 3, kind=0) + path(0, 4, kind=0))


PATIENT = {
    # Searches do not pay off within a minute, and always pay off when the query comes again.
    "search_rows": 0,
    "search_pairs": 0,
    "first_seconds": 60.0,
    "max_first_seconds": 60.0,
    "max_first_pairs": math.inf,
    "search_again_seconds": 0.0,
    "search_share": math.inf,
}
NO_PATIENCE = PATIENT | {"first_seconds": 1e-9, "max_first_seconds": 1e-9}


class Asked:
    """Counts a query repeatedly, and records how often a plan was searched."""

    def __init__(self, context, monkeypatch, *forms, join=None):
        self.searches = 0
        self.graph = a_graph(1, relationships=16, types="R")
        decides = thresholds(context, PATIENT, *forms, join=join)
        self.strategy = ExtendStrategy(DeviceGraph(context, self.graph), thresholds=decides)
        self._plan = CountSearch.plan
        monkeypatch.setattr(CountSearch, "plan", lambda *given: self._search(*given))

    def _search(self, *given):
        self.searches += 1
        return self._plan(*given)

    def groups(self, *, counted):
        wanted, report = Groups((0,), counted=counted, streamed=False), StrategyReport()
        chunks = list(self.strategy.groups(PATHS, NO_MASKS, wanted, report))
        assert any(each.startswith("extend by") for each in report.steps)
        assert any(each.startswith("rows ") for each in report.steps)
        assert all((chunk.weights is not None) == counted for chunk in chunks)
        found = Counter()
        for chunk in chunks:
            weights = chunk.weights.tolist() if counted else [1] * chunk.row_count
            for node, weight in zip(chunk.nodes[0].tolist(), weights, strict=True):
                found[(node,)] += weight
        expected = expected_groups(self.graph, PATHS, (0,))
        assert found == (expected if counted else Counter(set(expected)))
        return found

    def count(self, deadline=None):
        report = StrategyReport()
        counted = self.strategy.count(PATHS, NO_MASKS, report, deadline)
        assert counted == all_embeddings(self.graph, PATHS).total() > 0
        return report


GIVEN_UP = "joining everything was given up after"


def test_a_quick_join_never_starts_a_search(context, monkeypatch):
    asked = Asked(context, monkeypatch, {"search_again_seconds": 60.0})
    for _ in range(3):
        asked.count()
    assert asked.searches == 0


def test_a_slow_join_is_searched_for_when_repeated(context, monkeypatch):
    asked = Asked(context, monkeypatch, NOT_AT_ONCE, join={"entries_at_once": 1})
    first = asked.count()
    assert asked.searches == 0
    assert "joining everything was done within 6e+04 ms" in first.steps
    second = asked.count()
    assert asked.searches > 0
    assert first.steps != second.steps
    before = asked.searches
    assert asked.count().steps == second.steps
    assert asked.searches == before


def test_a_search_that_cannot_pay_is_abandoned(context, monkeypatch):
    asked = Asked(context, monkeypatch, {"search_share": 0.0})
    steps = [asked.count().steps for _ in range(3)]
    assert steps[0] == steps[1] == steps[2]
    assert asked.searches == 1


def test_a_join_slower_than_a_search_starts_one_at_once(context, monkeypatch):
    asked = Asked(context, monkeypatch, NO_PATIENCE, NOT_AT_ONCE)
    report = asked.count()
    assert asked.searches > 0
    assert any(each.startswith(GIVEN_UP) for each in report.steps)


def test_a_join_of_far_more_pairs_than_its_budget_allows_is_not_tried(context, monkeypatch):
    asked = Asked(context, monkeypatch, NOT_AT_ONCE, {"max_first_pairs": 1e-3})
    report = asked.count()
    assert asked.searches == 1
    assert not any(each.startswith("joining everything") for each in report.steps)


def test_a_join_of_far_more_pairs_is_not_tried_at_once(context, monkeypatch):
    asked = Asked(context, monkeypatch, {"max_pairs_at_once": 0})
    launched = []
    monkeypatch.setattr(Attempts, "_counted", lambda *of, at_once: launched.append(at_once))
    asked.count()
    assert launched == [False]


def test_rates_are_computed_once_per_query(context, monkeypatch):
    made, rates = [], Rates.__init__
    monkeypatch.setattr(
        Rates, "__init__", lambda *of, **more: made.append(of) or rates(*of, **more)
    )
    asked = Asked(context, monkeypatch, NO_PATIENCE, NOT_AT_ONCE)
    asked.count()
    assert asked.searches == 1
    # Beside those of the counted candidates, exploring may need estimates before the count.
    assert len([of for of in made if len(of) > 2]) == 1
    assert len(made) <= 2


def test_no_cost_is_computed_for_few_candidates(monkeypatch):
    bound, graph = plan_of(path(0, 1, 2, 3, kind=0)).bound, a_graph(1)
    problem = CountProblem(bound, graph, NO_MASKS, ExpectedCandidates([4] * 4))
    monkeypatch.setattr(JoinCost, "of", None)
    plan = CountSearch(problem, CPU.count, lambda: None).plan()
    assert isinstance(plan, (Join, Eliminate))


def first_of(relationships, decides=CPU.count, need=None, candidates=1000, join_seconds=None):
    bound = plan_of(relationships).bound
    counts = ExpectedCandidates([candidates] * len(bound.nodes))
    streamed = need is not None and need.streamed
    return first_plan(
        bound, counts, decides, join_seconds, grouped=need is not None, streamed=streamed
    )


def test_small_queries_have_a_smaller_attempt_budget():
    attempts = [first_of(path(*range(size + 1), kind=0)).otherwise for size in (2, 5, 10, 20)]
    times = [each.seconds for each in attempts]
    assert 0 < times[0] < times[1] < times[2] == times[3] == CPU.count.max_first_seconds


def test_the_first_plan_is_a_value():
    three = path(0, 1, 2, 3, kind=0)
    seconds, decides = 12e-6 * 27, CPU.count
    most = seconds * decides.max_first_pairs
    later = Attempt(seconds, Join(), Search(), min_pairs=decides.search_pairs, max_pairs=most)
    at_once = Attempt(None, Join(), later, max_pairs=decides.max_pairs_at_once)
    assert first_of(three) == at_once
    assert first_of(three, replace(CPU.count, joins_first=False)) == later
    assert first_of(three, need=Groups((0,), counted=True, streamed=False)) == later
    assert first_of(three, need=Groups((0,), counted=False, streamed=True)) == Search()
    assert first_of(three, join_seconds=0.5) == Search(2.0)
    assert first_of(three, candidates=2) == Search()
    assert "Attempt(seconds=None, quick=Join(), otherwise=Attempt(" in repr(first_of(three))


def test_explain_shows_the_first_plan():
    ring = {"source": list(range(60)), "target": list(range(1, 61)), "type": ["R"] * 60}
    with gpugda.connect(gpugda.graph(relationships=ring)) as accelerator:
        match = "MATCH (a)-->(b)-->(c)-->(d)"
        count = str(accelerator.explain(f"{match} RETURN count(*)"))
        groups = str(accelerator.explain(f"{match} RETURN a, count(*)"))
        rows = str(accelerator.explain(f"{match} RETURN a, d"))
    later = "join everything, for at most 0.324 ms; else find a count plan"
    assert f"to count: join everything, if that needs no waiting; else {later}\n" in count
    assert f"to count: {later}\n" in groups
    assert "to count" not in rows


def test_an_attempt_ends_at_the_querys_deadline(context, monkeypatch):
    asked = Asked(context, monkeypatch, NOT_AT_ONCE)
    with pytest.raises(QueryTimeoutError):
        asked.count(deadline=time.monotonic() - 1)


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "distinct"])
def test_groups_are_also_attempted_before_a_search(context, monkeypatch, counted):
    asked = Asked(context, monkeypatch)
    expected = asked.groups(counted=counted)
    assert asked.searches == 0
    assert asked.groups(counted=counted) == expected
    assert asked.searches > 0
    other = Asked(context, monkeypatch, NO_PATIENCE)
    assert other.groups(counted=counted) == expected
    assert other.searches > 0


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "distinct"])
@pytest.mark.parametrize(("nodes", "tables"), [((0,), 0), ((4,), 2), ((0, 2), 1)])
def test_an_abandoned_attempt_does_not_affect_later_counts(
    context, monkeypatch, counted, nodes, tables
):
    """Memory that was released before is overwritten by then."""
    add, added = GroupSums.add, []

    def give_up(sums, table):
        if len(added) == tables:
            added.append(None)
            raise QueryTimeoutError("its budget is spent")
        added.append(table)
        add(sums, table)

    monkeypatch.setattr(GroupSums, "add", give_up)
    upload = Workspace.upload

    def overwrite(workspace, values, what="an array"):
        for array in workspace._idle:
            workspace.fill(replace(array, dtype=np.dtype("u1"), count=array.nbytes), 0xEE)
        return upload(workspace, values, what)

    monkeypatch.setattr(Workspace, "upload", overwrite)
    # More nodes than a word of a bitmap has bits: otherwise no offset of words is read.
    graph = a_graph(1, nodes=40, relationships=70, types="R")
    decides = thresholds(context, PATIENT, NOT_AT_ONCE, join=windows_of(30))
    found = groups(context, graph, PATHS, nodes, counted=counted, thresholds=decides)
    expected = expected_groups(graph, PATHS, nodes)
    assert found == (expected if counted else Counter(set(expected)))
    assert None in added


@given(case=branched_queries(alike=True), seed=st.integers(0, 1 << 16), few=st.booleans())
def test_abandoning_at_any_check_changes_no_answer(context, case, seed, few):
    graph, plan, masks, grouped = case
    random, given_up = Random(seed), []

    def check(deadline):
        # The query itself has no deadline here.
        if deadline is not None and random.random() < 0.3:
            given_up.append(True)
            raise QueryTimeoutError("its budget is spent")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpugda.match.run.check_deadline", check)
        decides = thresholds(context, PATIENT)
        if not few:
            decides = thresholds(context, PATIENT, NOT_AT_ONCE, join={"few_rows": 0})
        expected = expected_groups(graph, plan, grouped, masks)
        strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)
        for _ in range(2):
            assert strategy.count(plan, masks, StrategyReport()) == expected.total()
        query = (context, graph, plan, grouped, masks)
        assert groups(*query, thresholds=decides) == expected
        assert groups(*query, counted=False, thresholds=decides) == Counter(set(expected))
    event("given up" if given_up else "never given up")


def test_streamed_groups_are_not_attempted(context, monkeypatch):
    asked = Asked(context, monkeypatch)
    wanted = Groups((0,), counted=False, streamed=True)
    chunks = asked.strategy.groups(PATHS, NO_MASKS, wanted, StrategyReport())
    found = {node for chunk in chunks for node in chunk.nodes[0].tolist()}
    assert found == {node for (node,) in expected_groups(asked.graph, PATHS, (0,))}
    assert asked.searches > 0


# ------------------------------------------------------------------ attempts
@pytest.fixture
def run(context):
    graph = DeviceGraph(context, a_graph(1, relationships=16, types="R"))
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        yield Run(None, graph, workspace, StrategyReport(), None, WholePlacement(graph))


def too_long(run):
    run.workspace.allocate(1000, "u4")
    time.sleep(0.01)
    run.check_deadline()


def too_large(run):
    run.workspace.allocate(1000, "u4")
    run.workspace.allocate(1 << 20, "u4")


@pytest.mark.parametrize("work", [too_long, too_large])
def test_an_abandoned_attempt_frees_its_memory(run, work):
    kept = run.workspace.allocate(1000, "u4")
    free = run.workspace.available
    assert run.attempt(0.001 if work is too_long else 60.0, work) is None
    assert run.workspace.available == free
    assert run.workspace.allocate(1000, "u4").buffer is not kept.buffer


def test_a_completed_attempt_keeps_its_memory(run):
    free = run.workspace.available
    assert run.attempt(60.0, lambda shorter: shorter.workspace.allocate(1000, "u4")) is not None
    assert run.workspace.available == free - 4000


def test_other_errors_are_not_caught(run):
    def fail(_):
        raise MemoryError

    with pytest.raises(MemoryError):
        run.attempt(60.0, fail)
    with pytest.raises(MemoryLimitError):
        too_large(run)
