"""The join of all STwigs: hash tables of all but the first, which is probed in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.launch.stwig_join import HashTables, ItemStates
from gpugda_strategies.stwig.report import describe_join

from gpugda.device.launch.join import Table
from gpugda.match.launch_size import first_window
from gpugda.match.matcher import Cursor

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda_strategies.launch.stwig_join import StwigJoin
    from gpugda_strategies.stwig.decompose import Stwig
    from gpugda_strategies.stwig.join_plan import JoinPlan
    from gpugda_strategies.stwig.relations import Matched

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.variables import Variable

__all__ = ["StwigCursor"]

_LARGEST_OUTPUT = 1 << 22
_FIRST_OUTPUT = 1 << 18
_STEPS = {False: 1 << 12, True: 1 << 16}
"""Steps of a work item per launch, by whether items are few and have long shares."""
_SHARE_FOR_ITEMS = 8
_SHARE_FOR_OUTPUT = 2


@dataclass(slots=True, eq=False)
class StwigCursor(Cursor):
    """Matched STwigs, whose join is still to be done.

    Args:
        run: The query's run.
        bound: The query.
        stwigs: In join order, the probe relation first.
        matched: Their rows.
        plan: The join for the kernel.
        kernels: The launcher.
    """

    run: Run
    bound: BoundQuery
    stwigs: Sequence[Stwig]
    matched: Sequence[Matched]
    plan: JoinPlan
    kernels: StwigJoin
    row_count: int = 0
    launches: int = 0

    @property
    def variables(self) -> Sequence[Variable]:
        """The variables that the columns of the tables hold."""
        return self.plan.output

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """See `Cursor.tables`."""
        if not self.plan.output:
            for number in self.counts():
                yield Table(None, number, 0) if number else None
            return
        tables, workspace = self._hash_tables(), self.run.workspace
        first = _FIRST_OUTPUT if enough is None else first_window(enough, _FIRST_OUTPUT)
        width = len(self.plan.output)
        size = self._capacity(width, first if enough is not None else _LARGEST_OUTPUT)
        output = workspace.allocate(size * width, np.uint32, "embeddings")
        for piece, items in self._pieces():
            has_more = True
            while has_more:
                found, has_more = self._launch(piece, tables, items, (output, size), None)
                yield Table(output, found, width, size) if found else None
            self._release(items)

    def counts(self) -> Iterator[int]:
        """See `Cursor.counts`."""
        tables, workspace = self._hash_tables(), self.run.workspace
        for piece, items in self._pieces():
            counts = workspace.allocate(items.count, np.uint64, "numbers of embeddings")
            has_more = True
            while has_more:
                workspace.fill(counts, 0)
                _, has_more = self._launch(piece, tables, items, (None, 0), counts)
                number = sum(workspace.download(counts).tolist())
                self.row_count += number
                yield number
            workspace.release(counts)
            self._release(items)

    def describe(self, run: Run) -> None:
        """See `Cursor.describe`."""
        rows = [each.row_count for each in self.matched]
        describe_join(run, self.bound, self.stwigs, rows, (self.row_count, self.launches))

    # ------------------------------------------------------------------ parts
    def _pieces(self) -> Iterator[tuple[Table, ItemStates]]:
        """Yields pieces of the probe relation, each with new work item states."""
        for piece in self.matched[0].pieces():
            self.run.check_deadline()
            if piece is not None and piece.row_count:
                yield piece, self._item_states(piece.row_count)

    def _launch(
        self,
        piece: Table,
        tables: HashTables,
        items: ItemStates,
        output: tuple[DeviceArray | None, int],
        counts: DeviceArray | None,
    ) -> tuple[int, bool]:
        """Rows that one launch wrote, and True if work remains for this piece."""
        self.run.check_deadline()
        workspace = self.run.workspace
        most = _STEPS[self.run.graph.context.profile.group_size == 1]
        self.kernels.join(piece, tables, items, output, counts, most)
        record, found, more = (int(each) for each in workspace.download(items.progress))
        record = min(record, piece.row_count)
        workspace.write(items.progress, np.array([record, 0, 0], dtype=np.uint32))
        found = min(found, output[1])
        self.row_count += found
        self.launches += 1
        return found, more > 0

    def _item_states(self, records: int) -> ItemStates:
        workspace, context = self.run.workspace, self.run.graph.context
        group, levels = context.group_size, len(self.plan.levels)
        item_bytes = 4 * (levels + 1 + self.plan.slot_count) + 8
        fitting = workspace.available // _SHARE_FOR_ITEMS // item_bytes
        count = max(1, min(context.max_items, fitting, records))
        count = -(-count // group) * group
        state = workspace.allocate((levels + 1) * count, np.uint32, "states of work items")
        values = workspace.allocate(self.plan.slot_count * count, np.uint32, "values of work items")
        progress = workspace.allocate(3, np.uint32, "progress of the join")
        workspace.fill(state, 0)
        workspace.fill(progress, 0)
        return ItemStates(count, state, values, progress)

    def _release(self, items: ItemStates) -> None:
        self.run.workspace.release(items.state, items.values, items.progress)

    def _capacity(self, width: int, most: int) -> int:
        share = self.run.workspace.available // _SHARE_FOR_OUTPUT
        longest = min(share, self.run.graph.context.info.max_allocation_bytes)
        return max(1, min(most, longest // (4 * width)))

    def _hash_tables(self) -> HashTables:
        """The hash tables of all relations but the first; releases their rows."""
        workspace, plan = self.run.workspace, self.plan
        words = workspace.upload(np.array(plan.words, dtype=np.uint32), "words of the join")
        what = "hash tables of STwigs"
        pool = workspace.allocate(max(plan.pool_words, 1), np.uint32, what)
        heads = workspace.allocate(max(plan.head_count, 1), np.uint32, what)
        workspace.fill(heads, 0xFFFFFFFF)
        tables = HashTables(words, len(plan.levels), pool, heads)
        for at, matched in zip(plan.levels, self.matched[1:], strict=True):
            first = 0
            for table in matched.tables or ():
                self.kernels.insert(table, tables, at, first)
                first += table.row_count
                workspace.release(table.values)
            matched.tables = None
        return tables
