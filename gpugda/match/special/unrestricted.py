"""Patterns of unrestricted nodes and one relationship type or any: counted in ranked lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.match.share import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpugda.data.data_graph import DataGraph
    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.launch.ranked_lists import RankedLists
    from gpugda.match.embeddings import StrategyReport
    from gpugda.match.engine import Engine
    from gpugda.match.run import Run
    from gpugda.match.share import Share
    from gpugda.plan.plan import BoundQuery

__all__ = [
    "CommonLink",
    "common_link",
    "counted_by_rank",
    "is_large",
    "is_unrestricted",
    "ranked_lists_apply",
    "sums_triangles",
]

_MIN_RELATIONSHIPS = 1 << 17
"""Number of relationships below which computing ranks takes longer than it saves."""


class CommonLink(NamedTuple):
    """The link that all relationships of a pattern match.

    Args:
        type_id: Its type; None for any.
        undirected: True if all relationships match in both directions.
    """

    type_id: int | None
    undirected: bool

    @property
    def types(self) -> tuple[int, ...] | None:
        """Its types; None for any."""
        return None if self.type_id is None else (self.type_id,)

    def has_loops(self, graph: DataGraph) -> bool:
        """True if any of its relationships is a self-loop."""
        counts = graph.statistics.loop_counts
        return any(counts if self.type_id is None else (counts[self.type_id],))

    def max_between(self, graph: DataGraph) -> int:
        """Upper bound of its relationships between two nodes, and of self-loops at a node."""
        return graph.max_between(self.types, directed=not self.undirected)

    def longest(self, graph: DataGraph) -> int:
        """Upper bound of the entries of a node's list."""
        lengths = [
            graph.statistics.degrees(self.type_id, outgoing=each).largest for each in (True, False)
        ]
        return sum(lengths) if self.undirected else max(lengths)


def is_unrestricted(bound: BoundQuery) -> bool:
    """True if the only condition is that relationships differ."""
    return (
        bound.no_rows is None
        and not bound.residuals
        and not bound.constants
        and not any(each.labels or each.predicates for each in bound.nodes)
        and not any(each.predicates for each in bound.relationships)
        and not any(test.equal or test.on_nodes for test in bound.tests)
    )


def common_link(bound: BoundQuery, graph: DataGraph) -> CommonLink | None:
    """The link that all relationships match; None for several types, clauses, or none."""
    kinds = {(each.types, each.clause) for each in bound.relationships}
    if len(kinds) != 1:
        return None
    ((types, _clause),) = kinds
    if len(graph.types) == 1:
        types = (0,) if types is None or types == (0,) else ()
    if types is not None and len(types) != 1:
        return None
    undirected = not any(each.directed for each in bound.relationships)
    return CommonLink(None if types is None else types[0], undirected)


def is_large(graph: DataGraph) -> bool:
    """True if the graph has enough relationships for ranked lists to pay off."""
    return graph.relationship_count >= _MIN_RELATIONSHIPS


def ranked_lists_apply(graph: DataGraph, strategy: Engine) -> bool:
    """True if the graph is large enough for ranked lists, and the device has no better way.

    A CPU has one: it marks the neighbours of one node at a time.
    """
    return is_large(graph) and strategy.graph.context.profile.intersection == "lists"


def counted_by_rank(
    links: CommonLink,
    strategy: Engine,
    report: StrategyReport,
    deadline: float | None,
    count: Callable[[Run, RankedLists], int | None],
    said: str,
    share: Share = WHOLE,
) -> int | None:
    """The count from ranked lists of a whole graph; None if there is no room for them.

    Args:
        links: The link that all relationships match.
        strategy: Keeps the lists.
        report: Filled while running.
        deadline: A time of ``time.monotonic``.
        count: Counts in the lists.
        said: Text for the report: what is counted.
        share: The part of it that is counted, for `Run.share`.
    """
    if not strategy.placement().is_whole:
        return None
    with strategy.running(report, deadline, share) as run, run.locked():
        lists = strategy.ranked.lists(run, links.type_id, undirected=links.undirected)
        if lists is None:
            return None
        with run.stage("join"):
            found = count(run, lists)
    if found is not None:
        report.steps.append(f"{said}: {found:,} rows")
    return found


def sums_triangles(graph: DeviceGraph) -> bool:
    """True if the device has the kernels, which mark nodes."""
    return graph.context.profile.intersection == "marks"
