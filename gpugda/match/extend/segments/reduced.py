"""The entries of a data graph that a join can use, where those alone have room on the device.

A link of a step is followed from candidates of one query node to candidates of another. The rows of
a direction come once, in chunks; what no link can use is left there. Then the join goes on as if
all of the graph were on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from gpugda.device.graph.directory import run_starts
from gpugda.device.launch.kept_entries import (
    MOST_TESTS,
    Chunk,
    EntryTest,
    KeptEntries,
    KeptKernels,
    Runs,
    entry_words,
)
from gpugda.match.extend.drafts import ExtendKind
from gpugda.plan.join_cost import JoinCost
from gpugda.plan.join_order import MostGrowth

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.device.memory.uploads import Uploads
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.extend.cache import KeptQuery
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.run import Run
    from gpugda.plan.counting.count_plan import Eliminate
    from gpugda.plan.plan import BoundQuery

    PlanSteps = tuple[Eliminate | None, Sequence[ExtendStep]]

__all__ = ["DirectionTest", "PlanSteps", "ReducedGraph", "link_tests", "many_rows", "reduced_graph"]

_NAMES = ("outgoing", "incoming")
_ENTRY_BYTES = 4
_MOST_CHUNK, _LEAST_CHUNK = 1 << 22, 1 << 12
_CHUNK_SHARE = 1 / 16
"""Of the free memory, for each of two chunks and what is known of their entries."""
_CHUNK_BYTES = 10
"""Of an entry: itself, which relationship it is, and a share of bits and sums."""
_SHARE = 0.85
"""Of the free memory, for what is kept and what else is needed: the rest is for rows."""
_SHARE_WHILE_MADE = 0.8
"""The same while a direction is made."""
_WORTH_SHORTENING = 1 / 16
"""Of the free memory."""
_SPARE = 1 << 12
_MANY_ROWS = 16
_WITH_ROWS = (ExtendKind.NODES, ExtendKind.EXTEND)
_SAFETY = 1.25
"""So many times as many entries as expected must have room."""


class DirectionTest(NamedTuple):
    """What a link asks of the entries of one direction."""

    outgoing: bool
    test: EntryTest


@dataclass(frozen=True, slots=True, eq=False)
class ReducedGraph:
    """A data graph's entries that some link can follow.

    Args:
        arguments: For ``GRAPH_PARAMETERS``.
        arrays: What of it is this run's own.
        tests: What they were chosen by.
        kept: How many there are.
        looked_at: Of how many.
        uploads: Which sent them.
    """

    arguments: list[Any]
    arrays: Sequence[DeviceArray]
    tests: frozenset[DirectionTest]
    kept: int
    looked_at: int
    uploads: Uploads

    def seen(self, candidates: Candidates) -> Candidates:
        """The same candidates, whose entries are these."""
        return replace(candidates, arrays=replace(candidates.arrays, graph=self.arguments))


def link_tests(
    bound: BoundQuery,
    candidates: Candidates,
    joins: Iterable[PlanSteps],
    masked: Iterable[int],
) -> frozenset[DirectionTest]:
    """What all links of some joins ask of entries.

    Args:
        bound: The query.
        candidates: Its candidates.
        joins: Their plans and steps.
        masked: Query nodes with predicates.
    """
    found: set[DirectionTest] = set()
    for plan, steps in joins:
        rows: dict[int, int | None] = dict(candidates.rows)
        for step in steps:
            # A node that is added unchecked may be none of the candidates.
            if step.kind in (ExtendKind.EXTEND, ExtendKind.COUNT):
                rows[step.position] = step.candidate_row
            found.update(_tests_of_step(bound, step, rows))
        if plan is not None:
            found.update(_tests_of_leaves(plan, rows, candidates, frozenset(masked)))
    return frozenset(found)


def many_rows(graph: DataGraph, query: KeptQuery, joins: Sequence[PlanSteps]) -> bool:
    """Do rows before some link need most segments? Where they are few, these are sent alone."""
    assert query.candidates is not None
    bound, count = query.bound, query.candidates.count
    growth = MostGrowth(bound, query.candidates, graph)
    for _, steps in joins:
        if not any(each.links for each in steps):
            continue  # leaves alone are counted while all segments come once
        order = [each.position for each in steps if each.kind in _WITH_ROWS]
        rows = JoinCost(bound, order, count, growth).rows(query.masks.comparisons)
        if max(list(rows)[: max(1, len(order) - 1)], default=0.0) >= _MANY_ROWS:
            return True
    return False


def _tests_of_step(
    bound: BoundQuery, step: ExtendStep, rows: Mapping[int, int | None]
) -> Iterator[DirectionTest]:
    for number, end, link in zip(step.links, step.bound_ends, step.device_links, strict=False):
        relationship = bound.relationships[number]
        other = relationship.source if relationship.target == end else relationship.target
        test = EntryTest(rows[end], rows[other], link.types)
        for outgoing, is_followed in ((True, link.outgoing), (False, link.incoming)):
            if is_followed:
                yield DirectionTest(outgoing, test)


def _tests_of_leaves(
    plan: Eliminate,
    rows: Mapping[int, int | None],
    candidates: Candidates,
    masked: frozenset[int],
) -> Iterator[DirectionTest]:
    for group in plan.groups:
        leaf = group.leaves[0]
        fits_all = not plan.core.nodes[leaf].labels and leaf not in masked
        row = None if fits_all else candidates.rows[leaf]
        types = plan.core.relationships[group.relationships[0]].types
        test = EntryTest(rows[group.anchor], row, None if types is None else tuple(types))
        if group.outgoing:
            yield DirectionTest(True, test)
        if group.incoming:
            yield DirectionTest(False, test)


def reduced_graph(
    run: Run, candidates: Candidates, tests: frozenset[DirectionTest], least: int, *, numbered: bool
) -> ReducedGraph | None:
    """Sends the rows once and keeps what the tests leave; None where that has no room.

    Args:
        run: Of the query.
        candidates: Of the query nodes.
        tests: See `link_tests`.
        least: Bytes that the join needs beside them.
        numbered: Must it be known which relationship an entry is?
    """
    by_name = {
        name: [each.test for each in tests if each.outgoing == (name == "outgoing")]
        for name in _NAMES
    }
    if any(len(each) > MOST_TESTS for each in by_name.values()):
        return None
    entry = _ENTRY_BYTES * (2 if numbered else 1)
    expected = {
        name: _expected(run, candidates, each, name) for name, each in by_name.items() if each
    }
    starts = sum(_ENTRY_BYTES * _run_count(run, name) for name in expected)
    workspace = run.workspace
    needed = starts + _SAFETY * entry * sum(expected.values()) + least
    if not expected or needed > workspace.available * _SHARE:
        return None
    run.workspace.make_room(int(needed))
    arguments = run.placement.arguments(workspace.budget)
    made, kept = list(arguments), 0
    arrays: list[DeviceArray] = []
    for place, name in enumerate(_NAMES):
        if name not in expected:
            continue
        direction = _Reducer(run, candidates, name, arguments[5 * place :][:5], numbered=numbered)
        found = direction.run(by_name[name], expected[name])
        if found is None:
            workspace.release(*arrays)
            return None
        made[5 * place + 1], made[5 * place + 4] = found.neighbours, found.starts
        made[11 - place] = found.numbers
        arrays += found.arrays()
        kept += found.total
    looked_at = run.graph.graph.relationship_count * len(expected)
    return ReducedGraph(made, arrays, tests, kept, looked_at, workspace.uploads())


def _run_count(run: Run, name: str) -> int:
    graph = run.graph
    return len(run_starts(graph.direction(name), len(graph.graph.types)))


def _expected(run: Run, candidates: Candidates, tests: Sequence[EntryTest], name: str) -> float:
    """How many entries are kept, were they spread evenly over the nodes."""
    graph = run.graph.graph
    nodes, total = max(1, graph.node_count), graph.relationship_count
    counts = graph.statistics.type_counts
    kept = 0.0
    for each in tests:
        share = 1.0
        for row in (each.bound_row, each.row):
            share *= 1.0 if row is None else candidates.counts[row] / nodes
        entries = total if each.types is None else sum(counts[kind] for kind in each.types)
        kept += share * entries
    return min(kept, total)


class _Kept(NamedTuple):
    """Of one direction; ``total``: how many there are, also where not all were written."""

    neighbours: DeviceArray
    numbers: DeviceArray | None
    starts: DeviceArray
    total: int

    def arrays(self) -> list[DeviceArray]:
        """What it holds."""
        return [each for each in self[:3] if each is not None]


class _Reducer:
    """Takes out of one direction what tests leave."""

    def __init__(
        self,
        run: Run,
        candidates: Candidates,
        name: str,
        directory: Sequence[Any],
        *,
        numbered: bool,
    ) -> None:
        graph = run.graph
        self._run, self._candidates = run, candidates
        self._csr: Csr = graph.direction(name)
        self._numbered = numbered
        self._entry_bytes = _ENTRY_BYTES * (2 if numbered else 1)
        self._starts = run_starts(self._csr, len(graph.graph.types))
        self._total = graph.graph.relationship_count
        _, _, offsets, types, starts = directory
        self._runs = Runs(starts, len(self._starts) - 1, offsets, types, graph.graph.node_count)
        self._kernels = KeptKernels(graph.context)
        size = int(run.workspace.available * _CHUNK_SHARE) // _CHUNK_BYTES
        self._size = max(_LEAST_CHUNK, min(_MOST_CHUNK, size, -(-self._total // 32) * 32)) & ~31

    def run(self, tests: Sequence[EntryTest], expected: float) -> _Kept | None:
        """What the tests leave; None where it has no room."""
        workspace = self._run.workspace
        starts = workspace.allocate(len(self._starts), np.uint32, "starts of runs")
        words = workspace.upload(np.array(entry_words(tests), dtype=np.uint32), "what links ask")
        chunk_arrays = self._chunk_arrays()
        room = int(workspace.available * _SHARE_WHILE_MADE) // self._entry_bytes
        # Nodes with many relationships are rather candidates than others.
        likely = max(int(_SAFETY * expected) + _SPARE, room // 2)
        capacity = max(1, min(room, self._total, likely))
        found = self._kept(words, starts, chunk_arrays, capacity)
        if capacity < found.total <= room:  # it is known now how many these are
            workspace.release(found.neighbours, found.numbers)
            capacity = found.total
            found = self._kept(words, starts, chunk_arrays, capacity)
        workspace.release(words, *chunk_arrays)
        if found.total <= capacity:
            return self._shortened(found, capacity)
        workspace.release(*found.arrays())
        return None

    def _kept(
        self,
        words: DeviceArray,
        starts: DeviceArray,
        chunk_arrays: Sequence[DeviceArray | None],
        capacity: int,
    ) -> _Kept:
        """All of a direction goes by; no more than the capacity is written."""
        workspace = self._run.workspace
        chunks = -(-self._total // self._size)
        target = KeptEntries(
            workspace.upload(np.zeros(chunks + 1, dtype=np.uint64), "kept entries"),
            capacity,
            workspace.allocate(capacity, np.uint32, "kept entries"),
            workspace.allocate(capacity, np.uint32, "kept entries") if self._numbered else None,
            starts,
        )
        self._stream(words, target, chunk_arrays)
        count = int(workspace.download(target.kept, chunks, 1)[0])
        workspace.release(target.kept)
        return _Kept(target.neighbours, target.numbers, starts, count)

    def _shortened(self, found: _Kept, capacity: int) -> _Kept:
        """In arrays as long as needed, where that gives much memory back, and can be done."""
        spare = self._entry_bytes * (capacity - found.total)
        workspace = self._run.workspace
        if spare < workspace.available * _WORTH_SHORTENING:
            return found
        if self._entry_bytes * found.total > workspace.available * _SHARE_WHILE_MADE:
            return found
        neighbours, numbers = (
            None if each is None else self._as_long(each, found.total)
            for each in (found.neighbours, found.numbers)
        )
        workspace.release(found.neighbours, found.numbers)
        assert neighbours is not None
        return found._replace(neighbours=neighbours, numbers=numbers)

    def _chunk_arrays(self) -> list[DeviceArray | None]:
        """Places for two chunks of neighbours, of relationships, and for bits."""
        workspace = self._run.workspace
        neighbours = workspace.allocate(2 * self._size, np.uint32, "entries of a chunk")
        numbers = None
        if self._numbered and self._csr.relationship_indexes is not None:
            numbers = workspace.allocate(2 * self._size, np.uint32, "entries of a chunk")
        bits = workspace.allocate(self._size // 32, np.uint32, "kept entries of a chunk")
        return [neighbours, numbers, bits]

    def _as_long(self, array: DeviceArray, count: int) -> DeviceArray:
        workspace = self._run.workspace
        found = workspace.allocate(max(1, count), np.uint32, "kept entries")
        if count:
            workspace.copy_part(array, 0, found, 0, count)
        return found

    def _stream(
        self, words: DeviceArray, target: KeptEntries, arrays: Sequence[DeviceArray | None]
    ) -> None:
        uploads, candidates = self._run.workspace.uploads(), self._candidates
        neighbours, numbers, bits = arrays
        assert neighbours is not None
        assert bits is not None
        sizes = [
            (first, min(self._size, self._total - first))
            for first in range(0, self._total, self._size)
        ]
        coming = self._send(uploads, arrays, 0, sizes[0]) if sizes else []
        for number, (first, count) in enumerate(sizes):
            self._run.check_deadline()
            events = coming
            if number + 1 < len(sizes):
                coming = self._send(uploads, arrays, number + 1, sizes[number + 1])
            uploads.wait_on_device(events)
            place = number % 2 * self._size
            chunk = Chunk(neighbours, numbers, place, first, count, number)
            self._kernels.find(
                self._runs, chunk, words, candidates.matrix, candidates.arrays.words, bits
            )
            sums = self._run.kernels.prefix_sum.run(
                self._run.workspace, bits, 0, -(-count // 32), of_bits=True
            )
            self._kernels.write(chunk, bits, sums, target)
            window = self._window(first, count)
            self._kernels.start(self._runs, window, chunk, bits, sums, target)
            self._run.workspace.release(sums)

    def _window(self, first: int, count: int) -> tuple[int, int]:
        """The runs that begin in a chunk; at the end of all, also those behind it."""
        low = int(np.searchsorted(self._starts, np.uint32(first)))
        if first + count == self._total:
            return low, len(self._starts)
        return low, int(np.searchsorted(self._starts, np.uint32(first + count)))

    def _send(
        self,
        uploads: Uploads,
        arrays: Sequence[DeviceArray | None],
        number: int,
        size: tuple[int, int],
    ) -> list[Any]:
        first, count = size
        page_locked, place = self._run.graph.page_locked, number % 2 * self._size
        hosts = (self._csr.neighbours, self._csr.relationship_indexes)
        return [
            uploads.begin(array, place, page_locked.of(host)[first : first + count])
            for array, host in zip(arrays, hosts, strict=False)
            if array is not None and host is not None
        ]
