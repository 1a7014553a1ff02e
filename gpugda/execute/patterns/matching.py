"""Predicates without variables: constant over all rows, but not always decidable before a row."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.deadline import check_deadline
from gpugda.errors import UnsupportedQueryError
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.parameters import Parameters
from gpugda.match.candidates.push_comparisons import push_comparisons
from gpugda.match.candidates.redundant_tests import drop_redundant_tests
from gpugda.match.candidates.selections import mask_query
from gpugda.stages import Stage
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Masks, StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.plan.plan import BoundQuery, Plan


__all__ = [
    "Selected",
    "Verdict",
    "compared",
    "evaluate_constants",
    "masked",
    "narrowed",
    "select",
    "with_constants",
]


class Verdict(Enum):
    """The conjunction of the predicates without variables."""

    TRUE = auto()
    FALSE = auto()
    NULL = auto()
    """No row passes, but errors of the other predicates must be raised."""
    ERROR = auto()
    """The first row that no other predicate rejects raises an error."""


def evaluate_constants(bound: BoundQuery, parameters: Mapping[str, Any]) -> Verdict:
    """Evaluates the conjunction of the predicates without variables.

    Raises:
        ParameterMissingError: A parameter has no value.
    """
    if not bound.constants:
        return Verdict.TRUE
    text = bound.query.text
    truth = evaluate_truth(bound.constants, Environment(1, Parameters(parameters, text), text))
    if any(np.any(fault.rows) for fault in truth.faults):
        return Verdict.ERROR
    if np.all(truth.holds):
        return Verdict.TRUE
    return Verdict.FALSE if np.all(truth.fails) else Verdict.NULL


def with_constants(bound: BoundQuery, verdict: Verdict) -> BoundQuery:
    """The query with the constants added to its row predicates, if they can change the answer."""
    if verdict is Verdict.TRUE:
        return bound
    if verdict is Verdict.ERROR:
        # An error takes precedence over null, so masks may reject only what is false.
        bound = replace(
            bound,
            nodes=tuple(_doubted(each, bound) for each in bound.nodes),
            relationships=tuple(_doubted(each, bound) for each in bound.relationships),
        )
    return replace(bound, residuals=(*bound.constants, *bound.residuals))


def _doubted(each: Any, bound: BoundQuery) -> Any:
    if not each.predicates:
        return each
    return replace(each, predicates=(*bound.constants, *each.predicates))


_SHARE_FOR_KEYS = 0.5
"""Share of the memory limit for keys of compared values, which are needed for each node."""


@value(frozen=True, slots=True, eq=False)
class Selected:
    """A pattern whose predicates are masks as far as possible.

    Args:
        plan: The plan to run.
        masks: Bitmaps of the nodes and relationships that pass the predicates.
        rest: The query with the residual predicates, tested on rows.
    """

    plan: Plan
    masks: Masks
    rest: BoundQuery


def select(
    plan: Plan,
    graph: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Selected | None:
    """The pattern to be joined, as `masked` and `compared` give it.

    Raises:
        ParameterMissingError: A parameter has no value.
        UnsupportedQueryError: The strategy cannot run the plan.
        QueryTimeoutError: The deadline passed.
    """
    selected = masked(plan, graph, parameters, report, deadline)
    if selected is None:
        return None
    return compared(selected, graph, strategy, parameters, report, deadline)


def masked(
    plan: Plan,
    graph: DataGraph,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Selected | None:
    """The pattern to be found; None if it has no rows and no predicate can raise an error.

    Raises:
        ParameterMissingError: A parameter has no value.
        UnsupportedQueryError: The strategy cannot run the plan.
        QueryTimeoutError: The deadline passed.
    """
    bound = plan.bound
    check_possible(plan)
    verdict = evaluate_constants(bound, parameters)
    if bound.no_rows is not None or verdict is Verdict.FALSE:
        return None
    with Stage(report.timings, "masks"):
        masks, rest = mask_query(with_constants(bound, verdict), graph, parameters)
    check_deadline(deadline)
    if verdict is Verdict.NULL and rest.residuals == bound.constants:
        return None
    return Selected(plan, masks, rest)


def compared(
    selected: Selected,
    graph: DataGraph,
    strategy: Matcher,
    parameters: Mapping[str, Any],
    report: StrategyReport,
    deadline: float | None,
) -> Selected:
    """The same pattern with the comparisons and tests that the strategy makes itself.

    Raises:
        QueryTimeoutError: The deadline passed.
    """
    plan, masks, rest = selected.plan, selected.masks, selected.rest
    with Stage(report.timings, "masks"):
        if strategy.compares and rest is plan.bound:
            pushed, left = push_comparisons(rest, graph, parameters, masks)
            # Otherwise rows are compared on the host.
            if sum(each.nbytes for each in pushed.keys) <= strategy.limit * _SHARE_FOR_KEYS:
                masks, rest = pushed, left
        plan = drop_redundant_tests(plan, masks)
    check_deadline(deadline)
    return Selected(plan, masks, rest)


def check_possible(plan: Plan) -> None:
    """Refuses a plan whose strategy cannot run it.

    Raises:
        UnsupportedQueryError: The strategy cannot run it; a named strategy has no fallback.
    """
    if plan.declined:
        from gpugda.plan.explain import cannot_run

        raise UnsupportedQueryError(
            cannot_run(plan.strategy, plan.declined), construct=f"strategy {plan.strategy}"
        )


def narrowed(
    selected: Selected,
    nodes: Mapping[int, NDArray[np.uint32]],
    relationships: Mapping[int, NDArray[np.uint32]],
) -> Selected:
    """The same pattern with additional bitmaps, by position of query node or relationship."""
    masks = selected.masks
    masks = replace(
        masks,
        nodes=_both(masks.nodes, nodes),
        relationships=_both(masks.relationships, relationships),
    )
    return replace(selected, masks=masks)


def _both(
    masks: Mapping[int, NDArray[np.uint32]], more: Mapping[int, NDArray[np.uint32]]
) -> dict[int, NDArray[np.uint32]]:
    found = dict(masks)
    for position, words in more.items():
        found[position] = found[position] & words if position in found else words
    return dict(sorted(found.items()))
