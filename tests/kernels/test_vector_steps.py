"""Programs of vectors on random multigraphs, against the products in NumPy."""

import numpy as np
import pytest
from counted_vectors import Evaluated
from hypothesis import given
from hypothesis import strategies as st
from kernels.kernel_graphs import any_multigraphs, ranked_lists

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.cycles import CycleTasks
from gpugda.device.launch.vector_steps import ProgramShape, VectorKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace
from gpugda.match.count.program import Bounds, encode
from gpugda.plan.counting.quotients import Powers
from gpugda.plan.counting.vector_plan import NodeWeight, Pull, Rooted, Vector, VectorPlan

END, FACTORS = 5, 4


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


def counted(context, workspace, graph, program, undirected, max_work):
    device_graph = DeviceGraph(context, graph)
    lists = ranked_lists(context, workspace, device_graph, 0, undirected=undirected)
    kernels, shape = VectorKernels(context), program.shape
    loops = lists.loops or workspace.upload(np.zeros(lists.nodes, dtype=np.uint32))
    weights = workspace.allocate(max(1, program.weights * lists.nodes), np.uint64)
    workspace.fill(weights, 1)
    for power, target in program.loops:
        kernels.loop_weights(loops, lists.nodes, power, target, weights)
    for each in program.pulled:
        kernels.pull_weights(lists, each.sides, each.more, (each.source, each.to), weights)
    low, high = run(workspace, kernels, lists, program.words, shape, weights, max_work)
    device_graph.close()
    return sum(
        times * (low[place] + (high[place] << 64))
        for place, times in enumerate(program.coefficients)
    )


def run(workspace, kernels, lists, words, shape, weights, max_work, groups=3):
    """The totals of each term: the words below and above 2**64."""
    size = max(1, groups * (shape.vectors + shape.lists) * lists.nodes)
    tasks = CycleTasks.new(workspace, size, lists.nodes, max_work, groups * shape.terms)
    highs = workspace.upload(np.zeros(groups * shape.terms, dtype=np.uint32))
    uploaded = workspace.upload(words)
    while int(workspace.download(tasks.counters)[0]) < lists.nodes:
        kernels.count(lists, uploaded, shape, weights, tasks, highs)
    totals = workspace.download(tasks.totals).reshape(groups, -1).tolist()
    above = workspace.download(highs).reshape(groups, -1).tolist()
    return [sum(each) for each in zip(*totals, strict=True)], [
        sum(each) for each in zip(*above, strict=True)
    ]


@given(graph=any_multigraphs(7, 16, "R"), data=st.data(), max_work=st.sampled_from([1, 1 << 20]))
@pytest.mark.parametrize("undirected", [True, False])
def test_programs_on_random_multigraphs(context, graph, data, max_work, undirected):
    terms = data.draw(any_terms(undirected))
    degree = 2 * graph.relationship_count
    bounds = Bounds(degree, degree, degree, degree)
    programs = encode(VectorPlan(terms, 0.0, (), (), 0, False), bounds, undirected=undirected)
    if programs is None:
        return
    evaluated = Evaluated(by_rank(graph))
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        found = [
            counted(context, workspace, graph, each, undirected, max_work) for each in programs
        ]
    assert sum(found) == sum(times * evaluated.of(rooted) for rooted, times in terms)


def test_totals_beyond_64_bits(context, workspace):
    from graphs import make_graph

    graph = make_graph([("", {})] * 5, [(0, "R", each, {}) for each in range(1, 5)])
    device_graph = DeviceGraph(context, graph)
    lists = ranked_lists(context, workspace, device_graph, 0, undirected=True)
    weights = workspace.allocate(5, np.uint64)
    workspace.fill(weights, (1 << 63) + 1)
    words = np.array([END, 1, 0, 0, *[0] * FACTORS], dtype=np.uint32)
    shape = ProgramShape(0, 0, 1, below_only=False)
    (low,), (high,) = run(
        workspace, VectorKernels(context), lists, words, shape, weights, 1 << 20, groups=1
    )
    device_graph.close()
    assert low + (high << 64) == 5 * ((1 << 63) + 1)
