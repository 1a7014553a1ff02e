"""Generates graphs of the papers' shapes and sizes, and query graphs by random walks on them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa

from gpugda.bench.pbe_patterns import PBE_PATTERNS
from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.data.threads import in_threads
from gpugda.data.unique_values import unique_values
from gpugda.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.sorting import RowSorter

    Indexes = NDArray[np.int64]

T = TypeVar("T")

__all__ = ["RECIPES", "Recipe", "make_recipe", "recipe_queries", "walk_queries"]

_WALK_STEPS = 50
"""Maximum steps of a walk, as a multiple of the number of nodes."""
_PIECE = 1 << 20
"""Number drawn at a time by one thread."""
_BLOCK = 1 << 16
"""Number drawn at a time in a piece: the arrays stay in the caches."""
_SPREAD = np.uint64(0x9E3779B1)
"""Low numbers are hubs: multiplied by this, they and those beyond the last are distributed."""
_MAX_WALKS = 100
"""Maximum number of walks per requested query graph."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Parameters of a paper's graph.

    Args:
        nodes: Number of nodes.
        relationships: Number of relationships.
        labels: Number of labels; one per node, distributed by a power law.
        types: Number of relationship types, distributed likewise.
        quadrants: R-MAT's a, b and c; None for a mesh.
        query_nodes: Number of nodes of a query graph.
        by_walks: True if random walks make the query graphs. Else nodes have random labels, and
            there are twice as many relationships between random nodes, as for the STwig join.
        patterns: Query graphs by name, instead of drawn ones; the graph is then simple: at most
            one relationship between two nodes.
    """

    nodes: int
    relationships: int
    labels: int
    types: int
    quadrants: tuple[float, float, float] | None
    query_nodes: int = 12
    by_walks: bool = True
    patterns: Mapping[str, str] | None = None


_SCALE_FREE = (0.57, 0.19, 0.19)
_SOCIAL = (0.45, 0.22, 0.22)
_MORE_DRAWN = 1.3
"""Factor of drawn relationships for a simple graph, because duplicates are removed."""


def _social(nodes: int, relationships: int) -> Recipe:
    """Recipe of a graph without labels, with the patterns of PBE."""
    return Recipe(nodes, relationships, 1, 1, _SOCIAL, 5, patterns=PBE_PATTERNS)


RECIPES = {
    "enron": Recipe(69_000, 274_000, 10, 100, _SCALE_FREE),
    "gowalla": Recipe(196_000, 1_900_000, 100, 100, _SCALE_FREE),
    "patent": Recipe(6_000_000, 16_000_000, 453, 1_000, (0.45, 0.22, 0.22)),
    "road": Recipe(14_000_000, 16_000_000, 1_000, 1_000, None),
    "watdiv": Recipe(10_000_000, 109_000_000, 1_000, 86, _SCALE_FREE),
    "stwig": Recipe(16_000, 256_000, 16, 1, (0.4, 0.2, 0.2), query_nodes=8, by_walks=False),
    "db": Recipe(233_000_000, 1_100_000_000, 1_000, 124_000, _SCALE_FREE),
    "fr": Recipe(65_000_000, 1_800_000_000, 1_000, 1_000, _SCALE_FREE),
    "yh": Recipe(417_000_000, 2_800_000_000, 1_000, 1_000, _SCALE_FREE),
    "wd": Recipe(97_000_000, 1_000_000_000, 1_000, 86, _SCALE_FREE),
    "youtube": _social(1_100_000, 2_900_000),
    "livejournal": _social(3_900_000, 34_600_000),
    "orkut": _social(3_000_000, 117_100_000),
    "uk2002": _social(18_500_000, 298_100_000),
    "friendster": _social(65_600_000, 1_806_000_000),
}
"""By name of the paper's graph: all of GSI except DBpedia, the smallest of STwig, the four of
SGSI, and those of PBE except Yahoo."""


@dataclass(frozen=True, slots=True)
class _Batches:
    nodes: Iterable[NodeBatch]
    relationships: Iterable[RelationshipBatch]
    element_ids: None = None
    properties_complete: bool = True


def make_recipe(name: str, scale: float, seed: int, sorter: RowSorter | None = None) -> DataGraph:
    """The graph of a recipe, with its nodes and relationships scaled.

    Args:
        name: Name of the recipe.
        scale: Factor above 0, at most 100.
        seed: Seed of the random draws.
        sorter: See `build_data_graph`.

    Raises:
        ConfigurationError: There is no such recipe, or the scale is out of range.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        raise ConfigurationError(f"--graph is {name!r}; with --strategies: {', '.join(RECIPES)}.")
    if not 0 < scale <= 100:
        raise ConfigurationError(f"--scale is {scale:g}; it must be above 0 and at most 100.")
    rng = np.random.default_rng([seed, list(RECIPES).index(name)])
    nodes = max(16, round(scale * recipe.nodes))
    wanted = max(16, round(scale * recipe.relationships))
    if recipe.quadrants is None:
        starts, ends = _mesh(rng, nodes, wanted)
    elif recipe.patterns is None:
        starts, ends = _rmat(rng, nodes, wanted, recipe.quadrants)
    else:
        starts, ends = _simple(rng, nodes, wanted, recipe.quadrants)
    labels = _power_law(rng, recipe.labels, nodes)
    types = _power_law(rng, recipe.types, len(starts))
    ids = pa.array(np.arange(nodes))
    label_sets = tuple((f"L{number}",) for number in range(recipe.labels))
    names = tuple(f"T{number}" for number in range(recipe.types))
    return build_data_graph(
        _Batches(
            [NodeBatch(nodes, ids, labels, label_sets, {})],
            [RelationshipBatch(len(starts), pa.array(starts), pa.array(ends), types, names)],
        ),
        sorter=sorter,
    )


def _rmat(
    rng: np.random.Generator, nodes: int, count: int, quadrants: tuple[float, float, float]
) -> tuple[Indexes, Indexes]:
    """Sources and targets by R-MAT; any number of nodes, not only powers of two; no loops."""
    drawn = _in_pieces(rng, count, lambda rng, count: _rmat_piece(rng, nodes, count, quadrants))
    return _joined([each[0] for each in drawn]), _joined([each[1] for each in drawn])


def _joined(parts: Sequence[Indexes]) -> Indexes:
    """The parts in one array, copied by all processors: it may have billions of entries."""
    ends = np.cumsum([len(each) for each in parts])
    joined = np.empty(ends[-1], np.int64)

    def copy(number: int) -> None:
        joined[ends[number] - len(parts[number]) : ends[number]] = parts[number]

    in_threads(copy, range(len(parts)))
    return joined


def _rmat_piece(
    rng: np.random.Generator, nodes: int, count: int, quadrants: tuple[float, float, float]
) -> tuple[Indexes, Indexes]:
    levels = (nodes - 1).bit_length()
    padding = -levels % 8
    # 16 random bits per level choose the quadrant.
    one, two, three = (round(each * 0x10000) for each in np.cumsum(quadrants))
    found = []
    for first in range(0, count, _BLOCK):
        size = min(_BLOCK, count - first)
        raw = rng.bit_generator.random_raw(-(-levels * size // 4)).view(np.uint16)
        drawn = raw[: levels * size].reshape(levels, size)
        # Few calls for all levels: with many, threads would wait for the interpreter's lock.
        bits = np.zeros((2, padding + levels, size), np.bool_)
        lower, right = bits[:, padding:]
        np.greater_equal(drawn, two, out=lower)
        np.not_equal(drawn >= one, drawn >= three, out=right)
        right ^= lower
        starts, ends = (_numbers(each) * _SPREAD % np.uint64(nodes) for each in bits)
        kept = starts != ends
        found.append((starts[kept].view(np.int64), ends[kept].view(np.int64)))
    return np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])


def _numbers(bits: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Numbers from their bits, the highest first; there are a multiple of eight."""
    shifts = np.arange(7, -1, -1, dtype=np.uint8)[:, np.newaxis]
    found = np.zeros(bits.shape[1], np.uint64)
    for some in bits.view(np.uint8).reshape(-1, 8, bits.shape[1]):
        found <<= np.uint64(8)
        found |= np.bitwise_or.reduce(some << shifts, axis=0)
    return found


def _in_pieces(
    rng: np.random.Generator, count: int, draw: Callable[[np.random.Generator, int], T]
) -> list[T]:
    """Draws in pieces on all processors; the result does not depend on their number."""
    if count <= _PIECE:
        return [draw(rng, count)]
    sizes = [min(_PIECE, count - first) for first in range(0, count, _PIECE)]
    with ThreadPoolExecutor() as pool:
        return list(pool.map(draw, rng.spawn(len(sizes)), sizes))


def _simple(
    rng: np.random.Generator, nodes: int, count: int, quadrants: tuple[float, float, float]
) -> tuple[Indexes, Indexes]:
    """At most ``count`` relationships by R-MAT, with at most one between two nodes."""

    def draw(rng: np.random.Generator, count: int) -> Indexes:
        starts, ends = _rmat_piece(rng, nodes, count, quadrants)
        pairs = np.minimum(starts, ends) * nodes + np.maximum(starts, ends)
        pairs.sort()
        return pairs

    found = _some(rng, _distinct(_in_pieces(rng, round(_MORE_DRAWN * count), draw)), count)
    starts = in_threads(lambda part: part // nodes, found)
    ends = in_threads(lambda part: part % nodes, found)
    return _joined(starts), _joined(ends)


def _distinct(parts: list[Indexes]) -> list[Indexes]:
    """The distinct numbers of all parts, each of which is sorted; by range of numbers."""
    # Borders are quantiles of a sample, so that the ranges take the threads as long.
    sample = np.sort(np.concatenate([each[:: 1 + len(each) // 1024] for each in parts]))
    borders = unique_values(sample[:: 1 + len(sample) // len(parts)])[1:]
    places = [[0, *np.searchsorted(each, borders).tolist(), len(each)] for each in parts]

    def distinct(number: int) -> Indexes:
        some = [each[at[number] : at[number + 1]] for each, at in zip(parts, places, strict=True)]
        return unique_values(np.concatenate(some))

    return in_threads(distinct, range(len(borders) + 1))


def _some(rng: np.random.Generator, parts: list[Indexes], count: int) -> list[Indexes]:
    """Random ``count`` of all parts' elements, as many of each part as its share; or all."""
    ends = np.cumsum([len(each) for each in parts])
    if ends[-1] <= count:
        return parts
    taken = np.diff((ends * (count / ends[-1])).astype(np.int64), prepend=0)
    draws = zip(rng.spawn(len(parts)), parts, taken.tolist(), strict=True)
    return in_threads(lambda each: each[0].choice(each[1], each[2], replace=False), list(draws))


def _mesh(rng: np.random.Generator, nodes: int, count: int) -> tuple[Indexes, Indexes]:
    """Relationships between neighbours in a square grid, ``count`` of them."""
    side = max(2, int(nodes**0.5))
    at = np.arange(nodes, dtype=np.int64)
    right, below = at[at % side < side - 1], at[: max(nodes - side, 0)]
    starts = np.concatenate([right, below])
    ends = np.concatenate([right + 1, below + side])
    kept = rng.permutation(len(starts))[:count]
    kept = kept[ends[kept] < nodes]
    return starts[kept], ends[kept]


def _power_law(rng: np.random.Generator, kinds: int, count: int) -> NDArray[np.int32]:
    """Random kinds whose frequency depends on their rank."""
    if kinds == 1:
        return np.zeros(count, np.int32)
    shares = 1 / np.arange(1, kinds + 1)
    shares /= shares.sum()

    def draw(rng: np.random.Generator, count: int) -> NDArray[np.int32]:
        return rng.choice(kinds, size=count, p=shares).astype(np.int32)

    return np.concatenate(_in_pieces(rng, count, draw))


def recipe_queries(name: str, graph: DataGraph, count: int, seed: int) -> list[str]:
    """Patterns on the graph of a recipe; undirected, like the papers' graphs."""
    recipe = RECIPES[name]
    if recipe.patterns is not None:
        return list(recipe.patterns.values())[:count]
    if recipe.by_walks:
        return walk_queries(graph, recipe.query_nodes, count, seed)
    return _drawn_queries(graph, recipe.query_nodes, count, seed)


def _drawn_queries(graph: DataGraph, size: int, count: int, seed: int) -> list[str]:
    rng = np.random.default_rng([seed, size])
    pairs = [(one, other) for one in range(size) for other in range(one)]
    found = []
    for _ in range(count):
        labels = rng.integers(len(graph.labels), size=size)
        nodes = [f"(n{at}:{graph.labels.names[label]})" for at, label in enumerate(labels)]
        drawn = [pairs[at] for at in rng.permutation(len(pairs))[: 2 * size]]
        found.append(", ".join([*nodes, *(f"(n{one})--(n{other})" for one, other in drawn)]))
    return found


def walk_queries(graph: DataGraph, size: int, count: int, seed: int) -> list[str]:
    """Patterns with ``size`` nodes from random walks on the graph, in either direction.

    Returns fewer than ``count`` only if walks do not reach enough nodes.
    """
    rng = np.random.default_rng([seed, size])
    found: list[str] = []
    for _ in range(_MAX_WALKS * count):
        if len(found) == count:
            break
        walked = _walk(graph, size, rng)
        if walked is not None:
            found.append(_pattern(graph, *walked))
    return found


def _walk(
    graph: DataGraph, size: int, rng: np.random.Generator
) -> tuple[list[int], list[int]] | None:
    """Nodes in the order in which the walk reached them, and relationships."""
    node = int(rng.integers(graph.node_count))
    nodes, relationships = {node: None}, dict[int, None]()
    for _ in range(_WALK_STEPS * size):
        if len(nodes) == size:
            return list(nodes), list(relationships)
        out = slice(*(int(each) for each in graph.outgoing.row_offsets[node : node + 2]))
        back = slice(*(int(each) for each in graph.incoming.row_offsets[node : node + 2]))
        degree = out.stop - out.start + back.stop - back.start
        if not degree:
            return None
        at = int(rng.integers(degree))
        if at < out.stop - out.start:
            relationship, node = out.start + at, int(graph.outgoing.neighbours[out.start + at])
        else:
            at += back.start - (out.stop - out.start)
            assert graph.incoming.relationship_indexes is not None
            relationship = int(graph.incoming.relationship_indexes[at])
            node = int(graph.incoming.neighbours[at])
        nodes[node] = None
        relationships[relationship] = None
    return None


def _pattern(graph: DataGraph, nodes: list[int], relationships: list[int]) -> str:
    names = {node: f"n{number}" for number, node in enumerate(nodes)}
    parts = ["".join(f"({names[node]}:{':'.join(graph.node_labels(node))})") for node in nodes]
    for each in relationships:
        start = int(np.searchsorted(graph.outgoing.row_offsets, np.uint32(each), "right")) - 1
        run = int(np.searchsorted(graph.outgoing.run_starts, np.uint32(each), "right")) - 1
        kind = graph.types.names[graph.outgoing.run_types[run]]
        parts.append(f"({names[start]})-[:{kind}]-({names[int(graph.outgoing.neighbours[each])]})")
    return ", ".join(parts)
