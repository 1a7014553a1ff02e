"""The matches of each STwig, and the candidates that remain after it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gsi.cursor import NodeCursor, lists_of, type_frequency
from gpugda_strategies.gsi.order import by_frequency
from gpugda_strategies.gsi.steps import compile_steps
from gpugda_strategies.gsi.windows import NodeWindows
from gpugda_strategies.stwig.join_plan import Relation

from gpugda.device.launch.join import Table
from gpugda.errors import MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.gsi.store import GraphStore
    from gpugda_strategies.launch.gsi_join import GsiJoin
    from gpugda_strategies.launch.stwig_join import StwigJoin
    from gpugda_strategies.stwig.join_plan import Share

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.variables import Variable

__all__ = ["Matched", "Matching"]

_MAX_RECORDS = 0xFFFFFFFE
_SHARE_KEPT = 4
"""The rows of the probe relation may use one part in this many of the free memory."""


@dataclass(slots=True, eq=False)
class Matched:
    """The rows of one STwig.

    Args:
        windows: Makes them.
        row_count: Number of rows.
        tables: Copies of all rows; None if they are made again on request.
    """

    windows: NodeWindows
    row_count: int
    tables: list[Table] | None

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables that the columns hold."""
        return tuple(self.windows.variables)

    @property
    def relation(self) -> Relation:
        """Its size as a relation."""
        return Relation(self.variables, self.row_count)

    def pieces(self) -> Iterator[Table | None]:
        """The rows in tables, each valid until the next is requested; None is a pause."""
        if self.tables is None:
            return self.windows.tables()
        return iter(self.tables)


@dataclass(slots=True, eq=False)
class Matching:
    """Matches STwigs one after the other, each within the bindings of the previous ones.

    Args:
        run: The query's run.
        bound: The query.
        masks: The nodes and relationships that pass the predicates.
        candidates: Remaining candidates, narrowed by each STwig.
        store: Lists of the data graph.
        lists: Launcher of the join along lists.
        hashes: Launcher that marks bindings.
        options: Options of the join along lists.
    """

    run: Run
    bound: BoundQuery
    masks: Masks
    candidates: Candidates
    store: GraphStore
    lists: GsiJoin
    hashes: StwigJoin
    options: GsiOptions

    def cursor(self, share: Share) -> NodeCursor:
        """A cursor for a query that is one STwig."""
        windows = self._windows(share)
        return NodeCursor(self.bound, windows.steps, windows)

    def _windows(self, share: Share) -> NodeWindows:
        frequency = type_frequency(self.bound, self.run.graph)
        stwig = share.stwig
        leaves = by_frequency(stwig.leaves, stwig.relationships, frequency)
        order = [(stwig.root, True), *((leaf, False) for leaf in leaves)]
        part = (stwig.relationships, share.tests)
        graph = self.run.graph.graph
        steps = compile_steps(self.bound, graph, order, share.columns, frequency, part)
        lists = lists_of(self.run, steps, self.masks, self.store)
        return NodeWindows(self.run, steps, self.candidates, lists, self.lists, self.options)

    def match(self, share: Share, *, may_stream: bool) -> Matched:
        """Matches an STwig, keeps its rows, and narrows the candidates to those in a row.

        Args:
            share: The task of the STwig.
            may_stream: True if its rows may be made again if they are too many to be kept.

        Raises:
            MemoryLimitError: They must be kept, and do not fit.
        """
        windows = self._windows(share)
        words = self.candidates.arrays.words
        places = {
            column: self.candidates.rows[each.position] * words
            for column, each in enumerate(windows.variables)
            if each.is_node
        }
        marked = self._marks(places.values())
        most = self.run.workspace.available // _SHARE_KEPT if may_stream else None
        matched = self._rows(windows, marked, places, most)
        before = self.candidates.matrix
        self._narrow(marked)
        if not may_stream:
            self.run.workspace.release(before)
        return matched

    def _rows(
        self,
        windows: NodeWindows,
        marked: DeviceArray,
        places: dict[int, int],
        most: int | None,
    ) -> Matched:
        matched = Matched(windows, 0, [])
        cached_bytes = 0
        for table in windows.tables():
            self.run.check_deadline()
            if table is None:
                continue
            matched.row_count += table.row_count
            if most is None and matched.row_count > _MAX_RECORDS:
                raise MemoryLimitError(
                    f"an STwig has more than {_MAX_RECORDS:,} matches, which is all that a hash "
                    "table holds: ask for less, or leave the strategy to gpugda"
                )
            for column, first in places.items():
                self.hashes.mark(table, column, marked, first)
            cached_bytes += 4 * table.width * table.row_count
            if most is not None and cached_bytes > most and matched.tables is not None:
                self.run.workspace.release(*(each.values for each in matched.tables))
                matched.tables = None
            if matched.tables is not None:
                matched.tables.append(self._copy(table))
        return matched

    def _marks(self, cleared: Iterable[int]) -> DeviceArray:
        """A copy of the candidate matrix with some rows cleared, given by their first words."""
        words = self.candidates.arrays.words
        kept = np.full(self.candidates.matrix.count // words, 0xFFFFFFFF, dtype=np.uint32)
        matrix = self.run.workspace.download(self.candidates.matrix).reshape(-1, words)
        for first in cleared:
            kept[first // words] = 0
        return self.run.workspace.upload(matrix & kept[:, None], "candidates")

    def _copy(self, table: Table) -> Table:
        if table.values is None:
            return table
        size = table.values.count
        values = self.run.workspace.allocate(size, np.uint32, "the matches of an STwig")
        self.run.workspace.copy(table.values, values, 0)
        return Table(values, table.row_count, table.width, table.capacity)

    def _narrow(self, marked: DeviceArray) -> None:
        """Narrows to the marked candidates; holders of the old object keep the old ones."""
        arrays, rows = self.candidates.arrays, len(self.bound.nodes)
        counts = self.run.workspace.allocate(rows, np.uint32, "numbers of candidates")
        self.run.workspace.fill(counts, 0)
        self.run.kernels.candidate_filter.count_candidates(arrays, rows, marked, counts)
        found = [int(each) for each in self.run.workspace.download(counts)]
        self.run.workspace.release(counts)
        self.candidates = replace(self.candidates, matrix=marked, counts=found, lists={})
