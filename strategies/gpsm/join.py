"""The join, depth first, in windows that fit the memory."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.device_windows import DeviceWindows, Source

from gpugda.device.launch.join import Combination, Product, Table, step_words
from gpugda.plan.plan import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gpugda_strategies.gpsm.relationships import RelationshipTables
    from gpugda_strategies.gpsm.steps import JoinStep

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import CollectedCandidates
    from gpugda.match.run import Run

__all__ = ["JoinWindows"]

_MODULUS = 1 << 64


class JoinWindows(DeviceWindows):
    """Extends windows of partial embeddings step by step.

    Args:
        run: The query's run.
        steps: The steps.
        candidates: Candidates of the query nodes.
        tables: Tables of the query relationships.
        is_sorted: Per query relationship, True if the rows of its table are sorted by the other
            end.
    """

    bytes_to_extend = 4 + 8  # its count and its prefix sum

    def __init__(
        self,
        run: Run,
        steps: Sequence[JoinStep],
        candidates: CollectedCandidates,
        tables: RelationshipTables,
        is_sorted: Sequence[bool],
    ) -> None:
        super().__init__(run, steps, [step_words(step.kept, step.tests) for step in steps])
        self._steps = steps
        self._candidates = candidates
        self._tables = tables
        self._is_sorted = is_sorted

    def share(self, number: int) -> int:
        """See `DeviceWindows.share`: a step finds nothing but its rows."""
        return self._run.workspace.available // (len(self._steps) - number)

    def record(self, number: int, size: int, seconds: float) -> None:
        """See `DeviceWindows.record`: `sources` records the others, by the next step alone."""
        if number == len(self._steps) - 1:
            super().record(number, size, seconds)

    # ------------------------------------------------------------------ kinds of steps
    def sources(self, number: int, table: Table) -> Iterator[Source]:
        """See `DeviceWindows.sources`."""
        self._run.check_deadline()
        started = time.perf_counter()
        source = self._source(number, table)
        if number:
            self._sizes[number - 1].record(table.row_count, time.perf_counter() - started)
        yield source

    def _source(self, number: int, table: Table) -> Source:
        step, words = self._steps[number], self.step_words(number)
        if step.kind in (StepKind.NODES, StepKind.RELATIONSHIPS):
            return self._product(step, words, table)
        if step.kind is None:
            return self._pruning(words, table)
        return self._combination(step, words, table)

    def _product(self, step: JoinStep, words: tuple[DeviceArray, int], table: Table) -> Source:
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

        return Source(table.row_count * product.size, write)

    def _pruning(self, words: tuple[DeviceArray, int], table: Table) -> Source:
        join = self._run.kernels.join
        counts = self._allocated(table)
        join.count_valid(table, words, counts)
        sums, total = self._sums(counts)

        def write(window: tuple[int, int], extended: Table) -> None:
            join.write_valid(table, words, sums, window, extended)

        return Source(total, write, partial(self._run.workspace.release, sums))

    def _combination(self, step: JoinStep, words: tuple[DeviceArray, int], table: Table) -> Source:
        join = self._run.kernels.join
        combination = self._section(step.position)
        ends = (step.bound_column, step.other_column)
        counts = self._allocated(table)
        join.count_combinations(table, *ends, combination, words, counts)
        sums, total = self._sums(counts)
        node, relationship = (None, *step.added)[-2:]

        def write(window: tuple[int, int], extended: Table) -> None:
            join.write_combinations(
                table, *ends, combination, words, sums, window, extended, (node, relationship)
            )

        return Source(total, write, partial(self._run.workspace.release, sums))

    # ------------------------------------------------------------------ arrays of the steps
    def _allocated(self, table: Table) -> DeviceArray:
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
