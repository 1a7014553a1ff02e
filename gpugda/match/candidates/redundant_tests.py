"""Drops tests that masks make redundant: relationships with disjoint masks always differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from gpugda.caching import LruCache

if TYPE_CHECKING:
    from gpugda.match.embeddings import Masks
    from gpugda.plan.plan import Plan, RowTest

__all__ = ["drop_redundant_tests"]

_kept: Final[LruCache[object, tuple[Plan, Plan]]] = LruCache(64)
"""By plan: the plan and its derived plan. Strategies cache by the identity of a plan."""


def drop_redundant_tests(plan: Plan, masks: Masks) -> Plan:
    """The plan without tests that no row can fail, so that counts may be multiplied instead."""
    bound = plan.bound
    if len(masks.relationships) < 2:
        return plan
    left = tuple(each for each in bound.tests if not _is_certain(each, masks))
    if len(left) == len(bound.tests):
        return plan
    made = _kept.get(
        (id(plan), left), lambda: (plan, replace(plan, bound=replace(bound, tests=left)))
    )
    return made[1]


def _is_certain(test: RowTest, masks: Masks) -> bool:
    if test.on_nodes or test.equal:
        return False
    one, other = (masks.relationships.get(each) for each in (test.left, test.right))
    return one is not None and other is not None and not (one & other).any()
