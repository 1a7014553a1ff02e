"""Generates graphs of the papers' shapes and sizes, and query graphs by random walks on them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from gpugda.data.batches import NodeBatch, RelationshipBatch
from gpugda.data.build import build_data_graph
from gpugda.errors import ConfigurationError
from gpugda.ports import GraphBatches
from lab.communities import draw_communities
from lab.community_plan import SocialShape
from lab.pbe_patterns import PBE_PATTERNS
from lab.random_relationships import draw_kinds, draw_mesh, draw_rmat, quadrants_for
from lab.watdiv_graph import draw_watdiv, watdiv_labels, watdiv_types

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from gpugda.data.data_graph import DataGraph
    from gpugda.data.sorting import RowSorter

    Indexes = NDArray[np.int64]

__all__ = [
    "RECIPES",
    "Recipe",
    "make_recipe",
    "recipe_batches",
    "recipe_of",
    "recipe_queries",
]

_WALK_STEPS = 50
"""Maximum steps of a walk, as a multiple of the number of nodes."""
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
        largest: Published largest degree, from which R-MAT's quadrants follow. None if unknown.
        quadrants: R-MAT's a, b and c, if the largest degree is not published.
        is_mesh: True for a grid.
        query_nodes: Numbers of nodes of the query graphs, in turn.
        by_walks: True if random walks make the query graphs. Else nodes have random labels, and
            there are twice as many relationships between random nodes, as for the STwig join.
        social: Numbers of a graph with communities, instead of R-MAT; it is then simple: at most
            one relationship between two nodes.
        patterns: Query graphs by name, instead of drawn ones.
        like_watdiv: True if nodes belong to classes, which decide their labels and types.
    """

    nodes: int
    relationships: int
    labels: int
    types: int
    largest: int | None
    quadrants: tuple[float, float, float] | None = None
    is_mesh: bool = False
    query_nodes: Sequence[int] = (12,)
    by_walks: bool = True
    social: SocialShape | None = None
    patterns: Mapping[str, str] | None = None
    like_watdiv: bool = False


def _social(
    nodes: int, relationships: int, largest: int, triangles: float, wedges: float | None
) -> Recipe:
    """Recipe of a graph without labels, with the patterns of PBE."""
    shape = SocialShape(nodes, relationships, largest, triangles, wedges)
    patterns = PBE_PATTERNS
    return Recipe(nodes, relationships, 1, 1, largest, None, social=shape, patterns=patterns)


# Numbers of nodes, relationships, labels and types: tables 1 to 3 of the papers. Largest degrees:
# column MD of GSI's table III and SGSI's table 2.
RECIPES = {
    "enron": Recipe(69_000, 274_000, 10, 100, 1_700),
    "gowalla": Recipe(196_000, 1_900_000, 100, 100, 29_000),
    "patent": Recipe(6_000_000, 16_000_000, 453, 1_000, 793),
    "road": Recipe(14_000_000, 16_000_000, 1_000, 1_000, 8, is_mesh=True),
    "watdiv": Recipe(10_000_000, 109_000_000, 1_000, 86, 671_000, like_watdiv=True),
    "stwig": Recipe(
        16_000,
        256_000,
        16,
        1,
        None,
        (0.4, 0.2, 0.2),
        query_nodes=range(5, 11),
        by_walks=False,
    ),
    "db": Recipe(233_000_000, 1_100_000_000, 1_000, 124_000, 17_000_000),
    "fr": Recipe(65_000_000, 1_800_000_000, 1_000, 1_000, 5_200),
    "yh": Recipe(417_000_000, 2_800_000_000, 1_000, 1_000, 2_500),
    "wd": Recipe(97_000_000, 1_000_000_000, 1_000, 86, 6_700_000, like_watdiv=True),
    # PBE's graphs. Largest degrees and triangles as SNAP and the Laboratory for Web Algorithmics
    # publish them; wedges: SNAP's triangles divided by its fraction of closed triangles.
    "youtube": _social(1_100_000, 2_900_000, 28_754, 3.056e6, 1.469e9),
    "livejournal": _social(3_900_000, 34_600_000, 14_815, 177.8e6, 3.90e9),
    "orkut": _social(3_000_000, 117_100_000, 33_313, 627.6e6, 44.4e9),
    "uk2002": _social(18_500_000, 298_100_000, 194_955, 4.45e9, None),
    "friendster": _social(65_600_000, 1_806_000_000, 5_214, 4.174e9, 712e9),
    "dbpedia": Recipe(22_000_000, 170_000_000, 1_000, 57_000, 2_200_000),
}
"""By name of the paper's graph: all of GSI, the smallest of STwig, the four of SGSI, and those of
PBE except Yahoo."""


def recipe_of(name: str, scale: float) -> Recipe:
    """The recipe with this name.

    Raises:
        ConfigurationError: There is no such recipe, or the scale is out of range.
    """
    recipe = RECIPES.get(name)
    if recipe is None:
        raise ConfigurationError(f"--graph is {name!r}; with --strategies: {', '.join(RECIPES)}.")
    if not 0 < scale <= 100:
        raise ConfigurationError(f"--scale is {scale:g}; it must be above 0 and at most 100.")
    return recipe


def make_recipe(
    name: str,
    scale: float,
    seed: int,
    sorter: RowSorter | None = None,
    recipe: Recipe | None = None,
) -> DataGraph:
    """The graph of a recipe, with its nodes and relationships scaled.

    Args:
        name: Name of the recipe.
        scale: Factor above 0; from the user, at most 100.
        seed: Seed of the random draws.
        sorter: See `build_data_graph`.
        recipe: A changed recipe instead of the named one.

    Raises:
        ConfigurationError: There is no such recipe, or the scale is out of range.
    """
    return build_data_graph(recipe_batches(name, scale, seed, recipe), sorter=sorter)


def recipe_batches(
    name: str, scale: float, seed: int, recipe: Recipe | None = None
) -> GraphBatches:
    """Nodes and relationships of `make_recipe`, with its arguments and errors."""
    recipe = recipe or recipe_of(name, scale)
    rng = np.random.default_rng([seed, list(RECIPES).index(name)])
    nodes = max(16, round(scale * recipe.nodes))
    wanted = max(16, round(scale * recipe.relationships))
    labels, label_sets = _labels(rng, recipe, nodes)
    ids = pa.array(np.arange(nodes))
    return GraphBatches(
        [NodeBatch(nodes, ids, labels, label_sets, {})],
        _relationships(rng, recipe, scale, nodes, wanted),
    )


def _labels(
    rng: np.random.Generator, recipe: Recipe, nodes: int
) -> tuple[NDArray[np.int32], tuple[tuple[str, ...], ...]]:
    """A label per node, and all label sets."""
    if recipe.like_watdiv:
        return watdiv_labels(rng, nodes, recipe.labels)
    label_sets = tuple((f"L{number}",) for number in range(recipe.labels))
    return draw_kinds(rng, recipe.labels, nodes), label_sets


def _relationships(
    rng: np.random.Generator, recipe: Recipe, scale: float, nodes: int, wanted: int
) -> Iterator[RelationshipBatch]:
    """Draws relationships batch by batch: graphs of billions nearly fill the memory."""
    if recipe.like_watdiv:
        names = watdiv_types(recipe.types)
        for starts, ends, kinds in draw_watdiv(rng, nodes, wanted, len(names)):
            yield RelationshipBatch(len(starts), pa.array(starts), pa.array(ends), kinds, names)
        return
    if recipe.social is not None:
        shape = replace(recipe.social, relationships=recipe.relationships)  # in a sweep, others
        drawn = draw_communities(rng, shape, scale)
    elif recipe.is_mesh:
        drawn = draw_mesh(rng, nodes, wanted)
    else:
        drawn = draw_rmat(rng, nodes, wanted, _quadrants(recipe))
    names = tuple(f"T{number}" for number in range(recipe.types))
    for starts, ends in drawn:
        types = draw_kinds(rng, recipe.types, len(starts))
        yield RelationshipBatch(len(starts), pa.array(starts), pa.array(ends), types, names)


def _quadrants(recipe: Recipe) -> tuple[float, float, float]:
    """R-MAT's a, b and c; the same at every scale."""
    if recipe.quadrants is not None:
        return recipe.quadrants
    assert recipe.largest is not None
    return quadrants_for(recipe.nodes, recipe.relationships, recipe.largest)


def recipe_queries(
    name: str, graph: DataGraph, count: int, seed: int, recipe: Recipe | None = None
) -> list[str]:
    """Patterns on the graph of a recipe; undirected, like the papers' graphs.

    Fewer than ``count`` if random walks do not reach enough nodes.
    """
    recipe = recipe or RECIPES[name]
    if recipe.patterns is not None:
        return list(recipe.patterns.values())[:count]
    draw = _walk_query if recipe.by_walks else _drawn_query
    rng, sizes = np.random.default_rng([seed, max(recipe.query_nodes)]), recipe.query_nodes
    return [each for at in range(count) if (each := draw(graph, sizes[at % len(sizes)], rng))]


def _drawn_query(graph: DataGraph, size: int, rng: np.random.Generator) -> str:
    """Nodes with random labels, and twice as many relationships between random nodes."""
    pairs = [(one, other) for one in range(size) for other in range(one)]
    labels = rng.integers(len(graph.labels), size=size)
    nodes = [f"(n{at}:{graph.labels.names[label]})" for at, label in enumerate(labels)]
    drawn = [pairs[at] for at in rng.permutation(len(pairs))[: 2 * size]]
    return ", ".join([*nodes, *(f"(n{one})--(n{other})" for one, other in drawn)])


def _walk_query(graph: DataGraph, size: int, rng: np.random.Generator) -> str:
    """A pattern from a random walk; empty if no walk reaches enough nodes."""
    for _ in range(_MAX_WALKS):
        walked = _walk(graph, size, rng)
        if walked is not None:
            return _pattern(graph, *walked)
    return ""


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
