"""The steps of a join that binds one query node after another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.plan.partial_rows import PartialRows
from gpugda.plan.plan import PlanStep, StepKind
from gpugda.plan.readable import rate_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.plan.plan import BoundQuery, BoundRelationship

__all__ = ["node_steps"]


def node_steps(bound: BoundQuery, order: Iterable[int]) -> tuple[PlanStep, ...]:
    """One step per query node of an order, along all relationships to nodes before it.

    The estimated rows of the same nodes and relationships are equal in every order.
    """
    at: dict[int, list[BoundRelationship]] = {}
    for each in bound.relationships:
        for end in {each.source, each.target}:
            at.setdefault(end, []).append(each)
    rows = PartialRows(bound)
    return tuple([_step(bound, rows, node, at.get(node, [])) for node in order])


def _step(
    bound: BoundQuery, rows: PartialRows, node: int, at_node: list[BoundRelationship]
) -> PlanStep:
    links = [each for each in at_node if each.other_end(node) in rows.nodes]
    loops = [each for each in at_node if each.source == each.target]
    along = tuple([each.position for each in (*links, *loops)])
    if links:
        rate, reason = _followed(rows, node, links)
    else:
        is_first = not rows.nodes
        rate = bound.nodes[node].cardinality
        rows.bind_node(node)
        beginning = "" if is_first else "nothing connected is left; "
        reason = f"{beginning}{rate_text(rate)} candidates"
    for each in loops:
        rate *= rows.closing_rate(each)
        rows.bind_relationship(each)
    kind = StepKind.EXTEND if links else StepKind.NODES
    return PlanStep(kind, node, -1, rows.grow(rate), reason, along)


def _followed(rows: PartialRows, node: int, links: list[BoundRelationship]) -> tuple[float, str]:
    """Rows out per row in and the reason, with one link as base list and the others as probes."""
    rates = [rows.extension_rate(each, each.other_end(node)) for each in links]
    fewest = min(range(len(links)), key=rates.__getitem__)
    rate = rates[fewest]
    reason = f"least cost among the connected: {rate_text(rate)} per row"
    rows.bind_relationship(links[fewest])
    for number in sorted(range(len(links)), key=rates.__getitem__):
        if number != fewest:
            rate *= rows.closing_rate(links[number])
            rows.bind_relationship(links[number])
    if len(links) > 1:
        reason += f", {rate_text(rate)} of them along all {len(links)}"
    return rate, reason
