"""Counts in the oriented graph, against the reference on the original graph."""

from __future__ import annotations

import time

import numpy as np
import pytest
from bound_queries import NO_MASKS
from gpugda_strategies.gpsm.strategy import GpsmStrategy
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st
from oriented_runs import SYMMETRIC, extending

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.execute.patterns import oriented_form
from gpugda.execute.patterns.oriented_count import count_oriented
from gpugda.execute.patterns.oriented_form import add_unoriented_seconds, timing_unoriented
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.query.parser import parse
from gpugda.reference.run import run_reference
from strategies import multigraphs
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]
TRIANGLE = "MATCH (a)--(b)--(c)--(a) RETURN count(*)"
SHAPES = [
    *SYMMETRIC,
    [(0, 1), (1, 2), (2, 3), (3, 0)],
    [(0, 1), (2, 3), (1, 2), (3, 0)],
    [(0, 1), (1, 2), (2, 0), (3, 4), (4, 0), (0, 3)],
]


@st.composite
def patterns(draw):
    """Undirected patterns, mostly with symmetries."""
    label = draw(st.sampled_from(["", "", ":A", "{y: 1}"]))
    other = draw(st.sampled_from([label, label, ":B"]))
    kind = draw(st.sampled_from(["", "", "[:R]", "[:R|S]"]))
    ends = draw(st.sampled_from(SHAPES))
    several = draw(st.booleans())
    marks = [label, *[other] * 4]
    parts = [
        f"({'abcde'[one]}{marks[one]})-{kind}-({'abcde'[two]}{marks[two]})" for one, two in ends
    ]
    cut = draw(st.integers(1, len(parts) - 1))
    if several:
        return f"MATCH {', '.join(parts[:cut])} MATCH {', '.join(parts[cut:])} RETURN count(*)"
    return f"MATCH {', '.join(parts)} RETURN count(*)"


def plan_of(text, graph):
    return plan_pattern(bind(query_of(text), graph), graph.statistics, "extend", Count())


def counted(strategy, text, graph, parameters=None):
    plan = plan_of(text, graph)
    add_unoriented_seconds(plan, graph, 60.0)
    report = StrategyReport()
    found = count_oriented(plan, graph, strategy, parameters or {}, report, None)
    assert found in (None, 0) or any(" counted" in step for step in report.steps)
    return found


def check_count(context, graph, text):
    """Asserts the reference's count, if it is computed in the oriented graph."""
    with extending(context, graph) as strategy:
        found = counted(strategy, text, graph)
        if found is not None:
            assert [(found,)] == run_reference(parse(text), graph, {}).rows


@given(specs=multigraphs(), text=patterns())
def test_counts_are_those_of_the_reference(context, specs, text):
    check_count(context, make_graph(*specs), text)


@st.composite
def simple_graphs_with_loops(draw):
    """One type, at most one relationship between two nodes, and at most one loop per node."""
    count = draw(st.integers(2, 6))
    pairs = [(one, other) for one in range(count) for other in range(one + 1)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=len(pairs)))
    turned = draw(st.lists(st.booleans(), min_size=len(chosen), max_size=len(chosen)))
    ends = [pair[::-1] if turn else pair for pair, turn in zip(chosen, turned, strict=True)]
    labels = draw(st.lists(st.sampled_from(["", "A"]), min_size=count, max_size=count))
    return [(each, {"y": 1}) for each in labels], [(a, "R", b, {}) for a, b in ends]


@given(specs=simple_graphs_with_loops(), text=patterns())
def test_loops_in_graphs_without_parallel_relationships_are_counted(context, specs, text):
    check_count(context, make_graph(*specs), text)


@pytest.mark.parametrize(("parallel", "is_oriented"), [(0, True), (1, False)])
def test_loops_without_parallel_ones_allow_oriented_counts(context, parallel, is_oriented):
    ends = [(0, 1), (1, 2), (2, 0), (3, 0), (3, 1), (2, 3), (0, 0), (2, 2), *[(1, 0)] * parallel]
    graph = make_graph([("", {})] * 4, [(a, "R", b, {}) for a, b in ends])
    with extending(context, graph) as strategy:
        found = counted(strategy, TRIANGLE, graph)
        assert (found is not None) is is_oriented
        assert found in (None, run_reference(parse(TRIANGLE), graph, {}).rows[0][0])


@st.composite
def loopless_multigraphs(draw):
    count = draw(st.integers(2, 6))
    node = st.integers(0, count - 1)
    kinds = draw(st.sampled_from(["R", "RS"]))
    one = st.tuples(node, st.sampled_from(kinds), node, st.just({}))
    found = draw(st.lists(one.filter(lambda each: each[0] != each[2]), max_size=14))
    return [("", {})] * count, found


@given(
    specs=loopless_multigraphs(),
    step=st.sampled_from(["--", "-[:R]-", "-[:S]-"]),
    other=st.sampled_from(["", "", "", ":A"]),
    clauses=st.sampled_from(["{0}, (c){1}(d){1}(a)", "{0} MATCH (c){1}(d){1}(a)"]),
)
def test_squares_with_parallel_relationships_are_counted(context, specs, step, other, clauses):
    graph = make_graph(*specs)
    path = f"(a{other}){step}(b){step}(c)"
    text = f"MATCH {clauses.format(path, step)} RETURN count(*)"
    check_count(context, graph, text)


def circle(count):
    rng = np.random.default_rng(0)
    ends = [(i, "R", (i + step) % count, {}) for i in range(count) for step in (1, 2, 7)]
    ends = [(b, kind, a, {}) if rng.random() < 0.5 else (a, kind, b, {}) for a, kind, b, _ in ends]
    return make_graph([("", {})] * count, ends)


def test_published_strategies_count_in_the_unoriented_graph(context):
    graph = circle(20)
    assert counted(GpsmStrategy(DeviceGraph(context, graph)), TRIANGLE, graph) is None


def test_the_time_of_an_abandoned_unoriented_count_is_recorded(context):
    graph = circle(20)
    strategy, plan = ExtendStrategy(DeviceGraph(context, graph)), plan_of(TRIANGLE, graph)
    assert count_oriented(plan, graph, strategy, {}, StrategyReport(), None) is None

    def give_up():
        time.sleep(0.001)
        raise gpugda.QueryTimeoutError("late")

    with pytest.raises(gpugda.QueryTimeoutError), timing_unoriented(plan, graph):
        give_up()
    assert count_oriented(plan, graph, strategy, {}, StrategyReport(), None) == 20 * 6


def test_explain_shows_an_oriented_count():
    graph = gpugda.graph(relationships={"source": [1, 2], "target": [2, 3], "type": ["R", "R"]})
    with gpugda.connect(graph) as accelerator:
        said = "one is counted, 6 times"
        assert said in str(accelerator.explain(TRIANGLE))
        assert said not in str(accelerator.explain(TRIANGLE, strategy="gpsm"))
        assert said not in str(accelerator.explain(TRIANGLE.replace("count(*)", "a, b, c")))


def test_the_error_of_a_missing_parameter_names_it(context):
    ends = [(a, "R", b, {}) for b in range(40) for a in range(b)]
    graph = make_graph([("", {"x": 2})] * 40, ends)
    text = "MATCH (a {x: $x})--(b {x: $x})--(c {x: $x})--(a) RETURN count(*)"
    strategy = ExtendStrategy(DeviceGraph(context, graph))
    with pytest.raises(gpugda.ParameterMissingError):
        counted(strategy, text, graph)
    assert counted(strategy, text, graph, {"x": 1}) == 0


def test_the_oriented_graph_is_built_once_queries_took_as_long(context):
    graph = circle(2000)
    strategy, plan = ExtendStrategy(DeviceGraph(context, graph)), plan_of(TRIANGLE, graph)

    def run():
        return count_oriented(plan, graph, strategy, {}, StrategyReport(), None)

    assert run() is None
    add_unoriented_seconds(plan, graph, 1e-9)
    assert run() is None
    add_unoriented_seconds(plan, graph, 1.0)
    assert run() == 2000 * 6


def test_times_of_unsuitable_counts_are_not_recorded(context):
    graph = circle(50)
    directed = plan_of("MATCH (a)-->(b)-->(c)-->(a) RETURN count(*)", graph)
    add_unoriented_seconds(directed, graph, 60.0)
    strategy = ExtendStrategy(DeviceGraph(context, graph))
    plan = plan_of(TRIANGLE, graph)
    assert count_oriented(plan, graph, strategy, {}, StrategyReport(), None) is None


def test_no_oriented_graph_is_made_if_memory_is_short(context):
    graph = circle(3000)
    device_graph = DeviceGraph(context, graph)
    roomy = ExtendStrategy(device_graph)
    plain = roomy.count(plan_of(TRIANGLE, graph), NO_MASKS, StrategyReport())
    assert plain == 3000 * 6
    tight = ExtendStrategy(device_graph, memory_limit=3 * device_graph.nbytes)
    assert counted(tight, TRIANGLE, graph) is None


def test_the_oriented_graph_is_freed_if_memory_is_short(context):
    graph = circle(3000)
    device_graph = DeviceGraph(context, graph)
    strategy = ExtendStrategy(device_graph)
    assert counted(strategy, TRIANGLE, graph) == 3000 * 6
    with strategy.on(graph) as other:
        assert other is not None
    assert counted(strategy, TRIANGLE, graph) == 3000 * 6
    with strategy.running(StrategyReport(), None) as run:
        before = run.workspace.budget.remaining
        run.workspace.free_cached()
        assert run.workspace.budget.remaining > before
    assert counted(strategy, TRIANGLE, graph) is None


def test_an_accelerator_uses_oriented_counts_from_the_second_query_on():
    graph = gpugda.graph(
        relationships={
            "source": np.arange(600) % 200,
            "target": (np.arange(600) + np.repeat([1, 2, 7], 200)) % 200,
            "type": ["R"] * 600,
        }
    )
    with gpugda.connect(graph) as accelerator:
        answers = [accelerator.run(TRIANGLE, engine="gpu") for _ in range(3)]
        rows = [each.values() for each in answers]
        expected = accelerator.run(TRIANGLE, engine="reference").values()
        assert rows == [expected] * 3
        assert "one is counted" in str(answers[-1].consume())


def test_a_plan_with_as_many_rows_stays_in_the_original_graph(context, monkeypatch):
    graph = circle(20)
    monkeypatch.setattr(oriented_form, "plan_pattern", lambda *_: plan_of(TRIANGLE, graph))
    with extending(context, graph) as strategy:
        assert counted(strategy, TRIANGLE, graph) is None


@pytest.mark.slow
def test_cliques_are_joined_by_the_degrees_of_their_nodes(context):
    random = np.random.default_rng(3)
    # Few nodes have most relationships, as in social graphs.
    ends = (4000 * random.random((30_000, 2)) ** 3).astype(int)
    graph = make_graph([("", {})] * 4000, [(a, "R", b, {}) for a, b in ends.tolist() if a != b])
    text = "MATCH (a)--(b)--(c)--(a), (a)--(d), (b)--(d), (c)--(d) RETURN count(*)"
    plan, report = plan_of(text, graph), StrategyReport()
    add_unoriented_seconds(plan, graph, 60.0)
    with extending(context, graph) as strategy:
        assert count_oriented(plan, graph, strategy, {}, report, None)
    steps = [each for each in report.steps if each.startswith(("nodes", "extend"))]
    order = [each[each.index("(") + 1] for each in steps]
    # Relationships run from lower to higher degree. A GPU scans the shorter list, and starts
    # at low degrees; a CPU scans the list of the node bound last, and ends at high degrees.
    assert order[-1] == "d" if context.is_cpu else order[0] == "a"
    assert sorted(order) == ["a", "b", "c", "d"]
