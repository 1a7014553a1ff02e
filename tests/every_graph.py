"""All graphs of four nodes, side by side, and the number of embeddings in each by a formula."""

from functools import cache
from itertools import permutations, product

import numpy as np
from graphs import make_graph

NODES = 4
PAIRS = list(product(range(NODES), repeat=2))


@cache
def all_graphs(kind):
    """``int[graphs, 4, 4]``: the number of relationships from node to node.

    All directed graphs up to isomorphism, with self-loops and both directions (``loops``), without
    self-loops (``simple``), or with parallel relationships instead (``parallel``).
    """
    pairs = PAIRS if kind == "loops" else [(a, b) for a, b in PAIRS if a != b]
    numbers = np.arange(1 << len(pairs))
    found = np.zeros((len(numbers), NODES, NODES), dtype=np.int64)
    for bit, (a, b) in enumerate(pairs):
        found[:, a, b] = numbers >> bit & 1
    weights = 1 << np.arange(NODES * NODES)
    keys = [
        found[:, order][:, :, order].reshape(len(numbers), -1) @ weights
        for order in permutations(range(NODES))
    ]
    _, first = np.unique(np.min(keys, axis=0), return_index=True)
    graphs = found[first]
    if kind == "parallel":
        graphs = graphs * np.random.default_rng(0).integers(1, 4, graphs.shape)
    return graphs


@cache
def side_by_side(kind, step=1):
    """One data graph of all graphs, or of every so many."""
    graphs = all_graphs(kind)[::step]
    rows = [
        (NODES * graph + start, "R", NODES * graph + end, {})
        for graph, start, end in np.argwhere(graphs).tolist()
        for _ in range(graphs[graph, start, end])
    ]
    return make_graph([("", {})] * (NODES * len(graphs)), rows)


def embeddings(graphs, nodes, links):
    """The number of embeddings with distinct relationships, per graph.

    Args:
        graphs: ``int[graphs, n, n]``: the number of relationships from node to node.
        nodes: The number of query nodes.
        links: Per query relationship its ends, and True if it is directed.
    """
    total = np.zeros(len(graphs), dtype=np.int64)
    for place in product(range(graphs.shape[1]), repeat=nodes):
        ways = np.ones(len(graphs), dtype=np.int64)
        groups = {}
        for start, end, directed in links:
            a, b = place[start], place[end]
            on, back, both = groups.get((min(a, b), max(a, b)), (0, 0, 0))
            if a == b or not directed:
                both += 1
            elif a < b:
                on += 1
            else:
                back += 1
            groups[min(a, b), max(a, b)] = on, back, both
        for (a, b), (on, back, both) in groups.items():
            there, here = graphs[:, a, b], graphs[:, b, a]
            every = there if a == b else there + here
            ways *= falling(there, on) * falling(here, back) * falling(every - on - back, both)
        total += ways
    return total


def falling(numbers, factors):
    """The product n (n - 1) …, 0 if the numbers are too small."""
    product_of = np.ones_like(numbers)
    for less in range(factors):
        product_of = product_of * np.maximum(numbers - less, 0)
    return product_of
