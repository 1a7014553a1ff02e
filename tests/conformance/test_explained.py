"""Compares `explain` with the execution of every case: operators, strategy, rows, order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from case_files import Case, all_cases, in_turn, source_of

import gpugda
from gpugda import errors
from gpugda.execute.patterns.needs import need_of
from gpugda.execute.pipeline import one_pattern
from gpugda.match.embeddings import StrategyReport
from gpugda.match.need import Rows
from gpugda.match.registry import STRATEGIES
from gpugda.match.report import node_text, relationship_text
from gpugda.plan.join.join_cost import JoinCost
from gpugda.plan.join.join_order import planned_order
from gpugda.plan.join.join_rates import Rates
from gpugda.plan.plan import StepKind
from gpugda.query.prepare import prepare

CASES = [case for case in all_cases() if case.has_rows]


@pytest.fixture(scope="module")
def accelerators() -> Iterator[dict[int, Any]]:
    """One accelerator per graph, created when its first case runs."""
    made: dict[int, Any] = {}
    yield made
    for accelerator in made.values():
        accelerator.close()


def opened(case: Case, accelerators: dict[int, Any]) -> Any:
    if id(case.graph) not in accelerators:
        accelerators[id(case.graph)] = gpugda.connect(source_of(case.graph))
    return accelerators[id(case.graph)]


@pytest.mark.parametrize(("case", "strategy"), in_turn(CASES, [*STRATEGIES], ci=3, fast=3))
def test_the_explained_tree_equals_the_executed_one(
    case: Case, strategy: str, accelerators: dict[int, Any]
) -> None:
    accelerator = opened(case, accelerators)
    try:
        explained = accelerator.explain(case.query, strategy=strategy)
    except errors.UnsupportedQueryError:
        with pytest.raises(errors.UnsupportedQueryError):
            accelerator.profile(case.query, case.parameters, strategy=strategy)
        return
    if any(each.declined for each in explained.patterns):
        with pytest.raises(errors.UnsupportedQueryError, match="cannot answer this"):
            accelerator.profile(case.query, case.parameters, strategy=strategy)
        return
    ran = accelerator.profile(case.query, case.parameters, strategy=strategy)
    planned, done = _tree(explained.operators), _tree(ran)
    if case.parameters:  # sizes of the parameters change the expected rows
        planned, done = ([(what, None) for what, _ in tree] for tree in (planned, done))
    assert planned == done
    text = str(explained)
    assert all(what in text for what, _ in _tree(ran))
    assert all(each.strategy == strategy for each in explained.patterns)
    assert ran.rows is not None
    assert ran.seconds is not None


def _tree(node: Any) -> list[tuple[str, float | None]]:
    return [("  " * depth + each.what, each.expected) for depth, each in node.lines()]


# ------------------------------------------------------------------ the order of a join
_KINDS = {
    "extend": ("nodes", "extend by"),  # explain shows a step's other bindings as "along"
    "gpsm": ("nodes", "relationships", "combine", "close"),
}
_STEP = re.compile(r"(nodes|extend by|relationships|combine|close) (.*?)(?: with \d+ tests?.*)?: ")


@pytest.mark.slow
def test_joins_run_in_the_explained_order(accelerators: dict[int, Any]) -> None:
    """Only where measured candidates equal the estimates: otherwise the order may change."""
    compared = dict.fromkeys(_KINDS, 0)
    for case in CASES:
        query = prepare(case.query)
        asked = one_pattern(query)
        if asked is None:
            continue
        for strategy in compared:
            accelerator = opened(case, accelerators)
            loaded, session = accelerator._answers.loaded, accelerator._session
            whole, report = loaded.plan(query, strategy), StrategyReport()
            plan = whole.pattern
            if not isinstance(need_of(asked, plan.bound), Rows) or plan.bound.residuals:
                continue
            with session.strategy(strategy, loaded.graph) as matcher:
                whole.pipeline.run(loaded.graph, matcher, case.parameters, report)
            if _as_estimated(plan, report):
                compared[strategy] += len(plan.bound.relationships) > 0
                kinds = _KINDS[strategy]
                assert _ran(report, kinds) == _planned(plan, loaded.graph), case.query
                if strategy == "extend" and not _has_more_than_joins(plan.bound):
                    told = [found[1] for line in report.steps if (found := _EXPECTED.match(line))]
                    assert told == [_number(each.cardinality) for each in plan.steps], case.query
    assert compared["extend"] > 10
    assert compared["gpsm"] > 4


def _number(rows: float) -> str:
    return f"{rows:,.0f}" if 10 <= rows < 1e12 else f"{rows:.2g}"


def _as_estimated(plan: Any, report: StrategyReport) -> bool:
    nodes = {each.position: each.cardinality for each in plan.bound.nodes}
    if report.candidates != nodes:
        return False
    counts = {each.position: each.cardinality for each in plan.bound.relationships}
    return not report.candidate_relationships or report.candidate_relationships == counts


def _ran(report: StrategyReport, kinds: tuple[str, ...]) -> list[str]:
    """Nodes or relationships bound by the steps of these kinds, in order."""
    found = [_STEP.match(line) for line in report.steps]
    return [
        f"{step[1]} {step[2].split(' along ')[0]}" for step in found if step and step[1] in kinds
    ]


def _planned(plan: Any, graph: Any) -> list[str]:
    lines = []
    for step in plan.steps:
        if step.kind in (StepKind.NODES, StepKind.EXTEND):
            what = node_text(plan.bound, step.position)
        else:
            each = plan.bound.relationships[step.position]
            what = relationship_text(graph.types, plan.bound, each)
        lines.append(f"{step.kind.value} {what}")
    return lines


# ------------------------------------------------------------------ rows of a join
_EXPECTED = re.compile(r"(?:nodes|extend by) .*, expected (\S+)$")


def test_explained_rows_are_the_estimates_that_choose_the_order(
    accelerators: dict[int, Any],
) -> None:
    """For each case, order and row counts of the steps are those of the cost model."""
    compared = 0
    for case in CASES:
        query = prepare(case.query)
        if one_pattern(query) is None:
            continue
        plan = opened(case, accelerators)._answers.loaded.plan(query, "extend").pattern
        if plan.bound.no_rows is not None or plan.declined:
            continue
        order = [each.position for each in plan.steps]
        assert order == planned_order(plan.bound), case.query
        if _has_more_than_joins(plan.bound):
            continue
        rows = JoinCost(plan.bound, order, Rates(plan.bound)).rows()
        assert [each.cardinality for each in plan.steps] == pytest.approx(rows), case.query
        compared += len(order) > 1
    assert compared > 100


def _has_more_than_joins(bound: Any) -> bool:
    """Loops, equal ends, fewer than one candidate, or several relationships between two nodes."""
    rates = Rates(bound)
    return (
        any(each.source == each.target for each in bound.relationships)
        or any(test.equal for test in bound.tests)
        or min((each.cardinality for each in bound.nodes), default=1.0) < 1.0
        or any(
            rates.of(each.position, end, reached=met) > rates.counts[each.other_end(end)]
            for each in bound.relationships
            for end in (each.source, each.target)
            for met in (False, True)
        )
    )
