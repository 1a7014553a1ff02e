"""Steps node by node give the same rows as steps relationship by relationship."""

from __future__ import annotations

import pytest
from graphs import make_graph

from gpugda.match.extend.strategy import ExtendStrategy
from gpugda.match.need import Count
from gpugda.match.registry import plan_pattern
from gpugda.plan.bind import bind
from gpugda.plan.join.matching_order import matching_order
from gpugda.plan.physical import estimate
from gpugda.plan.plan import StepKind
from tests.one_pattern import query_of

GRAPH = make_graph(
    [("A" if i % 3 else "A:B", {"x": i % 5}) for i in range(30)],
    [(i, "RS"[j % 2], (i * 7 + j) % 30, {}) for i in range(30) for j in range(4)],
)
TREES = [
    "(a)",
    "(a:B)-->(b)",
    "(a:B {x: 1})-[:R]->(b)",
    "(a)-[:R]->(b)<-[:S]-(c:B), (b)-->(d {x: 2})",
    "(a:B), (b)-->(c)",
    "(a)-->(a)",
]


def bound(text):
    return bind(query_of(f"MATCH {text} RETURN count(*)"), GRAPH)


def plans(text):
    return [
        plan_pattern(bound(text), GRAPH.statistics, name, Count()) for name in ("extend", "gpsm")
    ]


@pytest.mark.parametrize("text", [*TREES, "(a)-->(b)-->(c)-->(a), (c)-->(d)--(c)", "(a), (b), (c)"])
def test_each_node_is_added_once_along_all_bound_relationships(text):
    pattern = bound(text)
    steps = ExtendStrategy.plan(pattern)
    assert sorted(step.position for step in steps) == list(range(len(pattern.nodes)))
    along = [each for step in steps for each in step.along]
    assert sorted(along) == list(range(len(pattern.relationships)))
    before = set()
    for step in steps:
        ends = {pattern.relationships[each].other_end(step.position) for each in step.along}
        assert ends <= before | {step.position}
        assert (step.kind is StepKind.EXTEND) == bool(ends - {step.position})
        before.add(step.position)


@pytest.mark.parametrize("text", TREES)
def test_strategies_estimate_the_same_rows_for_a_tree(text):
    nodes, relationships = (estimate(plan) for plan in plans(text))
    assert nodes.rows == pytest.approx(relationships.rows)
    assert relationships.rows == pytest.approx(matching_order(bound(text))[-1].cardinality)


def test_a_cyclic_pattern_uses_closing_rates():
    nodes, relationships = plans("(a)-[:R]->(b)-[:R]->(c)-[:R]->(a)")
    assert estimate(nodes).rows == pytest.approx(estimate(relationships).rows)


def test_steps_equal_those_that_explain_prints():
    text = "(a:B {x: 1})-[:R]->(b)<-[:S]-(c)"
    steps = ExtendStrategy.plan(bound(text))
    assert [(step.kind, step.position) for step in steps] == [
        (StepKind.NODES, 0),
        (StepKind.EXTEND, 1),
        (StepKind.EXTEND, 2),
    ]
    assert "per row" in steps[1].reason
