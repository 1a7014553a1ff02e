"""Computes the columns that each step of the join reads, tests, keeps and adds."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda.plan.plan import StepKind
from gpugda.plan.variables import Variable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gpugda.match.need import Rows
    from gpugda.plan.plan import BoundQuery, PlanStep, RowTest

__all__ = ["JoinStep", "compile_steps"]


@dataclass(frozen=True, slots=True)
class JoinStep:
    """One step, expressed in columns.

    Args:
        kind: The operation; None if it only tests the rows of a product.
        position: Query node or query relationship; that of the product for a test-only step.
        bound_column: For COMBINE and CLOSE, the column of the end by which the table is looked up.
        other_column: For CLOSE, the column of the other end; None for a self-loop.
        kept: Columns of the old table that the new table begins with.
        tests: (left, right, equal): old columns, or the old width for an added node, one more for
            an added relationship.
        added: Column of the new table per added variable; None if no later step needs it.
        variables: The variables that the columns of the new table hold.
    """

    kind: StepKind | None
    position: int
    bound_column: int
    other_column: int | None
    kept: tuple[int, ...]
    tests: tuple[tuple[int, int, bool], ...]
    added: tuple[int | None, ...]
    variables: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A step, expressed in variables.

    ``ends``: the bound ones. ``added``: in the order of the kernels (node looked up by, other node,
    relationship).
    """

    kind: StepKind | None
    position: int
    ends: tuple[Variable, ...]
    added: tuple[Variable, ...]
    tests: tuple[RowTest, ...]

    def reads(self) -> set[Variable]:
        """Variables that must be bound before or by this step."""
        return {*self.ends, *(each for test in self.tests for each in _tested(test))}


def compile_steps(
    bound: BoundQuery, steps: Iterable[PlanStep], ends: Mapping[int, int], wanted: Rows
) -> tuple[JoinStep, ...]:
    """The steps with their columns.

    Args:
        bound: The query.
        steps: The planned steps, in order.
        ends: Per query relationship, the end by which its table is looked up.
        wanted: Columns of the last table.
    """
    drafts = _drafts(bound, steps, ends)
    needed = {Variable(True, each) for each in wanted.nodes}
    needed |= {Variable(False, each) for each in wanted.relationships}
    needed_after: list[set[Variable]] = []
    for draft in reversed(drafts):
        needed_after.append(set(needed))
        needed |= draft.reads()
    compiled: list[JoinStep] = []
    columns: tuple[Variable, ...] = ()
    for draft, needs in zip(drafts, reversed(needed_after), strict=True):
        compiled.append(_compile(draft, columns, needs))
        columns = compiled[-1].variables
    return tuple(compiled)


def _drafts(bound: BoundQuery, steps: Iterable[PlanStep], ends: Mapping[int, int]) -> list[_Draft]:
    drafts: list[_Draft] = []
    planned = [(step, *_variables(bound, step, ends)) for step in steps]
    first_step: dict[Variable, int] = {}
    for number, (_, _, added) in enumerate(planned):
        for variable in added:
            first_step.setdefault(variable, number)
    due: dict[int, list[RowTest]] = defaultdict(list)
    for test in bound.tests:
        due[max(first_step[variable] for variable in _tested(test))].append(test)
    for number, (step, before, added) in enumerate(planned):
        tests = tuple(due[number])
        if step.kind in (StepKind.NODES, StepKind.RELATIONSHIPS):
            drafts.append(_Draft(step.kind, step.position, (), added, ()))
            if tests:
                drafts.append(_Draft(None, step.position, (), (), tests))
        else:
            drafts.append(_Draft(step.kind, step.position, before, added, tests))
    return drafts


def _variables(
    bound: BoundQuery, step: PlanStep, ends: Mapping[int, int]
) -> tuple[tuple[Variable, ...], tuple[Variable, ...]]:
    """The bound ends of a step, and the variables it adds."""
    if step.kind is StepKind.NODES:
        return (), (Variable(True, step.position),)
    each = bound.relationships[step.position]
    looked_up = ends[step.position]
    other = each.other_end(looked_up)
    nodes = (Variable(True, looked_up), Variable(True, other))
    relationship = Variable(False, step.position)
    if step.kind is StepKind.RELATIONSHIPS:
        return (), (*nodes, relationship)
    if step.kind is StepKind.COMBINE:
        return nodes[:1], (nodes[1], relationship)
    # A self-loop's entries need no test of the other end.
    return nodes[:1] if looked_up == other else nodes, (relationship,)


def _compile(draft: _Draft, old: tuple[Variable, ...], needed: set[Variable]) -> JoinStep:
    column = {variable: number for number, variable in enumerate(old)}
    kept = tuple(number for number, variable in enumerate(old) if variable in needed)
    variables = [old[number] for number in kept]
    added: list[int | None] = []
    for variable in draft.added:
        if variable in needed and variable not in variables:
            added.append(len(variables))
            variables.append(variable)
        else:
            added.append(None)
    place = column | {each: len(old) + (not each.is_node) for each in draft.added}
    return JoinStep(
        draft.kind,
        draft.position,
        column[draft.ends[0]] if draft.ends else -1,
        column[draft.ends[1]] if len(draft.ends) > 1 else None,
        kept,
        _columns_of(draft.tests, place),
        tuple(added),
        tuple(variables),
    )


def _columns_of(
    tests: Sequence[RowTest], place: Mapping[Variable, int]
) -> tuple[tuple[int, int, bool], ...]:
    pairs = [(_tested(test), test.equal) for test in tests]
    return tuple((place[left], place[right], equal) for (left, right), equal in pairs)


def _tested(test: RowTest) -> tuple[Variable, Variable]:
    return Variable(test.on_nodes, test.left), Variable(test.on_nodes, test.right)
