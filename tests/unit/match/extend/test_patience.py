"""How long everything is joined before a better way is thought of, and how long that may take."""

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
from forced_ways import NOTHING_AT_ONCE, force
from hypothesis import event, given
from hypothesis import strategies as st

from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.memory.buffers import MemoryBudget, Workspace
from gpugda.errors import MemoryLimitError, QueryTimeoutError
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend import cache as extend_kept
from gpugda.match.extend.counting import search as extend_counting
from gpugda.match.extend.counting.leaves import find_product
from gpugda.match.extend.groups import GroupSums
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Groups
from gpugda.match.run import Run

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

PATHS = plan_of(path(0, 1, 2, 3, kind=0) + path(0, 4, kind=0))


class Asked:
    """Counts a query again and again; how often was a better way thought of before?"""

    def __init__(self, context, monkeypatch):
        self.thoughts = 0
        self.graph = a_graph(1, relationships=16, types="R")
        self.strategy = ExtendStrategy(DeviceGraph(context, self.graph))
        monkeypatch.setattr(extend_counting, "find_product", self._find)
        monkeypatch.setattr("gpugda.match.extend.counting.weighed._WORTH_A_THOUGHT", -math.inf)

    def _find(self, *given, **more):
        self.thoughts += 1
        return find_product(*given, **more)

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


@pytest.fixture
def asked(context, monkeypatch):
    return Asked(context, monkeypatch)


def test_what_is_counted_at_once_is_never_thought_about(asked, monkeypatch):
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: 60.0)
    monkeypatch.setattr(extend_kept, "_LONG", 60.0)
    for _ in range(3):
        asked.count()
    assert asked.thoughts == 0


def test_what_takes_longer_is_thought_about_when_it_comes_again(asked, monkeypatch):
    force(monkeypatch, NOTHING_AT_ONCE)
    monkeypatch.setattr("gpugda.match.extend.small._MOST_LOOKS", {True: 1, False: 1})
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: 60.0)
    monkeypatch.setattr(extend_kept, "_LONG", 0.0)
    monkeypatch.setattr(extend_counting, "_THOUGHT", math.inf)
    first = asked.count()
    assert asked.thoughts == 0
    second = asked.count()
    assert asked.thoughts > 0
    assert first.steps != second.steps
    before = asked.thoughts
    assert asked.count().steps == second.steps
    assert asked.thoughts == before


def test_a_thought_that_would_never_pay_is_given_up(asked, monkeypatch):
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: 60.0)
    monkeypatch.setattr(extend_kept, "_LONG", 0.0)
    monkeypatch.setattr(extend_counting, "_THOUGHT", 0.0)
    steps = [asked.count().steps for _ in range(3)]
    assert steps[0] == steps[1] == steps[2]
    assert asked.thoughts <= 1


def test_what_takes_longer_than_thinking_is_thought_about_at_once(asked, monkeypatch):
    force(monkeypatch, NOTHING_AT_ONCE)
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: -1.0)
    asked.count()
    assert asked.thoughts > 0


def test_small_queries_are_tried_for_less_time_than_large_ones():
    sizes = [plan_of(path(*range(size + 1), kind=0)).bound for size in (2, 5, 10, 20)]
    times = [extend_counting._first_patience(each) for each in sizes]
    assert 0 < times[0] < times[1] < times[2] == times[3] == extend_counting._MOST_PATIENCE


def test_a_try_ends_with_the_query(asked, monkeypatch):
    force(monkeypatch, NOTHING_AT_ONCE)
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: 60.0)
    with pytest.raises(QueryTimeoutError):
        asked.count(deadline=time.monotonic() - 1)


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "distinct"])
def test_groups_are_made_before_a_thought_too(context, monkeypatch, counted):
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: 60.0)
    monkeypatch.setattr(extend_kept, "_LONG", 0.0)
    monkeypatch.setattr(extend_counting, "_THOUGHT", math.inf)
    asked = Asked(context, monkeypatch)
    expected = asked.groups(counted=counted)
    assert asked.thoughts == 0
    assert asked.groups(counted=counted) == expected
    assert asked.thoughts > 0
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: -1.0)
    other = Asked(context, monkeypatch)
    assert other.groups(counted=counted) == expected
    assert other.thoughts > 0


@pytest.mark.parametrize("counted", [True, False], ids=["counted", "distinct"])
@pytest.mark.parametrize(("nodes", "tables"), [((0,), 0), ((4,), 2), ((0, 2), 1)])
def test_what_was_given_up_leaves_nothing_to_those_that_come_after(
    context, monkeypatch, counted, nodes, tables
):
    """Whatever was allocated before is overwritten by then."""
    add, added = GroupSums.add, []

    def give_up(sums, table):
        if len(added) == tables:
            added.append(None)
            raise QueryTimeoutError("patience is over")
        added.append(table)
        add(sums, table)

    force(monkeypatch, NOTHING_AT_ONCE)
    monkeypatch.setattr("gpugda.match.extend.counting.weighed._WORTH_A_THOUGHT", -math.inf)
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: 60.0)
    monkeypatch.setattr("gpugda.match.extend.join._FEW", 0)
    for place, value in (("_FIRST_COUNT_WINDOW", {True: 30, False: 30}), ("_LARGEST_WINDOW", 30)):
        monkeypatch.setattr(f"gpugda.match.extend.join.{place}", value)
    monkeypatch.setattr("gpugda.match.extend.join._LARGEST_LAST_WINDOW", 30)
    monkeypatch.setattr(GroupSums, "add", give_up)
    upload = Workspace.upload

    def overwrite(workspace, values, what="an array"):
        for array in workspace._idle:
            workspace.fill(replace(array, dtype=np.dtype("u1"), count=array.nbytes), 0xEE)
        return upload(workspace, values, what)

    monkeypatch.setattr(Workspace, "upload", overwrite)
    # More nodes than a word of a bitmap has bits: else nobody reads where words begin.
    graph = a_graph(1, nodes=40, relationships=70, types="R")
    found = groups(context, graph, PATHS, nodes, counted=counted)
    expected = expected_groups(graph, PATHS, nodes)
    assert found == (expected if counted else Counter(set(expected)))
    assert None in added


@given(case=branched_queries(alike=True), seed=st.integers(0, 1 << 16), few=st.booleans())
def test_giving_up_wherever_it_is_asked_changes_no_answer(context, case, seed, few):
    graph, plan, masks, grouped = case
    random, given_up = Random(seed), []

    def check(deadline):
        # The query itself has none here.
        if deadline is not None and random.random() < 0.3:
            given_up.append(True)
            raise QueryTimeoutError("patience is over")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gpugda.match.extend.counting.weighed._WORTH_A_THOUGHT", -math.inf)
        patch.setattr(extend_counting, "_first_patience", lambda _: 60.0)
        patch.setattr("gpugda.match.run.check_deadline", check)
        if not few:
            force(patch, NOTHING_AT_ONCE)
            patch.setattr("gpugda.match.extend.join._FEW", 0)
        expected = expected_groups(graph, plan, grouped, masks)
        strategy = ExtendStrategy(DeviceGraph(context, graph))
        for _ in range(2):
            assert strategy.count(plan, masks, StrategyReport()) == expected.total()
        assert groups(context, graph, plan, grouped, masks) == expected
        assert groups(context, graph, plan, grouped, masks, counted=False) == Counter(set(expected))
    event("given up" if given_up else "never given up")


def test_groups_that_are_streamed_are_not_waited_for(context, monkeypatch):
    monkeypatch.setattr(extend_counting, "_first_patience", lambda _: 60.0)
    asked = Asked(context, monkeypatch)
    wanted = Groups((0,), counted=False, streamed=True)
    chunks = asked.strategy.groups(PATHS, NO_MASKS, wanted, StrategyReport())
    found = {node for chunk in chunks for node in chunk.nodes[0].tolist()}
    assert found == {node for (node,) in expected_groups(asked.graph, PATHS, (0,))}
    assert asked.thoughts > 0


# ------------------------------------------------------------------ what is tried
@pytest.fixture
def run(context):
    graph = DeviceGraph(context, a_graph(1, relationships=16, types="R"))
    with Workspace(context, MemoryBudget(1 << 20)) as workspace:
        yield Run(None, graph, workspace, StrategyReport(), None)


def too_long(run):
    run.workspace.allocate(1000, "u4")
    time.sleep(0.01)
    run.check_deadline()


def too_large(run):
    run.workspace.allocate(1000, "u4")
    run.workspace.allocate(1 << 20, "u4")


@pytest.mark.parametrize("work", [too_long, too_large])
def test_what_is_given_up_leaves_its_memory(run, work):
    kept = run.workspace.allocate(1000, "u4")
    free = run.workspace.available
    assert run.tried(0.001 if work is too_long else 60.0, work) is None
    assert run.workspace.available == free
    assert run.workspace.allocate(1000, "u4").buffer is not kept.buffer


def test_what_is_done_in_time_keeps_its_memory(run):
    free = run.workspace.available
    assert run.tried(60.0, lambda shorter: shorter.workspace.allocate(1000, "u4")) is not None
    assert run.workspace.available == free - 4000


def test_other_errors_are_not_caught(run):
    def fail(_):
        raise MemoryError

    with pytest.raises(MemoryError):
        run.tried(60.0, fail)
    with pytest.raises(MemoryLimitError):
        too_large(run)
