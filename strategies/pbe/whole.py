"""The join along lists of the whole graph, where these fit on the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpugda_strategies.gsi.cursor import NodeCursor, lists_of
from gpugda_strategies.gsi.windows import NodeWindows
from gpugda_strategies.pbe.report import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.gsi.steps import NodeStep
    from gpugda_strategies.gsi.store import GraphStore
    from gpugda_strategies.launch.gsi_join import GsiJoin

    from gpugda.device.launch.join import Table
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = ["WholeCursor", "whole_join"]


@dataclass(frozen=True, slots=True, eq=False)
class WholeCursor(NodeCursor):
    """As `NodeCursor`; memory errors name a limit that is enough.

    Args: as `NodeCursor`, and
        named: Makes a block's errors do so.
    """

    named: Callable[[], AbstractContextManager[None]]

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `Cursor.tables`."""
        with self.named():
            yield from self.windows.tables(enough)

    def counts(self) -> Iterator[int]:
        """See `Cursor.counts`."""
        with self.named():
            yield from self.windows.counts()


def whole_join(
    run: Run,
    bound: BoundQuery,
    masks: Masks,
    candidates: Candidates,
    steps: Sequence[NodeStep],
    store: GraphStore,
    joins: GsiJoin,
    options: GsiOptions,
    named: Callable[[], AbstractContextManager[None]],
) -> WholeCursor:
    """A join of these steps along lists of the whole graph.

    Args:
        run: The query's run.
        bound: The pattern.
        masks: The relationships that pass the predicates.
        candidates: Candidates of the query nodes.
        steps: The steps.
        store: The graph's lists.
        joins: The kernels.
        options: Limits of the join.
        named: Makes memory errors of a block name a limit that is enough.
    """
    run.report.steps.append(WHOLE)
    with run.stage("lists"), named():
        lists = lists_of(run, steps, masks, store)
    windows = NodeWindows(run, steps, candidates, lists, joins, options)
    return WholeCursor(bound, steps, windows, named)
