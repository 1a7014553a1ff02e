"""Random programs of vectors, and what each of them counts."""

from types import SimpleNamespace

import numpy as np
from counted_vectors import Evaluated
from graphs import make_graph
from hypothesis import strategies as st
from kernels.kernel_graphs import ranked_lists

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.match.count.program import Bounds, encode
from gpugda.match.count.vectors import count_program
from gpugda.match.share import WHOLE, Share
from gpugda.plan.counting.quotients import Powers
from gpugda.plan.counting.vector_plan import NodeWeight, Pull, Rooted, Vector, VectorPlan


def by_rank(graph):
    """The number of relationships from rank to rank."""
    count = graph.node_count
    matrix = np.zeros((count, count), dtype=np.int64)
    np.add.at(matrix, (graph.start_nodes(), graph.outgoing.neighbours), 1)
    degrees = matrix.sum(axis=0) + matrix.sum(axis=1)
    order = sorted(range(count), key=lambda node: (-degrees[node], node))
    return matrix[order][:, order]


@st.composite
def node_weights(draw, powers):
    trees = ((draw(powers), draw(st.sampled_from([None, NodeWeight(1, ())]))),)
    return draw(
        st.sampled_from([None, NodeWeight(2, ()), NodeWeight(1, trees), NodeWeight(0, trees)])
    )


@st.composite
def any_vectors(draw, powers, depth=2):
    source = draw(any_vectors(powers, depth - 1)) if depth and draw(st.booleans()) else None
    pulls = ()
    if depth and draw(st.booleans()):
        pulled = draw(any_vectors(powers, depth - 1))
        pulls = (Pull(pulled, draw(powers), draw(st.integers(1, 2))),)
    weight = draw(node_weights(powers))
    below, exponent = draw(st.booleans()), 1 if source is None else draw(st.integers(1, 2))
    return Vector(source, draw(powers), below, exponent, pulls, weight)


@st.composite
def any_terms(draw, undirected):
    several = [Powers(1), Powers(2)] if undirected else [Powers(2), Powers(0, 1), Powers(1, 1, 2)]
    powers = st.sampled_from(several)
    sums = st.lists(any_vectors(powers), max_size=2)
    rooted = st.builds(lambda own, weight: Rooted(tuple(own), weight), sums, node_weights(powers))
    return tuple(draw(st.lists(st.tuples(rooted, st.integers(-3, 3)), min_size=1, max_size=3)))


def run_on(workspace, device_graph, share=WHOLE):
    given = {"workspace": workspace, "graph": device_graph, "share": share}
    return SimpleNamespace(**given, check_deadline=lambda: None)


def counted(context, workspace, graph, programs, undirected, longest, shares=1):
    """What each program counts in each share."""
    device_graph = DeviceGraph(context, graph)
    lists = ranked_lists(context, workspace, device_graph, 0, undirected=undirected)
    found = [
        count_program(run_on(workspace, device_graph, Share(number, shares)), lists, each, longest)
        for each in programs
        for number in range(shares)
    ]
    device_graph.close()
    return found


def with_more_nodes(graph, more):
    """The same graph with nodes that have no relationships."""
    starts, ends = graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist()
    nodes = [("", {})] * (graph.node_count + more)
    return make_graph(nodes, [(a, "R", b, {}) for a, b in zip(starts, ends, strict=True)])


def expected(graph, terms):
    evaluated = Evaluated(by_rank(graph))
    return sum(times * evaluated.of(rooted) for rooted, times in terms)


def programs_of(graph, terms, undirected):
    """The programs, and the longest list; None for the programs if a number might be too large."""
    degree = 2 * graph.relationship_count
    bounds = Bounds(degree, degree, degree, degree, graph.most_two_paths())
    return encode(VectorPlan(terms, 0.0, (), (), 0, False), bounds, undirected=undirected), degree
