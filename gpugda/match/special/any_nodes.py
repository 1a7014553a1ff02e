"""Patterns of any nodes, along relationships of one type or any: counted in lists by rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["Links", "asks_nothing", "common_links", "counted_by_rank", "is_large", "may_rank"]

_FEWEST = 1 << 17
"""Relationships: of fewer, ranks take longer than they save."""


class Links(NamedTuple):
    """What all relationships of a pattern match.

    Args:
        type_id: Of their type; None for any.
        undirected: Do all match in both directions?
    """

    type_id: int | None
    undirected: bool

    @property
    def types(self) -> tuple[int, ...] | None:
        """Their types; None for any."""
        return None if self.type_id is None else (self.type_id,)

    def has_loops(self, graph: DataGraph) -> bool:
        """Does any of them lead from a node to itself?"""
        counts = graph.statistics.loop_counts
        return any(counts if self.type_id is None else (counts[self.type_id],))

    def most_between(self, graph: DataGraph) -> int:
        """No two nodes have more of them between them, and no node more loops."""
        return graph.most_between(self.types, directed=not self.undirected)

    def longest(self, graph: DataGraph) -> int:
        """No list of a node has more entries."""
        ways = [
            graph.statistics.degrees(self.type_id, outgoing=each).largest for each in (True, False)
        ]
        return sum(ways) if self.undirected else max(ways)


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


def common_links(bound: BoundQuery, graph: DataGraph) -> Links | None:
    """What all relationships match, which are of one clause; None: of several types, or some."""
    kinds = {(each.types, each.clause) for each in bound.relationships}
    if len(kinds) != 1:
        return None
    ((types, _clause),) = kinds
    if len(graph.types) == 1:
        types = (0,) if types is None or types == (0,) else ()
    if types is not None and len(types) != 1:
        return None
    undirected = not any(each.directed for each in bound.relationships)
    return Links(None if types is None else types[0], undirected)


def is_large(graph: DataGraph) -> bool:
    """Has a graph so many relationships that lists by rank pay?"""
    return graph.relationship_count >= _FEWEST


def may_rank(graph: DataGraph, strategy: Matcher) -> bool:
    """Is the graph large enough for lists by rank, on a device that has no better way?

    A CPU marks the nodes of the graph as it is, one by one.
    """
    return is_large(graph) and strategy.graph.context.profile.intersection == "lists"


def counted_by_rank(
    links: Links,
    strategy: Matcher,
    report: StrategyReport,
    deadline: float | None,
    count: Callable[[Run, RankedLists], int | None],
    said: str,
) -> int | None:
    """What is counted in lists by rank of a whole graph; None where there is no place for them.

    Args:
        links: What all relationships match.
        strategy: Keeps the lists.
        report: Filled while running.
        deadline: A time of ``time.monotonic``.
        count: Counts in the lists.
        said: What is counted, for the report.
    """
    if not strategy.placement().is_whole:
        return None
    with strategy.running(report, deadline) as run, run.locked():
        lists = strategy.ranked.lists(run, links.type_id, undirected=links.undirected)
        if lists is None:
            return None
        with run.stage("join"):
            found = count(run, lists)
    if found is not None:
        report.steps.append(f"{said}: {found:,} rows")
    return found
