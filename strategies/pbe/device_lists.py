"""Lists on the device: those of a partition, and those that the rows of a step need."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.store import with_mask
from gpugda_strategies.launch.gsi_join import ListArrays, Rows
from gpugda_strategies.pbe.host_rows import list_bytes, lists_of

from gpugda.data.integer_sets import unique_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gpugda_strategies.gsi.entries import Partition
    from gpugda_strategies.gsi.pcsr import HostLists
    from gpugda_strategies.gsi.steps import Link, NodeStep
    from gpugda_strategies.launch.pbe_search import PbeSearch
    from numpy.typing import NDArray

    from gpugda.data.adjacency import Adjacency
    from gpugda.device.launch.join import Table
    from gpugda.device.memory.buffers import DeviceArray, Workspace
    from gpugda.match.run import Run

__all__ = ["ListLoader", "Loaded", "release_lists", "upload_lists"]

_WHAT = "lists of relationships"


def upload_lists(workspace: Workspace, lists: HostLists) -> ListArrays:
    """Copies lists to the device; the workspace owns the copy."""
    return ListArrays(
        workspace.upload(lists.groups, _WHAT),
        lists.group_count,
        workspace.upload(lists.neighbours, _WHAT),
        workspace.upload(lists.relationships, _WHAT),
        longest=lists.longest,
    )


def release_lists(workspace: Workspace, lists: Iterable[ListArrays]) -> None:
    """Releases the lists' arrays for reuse."""
    for each in lists:
        workspace.release(each.groups, each.neighbours, each.relationships)


@dataclass(slots=True)
class Loaded:
    """Statistics of lists brought to the device.

    Args:
        times: Number of transfers.
        entries: Number of entries in total.
        seconds: Time of all transfers.
    """

    times: int = 0
    entries: int = 0
    seconds: float = 0.0

    def add(self, lists: Iterable[HostLists], started: float) -> None:
        """Adds a transfer that started at ``time.perf_counter()`` ``started``."""
        self.times += 1
        self.entries += sum(len(each.neighbours) for each in lists)
        self.seconds += time.perf_counter() - started


@dataclass(frozen=True, slots=True, eq=False)
class ListLoader:
    """Loads the lists that rows need.

    Args:
        run: The query's run.
        rows_of: Lists of all nodes, on the host.
        masks: Bitmaps of relationships that pass the predicates, by query relationship.
        kernels: The launcher.
        fill: Average number of nodes per hash group.
        max_bytes: Maximum bytes of the lists of one step; those of a single row may exceed it.
    """

    run: Run
    rows_of: Mapping[Partition, Adjacency]
    masks: Mapping[int, DeviceArray]
    kernels: PbeSearch
    fill: int
    max_bytes: int

    def load(
        self, step: NodeStep, table: Table, first: int, loaded: Loaded
    ) -> tuple[Rows, dict[Link, ListArrays], list[ListArrays]]:
        """As many rows from ``first`` on as their lists fit, and these lists.

        Args:
            step: The step whose links are looked up.
            table: The rows.
            first: The first row.
            loaded: Statistics, updated.

        Returns:
            The rows; the lists of each link; the same lists once each, to be released.

        Raises:
            MemoryLimitError: There is no room for the lists of one row.
        """
        started, count = time.perf_counter(), table.row_count - first
        while True:
            self.run.check_deadline()
            rows = Rows(table, first, count)
            nodes = self._needed(step, rows)
            taken = sum(self._bytes(key, each) for key, each in nodes.items())
            if taken <= self.max_bytes or count == 1:
                break
            count = max(1, min(count // 2, count * self.max_bytes // taken))
        with self.run.working():
            made = {
                key: lists_of(self.rows_of[key], each, self.fill) for key, each in nodes.items()
            }
        lists = {key: upload_lists(self.run.workspace, each) for key, each in made.items()}
        loaded.add(made.values(), started)
        return rows, self.by_link(step.links, lists), list(lists.values())

    def by_link(
        self, links: Iterable[Link], lists: Mapping[Partition, ListArrays]
    ) -> dict[Link, ListArrays]:
        """The lists of each link, with the mask of the link's relationship."""
        return {
            link: with_mask(lists[link.partition], self.masks.get(link.relationship))
            for link in links
        }

    def _bytes(self, key: Partition, nodes: NDArray[np.uint32]) -> int:
        return list_bytes(self.rows_of[key].entry_count(nodes), len(nodes), self.fill)

    def _needed(self, step: NodeStep, rows: Rows) -> dict[Partition, NDArray[np.uint32]]:
        """The nodes whose lists the rows need, ascending, by types and directions."""
        columns: dict[Partition, set[int]] = {}
        for link in step.links:
            columns.setdefault(link.partition, set()).add(link.column)
        return {key: self._nodes(rows, sorted(each)) for key, each in columns.items()}

    def _nodes(self, rows: Rows, columns: list[int]) -> NDArray[np.uint32]:
        workspace, words = self.run.workspace, self.run.graph.words
        values, stride = rows.table.values, rows.table.column_stride
        assert values is not None  # it has these columns
        if len(columns) * rows.count <= words:
            found = [
                workspace.download(values, column * stride + rows.first, rows.count)
                for column in columns
            ]
            return unique_values(np.concatenate(found))
        bits = workspace.allocate(words, np.uint32, "nodes whose lists are needed")
        workspace.fill(bits, 0)
        for column in columns:
            self.kernels.mark_needed(rows, column, bits)
        marked = workspace.download(bits).view(np.uint8)
        workspace.release(bits)
        return np.flatnonzero(np.unpackbits(marked, bitorder="little")).astype(np.uint32)
