"""Steps of joins, compiled once for all queries of one shape and order, whatever their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpugda.garbage import collection_paused
from gpugda.match.extend.compile import StepCompiler
from gpugda.match.special.cycles import may_be_cycle

if TYPE_CHECKING:
    from gpugda.data.data_graph import DataGraph
    from gpugda.device.launch.merged_lists import ListKind
    from gpugda.match.candidates.candidates import Candidates
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.cache import KeptQuery
    from gpugda.match.extend.step import ExtendStep
    from gpugda.match.need import Rows
    from gpugda.plan.counting.count_plan import Eliminate

    Forms = dict[object, tuple[ExtendStep, ...]]

__all__ = ["CompiledSteps"]

_MOST_SHAPES = 256
_MOST_FORMS = 256
"""Of one shape, or of all cycles."""


class CompiledSteps:
    """Of the queries of one graph.

    Args:
        graph: Decides which tests need no look.
        by_rows: Are they for a CPU, whose items go row by row where steps allow it?
        shapes: See `kept_forms`, of an earlier state that `keeps_facts`.
    """

    def __init__(
        self, graph: DataGraph, *, by_rows: bool, shapes: dict[object, Forms] | None = None
    ) -> None:
        self._graph = graph
        self._by_rows = by_rows
        self._shapes: dict[object, Forms] = {} if shapes is None else shapes
        self._cycles: Forms = {}  # whether their sums fit depends on how many relationships are

    def kept_forms(self) -> dict[object, Forms]:
        """What the steps of a later state begin with.

        Copies: queries of this state go on meanwhile, and what they still take for certain was not
        compared with the later one, nor what is certain there with this one.
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
        most_links: int,
    ) -> tuple[ExtendStep, ...]:
        """Of a query, or of the core of a plan, whose rows are made.

        Args:
            query: Knows its orders.
            plan: What is eliminated of it; None where it is joined as a whole.
            masks: Those of the core.
            wanted: What the last table must hold.
            candidates: Of the query nodes.
            merged: Kinds of merged lists that there are.
            counting: Only the number of rows is asked for.
            most_links: Links that one step follows.
        """
        bound = query.bound
        counted = () if plan is None else tuple(each[0] for each in plan.rows)
        order = query.order(frozenset() if plan is None else plan.not_bound)
        core = bound if plan is None else plan.core
        # Which row of the matrix is whose depends on how many nodes the predicates leave.
        rows = tuple(candidates.rows.items())
        # A plan may leave tests and comparisons to its messages.
        tested = None if plan is None else (core.tests, masks.comparisons)
        explored = candidates.explored
        counting = counting and plan is None
        # It is part of the key, and so of what has to be compiled: only where it can matter.
        of_cycle = counting and self._by_rows and may_be_cycle(bound.relationships)
        fewest = min(order, key=candidates.count) if of_cycle else None
        forms = self._forms(query) if fewest is None else self._cycles
        kind = (counting, explored, fewest, merged, most_links)
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
                most_links=most_links,
            )
            with collection_paused():
                found = compiler.steps(
                    order, counting=counting, counted=counted, explored=explored, fewest=fewest
                )
            if len(forms) >= _MOST_FORMS:
                forms.clear()
            forms[key] = found
        return found

    def _forms(self, query: KeptQuery) -> Forms:
        if query.forms is None:
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            query.forms = self._shapes.setdefault(query.shape, {})
        return query.forms
