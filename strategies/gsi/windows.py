"""The join node by node, depth first, in windows that fit the memory."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.device_windows import DeviceWindows, Source
from gpugda_strategies.gsi.combine import Combiner
from gpugda_strategies.gsi.steps import JoinKind
from gpugda_strategies.launch.gsi_join import Rows, node_join_words

from gpugda.device.launch.join import Product, Table, step_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda_strategies.gsi.combine import Found, Watch
    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.gsi.steps import Link, NodeStep
    from gpugda_strategies.launch.gsi_join import GsiJoin, ListArrays

    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run

__all__ = ["NodeWindows"]


class NodeWindows(DeviceWindows):
    """Extends windows of rows step by step.

    Args:
        run: The query's run.
        steps: The steps, at least one.
        candidates: Candidates of the query nodes.
        lists: Lists per query relationship and end it is seen from.
        kernels: The launcher.
        options: Techniques to use.
        watch: See `Combiner`.

    Attributes:
        steps: The steps.
    """

    bytes_to_extend = 4 + 4 + 8 + 4 + 8 + 4
    # Begin, length and count, two prefix sums, and a place for a long one.

    def __init__(
        self,
        run: Run,
        steps: Sequence[NodeStep],
        candidates: Candidates,
        lists: Mapping[Link, ListArrays],
        kernels: GsiJoin,
        options: GsiOptions,
        watch: Watch | None = None,
    ) -> None:
        super().__init__(run, steps, list(map(_words_of, steps)))
        self.steps = steps
        self._candidates = candidates
        self._kernels = kernels
        self._combiner = Combiner(run, candidates, lists, kernels, options, watch)

    # ------------------------------------------------------------------ kinds of steps
    def sources(self, number: int, table: Table) -> Iterator[Source]:
        """See `DeviceWindows.sources`."""
        step, run = self.steps[number], self._run
        run.check_deadline()
        if step.kind is JoinKind.NODES:
            yield self._product(number, table)
        elif step.kind is JoinKind.PRUNE:
            yield self._pruned(number, table)
        else:
            yield from self._joined(number, Rows(table, 0, table.row_count))

    def _joined(self, number: int, rows: Rows) -> Iterator[Source]:
        step, words = self.steps[number], self.step_words(number)
        for part, found in self._combiner.found(step, words, rows, self.share(number)):
            yield self._source(part, number, found)

    def _pruned(self, number: int, table: Table) -> Source:
        counts = self._run.workspace.allocate(table.row_count, np.uint32, "counts of rows")
        self._kernels.count_passing(table, self.step_words(number), counts)
        rows = Rows(table, 0, table.row_count)
        return self._source(rows, number, self._combiner.summed(counts))

    def _source(self, rows: Rows, number: int, found: Found) -> Source:
        step, words = self.steps[number], self.step_words(number)

        def write(window: tuple[int, int], extended: Table) -> None:
            if found.places is None or found.lists is None:
                self._kernels.write_passing(rows.table, words, found.sums, window, extended)
            else:
                places, lists = found.places, found.lists
                self._kernels.link(
                    rows, words, places, found.sums, window, lists, extended, step.added
                )

        return Source(found.total, write, partial(self._combiner.release, found))

    def _product(self, number: int, table: Table) -> Source:
        step, words = self.steps[number], self.step_words(number)
        columns = (step.added[0], None, None)

        def write(window: tuple[int, int], extended: Table) -> None:
            nodes, first, count = self._candidates.listed(self._run, step.position)
            product = Product(count, nodes, first, None, nodes, nodes, nodes)
            self._run.kernels.join.write_product(table, product, words, window, extended, columns)

        return Source(table.row_count * self._candidates.count(step.position), write)


def _words_of(step: NodeStep) -> list[int]:
    if step.kind is JoinKind.NODES:
        return step_words(step.kept, ())
    return node_join_words(step.kept, step.tests)
