"""Keeps only the entries of a data graph that a join can use, if those fit on the device.

A link of a step leads from candidates of one query node to candidates of another. Each direction's
entries are sent once, in chunks, and those that no link can use are dropped. Then the join runs as
if the whole graph were on the device.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.graph.directory import (
    NEIGHBOURS,
    RUN_OFFSETS,
    RUN_STARTS,
    RUN_TYPES,
    arrays_of,
    numbers_of,
)
from gpugda.device.launch.kept_entries import MAX_TESTS, entry_words
from gpugda.device.launch.segments import SemiJoinKernels
from gpugda.errors import MemoryLimitError
from gpugda.match.candidates.filter import count_candidates
from gpugda.match.extend.cache import ReducedGraph
from gpugda.match.extend.segments.link_tests import link_tests, many_rows
from gpugda.match.extend.segments.reducer import SAFETY, Reducer, listed_bytes, listed_count
from gpugda.match.extend.segments.views import knows_relationships

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gpugda.device.launch.kept_entries import EntryTest
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.extend.cache import DirectionTest, KeptQuery
    from gpugda.match.extend.segments.link_tests import PlanSteps
    from gpugda.match.run import Run
    from gpugda.thresholds import SegmentLimits


__all__ = ["reduced_for", "semi_joined"]

_BYTES_PER_WORD = 4


def semi_joined(
    run: Run, candidates: Candidates, reduced: ReducedGraph, least: int
) -> Candidates | None:
    """The candidates that have a neighbour for each link of the joins; the graph is the same.

    All links are followed once, and then once in reverse order (the full reducer of an acyclic
    query: Bernstein and Chiu, JACM 1981, if the links' order suits). None if there is no room, or
    if a query node has no candidate left: then the join has little to do as well.

    Args:
        run: The query's run.
        candidates: The candidates by which the entries were selected; they are not changed.
        reduced: The entries that the joins can use.
        least: Bytes that the joins need beside the entries.
    """
    workspace, words, rows = run.workspace, candidates.arrays.words, len(candidates.counts)
    if workspace.available < _BYTES_PER_WORD * (words * (rows + 1) + rows) + least:
        return None
    links = _links(reduced.tests)
    kernels, nodes = SemiJoinKernels(run.graph.context), run.graph.graph.node_count
    tests = [test for test, _ in links]
    asked = workspace.upload(np.array(entry_words(tests), dtype=np.uint32), "what links ask")
    matrix = workspace.allocate(candidates.matrix.count, np.uint32, "candidates")
    marks = workspace.allocate(words, np.uint32, "marks")
    workspace.copy(candidates.matrix, matrix, 0)
    workspace.fill(marks, 0)
    numbers = range(len(links))
    for number in (*numbers, *reversed(numbers)):
        run.check_deadline()
        test, directions = links[number]
        kernels.semi_join(reduced.arguments, asked, number, directions, nodes, matrix, marks)
        if test.row is not None:
            kernels.keep_marked(test.row, matrix, marks)
    counts = count_candidates(run, candidates.arrays, rows, matrix)
    workspace.release(asked, marks)
    if 0 in counts:
        workspace.release(matrix)
        return None
    return replace(candidates, matrix=matrix, counts=counts, lists={}, degrees={})


def _links(tests: Iterable[DirectionTest]) -> list[tuple[EntryTest, tuple[bool, bool]]]:
    """The tests, each with the directions that entries must be followed in: outgoing, incoming.

    An undirected relationship has both. Two relationships in opposite directions may share a test;
    then one of them suffices.
    """
    found: dict[EntryTest, tuple[bool, bool]] = {}
    for outgoing, test in tests:
        before = found.get(test, (False, False))
        found[test] = (before[0] or outgoing, before[1] or not outgoing)
    ordered = sorted(found.items(), key=_by_rows)
    return [each for each in ordered if {each[0].bound_row, each[0].row} != {None}]


def _by_rows(link: tuple[EntryTest, tuple[bool, bool]]) -> tuple[int, ...]:
    test, directions = link
    ends = [-1 if row is None else row for row in (test.bound_row, test.row)]
    return (min(ends), max(ends), *ends, *directions, *(test.types or ()))


_NAMES = ("outgoing", "incoming")
_ENTRY_BYTES = 4
_SHARE = 0.85
"""Share of the free memory for the kept entries and other needs; the rest is for rows."""
_SHARE_TO_KEEP = 0.5
"""Share of all memory for entries that are kept after the query."""

_RUNS_BEFORE_KEEPING = 1
"""Number of segmented runs after which a query is expected to come again.

What it keeps then is there for the next run. If that has no room, it is not tried again.
"""


def reduced_for(
    run: Run, query: KeptQuery, joins: Sequence[PlanSteps], limits: SegmentLimits, least: int
) -> ReducedGraph | None:
    """The entries that a query's joins can use, if they fit and the rows would need more.

    Args:
        run: The query's run.
        query: The kept query; it has candidates.
        joins: The joins' plans and steps.
        limits: Whether reduction is tried at all.
        least: Bytes that the joins need beside the entries.
    """
    candidates, masks = query.candidates, query.masks
    assert candidates is not None
    if not limits.reduces or not joins:
        return None
    tests = link_tests(query.bound, candidates, joins, masks.nodes)
    steps = [step for _, steps in joins for step in steps]
    numbered = knows_relationships(run, steps, masked=bool(masks.relationships))
    known = query.reduced
    if known is not None and known.tests >= tests and known.numbered >= numbered:
        return replace(known, uploads=None)
    leaves, again = limits.reduces_leaves, query.streamed == _RUNS_BEFORE_KEEPING
    if not again and not many_rows(run.graph.graph, query, joins, with_leaves=leaves):
        return None
    with run.stage("reduce"):
        if known is not None:
            query.reduced = None
            run.workspace.uncount(known.nbytes)
        found = None
        # If memory runs out, the segments may still fit.
        with suppress(MemoryLimitError), run.workspace.reclaiming(MemoryLimitError):
            found = _reduced_graph(run, candidates, tests, least, numbered=numbered)
        if found is not None:
            _remove_unconnected(run, query, candidates, found, least)
    if found is not None and found.nbytes <= run.workspace.budget.limit_bytes * _SHARE_TO_KEEP:
        run.workspace.hand_over(*found.arrays)
        query.reduced = found
    return found


def _remove_unconnected(
    run: Run, query: KeptQuery, candidates: Candidates, found: ReducedGraph, least: int
) -> None:
    """Removes a query's candidates that kept entries do not connect, if there is room for that."""
    with suppress(MemoryLimitError), run.workspace.reclaiming(MemoryLimitError):
        connected = semi_joined(run, candidates, found, least)
        if connected is not None:
            # Those from before stay counted until the run ends: it may still read them.
            run.workspace.hand_over(connected.matrix)
            query.replace_candidates(connected)


def _reduced_graph(
    run: Run, candidates: Candidates, tests: frozenset[DirectionTest], least: int, *, numbered: bool
) -> ReducedGraph | None:
    """Sends the rows once and keeps what passes the tests; None if that does not fit.

    Args:
        run: The query's run.
        candidates: Candidates of the query nodes.
        tests: See `link_tests`.
        least: Bytes that the join needs beside the entries.
        numbered: True if the relationship index of each entry is needed.
    """
    by_name = {
        name: [each.test for each in tests if each.outgoing == (name == "outgoing")]
        for name in _NAMES
    }
    if any(len(each) > MAX_TESTS for each in by_name.values()):
        return None
    entry = _ENTRY_BYTES * (2 if numbered else 1) + _run_bytes(run)
    expected = {
        name: _expected(run, candidates, each, name) for name, each in by_name.items() if each
    }
    starts = sum(_start_bytes(run, name, candidates, by_name[name]) for name in expected)
    workspace = run.workspace
    needed = int(starts + SAFETY * entry * sum(expected.values()) + least)
    workspace.make_room(int(needed / _SHARE))
    if not expected or needed > workspace.available * _SHARE:
        return None
    arguments = run.placement.arguments(workspace.budget)
    made, kept = list(arguments), 0
    arrays: list[DeviceArray] = []
    for place, name in enumerate(_NAMES):
        if name not in expected:
            continue
        directory = arguments[arrays_of(place)]
        direction = Reducer(run, candidates, name, directory, by_name[name], numbered=numbered)
        found = direction.run(expected[name])
        if found is None:
            workspace.release(*arrays)
            return None
        first = arrays_of(place).start
        made[first + NEIGHBOURS], made[first + RUN_STARTS] = found.neighbours, found.starts
        if found.offsets is not None:
            made[first + RUN_OFFSETS], made[first + RUN_TYPES] = found.offsets, found.types
        made[numbers_of(place)] = found.numbers
        arrays += found.arrays()
        kept += found.total
    looked_at = run.graph.graph.relationship_count * len(expected)
    uploads = workspace.uploads()
    return ReducedGraph(made, arrays, tests, numbered, kept, looked_at, uploads)


def _start_bytes(run: Run, name: str, candidates: Candidates, tests: Sequence[EntryTest]) -> int:
    """Bytes of the kept starts: of rows, of runs, or of nodes if runs come with entries."""
    graph, nodes = run.graph, run.graph.graph.node_count
    if len(graph.graph.types) <= 1:
        return listed_bytes(nodes, listed_count(candidates, tests, nodes))
    if not run.placement.has_directory:
        return 2 * _ENTRY_BYTES * (nodes + 1)
    return _ENTRY_BYTES * len(graph.direction(name).parts.run_starts)


def _run_bytes(run: Run) -> int:
    """Bytes per kept entry for runs that come with entries: at most one run per entry."""
    if run.placement.has_directory or len(run.graph.graph.types) <= 1:
        return 0
    return _ENTRY_BYTES + run.graph.direction(_NAMES[0]).parts.run_types.dtype.itemsize


def _expected(run: Run, candidates: Candidates, tests: Sequence[EntryTest], name: str) -> float:
    """Expected number of kept entries, if entries were spread evenly over the nodes."""
    graph = run.graph.graph
    nodes, total = max(1, graph.node_count), graph.relationship_count
    kept = 0.0
    for each in tests:
        share = 1.0
        for row in (each.bound_row, each.row):
            share *= 1.0 if row is None else candidates.counts[row] / nodes
        kept += share * graph.statistics.relationships_of(each.types)
    return min(kept, total)
