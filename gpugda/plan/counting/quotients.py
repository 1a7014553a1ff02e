"""Inclusion-exclusion over all relationships of a pattern: signed counts of homomorphisms.

A homomorphism maps query nodes and relationships without any condition but direction. The number of
embeddings, whose relationships are distinct, is a sum over the partitions of the relationships: all
of a block are the same relationship, and a block of size k has the coefficient (-1)^(k-1) (k-1)!.
(R. Curticapean, H. Dell, D. Marx, Homomorphisms are a good basis for counting small subgraphs,
2017.) Patterns that are the same but for their nodes' numbers are counted once.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = [
    "Link",
    "Multiplicities",
    "Pattern",
    "Powers",
    "independent_sets",
    "merged",
    "pattern_of",
    "signed_patterns",
]


class Link(NamedTuple):
    """A query relationship; an undirected one may be traversed from its end, too."""

    start: int
    end: int
    directed: bool


class Powers(NamedTuple):
    """Powers of the numbers of relationships between two nodes, whose product is a weight.

    Args:
        both: Of the number of relationships in both directions.
        on: Of the number of those from the first node to the second one.
        back: Of the number of those from the second node to the first one.
    """

    both: int = 0
    on: int = 0
    back: int = 0

    def turned(self) -> Powers:
        """The same, seen from the second node."""
        return Powers(self.both, self.back, self.on)

    def __add__(self, other: object) -> Powers:
        assert isinstance(other, Powers)
        return Powers(self.both + other.both, self.on + other.on, self.back + other.back)


class Multiplicities(NamedTuple):
    """What is known of the relationships between two nodes of the data graph.

    Args:
        has_loops: True if there are self-loops.
        single: True if there is at most one relationship between two nodes, in any direction.
        single_directed: True if there is at most one from one node to another.
    """

    has_loops: bool
    single: bool
    single_directed: bool

    def reduced(self, powers: Powers) -> Powers | None:
        """Smaller powers with the same value for all multiplicities; None if that is 0."""
        both, on, back = powers
        if self.single:
            if on and back:
                return None
            return Powers(0, min(on, 1), min(back, 1)) if on or back else Powers(min(both, 1))
        if self.single_directed:
            on, back = min(on, 1), min(back, 1)
        return Powers(both, on, back)


class Pattern(NamedTuple):
    """A pattern whose homomorphisms are counted.

    Args:
        nodes: The number of query nodes.
        edges: ``(a, b, powers)``, sorted, with a < b and one entry per pair of nodes. Both ends are
            mapped to different nodes.
        loops: Per query node, the power of the number of self-loops at its data node.
    """

    nodes: int
    edges: tuple[tuple[int, int, Powers], ...]
    loops: tuple[int, ...]

    def neighbours(self) -> list[dict[int, Powers]]:
        """Per node, its neighbours with the powers seen from the node."""
        found: list[dict[int, Powers]] = [{} for _ in range(self.nodes)]
        for a, b, powers in self.edges:
            found[a][b] = powers
            found[b][a] = powers.turned()
        return found


class _Block(NamedTuple):
    """Query relationships that are one relationship: a self-loop if both ends are the same."""

    first: int
    second: int
    directed: bool
    size: int


class _State(NamedTuple):
    """Where the first relationships were put: the class of each node, and the blocks."""

    classes: tuple[int, ...]
    blocks: tuple[_Block, ...]


@lru_cache(maxsize=256)
def signed_patterns(
    nodes: int, links: tuple[Link, ...], graph: Multiplicities, most: int
) -> tuple[tuple[Pattern, int], ...]:
    """Patterns with coefficients whose weighted sum is the number of embeddings of a pattern.

    Returns no patterns if there were more than ``most`` partitions.

    Args:
        nodes: The number of query nodes.
        links: The query relationships, all of which must differ.
        graph: What is known of the data graph.
        most: Maximum number of partitions of a prefix of the relationships.
    """
    states = {_State(tuple(range(nodes)), ()): 1}
    for link in links:
        following: dict[_State, int] = defaultdict(int)
        for state, times in states.items():
            for put, factor in _placed(state, link, graph):
                following[put] += times * factor
        states = {state: times for state, times in following.items() if times}
        if len(states) > most:
            return ()
    found: dict[Pattern, int] = defaultdict(int)
    for state, times in states.items():
        pattern = _pattern(state, graph)
        if pattern is not None:
            found[canonical(pattern)] += times
    return tuple((each, times) for each, times in sorted(found.items()) if times)


def pattern_of(nodes: int, links: Sequence[Link], graph: Multiplicities) -> Pattern | None:
    """The pattern of these relationships, which may be the same; None if one is a self-loop."""
    powers: dict[tuple[int, int], Powers] = {}
    for start, end, directed in links:
        if start == end:
            return None
        own = Powers(0, 1, 0) if directed else Powers(1)
        pair, seen = ((start, end), own) if start < end else ((end, start), own.turned())
        powers[pair] = powers.get(pair, Powers()) + seen
    return _reduced(nodes, powers, [0] * nodes, graph)


def _placed(state: _State, link: Link, graph: Multiplicities) -> Iterator[tuple[_State, int]]:
    """Yields the states with one more relationship, and their factors."""
    start, end = state.classes[link.start], state.classes[link.end]
    blocks = state.blocks
    if start != end:
        yield _with(state, (*blocks, _Block(start, end, link.directed, 1)), graph), 1
    if graph.has_loops:
        yield from _joined(
            state, (), (*blocks, _Block(start, start, False, 1)), (start, end), graph
        )
    for place, block in enumerate(blocks):
        others = (*blocks[:place], *blocks[place + 1 :])
        for put, pairs in _alignments(block, start, end, link):
            for new, _ in _joined(state, pairs, (*others, put), (), graph):
                yield new, -block.size


def _alignments(
    block: _Block, start: int, end: int, link: Link
) -> Iterator[tuple[_Block, tuple[tuple[int, int], ...]]]:
    """Yields the block with the relationship in it, and the pairs of classes that become one."""
    first, second, directed, size = block
    more = block._replace(size=size + 1)
    if first == second:
        yield more, ((first, start), (first, end))
        return
    yield more._replace(directed=directed or link.directed), ((first, start), (second, end))
    if directed and link.directed:
        return
    if link.directed:
        more = more._replace(first=second, second=first, directed=True)
    yield more, ((first, end), (second, start))


def _joined(
    state: _State,
    pairs: Sequence[tuple[int, int]],
    blocks: tuple[_Block, ...],
    pair: Sequence[int],
    graph: Multiplicities,
) -> Iterator[tuple[_State, int]]:
    """Yields the state in which pairs of classes are one, unless a block lies within a class."""
    name = list(range(len(state.classes)))

    def root(each: int) -> int:
        while name[each] != each:
            each = name[each]
        return each

    for one, other in [*pairs, *([tuple(pair)] if pair else [])]:
        name[root(max(root(one), root(other)))] = min(root(one), root(other))
    classes = tuple(root(each) for each in state.classes)
    moved = []
    for block in blocks:
        first, second = root(block.first), root(block.second)
        if first == second and block.first != block.second:
            return
        moved.append(block._replace(first=first, second=second))
    yield _with(_State(classes, ()), tuple(moved), graph), 1


def _with(state: _State, blocks: tuple[_Block, ...], graph: Multiplicities) -> _State:
    """The state with these blocks, in one order; parallel ones are one in a simple graph."""
    turned = [
        each._replace(first=each.second, second=each.first)
        if not each.directed and each.first > each.second
        else each
        for each in blocks
    ]
    if graph.single or graph.single_directed:
        sizes: dict[_Block, int] = defaultdict(int)
        for each in turned:
            one = each.first != each.second and (graph.single or each.directed)
            key = each._replace(size=0) if one else each
            sizes[key] += each.size if one else 1
        turned = []
        for key, size in sizes.items():
            if key.size == 0:
                turned.append(key._replace(size=size))
            else:
                turned += [key] * size
    return _State(state.classes, tuple(sorted(turned)))


def _pattern(state: _State, graph: Multiplicities) -> Pattern | None:
    """The pattern that is counted; None if it has no homomorphism."""
    names = {each: place for place, each in enumerate(sorted(set(state.classes)))}
    loops = [0] * len(names)
    powers: dict[tuple[int, int], Powers] = {}
    for block in state.blocks:
        a, b = names[block.first], names[block.second]
        if a == b:
            loops[a] += 1
            continue
        own = Powers(0, 1, 0) if block.directed else Powers(1)
        pair = (a, b) if a < b else (b, a)
        own = own if a < b else own.turned()
        powers[pair] = powers.get(pair, Powers()) + own
    return _reduced(len(names), powers, loops, graph)


def _reduced(
    nodes: int,
    powers: dict[tuple[int, int], Powers],
    loops: Sequence[int],
    graph: Multiplicities,
) -> Pattern | None:
    """The pattern with the smallest powers; None if it has no homomorphism."""
    edges = []
    for (a, b), each in sorted(powers.items()):
        own = graph.reduced(each)
        if own is None:
            return None
        edges.append((a, b, own))
    return Pattern(nodes, tuple(edges), tuple(loops))


def merged(
    pattern: Pattern, together: Sequence[int], graph: Multiplicities
) -> tuple[Pattern, list[int]] | None:
    """The pattern in which some nodes, of which no two are neighbours, are one.

    Returns it with the new number of each node, 0 for those; None if it has no homomorphism.
    """
    others = [each for each in range(pattern.nodes) if each not in together]
    names = [0] * pattern.nodes
    for place, each in enumerate(others, 1):
        names[each] = place
    powers: dict[tuple[int, int], Powers] = {}
    for a, b, own in pattern.edges:
        one, other = names[a], names[b]
        assert one != other
        pair, seen = ((one, other), own) if one < other else ((other, one), own.turned())
        powers[pair] = powers.get(pair, Powers()) + seen
    loops = [0] * (len(others) + 1)
    for node, name in enumerate(names):
        loops[name] += pattern.loops[node]
    found = _reduced(len(loops), powers, loops, graph)
    return None if found is None else (found, names)


def independent_sets(pattern: Pattern, among: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yields the non-empty sets of some nodes of which no two are neighbours."""
    pairs = {(a, b) for a, b, _ in pattern.edges}
    for size in range(1, len(among) + 1):
        for chosen in combinations(sorted(among), size):
            if not any(pair in pairs for pair in combinations(chosen, 2)):
                yield chosen


def canonical(pattern: Pattern) -> Pattern:
    """The same pattern with its nodes in an order that does not depend on their numbers."""
    beside = pattern.neighbours()
    best: Pattern | None = None
    for colours in _orders(pattern.loops, beside):
        edges = []
        for a, b, powers in pattern.edges:
            one, other = colours[a], colours[b]
            edges.append((one, other, powers) if one < other else (other, one, powers.turned()))
        loops = [0] * pattern.nodes
        for node, place in enumerate(colours):
            loops[place] = pattern.loops[node]
        made = Pattern(pattern.nodes, tuple(sorted(edges)), tuple(loops))
        best = made if best is None or made < best else best
    assert best is not None
    return best


def _orders(loops: Sequence[int], beside: Sequence[dict[int, Powers]]) -> Iterator[list[int]]:
    """Yields orders of the nodes: colours are refined, and one node of a colour is set apart."""
    waiting = [_refined(list(loops), beside)]
    while waiting:
        colours = waiting.pop()
        counts = Counter(colours)
        shared = min((each for each, count in counts.items() if count > 1), default=None)
        if shared is None:
            yield colours
            continue
        for node, colour in enumerate(colours):
            if colour == shared:
                apart = [2 * each + (place != node) for place, each in enumerate(colours)]
                waiting.append(_refined(apart, beside))


def _refined(colours: list[int], beside: Sequence[dict[int, Powers]]) -> list[int]:
    count = -1
    while True:
        keys = [
            (colour, tuple(sorted((colours[other], powers) for other, powers in own.items())))
            for colour, own in zip(colours, beside, strict=True)
        ]
        names = {key: place for place, key in enumerate(sorted(set(keys)))}
        colours = [names[key] for key in keys]
        if len(names) == count:
            return colours
        count = len(names)
