"""Patterns of any nodes, along relationships of one type that is free of loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.plan import BoundQuery

__all__ = ["asks_nothing", "common_type"]


def asks_nothing(bound: BoundQuery) -> bool:
    """Is nothing asked but that relationships differ?"""
    return (
        bound.no_rows is None
        and not bound.residuals
        and not bound.constants
        and not any(each.labels or each.predicates for each in bound.nodes)
        and not any(each.predicates for each in bound.relationships)
        and not any(test.equal or test.on_nodes for test in bound.tests)
    )


def common_type(bound: BoundQuery, graph: DataGraph) -> int | None:
    """The type of all relationships, which are of one clause.

    None where there are several types, or where it has loops.
    """
    kinds = {(each.types, each.clause) for each in bound.relationships}
    types = (0,) if len(graph.types) == 1 else next(iter(kinds))[0]
    if len(kinds) > 1 or types is None or len(types) != 1:
        return None
    (kind,) = types
    return None if graph.statistics.loop_counts[kind] else kind
