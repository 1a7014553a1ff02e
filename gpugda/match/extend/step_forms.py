"""The form in which a step of the strategy ``extend`` runs, derived from its links and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpugda.device.launch.derived_lists import ListKind
from gpugda.match.extend.drafts import Draft, ExtendKind
from gpugda.match.extend.merged_steps import list_kind, source_of
from gpugda.plan.comparisons import Comparison
from gpugda.plan.row_tests import all_type_ids, max_parallel_of_all
from gpugda.plan.variables import Variable, node_variable

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from gpugda.data.data_graph import DataGraph
    from gpugda.match.embeddings import Masks
    from gpugda.match.extend.merged_steps import Source
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.row_tests import VariableTest

__all__ = ["WITH_NODE", "StepForm", "StepForms"]

WITH_NODE = (ExtendKind.EXTEND, ExtendKind.COUNT)
"""Kinds whose position is the query node that they bind or count."""


_PLACES = 2
"""Places of lists that kernels see: outgoing and incoming."""


class StepForm(NamedTuple):
    """Properties of a step.

    Attributes:
        fits_all: True if the candidates need not be checked, because the step itself checks all
            that they must have.
        searched_only: True if rows can be intersected as plain sorted lists.
        by_rows: True if its tests only state that nodes or relationships differ, or compare nodes.
        counts_lengths: True if every entry gives a row.
        merged: True if some of the lists are merged ones.
    """

    fits_all: bool
    searched_only: bool
    by_rows: bool
    counts_lengths: bool
    merged: bool = False


class StepForms:
    """Determines the forms of a query's steps.

    Args:
        bound: The query.
        graph: Determines which relationships need no check.
        masks: The nodes and relationships that pass the predicates.
        known: Query relationships whose identity is needed.
        merged: Kinds of merged lists that exist.
        by_rows: True for a device whose work items go row by row.

    Attributes:
        type_counts: Number of types that each query relationship allows.
        single: For each query relationship, True if at most one matches between two given nodes.
    """

    def __init__(
        self,
        bound: BoundQuery,
        graph: DataGraph,
        masks: Masks,
        known: Container[int],
        *,
        merged: Container[ListKind],
        by_rows: bool,
    ) -> None:
        relationships = bound.relationships
        self._graph = graph
        self._merged = merged
        self.type_counts = [len(types) for types in all_type_ids(relationships, graph)]
        self.single = [most == 1 for most in max_parallel_of_all(relationships, graph)]
        self._bound = bound
        self._masks = masks
        self._by_rows = by_rows
        self._unknown = [
            each.position not in masks.relationships and each.position not in known
            for each in relationships
        ]
        self._plain = [
            each.directed and types == 1 and self._unknown[each.position]
            for each, types in zip(relationships, self.type_counts, strict=True)
        ]
        self._at: list[set[int]] = [set() for _ in bound.nodes]
        for each in relationships:
            self._at[each.source].add(each.position)
            self._at[each.target].add(each.position)

    def of(self, draft: Draft) -> StepForm:
        """The form of a step with these tests."""
        if draft.kind not in WITH_NODE:
            # The lengths of a closing step count the relationships that match.
            closes = draft.kind is ExtendKind.CLOSE and not draft.multiplies
            return StepForm(False, False, False, closes and not draft.tests)
        fits_all = self._fits_all(draft)
        only_nodes, only_differ = _test_properties(draft)
        plain = only_nodes and self._has_plain_lists(draft)
        merged = not plain and self._merges(draft)
        return StepForm(
            fits_all,
            plain or (merged and only_nodes and self._are_single(draft)),
            self._by_rows and only_differ,
            fits_all and self._counts_lengths(draft),
            merged,
        )

    def _fits_all(self, draft: Draft) -> bool:
        node = draft.position
        return (
            not self._bound.nodes[node].labels
            and node not in self._masks.nodes
            and self._at[node].issubset(draft.links)
        )

    def _has_plain_lists(self, draft: Draft) -> bool:
        if draft.multiplies:
            return False
        is_one = len(draft.links) == 1
        return all(self._plain[each] and (is_one or self.single[each]) for each in draft.links)

    def _merges(self, draft: Draft) -> bool:
        """True if merged lists can replace the graph's lists, one kind per direction."""
        sources: set[Source] = set()
        for position in draft.links:
            if not self._unknown[position]:
                return False
            each = self._bound.relationships[position]
            kind = list_kind(each, each.other_end(draft.position), self._graph)
            sources.add(source_of(kind, self._graph))
        merged = {each for each in sources if isinstance(each, ListKind)}
        is_there = all(each in self._merged for each in merged)
        return bool(merged) and is_there and len(sources) <= _PLACES

    def _are_single(self, draft: Draft) -> bool:
        """True if at most one entry of each list gives a row, or there is only one list."""
        if draft.multiplies or not draft.bound.issuperset(draft.links):
            return False
        return len(draft.links) == 1 or all(self.single[each] for each in draft.links)

    def _counts_lengths(self, draft: Draft) -> bool:
        if draft.kind is ExtendKind.COUNT or draft.tests or draft.multiplies:
            return False
        only, *others = draft.links
        if others or only in self._masks.relationships:
            return False
        return self._bound.relationships[only].directed


def _test_properties(draft: Draft) -> tuple[bool, bool]:
    """Two flags: all tests concern the added node; all concern that or differing relationships."""
    node, links = node_variable(draft.position), draft.links
    only_nodes = True
    for test in draft.tests:
        if not _excludes_nodes(test, node):
            only_nodes = False
            if not _requires_different(test, links):
                return False, False
    return only_nodes, True


def _excludes_nodes(test: VariableTest | Comparison, added: Variable) -> bool:
    """True if it only excludes the row's nodes from the added node, or limits the node's key."""
    left, right = test.left, test.right
    if isinstance(test, Comparison):
        return (left == added or right == added) and left.is_node and right.is_node
    if test.equal or not left.is_node:
        return False
    is_there = left == added or right == added
    if is_there and left == right:
        return False
    if test.second is None:
        return is_there
    left, right = test.second
    if left == added or right == added:
        return left != right
    return is_there


def _requires_different(test: VariableTest | Comparison, links: Sequence[int]) -> bool:
    """True if it only states that an added relationship differs from another one."""
    left, right = test.left, test.right
    return (
        not isinstance(test, Comparison)
        and not test.equal
        and not left.is_node
        and (left.position in links or right.position in links)
    )
