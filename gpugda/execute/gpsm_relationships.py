"""Candidate relationships of all query relationships, in the form in which the join looks them up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gpugda.device.candidate_relationships import Section, write_sections
from gpugda.execute.gpsm_order import join_order
from gpugda.plan.plan import StepKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from gpugda.device.buffers import DeviceArray
    from gpugda.execute.gpsm_filter import Candidates
    from gpugda.execute.gpsm_run import Run
    from gpugda.plan.plan import BoundQuery, PlanStep

__all__ = ["RelationshipTables", "assemble_relationships"]


@dataclass(frozen=True, slots=True, eq=False)
class RelationshipTables:
    """The candidate relationships and the order in which they are joined.

    Args:
        steps: The order.
        ends: Per query relationship, the position of the query node by which its table is looked up.
        sections: Per query relationship, its table.
        counts: Per query relationship, its number of candidates.
        offsets: ``uint64``, row offsets of all tables; None without relationships.
        end_nodes: ``uint32``, the node at the other end of each entry.
        relationships: ``uint32``, the relationship index of each entry.
    """

    steps: tuple[PlanStep, ...]
    ends: Mapping[int, int]
    sections: Sequence[Section]
    counts: Mapping[int, int]
    offsets: DeviceArray | None = None
    end_nodes: DeviceArray | None = None
    relationships: DeviceArray | None = None


def assemble_relationships(
    run: Run, bound: BoundQuery, candidates: Candidates
) -> RelationshipTables | None:
    """Counts, decides the order, writes; None as soon as a query relationship has no candidates."""
    if not bound.relationships:
        return RelationshipTables(join_order(bound, candidates.count, {}), {}, (), {})
    assembly = _Assembly(run, bound, candidates)
    ends = {
        each.position: min(each.source, each.target, key=candidates.count)
        for each in bound.relationships
    }
    offsets = assembly.count(ends)
    counts = assembly.totals(offsets)
    if 0 in counts.values():
        return None
    steps = join_order(bound, candidates.count, counts)
    wanted = ends | {
        step.position: step.bound_end for step in steps if step.kind is StepKind.COMBINE
    }
    if wanted != ends:
        run.workspace.release(offsets)
        offsets = assembly.count(wanted)
    end_nodes, relationships = assembly.write(offsets, sum(counts.values()))
    return RelationshipTables(
        steps, wanted, assembly.sections, counts, offsets, end_nodes, relationships
    )


class _Assembly:
    def __init__(self, run: Run, bound: BoundQuery, candidates: Candidates) -> None:
        self._run = run
        self._bound = bound
        self._candidates = candidates
        self._words: DeviceArray | None = None
        self.sections: list[Section] = []

    def count(self, ends: Mapping[int, int]) -> DeviceArray:
        """Row offsets of all tables, looked up by these ends."""
        self._run.check_deadline()
        run, candidates = self._run, self._candidates
        self.sections = self._sections(ends)
        rows = self.sections[-1].first_row + self.sections[-1].row_count
        run.workspace.release(self._words)
        self._words = run.workspace.upload(write_sections(self.sections), "sections")
        counts = run.workspace.allocate(rows, np.uint32, "counts of candidate relationships")
        run.kernels.candidate_relationships.count(
            candidates.arrays, candidates.nodes, candidates.matrix, self._words, counts
        )
        offsets = run.kernels.prefix_sum.run(run.workspace, counts, 0, rows)
        run.workspace.release(counts)
        return offsets

    def totals(self, offsets: DeviceArray) -> dict[int, int]:
        """Number of entries per query relationship."""
        places = [section.first_row for section in self.sections]
        firsts = self._run.workspace.download_at(offsets, [*places, offsets.count - 1])
        return {
            position: firsts[position + 1] - firsts[position] for position in range(len(places))
        }

    def write(self, offsets: DeviceArray, total: int) -> tuple[DeviceArray, DeviceArray]:
        """End nodes and relationship indexes of all entries."""
        run, candidates = self._run, self._candidates
        what = "candidate relationships"
        end_nodes = run.workspace.allocate(total, np.uint32, what)
        relationships = run.workspace.allocate(total, np.uint32, what)
        assert self._words is not None  # counted before
        run.kernels.candidate_relationships.write(
            candidates.arrays,
            candidates.nodes,
            candidates.matrix,
            self._words,
            offsets,
            end_nodes,
            relationships,
        )
        return end_nodes, relationships

    def _sections(self, ends: Mapping[int, int]) -> list[Section]:
        candidates = self._candidates
        sections: list[Section] = []
        first_row = 0
        for each in self._bound.relationships:
            end = ends[each.position]
            adjacency = candidates.adjacencies[candidates.rows[end], each.position]
            count = candidates.count(end)
            sections.append(Section(first_row, count, candidates.first(end), adjacency))
            first_row += count
        return sections
