"""Text form of a plan: what is matched, in which order, with estimated rows and reasons."""

from __future__ import annotations

import re
from copy import copy
from typing import TYPE_CHECKING, Final

from gpugda.plan.building.build import build_query
from gpugda.plan.comparisons import compared_values
from gpugda.plan.operator_tree import operators_of
from gpugda.plan.physical import estimate
from gpugda.plan.plan import StepKind
from gpugda.plan.readable import bytes_text, count_text
from gpugda.plan.tree_text import rule_lines
from gpugda.query.query_graph import is_anonymous, node_text, relationship_text
from gpugda.query.render import expression_text, name_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpugda.plan.operator_tree import OperatorNode
    from gpugda.plan.physical import Estimate, PhysicalPlan
    from gpugda.plan.plan import BoundNode, BoundRelationship, Plan, PlanStep, RowTest
    from gpugda.query.ast import Expression
    from gpugda.query.statement import Statement

__all__ = ["Explanation", "cannot_run", "explain_text", "plan_text"]

_PAIRS_SHOWN: Final = 6
_ANONYMOUS: Final = re.compile("`\\0[nr][0-9]+`")


class Explanation:
    """How a query will be answered, by which engine and why. Printing it shows the plan.

    Attributes:
        engine: ``gpu`` or ``native``.
        reason: One sentence that says why this engine was chosen.
        estimate: Estimated rows, bytes and seconds.
        physical: The plan of the query; None if the device cannot answer it.
        patterns: The plan of each pattern.
        route: One line for each rule of the router: the engine that it would choose and why; empty
            if there is only one engine.
    """

    def __init__(
        self,
        expected: Estimate,
        *,
        engine: str,
        reason: str,
        physical: PhysicalPlan | None = None,
        patterns: Sequence[Plan] = (),
        lines: Sequence[str] = (),
        route: Sequence[str] = (),
    ) -> None:
        self.engine = engine
        self.reason = reason
        self.estimate = expected
        self.physical = physical
        self.patterns = tuple(patterns)
        self.route = tuple(route)
        self._lines = tuple(lines)

    @property
    def operators(self) -> OperatorNode | None:
        """The operator tree. `Accelerator.profile` gives the same tree with measured figures."""
        return None if self.physical is None else operators_of(self.physical.root)

    def with_rules(self, query: Statement) -> Explanation:
        """This explanation, which also shows what each rule of the optimizer did to the query."""
        made = copy(self)
        if self.physical is not None:
            made._lines = (*self._lines, *rule_lines(build_query(query.tree).tree))
        return made

    def __str__(self) -> str:
        who = [f"engine {self.engine}: {self.reason}"]
        how = [] if self.physical is None else [plan_text(self.physical, self.patterns)]
        return "\n".join([*who, *how, *self._lines, *self.route])

    __repr__ = __str__


def plan_text(physical: PhysicalPlan, patterns: Sequence[Plan]) -> str:
    """The plan of a query as text of several lines: its operators, then its patterns."""
    parts = [str(operators_of(physical.root)), *dict.fromkeys(map(explain_text, patterns))]
    return "\n\n".join(parts)


def cannot_run(strategy: str, declined: str) -> str:
    """The sentence that a strategy declined a pattern, with the reason."""
    return f"strategy {strategy} cannot answer this: {declined}"


def explain_text(plan: Plan) -> str:
    """The plan of a pattern as text of several lines."""
    bound = plan.bound
    lines = [*_strategy_lines(plan), "", "query nodes"]
    lines += _table([_node_row(plan, node) for node in bound.nodes])
    if bound.relationships:
        lines += ["query relationships"]
        lines += _table([_relationship_row(plan, each) for each in bound.relationships])
    lines += _conditions(plan)
    if bound.no_rows is None:
        lines += ["steps", *_table([_step_row(plan, i) for i in range(len(plan.steps))])]
    lines += [f"warning: {warning}" for warning in plan.warnings]
    return "\n".join(lines)


def _strategy_lines(plan: Plan) -> list[str]:
    if plan.bound.no_rows is not None:
        return [f"no rows: {plan.bound.no_rows}"]
    if plan.declined:
        return [cannot_run(plan.strategy, plan.declined)]
    reason = plan.strategy_reason
    expected = estimate(plan)
    first = "" if plan.describe_first is None else plan.describe_first(plan.bound)
    return [
        f"strategy {plan.strategy}" + (f": {reason}" if reason else ""),
        *([f"to count: {first}"] if first else []),
        f"expected: {count_text(expected.rows)} rows, {bytes_text(expected.bytes)} for "
        "partial embeddings",
    ]


# ------------------------------------------------------------------ rows of the tables
def _node_row(plan: Plan, node: BoundNode) -> tuple[str, ...]:
    asked = plan.bound.query.graph.nodes[node.position]
    return (
        node_text(asked, {})
        if not is_anonymous(node.name)
        else f"{node_text(asked, {})} {_end(node)}",
        f"{count_text(node.cardinality)} candidates",
        _predicates(node.predicates),
    )


def _relationship_row(plan: Plan, relationship: BoundRelationship) -> tuple[str, ...]:
    return (
        _relationship(plan, relationship.position),
        f"{count_text(relationship.cardinality)} candidates",
        _predicates(relationship.predicates),
    )


def _step_row(plan: Plan, number: int) -> tuple[str, ...]:
    step: PlanStep = plan.steps[number]
    if step.kind in (StepKind.NODES, StepKind.EXTEND):
        what = _end(plan.bound.nodes[step.position])
        along = ", ".join([_relationship(plan, each) for each in step.along])
        what += f" along {along}" if along else ""
    else:
        what = _relationship(plan, step.position)
    return (
        f"{number + 1}.",
        step.kind.value,
        what,
        f"{count_text(step.cardinality)} rows",
        step.reason,
    )


def _relationship(plan: Plan, position: int) -> str:
    asked = plan.bound.query.graph.relationships[position]
    source, target = (plan.bound.nodes[end] for end in (asked.source, asked.target))
    return f"{_end(source)}{relationship_text(asked, {})}{_end(target)}"


def _end(node: BoundNode) -> str:
    return f"(#{node.position})" if is_anonymous(node.name) else f"({name_text(node.name)})"


def _predicates(predicates: Sequence[Expression]) -> str:
    return " AND ".join(_readable(predicate) for predicate in predicates)


def _readable(predicate: Expression) -> str:
    # Leave out the name of an anonymous variable: '.x = 1'.
    text = expression_text(predicate)
    return _ANONYMOUS.sub("", text)


def _conditions(plan: Plan) -> list[str]:
    bound = plan.bound
    pairs = [test for test in bound.tests if _is_distinctness_test(test)]
    lines = [
        f"on each row: {_test(plan, test)}"
        for test in bound.tests
        if not _is_distinctness_test(test)
    ]
    if len(pairs) > _PAIRS_SHOWN:
        lines.append(f"on each row: {len(pairs)} pairs of relationships differ")
    elif pairs:
        lines.append(f"on each row: {', '.join(_test(plan, test) for test in pairs)}")
    lines += [f"{_where(plan, residual)}: {_readable(residual)}" for residual in bound.residuals]
    return lines + [f"once: {_readable(constant)}" for constant in bound.constants]


def _is_distinctness_test(test: RowTest) -> bool:
    """True if the test requires two relationships to differ; large patterns have one per pair."""
    return not test.on_nodes and not test.equal


def _where(plan: Plan, residual: Expression) -> str:
    if plan.compares and compared_values(residual) is not None:
        return "in the join if the values have an order, otherwise on each row"
    return "on each row"


def _test(plan: Plan, test: RowTest) -> str:
    sign = "=" if test.equal else "<>"
    if test.on_nodes:
        left, right = (_end(plan.bound.nodes[side]) for side in (test.left, test.right))
    else:
        left, right = (_relationship_name(plan, side) for side in (test.left, test.right))
    return f"{left} {sign} {right}"


def _relationship_name(plan: Plan, position: int) -> str:
    name = plan.bound.relationships[position].name
    again = plan.bound.query.graph.relationships[position].same_as is not None
    number = f"#{position}" if again or is_anonymous(name) else ""
    return f"[{'' if is_anonymous(name) else name_text(name)}{number}]"


# ------------------------------------------------------------------ layout
def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (
            "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
