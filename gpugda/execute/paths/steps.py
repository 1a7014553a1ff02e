"""The adjacency that steps of a path follow, filtered by the pattern and its predicates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from gpugda.data.values.columns import Column, ColumnKind
from gpugda.errors import UnsupportedQueryError
from gpugda.execute.paths.trail_sets import met_again, numbered
from gpugda.execute.paths.trails import adjacency_of
from gpugda.expressions.environment import Environment
from gpugda.expressions.evaluate import evaluate_truth
from gpugda.expressions.operands import check_faults
from gpugda.plan.label_programs import type_ids
from gpugda.query.ast import Direction

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.context import ExecutionContext
    from gpugda.execute.paths.trail_sets import NumberedSteps
    from gpugda.expressions.boolean_columns import Truth
    from gpugda.plan.logical import Expand, StepPattern
    from gpugda.query.ast import Expression

__all__ = ["Steps", "StepsCache", "reversed_direction", "truth_of_each"]


@dataclass(frozen=True, eq=False)
class Steps:
    """The adjacency of a step.

    Args:
        forwards: Adjacency as seen from the node where the path begins.
        nodes_allowed: Mask of nodes that may lie on a path; None for all.
        residuals: Predicates on whole paths that are still to be tested.
        reverse: Makes the same relationships, reversed.
        is_symmetric: True if each step can also be walked back.
    """

    forwards: Adjacency
    nodes_allowed: NDArray[np.bool_] | None
    residuals: tuple[Expression, ...]
    reverse: Callable[[], Adjacency]
    is_symmetric: bool

    @cached_property
    def backwards(self) -> Adjacency:
        """The same relationships, reversed."""
        return self.reverse()

    @cached_property
    def on_cycles(self) -> NumberedSteps | None:
        """The steps with bits for what a walk may follow twice; None if that is too much."""
        return numbered(self.forwards, met_again(self.forwards))


class StepsCache:
    """Caches the adjacency of one expansion for the next run, if it has no predicates.

    Without predicates it is also cached with the graph, for other queries that use it. Several
    threads may run the expansion at once, on different graphs and with different parameters. So
    nothing that one run uses may be read from here twice.
    """

    def __init__(self, asked: Expand) -> None:
        self.asked = asked
        self._kept: tuple[object, Steps] | None = None

    def steps(self, context: ExecutionContext) -> Steps:
        """The adjacency of a step."""
        asked, graph = self.asked, context.graph
        if asked.predicates or asked.tests or asked.step:
            return _steps(asked, context)
        kept = self._kept
        if kept is None or kept[0] is not graph:
            kept = self._kept = graph, _plain(asked, graph)
        return kept[1]


def _plain(asked: Expand, graph: DataGraph) -> Steps:
    """The adjacency without predicates."""
    types, direction = type_ids(asked.types, graph.types), asked.direction
    found = graph.cached_adjacency(
        (direction, types), lambda: adjacency_of(graph, direction, types)
    )

    is_symmetric = direction is Direction.BOTH

    def reverse() -> Adjacency:
        if is_symmetric:
            return found
        return graph.cached_adjacency((direction, types, "reversed"), found.reversed)

    return Steps(found, None, asked.path_predicates, reverse, is_symmetric)


def reversed_direction(direction: Direction) -> Direction:
    """The direction as seen from the other end."""
    if direction is Direction.OUTGOING:
        return Direction.INCOMING
    return Direction.OUTGOING if direction is Direction.INCOMING else direction


def _steps(asked: Expand, context: ExecutionContext) -> Steps:
    graph = context.graph
    allowed: NDArray[np.bool_] | None = None
    nodes_allowed: NDArray[np.bool_] | None = None
    if asked.predicates:
        truth = truth_of_each(asked.predicates, asked.variable, context, of_nodes=False)
        check_faults(truth.faults, graph.relationship_count)
        allowed = np.array(np.broadcast_to(truth.holds, graph.relationship_count))
    left = list(asked.path_predicates)
    for test in asked.tests:
        truth = truth_of_each((test.predicate,), test.variable, context, of_nodes=test.of_nodes)
        if truth.faults:
            # Elements on no path must not raise: test the predicate on the paths.
            left.append(test.whole)
            continue
        holds = truth.holds if test.wanted else truth.fails
        count = graph.node_count if test.of_nodes else graph.relationship_count
        passed = np.array(np.broadcast_to(holds, count))
        if test.of_nodes:
            nodes_allowed = passed if nodes_allowed is None else nodes_allowed & passed
        else:
            allowed = passed if allowed is None else allowed & passed
    types = type_ids(asked.types, graph.types)
    forwards = adjacency_of(graph, asked.direction, types, allowed, nodes_allowed)
    is_symmetric = asked.direction is Direction.BOTH
    if asked.step is not None and asked.step.predicates:
        forwards = _repeatable(forwards, asked, asked.step, context)
        is_symmetric = False
    reverse = (lambda: forwards) if is_symmetric else forwards.reversed
    return Steps(forwards, nodes_allowed, tuple(left), reverse, is_symmetric)


def _repeatable(
    steps: Adjacency, asked: Expand, step: StepPattern, context: ExecutionContext
) -> Adjacency:
    """The steps that satisfy the predicates of the repeated pattern."""
    graph = context.graph
    nodes = steps.nodes()
    ends = [Column(ColumnKind.NODE, nodes), Column(ColumnKind.NODE, steps.neighbours)]
    left, right = reversed(ends) if asked.reversed else ends
    count = len(nodes)
    environment = Environment(
        count,
        context.parameters,
        context.text,
        graph,
        {
            step.nodes[0]: left,
            step.nodes[1]: right,
            step.relationships[0]: Column(ColumnKind.RELATIONSHIP, steps.relationships),
        },
        cache=context.cache,
    )
    truth = evaluate_truth(step.predicates, environment)
    if truth.faults:
        message = "a condition in a quantified path that fails for some relationships"
        raise UnsupportedQueryError(f"{message} is not supported by this engine", construct=message)
    return steps.taken(np.broadcast_to(truth.holds, count))


def truth_of_each(
    predicates: tuple[Expression, ...],
    variable: str,
    context: ExecutionContext,
    *,
    of_nodes: bool,
) -> Truth:
    """Evaluates predicates on one variable for all nodes or all relationships, in order."""
    graph = context.graph
    count = graph.node_count if of_nodes else graph.relationship_count
    kind = ColumnKind.NODE if of_nodes else ColumnKind.RELATIONSHIP
    environment = Environment(
        count,
        context.parameters,
        context.text,
        graph,
        {variable: Column(kind, np.arange(count, dtype=np.uint32))},
        everything=True,
        cache=context.cache,
    )
    return evaluate_truth(predicates, environment)
