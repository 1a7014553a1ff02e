"""Counts the peers' queries by algebra, without code or methods of any engine.

Cypher's embeddings map query relationships to distinct relationships, while nodes may coincide.
Their count is an alternating sum of counts without that rule (homomorphisms) over the partitions of
the query relationships into blocks that map to the same relationship of the graph:

    embeddings(Q) = Σ over partitions π of Π over blocks B of π of (-1)^(|B|-1) (|B|-1)! · homomorphisms(Q / π)

(inclusion-exclusion over the lattice of partitions: Curticapean, Dell and Marx, Homomorphisms
are a good basis for counting small subgraphs, 2017, section 3, there for nodes). In Q / π the
relationships of a block are merged, and so are their ends. An undirected step matches a relationship
in both directions, but a loop once: a block with such steps is a loop, or its steps take each
possible combination of directions. The results are small sparse patterns: see `homomorphisms`.

A comparison of two nodes of one step filters relationships. A comparison of other nodes is a sum
over bits: at one bit the smaller code has 0 and the larger has 1, and all higher bits are equal;
these are the value of a new variable, joined to both.
"""

from __future__ import annotations

import math
import operator
import re
import time
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.homomorphisms import MODULUS, Pattern, TooLongError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.peer_graphs import PeerGraph
    from benchmarks.peer_queries import Motif, Step

SECONDS = 60.0
"""Processor seconds, so that load on the machine does not matter."""
CONDITION = re.compile(
    r"(\w+)\.(\w+) (=|<=|>=|<|>) (?:(?P<node>\w+)\.(?P<key>\w+)|(?P<number>\d+)|'(?P<text>[^']*)')"
)
OPERATORS = {
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


def oracle_count(motif: Motif, graph: PeerGraph, seconds: float = SECONDS) -> int | None:
    """The number of embeddings; None if it takes too long, or may not fit in 63 bits."""
    deadline, query = time.process_time() + seconds, Query(motif, graph)
    try:
        bound = query.bound(deadline)
        # The counts below are known modulo 2^64; half of the range is reserved for rounding of floats.
        if bound >= MODULUS / 2:
            return None
        total = sum(
            _sign(blocks) * pattern.count(deadline)
            for blocks in partitions(motif.steps)
            for pattern in query.quotients(blocks)
        )
    except TooLongError:
        return None
    found = int(total) % MODULUS
    assert found <= bound * 1.001, (motif.text, found, bound)
    return found


def partitions(steps: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], ...]]:
    if not steps:
        yield ()
        return
    for blocks in partitions(steps[1:]):
        yield ((steps[0],), *blocks)
        for at, block in enumerate(blocks):
            yield (*blocks[:at], (steps[0], *block), *blocks[at + 1 :])


def _sign(blocks: tuple[tuple[Step, ...], ...]) -> int:
    return math.prod((-1) ** (len(each) - 1) * math.factorial(len(each) - 1) for each in blocks)


@dataclass(frozen=True)
class Joint:
    """A way in which the steps of a block map to one relationship.

    Args:
        lead: The step that represents the block.
        same: Pairs of query nodes that coincide.
        directed: True if the relationship matches ``lead`` only in its own direction.
        chosen: Per relationship of the graph, True if the block may map to it.
    """

    lead: Step
    same: list[tuple[str, str]]
    directed: bool
    chosen: np.ndarray


@dataclass(frozen=True)
class Comparison:
    """``smaller`` < ``larger``: query nodes; codes per node of the graph, -1 without a value."""

    smaller: str
    larger: str
    smaller_codes: np.ndarray
    larger_codes: np.ndarray

    def holds(self, smaller: np.ndarray, larger: np.ndarray) -> np.ndarray:
        """Evaluates the comparison for nodes of the graph."""
        low, high = self.smaller_codes[smaller], self.larger_codes[larger]
        found: np.ndarray = (low >= 0) & (low < high)
        return found


@dataclass(frozen=True)
class Bit:
    """The highest bit at which two codes differ.

    Args:
        values: Number of values of the bits above.
        sides: For smaller and larger: query node, nodes of the graph, and the bits above of each.
    """

    values: int
    sides: tuple[tuple[str, np.ndarray, np.ndarray], ...]


class Query:
    """The nodes and relationships of the graph that each part of the motif may match."""

    def __init__(self, motif: Motif, graph: PeerGraph) -> None:
        self._motif, self._graph = motif, graph
        self._loops = graph.source == graph.target
        self._nodes = {name: self._labelled(label) for name, label in motif.labels.items()}
        self._relationships = {step.name: self._typed(step) for step in motif.steps}
        self._comparisons: list[Comparison] = []
        for condition in motif.conditions:
            self._read(condition)

    def _labelled(self, label: str | None) -> np.ndarray:
        has = np.array([not label or label in labels for labels in self._graph.label_sets])
        return has[self._graph.label_set_of]

    def _typed(self, step: Step) -> np.ndarray:
        has = np.array([not step.types or each in step.types for each in self._graph.types])
        return has[self._graph.type_of]

    def _read(self, condition: str) -> None:
        found = CONDITION.fullmatch(condition)
        assert found, condition
        name, key, sign = found.groups()[:3]
        if found["node"]:
            assert sign in "<>", condition
            pair = [(name, key), (found["node"], found["key"])]
            self._comparisons.append(self._comparison(*(pair if sign == "<" else pair[::-1])))
            return
        of_node = name in self._nodes
        columns = self._graph.node_columns if of_node else self._graph.relationship_columns
        value = found["text"] if found["number"] is None else int(found["number"])
        compare = OPERATORS[sign]
        holds = [each is not None and compare(each, value) for each in columns[key].tolist()]
        allowed = self._nodes if of_node else self._relationships
        allowed[name] = allowed[name] & np.array(holds, dtype=bool)

    def _comparison(self, smaller: tuple[str, str], larger: tuple[str, str]) -> Comparison:
        columns = [self._graph.node_columns[key].tolist() for _, key in (smaller, larger)]
        values = sorted({each for column in columns for each in column if each is not None})
        code = {value: at for at, value in enumerate(values)}
        low, high = (
            np.array([code.get(each, -1) for each in column], np.int64) for column in columns
        )
        return Comparison(smaller[0], larger[0], low, high)

    # -------------------------------------------------------------- patterns
    def bound(self, deadline: float) -> float:
        """Upper bound of the homomorphisms of the motif and of each of its quotients.

        Those of a spanning tree, times the maximum number of parallel relationships per closing step.
        """
        group, tree, bound = _merged(self._nodes, []), [], 1.0
        for step in self._motif.steps:
            joint = Joint(step, [], step.directed, self._relationships[step.name])
            if group[step.source] != group[step.target]:
                tree.append(joint)
                same = [(each.lead.source, each.lead.target) for each in tree]
                group = _merged(self._nodes, same)
            else:
                rows, columns = self._ends(joint, bent=False)
                pairs = rows * len(self._graph.label_set_of) + columns
                bound *= np.unique(pairs, return_counts=True)[1].max(initial=0)
        return bound * sum(each.count(deadline) for each in self._patterns(tree, np.float64))

    def quotients(self, blocks: tuple[tuple[Step, ...], ...]) -> Iterator[Pattern]:
        """Patterns whose homomorphisms are those of the motif with each block merged."""
        for joints in product(*(list(self._joints(block)) for block in blocks)):
            yield from self._patterns(list(joints), np.uint64)

    def _joints(self, block: tuple[Step, ...]) -> Iterator[Joint]:
        chosen = reduce(np.logical_and, (self._relationships[each.name] for each in block))
        lead = min(block, key=lambda each: not each.directed)
        others = [each for each in block if each is not lead]
        free = [each for each in others if not each.directed]
        if not free:
            yield Joint(lead, _same(lead, others, set()), lead.directed, chosen)
            return
        ends = [each for step in block for each in (step.source, step.target)]
        yield Joint(lead, [(ends[0], each) for each in ends], True, chosen & self._loops)
        for turns in product((False, True), repeat=len(free)):
            turned = {step.name for step, turn in zip(free, turns, strict=True) if turn}
            yield Joint(lead, _same(lead, others, turned), lead.directed, chosen & ~self._loops)

    def _patterns(self, joints: list[Joint], dtype: type[np.generic]) -> Iterator[Pattern]:
        """Yields nothing if a joint has no relationship left; several if distant nodes are compared."""
        group = _merged(self._nodes, [pair for each in joints for pair in each.same])
        compared = [(group[each.smaller], group[each.larger], each) for each in self._comparisons]
        allowed = self._allowed(group, compared)
        steps = []
        # Loops come first: usually there are none, which ends the work.
        for joint in sorted(joints, key=lambda each: not _bent(each, group)):
            x, y = group[joint.lead.source], group[joint.lead.target]
            rows, columns = self._ends(joint, x == y)
            keep = allowed[x][rows] & allowed[y][columns]
            for smaller, larger, each in compared:
                if (smaller, larger) == (x, y):
                    keep &= each.holds(rows, columns)
                elif (smaller, larger) == (y, x):
                    keep &= each.holds(columns, rows)
            if not keep.any():
                return
            steps.append((x, y, rows[keep], columns[keep]))
        joined = [{x, y} for x, y, _, _ in steps]
        apart = [
            list(_bits(*each))
            for each in compared
            if each[0] != each[1] and {*each[:2]} not in joined
        ]
        for bits in product(*apart):
            yield _pattern(allowed, steps, bits, dtype)

    def _allowed(
        self, group: dict[str, str], compared: list[tuple[str, str, Comparison]]
    ) -> dict[str, np.ndarray]:
        """Per representative node, the graph's nodes allowed for all query nodes of its group."""
        every = np.arange(len(self._graph.label_set_of))
        allowed = {name: np.ones(len(every), bool) for name in group.values()}
        for name, mask in self._nodes.items():
            allowed[group[name]] &= mask
        for smaller, larger, each in compared:
            if smaller == larger:
                allowed[smaller] &= each.holds(every, every)
        return allowed

    def _ends(self, joint: Joint, bent: bool) -> tuple[np.ndarray, np.ndarray]:
        chosen = joint.chosen & self._loops if bent else joint.chosen
        source, target = self._graph.source[chosen], self._graph.target[chosen]
        if joint.directed or bent:
            return source, target
        back = source != target
        return np.append(source, target[back]), np.append(target, source[back])


def _same(lead: Step, others: list[Step], turned: set[str]) -> list[tuple[str, str]]:
    pairs = []
    for each in others:
        ends = (each.source, each.target)
        source, target = ends[::-1] if each.name in turned else ends
        pairs += [(lead.source, source), (lead.target, target)]
    return pairs


def _merged(nodes: dict[str, Any], same: list[tuple[str, str]]) -> dict[str, str]:
    """Maps each query node to the representative of all that coincide with it."""
    group = {node: node for node in nodes}
    for kept, merged in same:
        old, new = group[merged], group[kept]
        group = {node: new if each == old else each for node, each in group.items()}
    return group


def _bent(joint: Joint, group: dict[str, str]) -> bool:
    return group[joint.lead.source] == group[joint.lead.target]


def _pattern(
    allowed: dict[str, np.ndarray],
    steps: list[tuple[str, str, np.ndarray, np.ndarray]],
    bits: tuple[Bit, ...],
    dtype: type[np.generic],
) -> Pattern:
    pattern = Pattern(dtype)
    for name, mask in allowed.items():
        pattern.variable(name, mask)
    for at, bit in enumerate(bits):
        pattern.variable(at, np.ones(bit.values, bool))
        for name, nodes, above in bit.sides:
            pattern.step(name, at, nodes, above)
    for step in steps:
        pattern.step(*step)
    return pattern


def _bits(smaller: str, larger: str, comparison: Comparison) -> Iterator[Bit]:
    low, high = comparison.smaller_codes, comparison.larger_codes
    highest = max(int(low.max(initial=0)), int(high.max(initial=0)))
    for bit in range(highest.bit_length()):
        zeros = np.flatnonzero((low >= 0) & (low >> bit & 1 == 0))
        ones = np.flatnonzero((high >= 0) & (high >> bit & 1 == 1))
        yield Bit(
            (highest >> bit + 1) + 1,
            ((smaller, zeros, low[zeros] >> bit + 1), (larger, ones, high[ones] >> bit + 1)),
        )
