"""Finds the distinct nodes of large joins from few embeddings.

``RETURN DISTINCT a`` and ``EXISTS { … }`` need one embedding for each node, a witness, where a
pattern with cycles may have millions. Most nodes have a witness among the nodes of most
relationships, so these are searched first, and nodes with a witness leave the candidates. The last
round searches everywhere for the others: it decides, so the answer is exact.

Embeddings that differ by an exchange of nodes that are not read are visited in one order.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from gpugda.data.integer_sets import has_nodes, nodes_of, unique_values
from gpugda.match.candidates.label_words import passing_bits
from gpugda.match.candidates.selections import bitmap_of_nodes
from gpugda.match.embeddings import Embeddings
from gpugda.match.need import Rows, asks_for_one_node
from gpugda.match.report import node_text, one_order_text
from gpugda.plan.pattern.symmetry import exchangeable_sets
from gpugda.plan.pattern.witness_order import ascending, has_large_core

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.execute.patterns.matching import Selected
    from gpugda.match.embeddings import Masks, StrategyReport
    from gpugda.match.matcher import Matcher
    from gpugda.match.need import Groups, Need
    from gpugda.plan.plan import BoundQuery, DegreeSkew, Plan

__all__ = ["is_found", "prefers_witnesses", "witnesses"]

_ROUNDS: Final = (8, 32, 128, 512)
"""Nodes of most relationships that take part in each round."""
_FOUND_OF: Final = 64
"""After a round in which fewer than one in this many nodes have a match, the last round follows."""
_MIN_ROWS: float | None = None
"""Replaces the device's threshold in tests."""
_LARGE, _SETS, _LEFT = "large core", "exchangeable sets", "nodes without a match"
"""Keys of entries kept with a plan."""
_RANKED: Final = "nodes by relationships"


def witnesses(
    selected: Selected,
    strategy: Matcher,
    need: Groups,
    report: StrategyReport,
    deadline: float | None,
) -> Generator[Embeddings] | None:
    """At least one row for each node; None if grouping all embeddings is expected to be as fast.

    Args:
        selected: The pattern.
        strategy: The matcher on the device.
        need: The distinct nodes at one query node, or tuples of nodes.
        report: Filled while running.
        deadline: Time of ``time.monotonic``.
    """
    search = _Search(selected, strategy, need.nodes, report, deadline)
    is_fit = asks_for_one_node(need) and not need.streamed
    if not is_fit or not search.applies or not search.makes_rounds:
        return None
    return search.found(need)


def prefers_witnesses(plan: Plan, need: Need) -> bool:
    """True if the oriented graph would save less than a search for one match of each node."""
    return asks_for_one_node(need) and _has_large_core(plan)


def is_found(
    selected: Selected, strategy: Matcher, report: StrategyReport, deadline: float | None
) -> bool | None:
    """True if there is any embedding; None if counting them is expected to be as fast."""
    search = _Search(selected, strategy, (), report, deadline)
    return search.any() if strategy.compares and search.makes_rounds else None


class _Search:
    def __init__(
        self,
        selected: Selected,
        strategy: Matcher,
        nodes: tuple[int, ...],
        report: StrategyReport,
        deadline: float | None,
    ) -> None:
        self._plan = selected.plan
        self._bound = selected.plan.bound
        self._masks = selected.masks
        self._strategy = strategy
        self._nodes = nodes
        self._report = report
        self._deadline = deadline

    @property
    def applies(self) -> bool:
        """True if the pattern is joined, without conditions between its variables."""
        return (
            _has_large_core(self._plan) and self._strategy.compares and not self._masks.comparisons
        )

    @property
    def makes_rounds(self) -> bool:
        """True if the join is expected to make many rows, and rows are read by one node at most."""
        if len(self._nodes) > 1 or not self._strategy.placement().is_whole:
            return False
        rows = self._plan.steps[-1].cardinality
        for node in self._nodes:
            share = self._count(node) / max(1.0, self._bound.nodes[node].cardinality)
            rows *= min(1.0, share)
        return rows >= self._min_rows

    @property
    def _min_rows(self) -> float:
        if _MIN_ROWS is not None:
            return _MIN_ROWS
        return self._strategy.graph.context.profile.thresholds.count.min_witness_rows

    def found(self, need: Groups) -> Generator[Embeddings]:
        """Yields at least one row for each node."""
        plan, masks, (node,) = self._plan, self._in_one_order(), need.nodes
        left = self._bits(node)
        for number, hubs in enumerate(_ROUNDS):
            narrow = self._among(masks, hubs, {node: left})
            reached = self._distinct(plan, narrow, need)
            text = f"{node_text(self._bound, node)} with a match among {hubs} nodes of most "
            self._report.steps.append(f"{text}relationships: {len(reached):,} rows")
            yield Embeddings(len(reached), {node: reached}, {}, distinct=True)
            left = left & ~bitmap_of_nodes(reached, self._graph.node_count)
            if not left.any():
                return
            plan = self._expecting(number, node, left)
            if number and len(reached) * _FOUND_OF < np.bitwise_count(left).sum():
                break
        masks = replace(masks, nodes=dict(sorted({**masks.nodes, node: left}.items())))
        yield from self._strategy.groups(plan, masks, need, self._report, self._deadline)

    def any(self) -> bool:
        """True if there is an embedding."""
        masks, rows = self._masks, Rows(frozenset(), frozenset(), enough=1)
        given = self._report, self._deadline
        for hubs in _ROUNDS:
            chunks = self._strategy.embeddings(
                self._plan, self._among(masks, hubs, {}), rows, *given
            )
            if any(chunk.row_count for chunk in chunks):
                return True
        return self._strategy.count(self._plan, self._masks, *given) > 0

    def _distinct(self, plan: Plan, masks: Masks, need: Groups) -> NDArray[np.uint32]:
        """The distinct nodes, ascending."""
        (node,) = need.nodes
        chunks = self._strategy.groups(plan, masks, need, self._report, self._deadline)
        parts = [unique_values(chunk.nodes[node]) for chunk in chunks]
        return unique_values(np.concatenate([np.zeros(0, dtype=np.uint32), *parts]))

    def _expecting(self, number: int, node: int, left: NDArray[np.uint32]) -> Plan:
        """The plan with estimates for the nodes that are left.

        These have few relationships, where those that pass a predicate have as many as others.
        """
        kept = self._plan.kept.setdefault(_LEFT, {})
        known = kept.get(number)
        if known is None or known[0] is not self._bound or not np.array_equal(known[1], left):
            estimated = replace(self._plan, bound=self._estimated(node, left))
            known = kept[number] = (self._bound, left, estimated)
        plan: Plan = known[2]
        return plan

    def _estimated(self, node: int, left: NDArray[np.uint32]) -> BoundQuery:
        degrees = self._degrees()
        have, before = (degrees[nodes_of(bits)] for bits in (left, self._bits(node)))
        share = int(have.sum()) / max(1, int(before.sum()))
        count = float(np.count_nonzero(have))

        def end(position: int, skew: DegreeSkew) -> DegreeSkew:
            return skew._replace(nonzero_count=count) if position == node else skew

        bound = self._bound
        nodes = tuple(
            replace(each, cardinality=float(len(have))) if each.position == node else each
            for each in bound.nodes
        )
        relationships = tuple(
            replace(
                each,
                cardinality=each.cardinality * share,
                skew=(end(each.source, each.skew[0]), end(each.target, each.skew[1])),
            )
            if node in (each.source, each.target)
            else each
            for each in bound.relationships
        )
        return replace(bound, nodes=nodes, relationships=relationships)

    # ------------------------------------------------------------------ masks
    def _in_one_order(self) -> Masks:
        known = self._plan.kept.setdefault(_SETS, {})
        key = (id(self._bound), self._nodes)
        if key not in known:
            known[key] = self._bound, exchangeable_sets(self._bound, self._nodes)
        sets: tuple[tuple[int, ...], ...] = known[key][1]
        if not sets:
            return self._masks
        self._report.steps.append(one_order_text(self._bound, sets))
        return replace(self._masks, comparisons=ascending(self._bound, sets))

    def _among(self, masks: Masks, hubs: int, given: dict[int, NDArray[np.uint32]]) -> Masks:
        """The masks with the other nodes restricted to those of most relationships."""
        nodes = {**masks.nodes, **given}
        for each in self._bound.nodes:
            if each.position not in given:
                nodes[each.position] = self._most_connected(self._bits(each.position), hubs)
        return replace(masks, nodes=dict(sorted(nodes.items())))

    def _most_connected(self, bits: NDArray[np.uint32], count: int) -> NDArray[np.uint32]:
        """The first ``count`` nodes of a bitmap, by the number of their relationships."""
        ranked = self._graph.cached_node_numbers(_RANKED, self._ranked)
        kept = ranked[: 16 * count]
        kept = kept[has_nodes(bits, kept)]
        if len(kept) < count:
            kept = ranked[has_nodes(bits, ranked)]
        return bitmap_of_nodes(kept[:count], self._graph.node_count)

    def _ranked(self) -> NDArray[np.uint32]:
        return np.argsort(-self._degrees(), kind="stable").astype(np.uint32)

    def _degrees(self) -> NDArray[np.float64]:
        """Number of relationships of each node."""
        return self._graph.degrees_of((None, None))

    def _bits(self, position: int) -> NDArray[np.uint32]:
        """The nodes that pass a query node's labels and predicates."""
        return passing_bits(self._bound, self._masks, position, self._strategy.graph)

    def _count(self, position: int) -> int:
        return int(np.bitwise_count(self._bits(position)).sum())

    @property
    def _graph(self) -> DataGraph:
        return self._strategy.graph.graph


def _has_large_core(plan: Plan) -> bool:
    known = plan.kept.get(_LARGE)
    if known is None or known[0] is not plan.bound:
        known = plan.kept[_LARGE] = (plan.bound, has_large_core(plan.bound))
    large: bool = known[1]
    return large
