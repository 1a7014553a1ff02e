"""Rings of four nodes counted from their highest ones, against trying every way."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from graphs import make_graph
from hypothesis import given
from hypothesis import strategies as st

from gpugda.device.graph.device_graph import DeviceGraph
from gpugda.device.launch.cycle_tasks import CycleTasks
from gpugda.device.launch.ring_squares import RingSquareKernels
from gpugda.device.memory.arrays import MemoryBudget
from gpugda.device.memory.buffers import Workspace

GROUPS = 3


def expected(graph, kind):
    """Of four relationships that all differ, which lead from one to the next."""
    types = graph.relationship_types().tolist()
    ends = list(zip(graph.start_nodes().tolist(), graph.outgoing.neighbours.tolist(), strict=True))
    after = {}
    for number, (start, end) in enumerate(ends):
        if types[number] == kind:
            after.setdefault(start, []).append((end, number))
    total = 0
    for a in range(graph.node_count):
        for b, first in after.get(a, ()):
            for c, second in after.get(b, ()):
                for d, third in after.get(c, ()):
                    for end, fourth in after.get(d, ()):
                        total += end == a and len({first, second, third, fourth}) == 4
    return total


def counted(context, workspace, graph, kind, most_work):
    device_graph = DeviceGraph(context, graph)
    arguments = device_graph.csr_arguments(MemoryBudget(1 << 30))
    kernels, nodes = RingSquareKernels(context), graph.node_count
    order = np.random.default_rng(nodes).permutation(nodes).astype(np.uint32)
    ranks = workspace.upload(np.argsort(order).astype(np.uint32))
    tasks = CycleTasks.new(workspace, GROUPS * nodes, nodes, most_work, GROUPS)
    while int(workspace.download(tasks.counters)[0]) * kernels.task_nodes(nodes, GROUPS) < nodes:
        kernels.count(arguments, kind, (workspace.upload(order), ranks), GROUPS, tasks)
    kernels.correct(arguments, kind, nodes, ranks, GROUPS, tasks.totals)
    assert not workspace.download(tasks.scratch)[: GROUPS * nodes].any()
    device_graph.close()
    return tasks.total(workspace)


def skip_on_cpu(context):
    if context.is_cpu:
        pytest.skip("for GPUs: a CPU counts squares by marking from each node")


@given(data=st.data(), most_work=st.sampled_from([1, 1 << 20]))
def test_rings_of_any_multigraph(context, data, most_work):
    skip_on_cpu(context)
    count = data.draw(st.integers(2, 6))
    node = st.integers(0, count - 1)
    one = st.tuples(node, st.sampled_from("RRS"), node, st.just({}))
    some = data.draw(st.lists(one.filter(lambda each: each[0] != each[2]), max_size=18))
    graph = make_graph([("", {})] * count, [(0, "R", 1, {}), *some])
    with Workspace(context, MemoryBudget(1 << 24)) as workspace:
        assert counted(context, workspace, graph, 0, most_work) == expected(graph, 0)


def test_long_lists_are_divided_among_teams(context, workspace):
    skip_on_cpu(context)
    pairs = Counter(map(tuple, np.random.default_rng(2).integers(0, 40, (500, 2)).tolist()))
    hub = Counter(pair for pair in product(range(40), repeat=2) if 0 in pair)
    some = [(one, "R", other, {}) for one, other in (pairs + hub).elements() if one != other]
    graph = make_graph([("", {})] * 40, some)
    assert counted(context, workspace, graph, 0, 1 << 20) == expected(graph, 0) > 0
