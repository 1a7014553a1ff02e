"""Steps of the strategy ``extend`` in terms of variables."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from gpugda.deadline import check_time
from gpugda.plan.comparisons import with_implied
from gpugda.plan.row_tests import max_parallel_of_all
from gpugda.plan.variables import Variable, ends_of, node_variable, relationship_variable

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence, Set

    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.comparisons import Comparison
    from gpugda.plan.plan import BoundQuery
    from gpugda.plan.row_tests import VariableTest

__all__ = ["Draft", "ExtendKind", "make_drafts"]

_MAX_ROWS_OF_PAIR = 64
"""More parallel relationships than these are bound by separate steps."""


class ExtendKind(StrEnum):
    """The operation of a step on partial embeddings."""

    NODES = "nodes"
    """Multiply with all candidates of a query node."""
    EXTEND = "extend"
    """Add a query node along all query relationships to nodes that are bound."""
    CLOSE = "close"
    """Add a query relationship between bound nodes."""
    COUNT = "count"
    """Count the matches of a query node instead of adding it; drop rows without a match."""
    PRUNE = "prune"
    """Only test rows."""


_WITHOUT_NODE = (ExtendKind.CLOSE, ExtendKind.PRUNE)


@dataclass(slots=True)
class Draft:
    """One step.

    Args:
        kind: The operation.
        position: Query node, or for CLOSE the query relationship.
        links: Query relationships that the step follows.
        bound: Those of them that it binds; of the others only the existence is known.
        multiplies: Those of which only the number matters.
        max_rows: Maximum number of rows that one pair gives.
        tests: The tests that can be evaluated at this step.
    """

    kind: ExtendKind
    position: int
    links: tuple[int, ...] = ()
    bound: frozenset[int] = frozenset()
    multiplies: frozenset[int] = frozenset()
    max_rows: int = 1
    tests: list[VariableTest | Comparison] = field(default_factory=list)

    def added(self) -> list[Variable]:
        """The variables it adds: the node first, then the relationships that it binds."""
        bound = [relationship_variable(each) for each in self.links if each in self.bound]
        if self.kind in _WITHOUT_NODE:
            return bound
        return [node_variable(self.position), *bound]


def make_drafts(
    bound: BoundQuery,
    graph: DataGraph,
    order: Sequence[int],
    tests: Sequence[VariableTest],
    known: Set[int],
    comparisons: Sequence[Comparison],
    *,
    counting: bool,
    counted: Collection[int],
    loops_seen: Set[int],
    max_links: int,
) -> list[Draft]:
    """The steps of a query.

    Args:
        bound: The query.
        graph: Determines how many parallel relationships there are.
        order: Query nodes in join order.
        tests: Tests that rows must pass.
        known: Query relationships whose identity is needed.
        comparisons: Comparisons that rows must also pass.
        counting: True if only the number of rows is needed.
        counted: Query nodes, not in the order, that are counted as soon as everything that they
            depend on is bound.
        loops_seen: Self-loops that each candidate has exactly once, and whose identity is not
            needed.
        max_links: Maximum number of links that one step follows.
    """
    waiting = _CountedNodes(bound, tests, counted)
    drafts = _Drafts(bound, graph, loops_seen, max_links).of(order, waiting)
    if counting:
        drafts = _folded(drafts, known)
    return _with_tests(drafts, tests, comparisons)


class _Drafts:
    def __init__(
        self, bound: BoundQuery, graph: DataGraph, loops_seen: Set[int], max_links: int
    ) -> None:
        self._max_links = max_links
        self._parallel = max_parallel_of_all(bound.relationships, graph)
        # For each node: its relationships, and the nodes at their other ends.
        self._at: list[list[tuple[int, int]]] = [[] for _ in bound.nodes]
        self._loops: list[list[int]] = [[] for _ in bound.nodes]
        for each in bound.relationships:
            if each.source != each.target:
                self._at[each.source].append((each.position, each.target))
                self._at[each.target].append((each.position, each.source))
            elif each.position not in loops_seen:
                self._loops[each.source].append(each.position)

    def of(self, order: Sequence[int], counted: _CountedNodes) -> list[Draft]:
        drafts: list[Draft] = []
        reached: dict[int, int] = {}
        for number, node in enumerate(order):
            check_time()
            drafts.extend(self._node_drafts(node, reached))
            reached[node] = number
            drafts.extend(self._counting(each, reached) for each in counted.ready(reached))
        return drafts

    def _counting(self, node: int, reached: Mapping[int, int]) -> Draft:
        links = tuple(self._links(node, reached))
        return Draft(ExtendKind.COUNT, node, links, frozenset(links))

    def _node_drafts(self, node: int, reached: Mapping[int, int]) -> list[Draft]:
        links = self._links(node, reached)
        if not links:
            drafts = [Draft(ExtendKind.NODES, node)]
        elif len(links) == 1:
            drafts = [Draft(ExtendKind.EXTEND, node, tuple(links), frozenset(links))]
        else:
            followed = tuple(links[: self._max_links])
            bound, rows = self._bound_at_once(followed)
            drafts = [Draft(ExtendKind.EXTEND, node, followed, bound, max_rows=rows)]
        left = [each for each in links if each not in drafts[0].bound]
        drafts += [
            Draft(ExtendKind.CLOSE, each, (each,), frozenset((each,)))
            for each in (*left, *self._loops[node])
        ]
        return drafts

    def _bound_at_once(self, links: Sequence[int]) -> tuple[frozenset[int], int]:
        """The relationships that one step binds, and the maximum number of rows of one pair."""
        bound: list[int] = []
        rows = 1
        for each in links:
            parallel = self._parallel[each]
            if rows * parallel <= _MAX_ROWS_OF_PAIR:
                bound.append(each)
                rows *= parallel
        return frozenset(bound), rows

    def _links(self, node: int, reached: Mapping[int, int]) -> list[int]:
        """Links to bound nodes, single relationships first, then in the order of binding."""
        links = [
            (self._parallel[each], reached[other], each)
            for each, other in self._at[node]
            if other in reached
        ]
        return [each for _, _, each in sorted(links)]


class _CountedNodes:
    """Query nodes that are counted per row, and the nodes that must be bound before."""

    def __init__(
        self, bound: BoundQuery, tests: Sequence[VariableTest], counted: Collection[int]
    ) -> None:
        self._needs: dict[int, set[int]] = {}
        for node in counted:
            around = [each for each in bound.relationships if node in (each.source, each.target)]
            mine = {Variable(True, node), *(Variable(False, each.position) for each in around)}
            needs = {end for each in around for end in (each.source, each.target)}
            for test in tests:
                variables = test.variables()
                if not mine.isdisjoint(variables):
                    needs |= {end for each in variables for end in ends_of(bound, each)}
            self._needs[node] = needs - {node}

    def ready(self, reached: Mapping[int, int]) -> list[int]:
        """Those that can be counted now, and could not before."""
        found = [node for node, needs in self._needs.items() if needs <= reached.keys()]
        for node in found:
            del self._needs[node]
        return found


def _folded(drafts: list[Draft], known: Set[int]) -> list[Draft]:
    """Replaces closing steps by multiplicities if their relationships are not needed."""
    last = len(drafts)
    while drafts[last - 1].kind is ExtendKind.CLOSE:
        last -= 1
    closed = {draft.position for draft in drafts[last:]}
    extend = drafts[last - 1]
    if not closed or extend.kind is not ExtendKind.EXTEND:
        return drafts
    if closed & known or not closed <= set(extend.links):
        return drafts
    return [*drafts[: last - 1], replace(extend, multiplies=frozenset(closed))]


def _with_tests(
    drafts: list[Draft], tests: Sequence[VariableTest], comparisons: Sequence[Comparison]
) -> list[Draft]:
    """Attaches each test to the step that binds the last of its variables."""
    bound_at = {each: number for number, draft in enumerate(drafts) for each in draft.added()}
    tests_of: list[list[VariableTest | Comparison]] = [[] for _ in drafts]
    for test in tests:
        last = max(bound_at[test.left], bound_at[test.right])
        if test.second is not None:
            last = max(last, bound_at[test.second[0]], bound_at[test.second[1]])
        tests_of[last].append(test)
    for each in with_implied(comparisons, bound_at) if comparisons else ():
        tests_of[max(bound_at[each.left], bound_at[each.right])].append(each)
    result: list[Draft] = []
    for draft, now in zip(drafts, tests_of, strict=True):
        result.append(draft)
        if draft.kind is not ExtendKind.NODES:
            draft.tests = now
        elif now:
            result.append(Draft(ExtendKind.PRUNE, draft.position, tests=now))
    return result
