"""Extends given rows with equal shares of the memory, using lists that are loaded on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.steps import JoinKind
from gpugda_strategies.gsi.windows import NodeWindows
from gpugda_strategies.pbe.device_lists import release_lists

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from gpugda_strategies.device_windows import Source
    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.gsi.steps import Link, NodeStep
    from gpugda_strategies.launch.gsi_join import GsiJoin, ListArrays, Places, Rows
    from gpugda_strategies.launch.pbe_search import PbeSearch
    from gpugda_strategies.pbe.device_lists import ListLoader, Loaded

    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run

__all__ = ["PrimeWatch", "SeededWindows"]

_FIRST_COUNT_WINDOW = 1 << 18
_PARTS = 3
"""Parts of a level's memory: its rows, what is found for them, and full rows in another order."""


class PrimeWatch:
    """Drops entries that would make another relationship of a row its smallest crossing one.

    Args:
        run: The query's run.
        partition_of: ``uint16`` per data node.
        kernels: The launcher.
    """

    def __init__(self, run: Run, partition_of: DeviceArray, kernels: PbeSearch) -> None:
        self._run = run
        self._partition_of = partition_of
        self._kernels = kernels
        self._words: dict[NodeStep, DeviceArray] = {}

    def __call__(self, step: NodeStep, rows: Rows, places: Places, lists: ListArrays) -> None:
        """Drops entries of a step before they are counted."""
        if step not in self._words:
            words = np.array(step.watched, dtype=np.uint32)
            self._words[step] = self._run.workspace.upload(words, "watched columns")
        columns = self._words[step], 0, len(step.watched) - 2
        self._kernels.drop_smaller(rows, columns, self._partition_of, lists.neighbours, places)


class SeededWindows(NodeWindows):
    """Extends seeds step by step.

    Args:
        run: The query's run.
        steps: The steps; the first one stands for the seeds.
        candidates: Candidates of the query nodes.
        loader: Loads lists that are not on the device.
        loaded: Statistics that the loader updates.
        kernels: The launcher.
        options: Techniques of the join.
        level_bytes: Maximum bytes of the rows of each level, with what is found for them.
        watch: Drops entries; None to keep all.
    """

    def __init__(
        self,
        run: Run,
        steps: Sequence[NodeStep],
        candidates: Candidates,
        loader: ListLoader,
        loaded: Loaded,
        kernels: GsiJoin,
        options: GsiOptions,
        level_bytes: int,
        watch: PrimeWatch | None = None,
    ) -> None:
        self._lists: dict[Link, ListArrays] = {}
        super().__init__(run, steps, candidates, self._lists, kernels, options, watch)
        self._loader = loader
        self._loaded = loaded
        self._level_bytes = level_bytes
        self._seeds: Iterator[Table] = iter(())
        self._resident: Collection[Link] = ()

    def begin(self, seeds: Iterator[Table], lists: Mapping[Link, ListArrays]) -> None:
        """Sets the seeds of the next search, and the lists that are already loaded."""
        self._seeds = seeds
        self._lists.clear()
        self._lists.update(lists)
        self._resident = frozenset(lists)

    def counts(self, first: int | None = None) -> Iterator[int]:
        """See `DeviceWindows.counts`; large windows load each list less often."""
        yield from super().counts(first or _FIRST_COUNT_WINDOW)

    def starts(self) -> Iterator[tuple[int, Table]]:
        """See `DeviceWindows.starts`: the seeds."""
        for table in self._seeds:
            self.rows[0] += table.row_count
            self.windows[0] += 1
            yield 1, table

    def share(self, number: int) -> int:
        """See `DeviceWindows.share`: the same for each level."""
        return self._level_bytes // _PARTS

    def sources(self, number: int, table: Table) -> Iterator[Source]:
        """See `DeviceWindows.sources`: with the lists that a part of the table needs."""
        step = self.steps[number]
        is_join = step.kind in (JoinKind.JOIN, JoinKind.CLOSE)
        if not is_join or step.links[0] in self._resident:
            yield from super().sources(number, table)
            return
        first = 0
        while first < table.row_count:
            rows, lists, arrays = self._loader.load(step, table, first, self._loaded)
            self._lists.update(lists)
            yield from self._joined(number, rows)
            release_lists(self._run.workspace, arrays)
            first += rows.count
