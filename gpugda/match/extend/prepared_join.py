"""A prepared join: its steps, the messages to its rows, and the tables computed before them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.match.extend.drafts import ExtendKind
from gpugda.types import value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda.device.launch.join import Table
    from gpugda.device.launch.leaf_products import ProductArrays
    from gpugda.match.extend.cache import ReducedGraph
    from gpugda.match.extend.groups import GroupSums
    from gpugda.match.extend.join_windows import ExtendWindows
    from gpugda.match.extend.messages import Messages
    from gpugda.match.extend.segments.shared_entries import SharedEntryColumns
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.special.square_sums import SquareSums
    from gpugda.match.special.triangle_sums import TriangleSums

__all__ = ["PreparedJoin", "TableSums"]


@value(frozen=True, slots=True, eq=False)
class PreparedJoin:
    """The join of a query, or of a part of it.

    Args:
        steps: The steps.
        windows: Executes the steps.
        messages: Weights of the rows; None if each row counts once.
        tables_first: Table messages that are computed before the first row.
        shared_entries: Adds columns to the rows that messages read; None if they read none.
        reduced: The entries it reads of a graph beyond the memory limit, if it needs no segments.
    """

    steps: tuple[ExtendStep, ...]
    windows: ExtendWindows
    messages: Messages | None = None
    tables_first: Sequence[TableSums | SquareSums | TriangleSums] = ()
    shared_entries: SharedEntryColumns | None = None
    reduced: ReducedGraph | None = None

    @property
    def arrays(self) -> ProductArrays | None:
        """The arrays that rows are multiplied with."""
        return None if self.messages is None else self.messages.arrays

    @property
    def rows_made(self) -> int:
        """The number of rows of all steps, including the joins of table messages."""
        tables = [each for each in self.tables_first if isinstance(each, TableSums)]
        return sum(self.windows.rows) + sum([each.joined.rows_made for each in tables])

    def rows_of_nodes(self) -> tuple[list[int], list[int]]:
        """Query nodes in the order in which they were joined, and the rows after each of them."""
        nodes, rows = list[int](), list[int]()
        for step, made in zip(self.steps, self.windows.rows, strict=True):
            if step.kind is ExtendKind.COUNT:
                break
            if step.kind in (ExtendKind.NODES, ExtendKind.EXTEND):
                nodes.append(step.position)
                rows.append(made)
            elif rows:
                rows[-1] = made
        return nodes, rows

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """As `ExtendWindows.tables`."""
        yield from self._make_tables()
        yield from self._with_columns(self.windows.tables(enough))
        self.windows.is_complete = True

    def cores(self) -> Iterator[Table | None]:
        """As `ExtendWindows.cores`."""
        yield from self._make_tables()
        yield from self._with_columns(self.windows.cores())
        self.windows.is_complete = True

    def _with_columns(self, tables: Iterator[Table | None]) -> Iterator[Table | None]:
        return tables if self.shared_entries is None else self.shared_entries.added(tables)

    def counts(self) -> Iterator[int]:
        """Yields partial counts of embeddings, to be summed."""
        if self.messages is None:
            yield from self.windows.counts()
            self.windows.is_complete = True
            return
        for table in self.cores():
            yield 0 if table is None else self.messages.count(table)

    def _make_tables(self) -> Iterator[None]:
        for each in self.tables_first:
            yield from each.make()
            if self.messages is not None:
                self.messages.add_table(each.most())


@value(frozen=True, slots=True, eq=False)
class TableSums:
    """The table message of an eliminated part: its rows, summed by the nodes of its separator.

    Args:
        separator: Query nodes.
        joined: Makes the rows.
        sums: The sums, by separator.
    """

    separator: tuple[int, ...]
    joined: PreparedJoin
    sums: GroupSums

    def make(self) -> Iterator[None]:
        """Sums the rows; others may launch between two tables."""
        for table in self.joined.cores():
            if table is not None:
                self.sums.add(table)
            yield

    def most(self) -> int:
        """An upper bound of all sums."""
        return self.sums.most()
