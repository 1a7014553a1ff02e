"""The tests that the links of a join apply to the entries that they follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.kept_entries import EntryTest
from gpugda.match.extend.cache import DirectionTest
from gpugda.match.extend.drafts import ExtendKind
from gpugda.match.extend.segments.degrees import groups_read
from gpugda.plan.join.join_cost import JoinCost
from gpugda.plan.join.join_rates import Rates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.extend.cache import KeptQuery
    from gpugda.match.extend.step import ExtendStep
    from gpugda.plan.counting.count_plan import Eliminate
    from gpugda.plan.plan import BoundQuery

    PlanSteps = tuple[Eliminate | None, Sequence[ExtendStep]]

__all__ = ["PlanSteps", "link_tests", "many_rows", "paired_bytes"]

_MANY_ROWS = 16
_VALUE_BYTES = 4
_WITH_ROWS = (ExtendKind.NODES, ExtendKind.EXTEND)


def link_tests(
    bound: BoundQuery,
    candidates: Candidates,
    joins: Iterable[PlanSteps],
    masked: Iterable[int],
) -> frozenset[DirectionTest]:
    """The tests that all links of some joins apply to entries.

    Args:
        bound: The query.
        candidates: Its candidates.
        joins: Their plans and steps.
        masked: Query nodes with predicates.
    """
    found: set[DirectionTest] = set()
    for plan, steps in joins:
        rows: dict[int, int | None] = dict(candidates.rows)
        for step in steps:
            # A node that is added unchecked may be no candidate.
            if step.kind in (ExtendKind.EXTEND, ExtendKind.COUNT):
                rows[step.position] = step.candidate_row
            found.update(_tests_of_step(bound, step, rows))
        if plan is not None:
            found.update(_tests_of_leaves(plan, rows, candidates, frozenset(masked)))
    return frozenset(found)


def many_rows(
    graph: DataGraph, query: KeptQuery, joins: Sequence[PlanSteps], *, with_leaves: bool
) -> bool:
    """True if the rows before some link need most segments; few rows need only single ones.

    ``with_leaves``: also true if only leaves have links, for which each segment is sent once.
    """
    assert query.candidates is not None
    rates = Rates(query.bound, query.candidates)
    for plan, steps in joins:
        masks = query.masks if plan is None else plan.masks(query.masks)
        seen = with_leaves and plan is not None and groups_read(plan, masks, graph)
        if not seen and not any(each.links for each in steps):
            continue
        rows = _rows_of(query, steps, rates)
        if max(rows[: max(1, len(rows) - 1)], default=0.0) >= _MANY_ROWS:
            return True
    return False


def paired_bytes(query: KeptQuery, joins: Sequence[PlanSteps]) -> float:
    """Expected bytes of the rows for which a step with two links needs pairs of segments."""
    assert query.candidates is not None
    rates, most = Rates(query.bound, query.candidates), 0.0
    for _, steps in joins:
        if not any(len(each.device_links) > 1 for each in steps):
            continue
        rows, made = _rows_of(query, steps, rates), 1.0
        counts, width = iter(rows), 0
        for step in steps:
            if len(step.device_links) > 1:
                most = max(most, _VALUE_BYTES * width * made)
            if step.kind in _WITH_ROWS:
                made = next(counts, made)
            width = len(step.variables)
    return most


def _rows_of(query: KeptQuery, steps: Sequence[ExtendStep], rates: Rates) -> list[float]:
    """Expected rows after each step that adds a node."""
    order = [each.position for each in steps if each.kind in _WITH_ROWS]
    return list(JoinCost(query.bound, order, rates).rows(query.masks.comparisons))


def _tests_of_step(
    bound: BoundQuery, step: ExtendStep, rows: Mapping[int, int | None]
) -> Iterator[DirectionTest]:
    for number, end, link in zip(step.links, step.bound_ends, step.device_links, strict=False):
        relationship = bound.relationships[number]
        other = relationship.source if relationship.target == end else relationship.target
        test = EntryTest(rows[end], rows[other], link.types)
        for outgoing, is_followed in ((True, link.outgoing), (False, link.incoming)):
            if is_followed:
                yield DirectionTest(outgoing, test)


def _tests_of_leaves(
    plan: Eliminate,
    rows: Mapping[int, int | None],
    candidates: Candidates,
    masked: frozenset[int],
) -> Iterator[DirectionTest]:
    for group in plan.groups:
        leaf = group.leaves[0]
        fits_all = not plan.core.nodes[leaf].labels and leaf not in masked
        row = None if fits_all else candidates.rows[leaf]
        types = plan.core.relationships[group.relationships[0]].types
        test = EntryTest(rows[group.anchor], row, None if types is None else tuple(types))
        if group.outgoing:
            yield DirectionTest(True, test)
        if group.incoming:
            yield DirectionTest(False, test)
