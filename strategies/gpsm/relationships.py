"""Candidate relationships of all query relationships, in tables that the join looks up."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from gpugda_strategies.gpsm.counted import with_counted
from gpugda_strategies.launch.candidate_relationships import (
    CandidateRelationships,
    Section,
    write_sections,
)

from gpugda.plan.join.matching_order import matching_order
from gpugda.plan.plan import StepKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gpugda.device.memory.buffers import DeviceArray
    from gpugda.match.candidates.candidates import CollectedCandidates
    from gpugda.match.run import Run
    from gpugda.plan.plan import BoundQuery, PlanStep

__all__ = ["RelationshipTables", "assemble_relationships"]


@dataclass(frozen=True, slots=True, eq=False)
class RelationshipTables:
    """The candidate relationships, and the order in which they are joined.

    Args:
        steps: The order.
        ends: Per query relationship, the query node by which its table is looked up.
        sections: Per query relationship, its table.
        counts: Per query relationship, its number of candidates.
        offsets: ``uint64``, row offsets of all tables.
        end_nodes: ``uint32``, the node at the other end of each entry.
        relationships: ``uint32``, the relationship index of each entry.
    """

    steps: tuple[PlanStep, ...]
    ends: Mapping[int, int]
    sections: Sequence[Section]
    counts: Mapping[int, int]
    offsets: DeviceArray
    end_nodes: DeviceArray
    relationships: DeviceArray


def assemble_relationships(
    run: Run, bound: BoundQuery, candidates: CollectedCandidates
) -> RelationshipTables | None:
    """Counts, orders and writes candidates; None as soon as a query relationship has none."""
    ends = {
        each.position: min(each.source, each.target, key=candidates.count)
        for each in bound.relationships
    }
    counted = _count(run, bound, candidates, ends)
    counts = _totals(run, counted)
    if 0 in counts.values():
        return None
    steps = matching_order(with_counted(bound, candidates.count, counts))
    wanted = ends | {
        step.position: step.bound_end for step in steps if step.kind is StepKind.COMBINE
    }
    if wanted != ends:
        run.workspace.release(counted.words, counted.offsets)
        counted = _count(run, bound, candidates, wanted)
    end_nodes, relationships = _write(run, candidates, counted, sum(counts.values()))
    return RelationshipTables(
        steps, wanted, counted.sections, counts, counted.offsets, end_nodes, relationships
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """Sections, their encoding, and the row offsets of all their tables."""

    sections: list[Section]
    words: DeviceArray
    offsets: DeviceArray


def _count(
    run: Run, bound: BoundQuery, candidates: CollectedCandidates, ends: Mapping[int, int]
) -> _Counted:
    """Counts the entries of tables that are looked up by these ends."""
    run.check_deadline()
    workspace = run.workspace
    sections = _sections(bound, candidates, ends)
    rows = sum(section.row_count for section in sections)
    words = workspace.upload(write_sections(sections), "sections")
    counts = workspace.allocate(rows, np.uint32, "counts of candidate relationships")
    _kernels(run).count(candidates.arrays, candidates.nodes, candidates.matrix, words, counts)
    offsets = run.kernels.prefix_sum.run(workspace, counts, 0, rows)
    workspace.release(counts)
    return _Counted(sections, words, offsets)


def _sections(
    bound: BoundQuery, candidates: CollectedCandidates, ends: Mapping[int, int]
) -> list[Section]:
    sections: list[Section] = []
    first_row = 0
    for each in bound.relationships:
        end = ends[each.position]
        adjacency = candidates.adjacencies[candidates.rows[end], each.position]
        count = candidates.count(end)
        sections.append(Section(first_row, count, candidates.first(end), adjacency))
        first_row += count
    return sections


def _totals(run: Run, counted: _Counted) -> dict[int, int]:
    """The number of entries per query relationship."""
    places = [section.first_row for section in counted.sections]
    firsts = run.workspace.download_at(counted.offsets, [*places, counted.offsets.count - 1])
    return {position: last - first for position, (first, last) in enumerate(pairwise(firsts))}


def _write(
    run: Run, candidates: CollectedCandidates, counted: _Counted, total: int
) -> tuple[DeviceArray, DeviceArray]:
    """Writes end nodes and relationship indexes of all entries."""
    what = "candidate relationships"
    end_nodes = run.workspace.allocate(total, np.uint32, what)
    relationships = run.workspace.allocate(total, np.uint32, what)
    _kernels(run).write(
        candidates.arrays,
        candidates.nodes,
        candidates.matrix,
        counted.words,
        counted.offsets,
        end_nodes,
        relationships,
    )
    return end_nodes, relationships


def _kernels(run: Run) -> CandidateRelationships:
    return run.graph.context.launcher(CandidateRelationships)
