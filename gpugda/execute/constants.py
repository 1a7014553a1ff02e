"""Conditions without variables: the same in all rows, but not always known before there are any."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import numpy as np

from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.parameters import Parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gpugda.plan.plan import BoundQuery

__all__ = ["Verdict", "judge_constants", "with_constants"]


class Verdict(Enum):
    """What the conditions without variables say together."""

    TRUE = auto()
    FALSE = auto()
    NULL = auto()
    """No row passes, but the other conditions' errors show."""
    ERROR = auto()
    """The first row that no other condition turns away is an error."""


def judge_constants(bound: BoundQuery, parameters: Mapping[str, Any]) -> Verdict:
    """All of them, connected by AND.

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
    """The query with the constants as conditions on the rows, where that may matter."""
    if verdict is Verdict.TRUE:
        return bound
    if verdict is Verdict.ERROR:
        # An error wins over null, so masks may turn away only what is false.
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
