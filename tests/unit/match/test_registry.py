"""Strategies by name: what a new one has to define, and what it gets in return."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar

import pytest
from bound_queries import NO_MASKS, all_embeddings
from gpugda_strategies.gpsm.strategy import GpsmStrategy
from graphs import make_graph, small_tables

import gpugda
from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.errors import ConfigurationError, UnsupportedQueryError
from gpugda.match import registry
from gpugda.match.embeddings import StrategyReport
from gpugda.match.matcher import Cursor
from gpugda.match.need import Count, Groups, Rows
from gpugda.plan.bind import bind
from tests.one_pattern import query_of

GRAPH = make_graph(
    [("", {}) for _ in range(4)],
    [(0, "R", 1, {}), (0, "R", 2, {}), (1, "R", 2, {}), (2, "R", 3, {}), (2, "R", 2, {})],
)
PATHS = "MATCH (a)-->(b)-->(c) RETURN a"
WHY = "it joins single relationships only"


class RowsAlone(Cursor):
    """A cursor that only gives rows."""

    def __init__(self, cursor):
        self.cursor = cursor

    @property
    def variables(self):
        return self.cursor.variables

    def tables(self, enough=None):
        return self.cursor.tables(enough)

    def describe(self, run):
        self.cursor.describe(run)


class Narrow(GpsmStrategy):
    """Accepts one relationship, and only gives rows."""

    name = "narrow"
    method = "looks at single relationships"
    asked: ClassVar[list] = []

    @classmethod
    def can_match(cls, pattern, need):
        cls.asked.append(need)
        return WHY if len(pattern.relationships) > 1 else None

    def start(self, run, pattern, masks, need):
        return RowsAlone(super().start(run, pattern, masks, need))


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setitem(registry.STRATEGIES, "narrow", Narrow)
    Narrow.asked.clear()
    return Narrow


def planned(text, strategy, need):
    pattern = bind(query_of(text), GRAPH)
    return registry.plan_pattern(pattern, GRAPH.statistics, strategy, need)


def test_each_strategy_is_found_by_its_name():
    assert registry.find_matcher().name == registry.DEFAULT_STRATEGY
    for name, matcher in registry.STRATEGIES.items():
        assert registry.find_matcher(name) is matcher
        assert matcher.name == name
        assert matcher.method.rstrip(".") == matcher.method


def test_the_error_of_an_unknown_name_lists_the_strategies(narrow):
    nodes, relationships = small_tables()
    with (
        gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as accelerator,
        pytest.raises(ConfigurationError) as raised,
    ):
        accelerator.run("MATCH (a) RETURN a", strategy="wide")
    for name in registry.STRATEGIES:
        assert repr(name) in str(raised.value)


def test_a_plan_names_its_strategy_and_the_reason_of_a_refusal(narrow):
    plan = planned(PATHS, "narrow", Count())
    assert (plan.strategy_reason, plan.declined) == (Narrow.method, WHY)
    assert planned("MATCH (a)-->(b) RETURN a", "narrow", Count()).declined == ""
    assert not planned(PATHS, "gpsm", Count()).compares
    assert planned(PATHS, "extend", Count()).compares


def test_counts_and_groups_fold_rows_by_default(context, narrow):
    plan = planned("MATCH (a)-->(b) RETURN a", "narrow", Count())
    matcher, expected = Narrow(DeviceGraph(context, GRAPH)), all_embeddings(GRAPH, plan)
    assert matcher.count(plan, NO_MASKS, StrategyReport()) == expected.total() == 5
    found = Counter()
    need = Groups((0,), counted=True, streamed=False)
    for chunk in matcher.groups(plan, NO_MASKS, need, StrategyReport()):
        found.update(chunk.nodes[0].tolist())
    assert found == {0: 2, 1: 1, 2: 2}


@pytest.mark.parametrize(
    ("text", "need"),
    [
        ("MATCH (a)-->(b) RETURN count(*)", Count()),
        ("MATCH (a)-->(b) RETURN a.name, count(*)", Groups((0,), counted=True, streamed=False)),
        ("MATCH (a)-->(b) RETURN a.name, b.name", Rows(frozenset({0, 1}), frozenset())),
        ("MATCH (a)-[r]->(b) RETURN type(r)", Rows(frozenset(), frozenset({0}))),
        ("MATCH (a)-->(b) WITH count(*) AS n RETURN n + 1", Count()),
    ],
)
def test_a_strategy_can_refuse_before_anything_runs(narrow, text, need):
    nodes, relationships = small_tables()
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as accelerator:
        accelerator.explain(text, strategy="narrow")
        assert Narrow.asked == [need]
        assert accelerator.status()["device"] == ""
        assert accelerator.run(text, strategy="narrow").values() == accelerator.run(text).values()


@pytest.mark.parametrize("rest", ["RETURN count(*)", "RETURN a", "WITH count(*) AS n RETURN n + 1"])
def test_a_refused_pattern_is_explained_and_an_error(narrow, rest):
    nodes, relationships = small_tables()
    text = f"MATCH (a)-->(b)-->(c) {rest}"
    said = f"strategy narrow cannot answer this: {WHY}"
    with gpugda.connect(gpugda.graph(nodes=nodes, relationships=relationships)) as accelerator:
        explanation = accelerator.explain(text, strategy="narrow")
        assert said in str(explanation)
        assert said in explanation.reason
        assert "the device answers" not in str(explanation)
        for run in (accelerator.run, accelerator.profile):
            with pytest.raises(UnsupportedQueryError, match=said):
                run(text, strategy="narrow")
        assert accelerator.run(text).values()
