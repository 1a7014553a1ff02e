"""Where in a query's plan work is divided between several places."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpugda.execute.operators.match import PatternOperator
from gpugda.match.exchange import Exchange, expect, seeds_text
from gpugda.plan.cost import Work
from gpugda.plan.physical import Physical

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from gpugda.execute.operator import Operator
    from gpugda.execute.pipeline import QueryPlan
    from gpugda.match.exchange import Places
    from gpugda.match.matcher import Matcher
    from gpugda.plan.cost import DeviceRates
    from gpugda.plan.physical import PhysicalPlan

__all__ = ["exchange_of", "with_exchanges"]


def exchange_of(
    places: Places,
    matcher: Matcher,
    plan: QueryPlan,
    rates: DeviceRates,
    values: Mapping[str, Any],
) -> Exchange:
    """Divides the patterns of a query that are expected to take long.

    Args:
        places: The places.
        matcher: The strategy that computes what is not divided.
        plan: The plan of the query.
        rates: Rates of the matcher's device.
        values: Parameter values by name.
    """
    with_exchanges(places, plan, plan.physical(rates, values=values))
    return Exchange(places, matcher)


def with_exchanges(places: Places, plan: QueryPlan, physical: PhysicalPlan) -> PhysicalPlan:
    """The physical plan with an operator above each pattern that is divided."""

    def found(operator: Operator, node: Physical) -> Physical:
        below = tuple(map(found, operator.children, node.children))
        node = replace(node, children=below)
        if not isinstance(operator, PatternOperator):
            return node
        pattern = operator.plan_on(plan.graph, plan.strategy)
        times = expect(pattern, physical.seconds_of(node))
        if not pattern.bound.nodes or not places.limits.divides(times) or not places.are_useful:
            return node
        what = f"exchange {seeds_text(pattern)} between {places.text}"
        return Physical("Exchange", what, node.rows, node.found, Work(), (node,))

    return replace(physical, root=found(plan.pipeline.root, physical.root))
