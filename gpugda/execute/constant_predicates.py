"""Predicates without variables: constant over all rows, but not always decidable before a row."""

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

__all__ = ["Verdict", "evaluate_constants", "with_constants"]


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
