"""A prepared join node by node, and the lists it reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.gsi.report import describe_steps
from gpugda_strategies.gsi.store import with_mask

from gpugda.match.matcher import Cursor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpugda_strategies.gsi.steps import Link, NodeStep
    from gpugda_strategies.gsi.store import GraphStore
    from gpugda_strategies.gsi.windows import NodeWindows
    from gpugda_strategies.launch.gsi_join import ListArrays

    from gpugda.device.graph.device_graph import DeviceGraph
    from gpugda.device.launch.join import Table
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.plan.variables import Variable

__all__ = ["NodeCursor", "lists_of", "type_frequency"]


def type_frequency(bound: BoundQuery, graph: DeviceGraph) -> Callable[[BoundRelationship], float]:
    """The number of data relationships with the types of a query relationship."""
    counts = graph.graph.statistics.type_counts
    found = {
        each.position: float(
            sum(counts) if each.types is None else sum(counts[kind] for kind in each.types)
        )
        for each in bound.relationships
    }
    return lambda each: found[each.position]


def lists_of(
    run: Run, steps: Sequence[NodeStep], masks: Masks, store: GraphStore
) -> dict[Link, ListArrays]:
    """The lists of each link of these steps, with the mask of the link's relationship."""
    links = [link for step in steps for link in step.links]
    lists = store.lists(run, list(dict.fromkeys(link.partition for link in links)))
    uploaded = {
        position: run.workspace.upload(masks.relationships[position], "predicate bitmaps")
        for position in sorted({link.relationship for link in links} & set(masks.relationships))
    }
    return {
        link: with_mask(lists[link.partition], uploaded.get(link.relationship)) for link in links
    }


@dataclass(frozen=True, slots=True, eq=False)
class NodeCursor(Cursor):
    """A cursor over prepared candidates, steps and lists.

    Args:
        bound: The query.
        steps: The steps.
        windows: Executes the steps.
    """

    bound: BoundQuery
    steps: Sequence[NodeStep]
    windows: NodeWindows

    @property
    def variables(self) -> Sequence[Variable]:
        """See `Cursor.variables`."""
        return self.windows.variables

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `Cursor.tables`."""
        return self.windows.tables(enough)

    def counts(self) -> Iterator[int]:
        """See `Cursor.counts`."""
        return self.windows.counts()

    def describe(self, run: Run) -> None:
        """See `Cursor.describe`."""
        describe_steps(run.report, run.graph.graph, self.bound, self.steps, self.windows)
