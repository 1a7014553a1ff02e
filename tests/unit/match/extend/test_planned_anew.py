"""A plan whose rows were far underestimated is replaced when the query comes again."""

import math
from itertools import permutations

import pytest
from bound_queries import NO_MASKS
from forced_plans import thresholds
from graphs import make_graph

import gpugda
from gpugda.device.context import list_devices
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.embeddings import StrategyReport
from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.plan import plan_feedback
from gpugda.plan.bind import bind
from gpugda.plan.join.matching_order import make_plan
from tests.one_pattern import query_of

pytestmark = [
    pytest.mark.device,
    pytest.mark.skipif(not list_devices(), reason="no OpenCL device"),
]

PAIRS, CALLS = 12, 7
FIRST = list(range(0, 2 * PAIRS, 2))


@pytest.fixture(scope="module")
def accelerator():
    """Phones that each call one other phone often: degrees do not tell this correlation."""
    phones, calls = 2 * PAIRS, PAIRS * CALLS
    places = [(phones + call, call // CALLS) for call in range(calls)]
    graph = gpugda.graph(
        {
            "id": list(range(phones + calls)),
            "labels": [["Phone"]] * phones + [["Call"]] * calls,
        },
        {
            "source": [call for call, _ in places] * 2 + FIRST,
            "target": [2 * pair for _, pair in places]
            + [2 * pair + 1 for _, pair in places]
            + [each + 1 for each in FIRST],
            "type": ["FROM"] * calls + ["TO"] * calls + ["KNOWS"] * PAIRS,
        },
    )
    with gpugda.connect(graph, cache=False) as found:
        yield found


def of_calls(count, tail):
    steps = ", ".join(f"(c{i}:Call)-[:FROM]->(a), (c{i})-[:TO]->(b)" for i in range(count))
    return f"MATCH (a)-[:KNOWS]->(b), {steps} {tail}"


def rows_made(steps):
    made = [each for each in steps if each.startswith(("nodes (", "extend"))]
    return sum(int(each.split(": ")[-1].split(" row")[0].replace(",", "")) for each in made)


EXPECTED = PAIRS * sum(1 for _ in permutations(range(CALLS), 5))


def counted(context, runs):
    """The report of a count, run by run."""
    calls = [(2 * PAIRS + call, call // CALLS) for call in range(PAIRS * CALLS)]
    graph = make_graph(
        [("Phone", {})] * (2 * PAIRS) + [("Call", {})] * len(calls),
        [(call, "FROM", 2 * pair, {}) for call, pair in calls]
        + [(call, "TO", 2 * pair + 1, {}) for call, pair in calls]
        + [(each, "KNOWS", each + 1, {}) for each in FIRST],
    )
    bound = bind(query_of(of_calls(5, "RETURN count(*)")), graph)
    plan = make_plan(bound, graph.statistics, "extend")
    decides = thresholds(
        context, {"search_share": math.inf, "search_pairs": 1, "replan_rows": 1 << 12}
    )
    strategy = ExtendStrategy(DeviceGraph(context, graph), thresholds=decides)
    reports = [StrategyReport() for _ in range(runs)]
    assert [strategy.count(plan, NO_MASKS, each) for each in reports] == [EXPECTED] * runs
    return [list(each.steps) for each in reports]


def test_repeated_counts_find_a_plan_with_few_rows(context, monkeypatch):
    # However long it takes: neither a search nor a trial is abandoned on a busy machine.
    monkeypatch.setattr(plan_feedback, "_SLOWDOWN_LIMIT", math.inf)
    first, *_, before, last = counted(context, 6)
    assert not any(each.startswith("planned again") for each in first)
    assert any(each.startswith("planned again") for each in last)
    assert rows_made(last) < rows_made(first) / 10
    assert before == last


def test_a_new_plan_that_takes_too_long_is_abandoned(context, monkeypatch):
    for name in ("_SLOWDOWN_LIMIT", "_MIN_TRIAL_SECONDS"):
        monkeypatch.setattr(plan_feedback, name, 0.0)
    first, second, third = counted(context, 3)
    assert second[0] == "another plan was tried, and abandoned because it took longer"
    said = [each.split(", expected")[0] for each in second[1:]]
    assert said == [each.split(", expected")[0] for each in third]
    assert rows_made(first) == rows_made(second) == rows_made(third)


def test_planning_again_keeps_the_groups(accelerator):
    text = of_calls(5, "RETURN id(a) AS a, count(*) AS c ORDER BY a")
    runs = [accelerator.run(text, engine="gpu") for _ in range(5)]
    expected = [(2 * pair, EXPECTED // PAIRS) for pair in range(PAIRS)]
    assert all([tuple(row) for row in each.values()] == expected for each in runs)


def test_planning_again_keeps_the_rows(accelerator):
    text = of_calls(4, "RETURN id(a), id(b), id(c0), id(c1), id(c2), id(c3)")
    runs = [sorted(map(tuple, accelerator.run(text, engine="gpu").values())) for _ in range(4)]
    assert len(runs[0]) == len({*runs[0]}) == PAIRS * sum(1 for _ in permutations(range(CALLS), 4))
    assert all(each == runs[0] for each in runs)


def test_a_limited_query_is_not_planned_again(accelerator):
    text = of_calls(5, "RETURN id(a), id(c0) LIMIT 3")
    for _ in range(3):
        result = accelerator.run(text, engine="gpu")
        assert len(result.values()) == 3
        assert not any(each.startswith("planned again") for each in result.summary.steps)
