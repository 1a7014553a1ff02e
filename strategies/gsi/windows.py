"""The join node by node, depth first, in windows that fit the memory."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from gpugda_strategies.gsi.combine import Combiner
from gpugda_strategies.gsi.steps import JoinKind
from gpugda_strategies.launch.gsi_join import Rows, node_join_words

from gpugda.device.launch.join import Product, Table, step_words
from gpugda.match.launch_size import LaunchSize, first_window

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from gpugda_strategies.gsi.combine import Found, Watch
    from gpugda_strategies.gsi.options import GsiOptions
    from gpugda_strategies.gsi.steps import Link, NodeStep
    from gpugda_strategies.launch.gsi_join import GsiJoin, ListArrays

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.run import Run
    from gpugda.plan.variables import Variable

__all__ = ["NodeWindows", "Source"]

_FIRST_WINDOW = 1 << 18
"""Rows of the first window: a caller that needs few rows must not wait for many."""
_FIRST_COUNT_WINDOW = 1 << 15
_LARGEST_WINDOW = 1 << 24
_LARGEST_LAST_WINDOW = 1 << 22
_LONGEST_SECONDS = 0.2
"""Seconds per window above which windows shrink: deadlines wait for its end."""
_BYTES_TO_EXTEND = 4 + 4 + 8 + 4 + 8 + 4
"""Per row to be extended: begin, length and count, two prefix sums, and a place for a long one."""

_Words: TypeAlias = "tuple[DeviceArray, int]"


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """The rows that a step extends, and what it found for them."""

    rows: Rows
    found: Found | None


class NodeWindows:
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
        rows: Number of rows that each step has made.
        windows: Number of windows that each step has made.
    """

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
        self._run = run
        self.steps = steps
        self._candidates = candidates
        self._kernels = kernels
        self._words, self._places = self._upload_words()
        self._combiner = Combiner(run, candidates, lists, kernels, options, watch)
        self._sizes = self._launch_sizes(_FIRST_WINDOW)
        self.rows = [0] * len(steps)
        self.windows = [0] * len(steps)

    @property
    def variables(self) -> Sequence[Variable]:
        """The variables that the columns of the last table hold."""
        return self.steps[-1].variables

    def tables(self, enough: int | None = None) -> Iterator[Table | None]:
        """Yields tables of full embeddings. Each is valid until the next one is requested.

        Yields None between tables when others may launch. If about ``enough`` rows suffice, the
        first tables are small.
        """
        first = _FIRST_WINDOW if enough is None else first_window(enough, _FIRST_WINDOW)
        self._sizes = self._launch_sizes(first)
        for number, table in self._starts():
            yield from self._extend(number, table)

    def counts(self) -> Iterator[int]:
        """Yields partial counts of full embeddings, to be summed; the last step makes no rows."""
        self._sizes = self._launch_sizes(_FIRST_COUNT_WINDOW)
        for number, table in self._starts():
            yield from self._count(number, table)

    def _starts(self) -> Iterator[tuple[int, Table]]:
        """Yields initial tables, each with the number of the step that extends it."""
        yield 0, Table(None, 1, 0)

    def _launch_sizes(self, first: int) -> list[LaunchSize]:
        most = [_LARGEST_WINDOW] * (len(self.steps) - 1) + [_LARGEST_LAST_WINDOW]
        return [LaunchSize(first, each, _LONGEST_SECONDS) for each in most]

    def _extend(self, number: int, table: Table) -> Iterator[Table | None]:
        if number == len(self.steps):
            yield table
            return
        for extended in self._windows(number, table):
            if number + 1 < len(self.steps):
                yield None
            yield from self._extend(number + 1, extended)

    def _count(self, number: int, table: Table) -> Iterator[int]:
        if number < len(self.steps) - 1:
            for each in self._windows(number, table):
                yield from self._count(number + 1, each)
            return
        if number == len(self.steps):
            yield table.row_count
            return
        for total, source in self._sources(number, table):
            self._release(source)
            self.rows[number] += total
            yield total

    def _windows(self, number: int, table: Table) -> Iterator[Table]:
        """Yields the rows that a step makes, one table at a time."""
        workspace, width = self._run.workspace, len(self.steps[number].variables)
        for total, source in self._sources(number, table):
            low = 0
            while low < total:
                self._run.check_deadline()
                started = time.perf_counter()
                high = min(low + self._window(number), total)
                values = None
                if width:
                    size = (high - low) * width
                    values = workspace.allocate(size, np.uint32, "partial embeddings")
                    self._write(number, source, (low, high), Table(values, high - low, width))
                self.rows[number] += high - low
                self.windows[number] += 1
                yield Table(values, high - low, width)
                workspace.release(values)
                is_last = number == len(self.steps) - 1
                taken = 0.0 if is_last else time.perf_counter() - started
                self._sizes[number].record(high - low, taken)
                low = high
            self._release(source)

    def _window(self, number: int) -> int:
        """Maximum rows of a step's window: its share of the memory, at most the grown size."""
        width = len(self.steps[number].variables)
        row_bytes = 4 * width + (_BYTES_TO_EXTEND if number < len(self.steps) - 1 else 0)
        longest = self._run.graph.context.info.max_allocation_bytes // max(4 * width, 8)
        fitting = self._share(number) // max(row_bytes, 1)
        return max(1, min(self._sizes[number].size, longest, fitting))

    def _share(self, number: int) -> int:
        """Bytes that a step may take for its rows, and again for what it finds."""
        return self._run.workspace.available // (2 * (len(self.steps) - number))

    # ------------------------------------------------------------------ kinds of steps
    def _sources(self, number: int, table: Table) -> Iterator[tuple[int, Source]]:
        """Yields the number of new rows, and their source, for each part of a table."""
        step, run = self.steps[number], self._run
        run.check_deadline()
        if step.kind is JoinKind.NODES:
            size = self._candidates.count(step.position)
            yield table.row_count * size, Source(Rows(table, 0, table.row_count), None)
        elif step.kind is JoinKind.PRUNE:
            yield self._pruned(number, table)
        else:
            yield from self._found(number, Rows(table, 0, table.row_count))

    def _found(self, number: int, rows: Rows) -> Iterator[tuple[int, Source]]:
        step, words = self.steps[number], self._step_words(number)
        for part, found in self._combiner.found(step, words, rows, self._share(number)):
            yield found.total, Source(part, found)

    def _pruned(self, number: int, table: Table) -> tuple[int, Source]:
        counts = self._run.workspace.allocate(table.row_count, np.uint32, "counts of rows")
        self._kernels.count_passing(table, self._step_words(number), counts)
        found = self._combiner.summed(counts)
        return found.total, Source(Rows(table, 0, table.row_count), found)

    def _write(self, number: int, source: Source, window: tuple[int, int], extended: Table) -> None:
        step, words, found = self.steps[number], self._step_words(number), source.found
        if found is None:
            self._write_product(step, words, source.rows.table, window, extended)
        elif found.places is None or found.lists is None:
            self._kernels.write_passing(source.rows.table, words, found.sums, window, extended)
        else:
            self._kernels.link(
                source.rows,
                words,
                found.places,
                found.sums,
                window,
                found.lists,
                extended,
                step.added,
            )

    def _write_product(
        self,
        step: NodeStep,
        words: _Words,
        table: Table,
        window: tuple[int, int],
        extended: Table,
    ) -> None:
        nodes, first, count = self._candidates.listed(self._run, step.position)
        product = Product(count, nodes, first, None, nodes, nodes, nodes)
        columns = (step.added[0], None, None)
        self._run.kernels.join.write_product(table, product, words, window, extended, columns)

    def _release(self, source: Source) -> None:
        if source.found is not None:
            self._combiner.release(source.found)

    def _step_words(self, number: int) -> _Words:
        return self._words, self._places[number]

    def _upload_words(self) -> tuple[DeviceArray, list[int]]:
        words: list[int] = []
        places: list[int] = []
        for step in self.steps:
            places.append(len(words))
            if step.kind is JoinKind.NODES:
                words += step_words(step.kept, ())
            else:
                words += node_join_words(step.kept, step.tests)
        array = np.array(words, dtype=np.uint32)
        return self._run.workspace.upload(array, "steps of the join"), places
