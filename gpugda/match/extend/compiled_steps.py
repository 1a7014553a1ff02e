"""Steps of joins, compiled once for all queries of the same shape and order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.match.extend.compile import StepCompiler
from gpugda.plan.counting.problem import may_be_cycle

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.derived_lists import ListKind
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.cache import KeptQuery
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.need import Rows
    from gpugda.plan.counting.count_plan import Eliminate

    Forms = dict[object, tuple[ExtendStep, ...]]

__all__ = ["CompiledSteps"]

_MAX_SHAPES = 256
_MAX_FORMS = 256
"""Maximum number of forms per shape, and for all cycles."""


class CompiledSteps:
    """The compiled steps of one graph's queries.

    Args:
        graph: Determines which tests can be omitted.
        by_rows: True for a CPU, whose work items process rows one by one if a step allows it.
        shapes: See `kept_forms`, from an earlier snapshot for which `assumptions_hold` holds.
    """

    def __init__(
        self, graph: DataGraph, *, by_rows: bool, shapes: dict[object, Forms] | None = None
    ) -> None:
        self._graph = graph
        self._by_rows = by_rows
        self._shapes: dict[object, Forms] = {} if shapes is None else shapes
        self._cycles: Forms = {}  # whether their sums fit depends on the number of relationships

    def kept_forms(self) -> dict[object, Forms]:
        """The steps that a later snapshot starts with, as copies.

        Queries of this snapshot continue meanwhile. The facts that each snapshot takes for certain
        were not compared with the other's, so neither may use the other's later steps.
        """
        return {shape: dict(forms) for shape, forms in tuple(self._shapes.items())}

    def steps(
        self,
        query: KeptQuery,
        plan: Eliminate | None,
        masks: Masks,
        wanted: Rows,
        candidates: Candidates,
        merged: frozenset[ListKind],
        *,
        counting: bool,
        is_whole: bool,
    ) -> tuple[ExtendStep, ...]:
        """The steps of a query, or of the core of a plan whose rows are made.

        Args:
            query: Knows its orders.
            plan: The plan that eliminates nodes; None if everything is joined.
            masks: Those of the core.
            wanted: The columns of the last table.
            candidates: Candidates of the query nodes.
            merged: Kinds of merged lists that exist.
            counting: True if only the number of rows is needed.
            is_whole: True if all relationships are on the device.
        """
        bound = query.bound
        counted = () if plan is None else tuple(each[0] for each in plan.rows)
        order = query.order(frozenset() if plan is None else plan.not_bound)
        core = bound if plan is None else plan.core
        # The rows of the matrix depend on which query nodes the predicates restrict.
        rows = tuple(candidates.rows.items())
        # A plan may leave tests and comparisons to its messages.
        tested = None if plan is None else (core.tests, masks.comparisons)
        explored = candidates.explored
        counting = counting and plan is None
        # It is part of the key, and would cause further compilations, so it is set only if it
        # matters.
        of_cycle = counting and self._by_rows and may_be_cycle(bound.relationships)
        fewest = min(order, key=candidates.count) if of_cycle else None
        forms = self._forms(query) if fewest is None else self._cycles
        kind = (counting, explored, fewest, merged, is_whole)
        key: object = (tuple(order), rows, counted, tested, wanted, kind)
        if fewest is not None:
            key = query.shape, key
        found = forms.get(key)
        if found is None:
            compiler = StepCompiler(
                core,
                self._graph,
                masks,
                wanted,
                candidates.rows,
                merged,
                by_rows=self._by_rows,
                is_whole=is_whole,
            )
            found = compiler.steps(
                order, counting=counting, counted=counted, explored=explored, fewest=fewest
            )
            if len(forms) >= _MAX_FORMS:
                forms.clear()
            forms[key] = found
        return found

    def _forms(self, query: KeptQuery) -> Forms:
        if query.forms is None:
            if len(self._shapes) >= _MAX_SHAPES:
                self._shapes.clear()
            query.forms = self._shapes.setdefault(query.shape, {})
        return query.forms
