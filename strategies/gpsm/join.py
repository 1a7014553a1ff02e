"""The join, depth first, in windows that fit the memory."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from gpugda.device.launch.join import Combination, Product, Table, step_words
from gpugda.match.launch_size import LaunchSize, first_window
from gpugda.plan.plan import StepKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gpugda_strategies.gpsm.relationships import RelationshipTables
    from gpugda_strategies.gpsm.steps import JoinStep

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import CollectedCandidates
    from gpugda.match.run import Run

__all__ = ["JoinWindows"]

_FIRST_WINDOW = 1 << 18
"""Rows of the first window: a caller that needs few rows must not wait for many."""
_FIRST_COUNT_WINDOW = 1 << 15
_LARGEST_WINDOW = 1 << 26
_LONGEST_SECONDS = 0.2
"""Seconds per window above which windows shrink: deadlines and others wait for its end."""
_LARGEST_LAST_WINDOW = 1 << 22
_BYTES_TO_EXTEND = 4 + 8
"""Per row of a table to be extended: its count and its prefix sum."""
_MODULUS = 1 << 64


_Words: TypeAlias = "tuple[DeviceArray, int]"


@dataclass(frozen=True, slots=True, eq=False)
class _Extension:
    """The extension of a table by one step: the number of rows, and a function that writes some."""

    total: int
    sums: DeviceArray | None
    write: Callable[[tuple[int, int], Table], None]


def _sizes(steps: int, first: int) -> list[LaunchSize]:
    largest = [_LARGEST_WINDOW] * (steps - 1) + [_LARGEST_LAST_WINDOW]
    return [LaunchSize(first, most, _LONGEST_SECONDS) for most in largest]


class JoinWindows:
    """Extends windows of partial embeddings step by step.

    Args:
        run: The query's run.
        steps: The steps.
        candidates: Candidates of the query nodes.
        tables: Tables of the query relationships.
        is_sorted: Per query relationship, True if the rows of its table are sorted by the other
            end.

    Attributes:
        rows: Number of rows that each step has made.
        windows: Number of windows that each step has made.
    """

    def __init__(
        self,
        run: Run,
        steps: Sequence[JoinStep],
        candidates: CollectedCandidates,
        tables: RelationshipTables,
        is_sorted: Sequence[bool],
    ) -> None:
        self._run = run
        self._steps = steps
        self._candidates = candidates
        self._tables = tables
        self._is_sorted = is_sorted
        self._words, self._places = self._upload_words()
        self._sizes = _sizes(len(steps), _FIRST_WINDOW)
        self.rows = [0] * len(steps)
        self.windows = [0] * len(steps)

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """Yields tables of full embeddings. Each is valid until the next one is requested.

        Yields None between tables when others may launch. If about ``enough`` rows suffice, the
        first tables are small.
        """
        if enough is not None:
            self._sizes = _sizes(len(self._steps), first_window(enough, _FIRST_WINDOW))
        yield from self._extend(0, Table(None, 1, 0))

    def counts(self) -> Iterator[int]:
        """Yields partial counts of full embeddings, to be summed; the last step makes no rows."""
        self._sizes = _sizes(len(self._steps), _FIRST_COUNT_WINDOW)
        yield from self._count(0, Table(None, 1, 0))

    def _extend(self, number: int, table: Table) -> Iterator[Table | None]:
        if number == len(self._steps):
            yield table
            return
        for extended in self._windows(number, table):
            if number + 1 < len(self._steps):
                yield None
            yield from self._extend(number + 1, extended)

    def _count(self, number: int, table: Table) -> Iterator[int]:
        if number < len(self._steps) - 1:
            for each in self._windows(number, table):
                yield from self._count(number + 1, each)
            return
        extension = self._extension(number, table)
        self._run.workspace.release(extension.sums)
        self.rows[number] += extension.total
        yield extension.total

    def _windows(self, number: int, table: Table) -> Iterator[Table]:
        """Yields the rows that a step makes, one table at a time."""
        workspace = self._run.workspace
        extension = self._extension(number, table)
        width = len(self._steps[number].variables)
        low = 0
        while low < extension.total:
            self._run.check_deadline()
            high = min(low + self._window(number), extension.total)
            values = None
            if width:
                values = workspace.allocate((high - low) * width, np.uint32, "partial embeddings")
                extension.write((low, high), Table(values, high - low, width))
            self.rows[number] += high - low
            self.windows[number] += 1
            yield Table(values, high - low, width)
            workspace.release(values)
            low = high
        workspace.release(extension.sums)

    def _window(self, number: int) -> int:
        """Maximum rows of a step's window: its share of the memory, at most the grown size."""
        is_last = number == len(self._steps) - 1
        width = len(self._steps[number].variables)
        share = self._run.workspace.available // (len(self._steps) - number)
        row_bytes = 4 * width + (0 if is_last else _BYTES_TO_EXTEND)
        longest = self._run.graph.context.info.max_allocation_bytes // max(4 * width, 8)
        grown = self._sizes[number].size
        if is_last:
            self._sizes[number].record(grown, 0.0)  # no later step has to wait for its rows
        return max(1, min(grown, longest, share // max(row_bytes, 1)))

    # ------------------------------------------------------------------ kinds of steps
    def _extension(self, number: int, table: Table) -> _Extension:
        self._run.check_deadline()
        started = time.perf_counter()
        extension = self._make_extension(number, table)
        if number:
            self._sizes[number - 1].record(table.row_count, time.perf_counter() - started)
        return extension

    def _make_extension(self, number: int, table: Table) -> _Extension:
        step, words = self._steps[number], (self._words, self._places[number])
        if step.kind in (StepKind.NODES, StepKind.RELATIONSHIPS):
            return self._product(step, words, table)
        if step.kind is None:
            return self._pruning(words, table)
        return self._combination(step, words, table)

    def _product(self, step: JoinStep, words: _Words, table: Table) -> _Extension:
        product = self._factor(step)
        # Kernels know three columns: the node looked up by, the other end, the relationship.
        columns = (*step.added, None, None)[:3]

        def write(window: tuple[int, int], extended: Table) -> None:
            self._run.kernels.join.write_product(
                table,
                product,
                words,
                window,
                extended,
                (columns[0], columns[1], columns[2]),
            )

        return _Extension(table.row_count * product.size, None, write)

    def _pruning(self, words: _Words, table: Table) -> _Extension:
        join = self._run.kernels.join
        counts = self._counts(table)
        join.count_valid(table, words, counts)
        sums, total = self._sums(counts)

        def write(window: tuple[int, int], extended: Table) -> None:
            join.write_valid(table, words, sums, window, extended)

        return _Extension(total, sums, write)

    def _combination(self, step: JoinStep, words: _Words, table: Table) -> _Extension:
        join = self._run.kernels.join
        combination = self._section(step.position)
        ends = (step.bound_column, step.other_column)
        counts = self._counts(table)
        join.count_combinations(table, *ends, combination, words, counts)
        sums, total = self._sums(counts)
        node, relationship = (None, *step.added)[-2:]

        def write(window: tuple[int, int], extended: Table) -> None:
            join.write_combinations(
                table, *ends, combination, words, sums, window, extended, (node, relationship)
            )

        return _Extension(total, sums, write)

    # ------------------------------------------------------------------ arrays of the steps
    def _counts(self, table: Table) -> DeviceArray:
        return self._run.workspace.allocate(table.row_count, np.uint32, "counts of rows")

    def _sums(self, counts: DeviceArray) -> tuple[DeviceArray, int]:
        workspace = self._run.workspace
        sums = self._run.kernels.prefix_sum.run(workspace, counts, 0, counts.count)
        workspace.release(counts)
        return sums, int(workspace.download(sums, counts.count, 1)[0])

    def _factor(self, step: JoinStep) -> Product:
        candidates, tables = self._candidates, self._tables
        entries = (tables.offsets, tables.end_nodes, tables.relationships)
        if step.kind is StepKind.NODES:
            size, first = candidates.count(step.position), candidates.first(step.position)
            return Product(size, candidates.nodes, first, None, *entries)
        section = tables.sections[step.position]
        rows = (section.first_row, section.row_count)
        size = tables.counts[step.position]
        return Product(size, candidates.nodes, section.first_node, rows, *entries)

    def _section(self, position: int) -> Combination:
        candidates, tables = self._candidates, self._tables
        section = tables.sections[position]
        return Combination(
            candidates.matrix,
            candidates.ranks,
            candidates.rows[tables.ends[position]] * candidates.arrays.words,
            (section.first_row - section.first_node) % _MODULUS,
            tables.offsets,
            tables.end_nodes,
            tables.relationships,
            self._is_sorted[position],
        )

    def _upload_words(self) -> tuple[DeviceArray, list[int]]:
        words: list[int] = []
        places: list[int] = []
        for step in self._steps:
            places.append(len(words))
            words.extend(step_words(step.kept, step.tests))
        array = np.array(words, dtype=np.uint32)
        return self._run.workspace.upload(array, "steps of the join"), places
