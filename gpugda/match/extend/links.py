"""Query relationships that a step follows, as kernels see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.device.launch.extend import Link, LinkFlags
from gpugda.plan.row_tests import type_ids
from gpugda.plan.variables import node_variable, relationship_variable

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.extend.drafts import Draft
    from gpugda.match.extend.step_forms import StepForm, StepForms
    from gpugda.plan.plan import BoundQuery, BoundRelationship
    from gpugda.plan.variables import Variable

__all__ = ["Links"]


class Links:
    """Makes the links of a query.

    Args:
        bound: The query.
        graph: Determines which types exist, and which have self-loops.
        slots: Slot of each relationship that has a bitmap.
        known: Query relationships whose identity is needed.
        forms: The forms of the steps.
        is_whole: True if all relationships are on the device.
    """

    def __init__(
        self,
        bound: BoundQuery,
        graph: DataGraph,
        slots: Mapping[int, int],
        known: Container[int],
        forms: StepForms,
        *,
        is_whole: bool,
    ) -> None:
        self._bound = bound
        self._graph = graph
        self._slots = slots
        self._known = known
        self._forms = forms
        self._has_one_type = len(graph.types) <= 1
        self._finds_any_type = is_whole and not self._has_one_type

    def link(
        self,
        draft: Draft,
        form: StepForm,
        position: int,
        start: int,
        place: Mapping[Variable, int],
        added: Mapping[Variable, int],
    ) -> Link:
        """The link of one relationship of a step.

        Args:
            draft: The step.
            form: The form in which it can be executed.
            position: Position of the relationship.
            start: Query node at its bound end.
            place: Columns of old variables.
            added: Columns of new variables.
        """
        each = self._bound.relationships[position]
        is_loop = each.source == each.target
        starts = each.source == start
        return Link(
            column=place[node_variable(start)],
            # A self-loop is in both rows of its node: the outgoing row is enough.
            outgoing=is_loop or starts or not each.directed,
            incoming=not is_loop and (not starts or not each.directed),
            types=each.types,
            mask_slot=self._slots.get(position),
            relationship_column=added.get(relationship_variable(position)),
            flags=self._flags(draft, form, each),
        )

    def _flags(self, draft: Draft, form: StepForm, each: BoundRelationship) -> int:
        position, flags = each.position, 0
        if position in self._slots or position in self._known:
            flags |= LinkFlags.NEEDS_RELATIONSHIP
        if position not in draft.bound:
            flags |= LinkFlags.DISTINCT
        if position in draft.multiplies or (
            (len(draft.links) > 1 or form.by_rows)
            and position in draft.bound
            and not self._forms.single[position]
        ):
            flags |= LinkFlags.SEVERAL
        if self._has_one_type:
            flags |= LinkFlags.SORTED_ROWS
        if self._forms.type_counts[position] == 1:
            flags |= LinkFlags.PLAIN
        if not each.directed and self._has_loops(each):
            flags |= LinkFlags.LOOPS
        if each.types is None and self._finds_any_type:
            flags |= LinkFlags.EITHER_END
        return flags

    def _has_loops(self, each: BoundRelationship) -> bool:
        return any(self._graph.statistics.loop_counts[kind] for kind in type_ids(each, self._graph))
