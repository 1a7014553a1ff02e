"""Semi-joins of a query's candidates along the entries that its joins can use.

In memory, candidates without fitting neighbours are removed before the join. Beyond the memory
limit neighbours are not there at that time; but once the entries between candidates are, these
tell which candidates have no relationship that a link could follow.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.kept_entries import entry_words
from gpugda.device.launch.segments import SemiJoinKernels
from gpugda.match.candidates.filter import count_candidates

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpugda.device.launch.kept_entries import EntryTest
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.extend.reduced_graph import DirectionTest, ReducedGraph
    from gpugda.match.run import Run

__all__ = ["semi_joined"]

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
