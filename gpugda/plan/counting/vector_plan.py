"""Cutset and vectors: homomorphisms are counted per data node of one query node, the pin.

If the pattern without the pin is a forest, its count per pinned value is a product over the trees.
Each tree is evaluated from its leaves: a sparse vector holds the number of ways to bind the subtree
of a query node, per data node. It is multiplied with an adjacency along each relationship, and
vectors that meet at a node are multiplied; the vector of the root is summed.

Trees that hang at the pattern's cycles are weights of data nodes, the same for all pinned values.
Of several query nodes (`_pinned_sets`) the one whose data node has the highest rank is pinned, in
all ways in which one or several of them have it. The others are below it, so that only lists of
lower neighbours are read: these are short where nodes are many.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from gpugda.plan.counting.quotients import (
    Multiplicities,
    Pattern,
    Powers,
    independent_sets,
    merged,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

__all__ = [
    "GraphShape",
    "NodeWeight",
    "Pull",
    "Rooted",
    "Vector",
    "VectorPlan",
    "core_of",
    "plan_vectors",
    "rooted_terms",
]

_BELOW_SHARE = 0.25
"""Share of a list that is below a pin, if the list's node is below it, too: hubs are above."""
_SCATTER_COST = 2.0
"""Cost of adding to a vector, as a multiple of reading one."""


class GraphShape(NamedTuple):
    """What the cost model knows of the relationships of a data graph.

    Args:
        nodes: Nodes with relationships.
        entries: Entries of the lists of both directions.
        reached: Mean number of entries of a node that is reached along a relationship.
    """

    nodes: float
    entries: float
    reached: float

    def pinned(self, *, below: bool) -> float:
        """Mean length of the pin's list."""
        return self.entries / max(self.nodes, 1.0) * (0.5 if below else 1.0)

    def step(self, *, below: bool, from_below: bool) -> float:
        """Mean number of entries that are read per entry of a vector."""
        if not below:
            return self.reached
        return self.reached * (_BELOW_SHARE if from_below else 0.5)


class NodeWeight(NamedTuple):
    """A number per data node: its self-loops to a power, times sums over trees that hang at it.

    Args:
        loops: The power.
        trees: Per tree, the relationship to its root, seen from the node, and the root's weight.
    """

    loops: int
    trees: tuple[tuple[Powers, NodeWeight | None], ...]


class Vector(NamedTuple):
    """A sparse vector: the number of ways to bind a subtree, per data node of its root.

    Args:
        source: The vector that is multiplied with an adjacency; None for the pin's own list.
        powers: The relationship, seen from the source's node or from the pin.
        below: True if only data nodes below the pin count.
        exponent: Number of subtrees that send this same vector.
        pulls: Other vectors that are multiplied with this one.
        weight: Weights of the data nodes; None for 1.
    """

    source: Vector | None
    powers: Powers
    below: bool
    exponent: int = 1
    pulls: tuple[Pull, ...] = ()
    weight: NodeWeight | None = None

    @property
    def base(self) -> Vector:
        """The vector before anything is multiplied with it."""
        return Vector(self.source, self.powers, self.below)


class Pull(NamedTuple):
    """Multiplies each entry of a vector with the sum of another vector over its neighbours."""

    source: Vector
    powers: Powers
    exponent: int


class Rooted(NamedTuple):
    """A product of sums over vectors, per pinned data node.

    Args:
        sums: The vectors of the trees' roots.
        weight: Weights of the pinned nodes; None for 1.
    """

    sums: tuple[Vector, ...]
    weight: NodeWeight | None


@dataclass(frozen=True, slots=True)
class VectorPlan:
    """A count as a weighted sum of products over vectors.

    Args:
        terms: The products with their coefficients.
        cost: Estimated number of entries that are read.
        core: Query nodes of cycles and between them.
        pins: Query nodes of which the highest one is pinned.
        steps: Maximum number of steps from the pin to a vector.
        is_separable: True if cycles of the pattern meet at one node only.
    """

    terms: tuple[tuple[Rooted, int], ...]
    cost: float
    core: tuple[int, ...]
    pins: tuple[int, ...]
    steps: int
    is_separable: bool


_Neighbours: TypeAlias = "Mapping[int, Powers]"


def plan_vectors(
    own: Pattern,
    patterns: Sequence[tuple[Pattern, int]],
    graph: Multiplicities,
    shape: GraphShape,
) -> VectorPlan | None:
    """The plan that counts connected patterns with these coefficients; None if one cannot be.

    Args:
        own: The pattern whose embeddings these patterns count.
        patterns: Patterns with their coefficients.
        graph: What is known of the data graph.
        shape: Sizes for the cost model.
    """
    chosen = _cheapest(own, graph, shape, {})
    if chosen is None:
        return None
    terms: dict[Rooted, int] = defaultdict(int)
    known = {**chosen.costs}  # what other patterns share costs nothing more
    for each, times in patterns:
        choice = _cheapest(each, graph, shape, known)
        if choice is None:
            return None
        known |= choice.costs
        for rooted, count in choice.terms.items():
            terms[rooted] += times * count
    kept = tuple((rooted, times) for rooted, times in terms.items() if times)
    cost = _cost_of([rooted for rooted, _ in kept], shape)
    steps = max([_steps(each) for rooted, _ in kept for each in rooted.sums], default=0)
    return VectorPlan(kept, cost, tuple(core_of(own)), chosen.pins, steps, _is_separable(own))


def _steps(vector: Vector) -> int:
    own = 1 if vector.source is None else 1 + _steps(vector.source)
    return max([own, *(_steps(each.source) for each in vector.pulls)])


def _is_separable(pattern: Pattern) -> bool:
    core = core_of(pattern)
    inner, beside = set(core), pattern.neighbours()
    return any(len(_components(beside, inner - {node})) > 1 for node in core)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The pins of one pattern, how often each product counts, and what each part of them costs."""

    pins: tuple[int, ...]
    terms: Counter[Rooted]
    costs: Mapping[object, float]


def _cheapest(
    pattern: Pattern, graph: Multiplicities, shape: GraphShape, known: Mapping[object, float]
) -> _Choice | None:
    core = core_of(pattern)
    if len(core) == 1:
        only = Rooted((), _weights_of(pattern, set(core))[core[0]])
        return _Choice((), Counter([only]), {})
    best, least = None, float("inf")
    for pins in _pinned_sets(core):
        terms = rooted_terms(pattern, pins, graph, shape)
        if terms is None:
            continue
        costs = _costs_of(terms, shape)
        cost = sum(each for key, each in costs.items() if key not in known)
        if cost < least:
            best, least = _Choice(pins, terms, costs), cost
    return best


def _pinned_sets(core: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields the sets of query nodes of which the highest one may be pinned."""
    yield tuple(core)
    for size in (1, 2):
        if size < len(core):
            yield from combinations(core, size)


def rooted_terms(
    pattern: Pattern, pins: Sequence[int], graph: Multiplicities, shape: GraphShape
) -> Counter[Rooted] | None:
    """The products whose sum counts a pattern if the highest of some of its nodes is pinned.

    Returns None if one of them leaves cycles.

    Args:
        pattern: A pattern with a cycle.
        pins: Some nodes of its core.
        graph: What is known of the data graph.
        shape: Sizes for the cost model.
    """
    core = core_of(pattern)
    found: Counter[Rooted] = Counter()
    for together in independent_sets(pattern, pins):
        made = merged(pattern, together, graph)
        if made is None:
            continue
        joined, names = made
        below = {names[each] for each in pins if each not in together}
        inner = {names[each] for each in core}
        rooted = _rooted(joined, inner, below, shape)
        if rooted is None:
            return None
        found[rooted] += 1
    return found


# ------------------------------------------------------------------ trees at cycles
def core_of(pattern: Pattern) -> list[int]:
    """The nodes of cycles and between them, or one node of a tree."""
    beside = [set(each) for each in pattern.neighbours()]
    left = set(range(pattern.nodes))
    waiting = [node for node in left if len(beside[node]) == 1]
    while waiting and len(left) > 1:
        node = waiting.pop()
        left.discard(node)
        for other in beside[node]:
            beside[other].discard(node)
            if len(beside[other]) == 1:
                waiting.append(other)
        beside[node].clear()
    return sorted(left)


# ------------------------------------------------------------------ products
def _rooted(pattern: Pattern, inner: Set[int], below: Set[int], shape: GraphShape) -> Rooted | None:
    """The product for node 0 as the pin; ``inner``: nodes that are no part of hanging trees."""
    beside = pattern.neighbours()
    weights = _weights_of(pattern, inner)
    sums = []
    for nodes in _components(beside, inner - {0}):
        links = sum(other in nodes for node in nodes for other in beside[node]) // 2
        if links != len(nodes) - 1:
            return None
        forest = _Forest(beside, nodes, below, weights, shape)
        sums.append(min((forest.vector(root, None) for root in nodes), key=forest.root_cost))
    return Rooted(tuple(sorted(sums, key=repr)), weights[0])


def _weights_of(pattern: Pattern, inner: Set[int]) -> list[NodeWeight | None]:
    """Weights of the inner nodes, from the trees that hang at them."""
    beside = pattern.neighbours()

    def weight(node: int, parent: int | None) -> NodeWeight | None:
        trees = [
            (powers, weight(other, node))
            for other, powers in beside[node].items()
            if other != parent and other not in inner
        ]
        own = tuple(sorted(trees, key=repr))
        return NodeWeight(pattern.loops[node], own) if own or pattern.loops[node] else None

    return [weight(node, None) if node in inner else None for node in range(pattern.nodes)]


def _components(beside: Sequence[_Neighbours], nodes: Set[int]) -> list[set[int]]:
    left, found = set(nodes), []
    while left:
        waiting = [min(left)]
        own = set(waiting)
        while waiting:
            more = [each for each in beside[waiting.pop()] if each in left and each not in own]
            own.update(more)
            waiting += more
        left -= own
        found.append(own)
    return found


@dataclass(frozen=True, slots=True)
class _Forest:
    """One tree of a pattern without its pin, which is node 0."""

    beside: Sequence[_Neighbours]
    nodes: Set[int]
    below: Set[int]
    weights: Sequence[NodeWeight | None]
    shape: GraphShape

    def vector(self, node: int, parent: int | None) -> Vector:
        """The vector of a node and its subtree, seen from the parent."""
        children: Counter[tuple[Vector, Powers]] = Counter()
        for other, powers in self.beside[node].items():
            if other in self.nodes and other != parent:
                children[self.vector(other, node), powers] += 1
        own, weight = node in self.below, self.weights[node]
        ordered = sorted(children.items(), key=lambda each: (self._size(each[0][0]), repr(each)))
        first = self.beside[0].get(node)
        if first is not None:
            return Vector(None, first, own, 1, _pulls(ordered), weight)
        (source, powers), exponent = ordered[0]
        return Vector(source, powers.turned(), own, exponent, _pulls(ordered[1:]), weight)

    def _size(self, vector: Vector) -> float:
        return _size_of(vector, self.shape)

    def root_cost(self, vector: Vector) -> tuple[float, str]:
        """Cost of summing a root's vector; the text makes the choice the same in each process."""
        return _cost_of([Rooted((vector,), None)], self.shape), repr(vector)


def _pulls(children: Sequence[tuple[tuple[Vector, Powers], int]]) -> tuple[Pull, ...]:
    return tuple(Pull(source, powers, count) for (source, powers), count in children)


# ------------------------------------------------------------------ costs
def _size_of(vector: Vector, shape: GraphShape) -> float:
    """Estimated number of entries of a vector."""
    if vector.source is None:
        return shape.pinned(below=vector.below)
    step = shape.step(below=vector.below, from_below=vector.source.below)
    return min(_size_of(vector.source, shape) * step, shape.nodes)


def _cost_of(terms: Iterable[Rooted], shape: GraphShape) -> float:
    """Estimated entries that are read for all pinned nodes."""
    return shape.nodes * sum(_costs_of(terms, shape).values())


def _costs_of(terms: Iterable[Rooted], shape: GraphShape) -> dict[object, float]:
    """Estimated entries that are read per pinned node; equal vectors are made once."""
    known: dict[object, float] = {}
    for vector in {each for term in terms for each in term.sums}:
        # Weights are applied while the root's vector is summed, by any number of terms at once.
        _add_costs(vector._replace(weight=None), shape, known)
    return known


def _add_costs(vector: Vector, shape: GraphShape, known: dict[object, float]) -> None:
    base, size = vector.base, _size_of(vector, shape)
    if base.source is None:
        known[base] = size
    elif base not in known:
        _add_costs(base.source, shape, known)
        step = shape.step(below=base.below, from_below=base.source.below)
        known[base] = _size_of(base.source, shape) * step * _SCATTER_COST
    for each in vector.pulls:
        _add_costs(each.source, shape, known)
        step = shape.step(below=each.source.below, from_below=vector.below)
        known[base, each] = size * step
    known["read", vector if vector.pulls else base] = size
