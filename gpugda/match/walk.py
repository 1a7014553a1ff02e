"""Finds few embeddings on the host, along the rows of the CSR: a look-up needs no launch."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from gpugda.data.integer_sets import has_nodes, nodes_of
from gpugda.data.runs import TypeFilter, positions
from gpugda.match.candidates.label_words import evaluated
from gpugda.match.candidates.selections import rarest_label
from gpugda.plan.plan import LabelOp

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from numpy.typing import NDArray

    from gpugda.data.csr import Csr
    from gpugda.data.data_graph import DataGraph
    from gpugda.plan.masks import Masks
    from gpugda.plan.plan import BoundNode, BoundQuery, BoundRelationship, RowTest

    _Indexes = NDArray[np.uint32]
    _Entries = tuple[NDArray[np.intp], _Indexes, _Indexes]

__all__ = ["Walked", "may_walk", "neighbours_of", "walk"]

_MOST_STEPS: Final = 32
"""Relationships of a pattern; ordering more takes longer than launching them."""


@dataclass(slots=True, eq=False)
class Walked:
    """Partial embeddings, one a row; after a walk, all embeddings.

    Args:
        rows: Number of the given row that each belongs to.
        nodes: Node indexes by position of the query node.
        relationships: Relationship indexes by position of the query relationship.
        steps: Rows after each step, for the report: the query node, and what it was reached along.
    """

    rows: NDArray[np.int64]
    nodes: dict[int, _Indexes] = field(default_factory=dict)
    relationships: dict[int, _Indexes] = field(default_factory=dict)
    steps: list[tuple[int, tuple[int, ...], int]] = field(default_factory=list)

    def keep(self, places: NDArray[np.intp]) -> None:
        """Keeps the rows at these positions, in this order; may repeat them."""
        self.rows = self.rows[places]
        for columns in (self.nodes, self.relationships):
            for position, indexes in columns.items():
                columns[position] = indexes[places]


class _TooManyPairsError(Exception):
    pass


def may_walk(pattern: BoundQuery, most: int, given: Collection[int] = ()) -> bool:
    """True if a walk could begin at few nodes, as far as a plan can tell, or at those given."""
    few = given or any(node.cardinality <= most for node in pattern.nodes)
    return bool(few) and len(pattern.relationships) <= _MOST_STEPS


def walk(
    pattern: BoundQuery,
    masks: Masks,
    graph: DataGraph,
    most: int,
    given: Mapping[int, _Indexes] | None = None,
) -> Walked | None:
    """All embeddings, whose order is that of the rows given; None if that reads too much.

    Tests all that the pattern and the masks say of single variables, and its tests of rows, but
    neither residual predicates nor comparisons.

    Args:
        pattern: Has at least one node.
        masks: The nodes and relationships that pass the predicates.
        graph: The data graph.
        most: Relationships that may be read, and embeddings that may be made.
        given: Columns of node indexes, each row of which is to be extended; None for no rows.
    """
    try:
        return _Walk(pattern, masks, graph, most).walked(given or {})
    except _TooManyPairsError:
        return None


class _Step(NamedTuple):
    """A relationship to follow, with the pairs that it reads and the rows that it makes per row."""

    arrow: BoundRelationship
    read: float
    rows: float


class _Walk:
    def __init__(self, pattern: BoundQuery, masks: Masks, graph: DataGraph, most: int) -> None:
        self._pattern = pattern
        self._masks = masks
        self._graph = graph
        self._left = most
        self._tests = list(pattern.tests)

    def walked(self, given: Mapping[int, _Indexes]) -> Walked:
        length = len(next(iter(given.values()))) if given else 1
        self._spend(length)
        found = Walked(np.arange(length))
        found.nodes.update(given)
        for position in given:
            self._keep_fitting(found, position)
        self._test(found)
        left = list(self._pattern.relationships)
        while len(found.rows):
            steps = self._steps(found.nodes, left)
            for place, step in enumerate(steps):
                self._check_growth(found, steps[place:])
                self._follow(found, step.arrow)
                self._test(found)
            left = [each for each in left if each.position not in found.relationships]
            if not self._begin(found):
                return found
            self._test(found)
        return self._none(found)

    def _none(self, found: Walked) -> Walked:
        nothing = np.zeros(0, dtype=np.uint32)
        found.nodes = {each.position: nothing for each in self._pattern.nodes}
        found.relationships = {each.position: nothing for each in self._pattern.relationships}
        return found

    def _spend(self, pairs: int) -> None:
        self._left -= pairs
        if self._left < 0:
            raise _TooManyPairsError

    def _steps(self, bound: Collection[int], arrows: Collection[BoundRelationship]) -> list[_Step]:
        """Relationships from bound nodes on, each the one that is expected to add fewest rows."""
        steps: list[_Step] = []
        reached, left = set(bound), list(arrows)
        while True:
            near = [each for each in left if each.source in reached or each.target in reached]
            if not near:
                return steps
            step = min((self._step(each, reached) for each in near), key=attrgetter("rows"))
            steps.append(step)
            left.remove(step.arrow)
            reached |= {step.arrow.source, step.arrow.target}

    def _step(self, arrow: BoundRelationship, reached: Collection[int]) -> _Step:
        ends = [end for end in (arrow.source, arrow.target) if end in reached]
        nodes = self._pattern.nodes
        read = min(arrow.cardinality / max(1.0, nodes[end].cardinality) for end in ends)
        return _Step(arrow, read, 1.0 if len(ends) == 2 else read)

    def _check_growth(self, found: Walked, steps: Iterable[_Step]) -> None:
        """Gives up at once if the rows are expected to grow beyond what may be read."""
        rows, pairs = float(len(found.rows)), 0.0
        for step in steps:
            pairs += rows * step.read
            rows *= step.rows
        if pairs > self._left:
            raise _TooManyPairsError

    # ------------------------------------------------------------------ where it begins
    def _begin(self, found: Walked) -> bool:
        """Multiplies with the candidates of the query node that has fewest; False if none is left.

        Raises:
            _TooManyPairsError: There are too many.
        """
        nodes = [node for node in self._pattern.nodes if node.position not in found.nodes]
        if not nodes:
            return False
        node = min(nodes, key=self._expected)
        before = len(found.rows)
        self._spend(round(before * self._expected(node)))
        indexes = self._candidates(node)
        count = len(indexes)
        found.keep(np.repeat(np.arange(before), count))
        found.nodes[node.position] = np.tile(indexes, before)
        self._keep_fitting(found, node.position)
        found.steps.append((node.position, (), len(found.rows)))
        return True

    def _expected(self, node: BoundNode) -> float:
        words = self._masks.nodes.get(node.position)
        if words is None:
            return node.cardinality
        return float(np.bitwise_count(words).sum())

    def _candidates(self, node: BoundNode) -> _Indexes:
        """A superset of a node's candidates."""
        words = self._masks.nodes.get(node.position)
        if words is None and (label := rarest_label(node, self._graph)) is not None:
            words = self._graph.label_bits(label)
        if words is not None:
            return nodes_of(words).astype(np.uint32)
        self._spend(self._graph.node_count)
        return np.arange(self._graph.node_count, dtype=np.uint32)

    # ------------------------------------------------------------------ steps
    def _follow(self, found: Walked, arrow: BoundRelationship) -> None:
        start, end = arrow.source, arrow.target
        closes = start in found.nodes and end in found.nodes
        if start not in found.nodes or (closes and self._is_denser(found, arrow)):
            start, end = end, start
        nodes = found.nodes[start]
        directions = (True, False) if not arrow.directed else (start == arrow.source,)
        if arrow.source == arrow.target:
            directions = (True,)
        parts = []
        for outgoing in directions:
            part = self._entries(nodes, arrow.types, outgoing)
            if len(directions) == 2 and not outgoing:  # a loop is followed once
                part = _taken(part, np.flatnonzero(part[1] != nodes[part[0]]))
            parts.append(part)
        places, others, arrows = parts[0]
        if len(parts) == 2:
            columns = zip(*parts, strict=True)
            places, others, arrows = (np.concatenate(each) for each in columns)
        words = self._masks.relationships.get(arrow.position)
        kept = None if words is None else has_nodes(words, arrows)
        if closes:
            meets = others == found.nodes[end][places]
            kept = meets if kept is None else kept & meets
        if kept is not None:
            places, others, arrows = _taken((places, others, arrows), np.flatnonzero(kept))
        found.keep(places)
        found.relationships[arrow.position] = arrows
        if not closes:
            found.nodes[end] = others
            self._keep_fitting(found, end)
        found.steps.append((end, (arrow.position,), len(found.rows)))

    def _is_denser(self, found: Walked, arrow: BoundRelationship) -> bool:
        """True if the rows' end nodes have more relationships than their start nodes."""
        graph = self._graph
        if not arrow.directed:
            return False
        ends = (
            (graph.outgoing, found.nodes[arrow.source]),
            (graph.incoming, found.nodes[arrow.target]),
        )
        of_starts, of_ends = (
            int((csr.parts.row_offsets[nodes + 1] - csr.parts.row_offsets[nodes]).sum())
            for csr, nodes in ends
        )
        return of_ends < of_starts

    def _entries(self, nodes: _Indexes, types: tuple[int, ...] | None, outgoing: bool) -> _Entries:
        csr = self._graph.outgoing if outgoing else self._graph.incoming
        return neighbours_of(csr, nodes, types, self._spend)

    def _keep_fitting(self, found: Walked, position: int) -> None:
        """Keeps the rows whose node has the labels, and passes the predicates."""
        node, indexes = self._pattern.nodes[position], found.nodes[position]
        words = self._masks.nodes.get(position)
        fits = None if words is None else has_nodes(words, indexes)
        if node.labels:
            labelled = self._has_labels(node, indexes)
            fits = labelled if fits is None else fits & labelled
        if fits is not None and not fits.all():
            found.keep(np.flatnonzero(fits))

    def _has_labels(self, node: BoundNode, indexes: _Indexes) -> NDArray[np.bool_]:
        def flags_of(operation: LabelOp, label: int) -> NDArray[np.bool_]:
            if operation is LabelOp.LABEL:
                return has_nodes(self._graph.label_bits(label), indexes)
            if operation is LabelOp.NONE:
                return np.zeros(len(indexes), dtype=np.bool_)
            offsets = self._graph.label_offsets
            return offsets[indexes + 1] > offsets[indexes]

        return evaluated(node.labels, flags_of)

    def _test(self, found: Walked) -> None:
        """Keeps the rows that pass the tests of what is bound now; each is tested once."""
        ready = [each for each in self._tests if _is_bound(each, found)]
        if not ready:
            return
        self._tests = [each for each in self._tests if each not in ready]
        passes = np.ones(len(found.rows), dtype=np.bool_)
        for test in ready:
            columns = found.nodes if test.on_nodes else found.relationships
            passes &= (columns[test.left] == columns[test.right]) == test.equal
        if not passes.all():
            found.keep(np.flatnonzero(passes))


def _is_bound(test: RowTest, found: Walked) -> bool:
    columns = found.nodes if test.on_nodes else found.relationships
    return test.left in columns and test.right in columns


def _taken(part: _Entries, kept: NDArray[np.intp]) -> _Entries:
    places, others, arrows = part
    return places[kept], others[kept], arrows[kept]


def neighbours_of(
    csr: Csr,
    nodes: _Indexes,
    types: Collection[int] | None,
    spend: Callable[[int], None],
) -> _Entries:
    """Relationships of nodes: positions in ``nodes``, neighbours, and relationship indexes.

    Args:
        csr: One direction of the graph.
        nodes: Node indexes; may contain duplicates.
        types: Type ids; None for any type.
        spend: Called with the number of runs, and of relationships, before they are read.
    """
    parts = csr.parts
    after = nodes + np.uint32(1)
    if types is None:
        first, sizes = parts.row_offsets[nodes], parts.row_offsets[after]
        sizes = sizes - first
        places = np.arange(len(nodes))
    else:
        first, counts = parts.run_offsets[nodes], parts.run_offsets[after]
        counts = counts - first
        spend(int(counts.sum()))
        runs = positions(first, counts)
        kept = TypeFilter(types).places(parts.run_types[runs])
        places, runs = np.repeat(np.arange(len(nodes)), counts)[kept], runs[kept]
        first = parts.run_starts[runs]
        sizes = parts.run_starts[runs + np.uint32(1)] - first
    spend(int(sizes.sum()))
    entries = positions(first, sizes)
    indexes = parts.relationship_indexes
    arrows = entries if indexes is None else indexes[entries]
    return np.repeat(places, sizes), parts.neighbours[entries], arrows
