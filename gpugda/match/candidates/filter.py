"""Finds candidates: initialisation, exploration and refinement."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.launch.candidate_filter import Batch, FilterArrays
from gpugda.match.candidates.candidates import CollectedCandidates
from gpugda.match.candidates.encode import (
    Exploration,
    degree_looks,
    encode_query,
    label_ids,
)
from gpugda.types import value

if TYPE_CHECKING:
    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.encode import Encoding
    from gpugda.match.embeddings import Masks
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery

__all__ = [
    "collect_checked",
    "count_candidates",
    "encode_filter",
    "explore_candidates",
    "filter_candidates",
]


def filter_candidates(
    run: Run, bound: BoundQuery, masks: Masks, rounds: int | None
) -> CollectedCandidates | None:
    """The candidates of all query nodes; None as soon as one has none.

    Args:
        run: The query's run.
        bound: The query.
        masks: The nodes and relationships that pass the predicates.
        rounds: How often candidates are refined; None until nothing changes.
    """
    arrays, encoding = encode_filter(run, Exploration(bound), masks, explores=True)
    if not bound.relationships:
        return collect_checked(run, arrays, encoding)
    return explore_candidates(run, arrays, encoding, rounds)


def encode_filter(
    run: Run, exploration: Exploration, masks: Masks, *, explores: bool
) -> tuple[FilterArrays, Encoding]:
    """Uploads the arrays that kernels read, and returns them with the encoding.

    Args:
        run: The query's run.
        exploration: The query's exploration.
        masks: The nodes and relationships that pass the predicates.
        explores: True if neighbours will be explored.
    """
    bound = exploration.bound
    budget = run.workspace.budget
    run.graph.label_slots(label_ids(bound), budget)
    asked = exploration.reached if explores else [each.cardinality for each in bound.nodes]
    degrees = degree_looks(exploration.degrees, asked)
    has_directory = run.placement.has_directory
    look_up = run.graph.degree_slots if has_directory else run.graph.host_degree_slots
    label_bits, slots = look_up(degrees, budget)
    looks = sum(count for degree, count in degrees.items() if degree not in slots)
    if explores:
        looks += exploration.looks
    encoding = encode_query(
        exploration, masks, run.graph, slots, looks, counts_degrees=has_directory
    )
    arrays = FilterArrays(
        graph=run.placement.arguments(budget, needed=bool(bound.relationships)),
        query=run.workspace.upload(encoding.query.words, "the query graph"),
        label_bits=label_bits,
        node_masks=_upload(run, encoding.node_masks),
        relationship_masks=_upload(run, encoding.relationship_masks),
        words=run.graph.words,
        relationship_words=run.graph.relationship_words,
        node_count=run.graph.graph.node_count,
    )
    return arrays, encoding


def collect_checked(
    run: Run, arrays: FilterArrays, encoding: Encoding
) -> CollectedCandidates | None:
    """The nodes with matching labels, degrees and predicates, whatever their neighbours are."""
    return _Filter(run, arrays, encoding).checked()


def explore_candidates(
    run: Run, arrays: FilterArrays, encoding: Encoding, rounds: int | None
) -> CollectedCandidates | None:
    """The nodes that also have matching neighbours."""
    return _Filter(run, arrays, encoding).explored(rounds)


def count_candidates(run: Run, arrays: FilterArrays, rows: int, matrix: DeviceArray) -> list[int]:
    """The number of candidates in each of the ``rows`` of a matrix."""
    workspace = run.workspace
    counts = workspace.allocate(rows, np.uint32, "counts of candidates")
    workspace.fill(counts, 0)
    run.kernels.candidate_filter.count_candidates(arrays, rows, matrix, counts)
    found: list[int] = workspace.download(counts).tolist()
    workspace.release(counts)
    return found


def _upload(run: Run, values: np.ndarray | None) -> DeviceArray | None:
    return None if values is None else run.workspace.upload(values, "predicate bitmaps")


@value(frozen=True, slots=True, eq=False)
class _Collected:
    ranks: DeviceArray
    nodes: DeviceArray
    firsts: list[int]


class _Filter:
    """Filters with two matrices: kernels read one, and clear bits in the other, a copy."""

    def __init__(self, run: Run, arrays: FilterArrays, encoding: Encoding) -> None:
        self._run = run
        self._explored = False
        self._arrays = arrays
        self._encoding = encoding
        self._everything = Batch(0, encoding.levels[-1])
        size = encoding.levels[-1] * arrays.words
        self._read = run.workspace.allocate(size, np.uint32, "candidates")
        self._kept = run.workspace.allocate(size, np.uint32, "candidates")

    def checked(self) -> CollectedCandidates | None:
        self._run.kernels.candidate_filter.check_candidates(
            self._arrays, self._everything, None, self._read
        )
        collected = self._collect(self._everything)
        return None if collected is None else self._result(collected)

    def explored(self, rounds: int | None) -> CollectedCandidates | None:
        self._explored = True
        return self._refine(rounds) if self._initialise() else None

    def _initialise(self) -> bool:
        kernels = self._run.kernels.candidate_filter
        levels = self._encoding.levels
        marks = self._run.workspace.allocate(self._read.count, np.uint32, "marks")
        if len(levels) > 2:
            self._run.workspace.fill(marks, 0)
        for level, (first, last) in enumerate(itertools.pairwise(levels)):
            batch = Batch(first, last - first)
            kernels.check_candidates(self._arrays, batch, marks, self._read)
            collected = self._collect(batch)
            if collected is None:
                return False
            self._explore(batch, collected, level, level, marks)
        self._run.workspace.release(marks)
        return True

    def _refine(self, rounds: int | None) -> CollectedCandidates | None:
        done = 0
        before: list[int] = []
        while True:
            self._read, self._kept = self._kept, self._read
            collected = self._collect(self._everything)
            if collected is None:
                return None
            if done == rounds or collected.firsts == before:
                return self._result(collected)
            before = collected.firsts
            deepest = len(self._encoding.levels) - 2
            self._explore(self._everything, collected, 0, deepest, None)
            done += 1

    def _collect(self, batch: Batch) -> _Collected | None:
        self._run.check_deadline()
        workspace, words = self._run.workspace, self._arrays.words
        ranks = self._run.kernels.prefix_sum.run(
            workspace, self._read, batch.first * words, batch.count * words, of_bits=True
        )
        places = range(0, batch.count * words + 1, words)
        firsts = workspace.download_at(ranks, places)
        if any(first == last for first, last in itertools.pairwise(firsts)):
            return None
        nodes = workspace.allocate(firsts[-1], np.uint32, "collected candidates")
        self._run.kernels.candidate_filter.collect_candidates(
            self._arrays, batch, self._read, ranks, self._kept, nodes
        )
        return _Collected(ranks, nodes, firsts)

    def _explore(
        self,
        batch: Batch,
        collected: _Collected,
        settled: int,
        known: int,
        marks: DeviceArray | None,
    ) -> None:
        self._run.kernels.candidate_filter.explore_candidates(
            self._arrays,
            batch,
            settled,
            known,
            collected.nodes,
            collected.ranks,
            self._read,
            self._kept,
            marks,
        )
        self._run.workspace.release(collected.nodes, collected.ranks)

    def _result(self, collected: _Collected) -> CollectedCandidates:
        self._run.workspace.release(self._kept)
        counts = [last - first for first, last in itertools.pairwise(collected.firsts)]
        return CollectedCandidates(
            self._encoding.rows,
            self._arrays,
            self._encoding.query.adjacencies,
            self._read,
            counts,
            {row: (collected.nodes, first) for row, first in enumerate(collected.firsts[:-1])},
            self._explored,
            collected.ranks,
            collected.nodes,
            collected.firsts,
        )
