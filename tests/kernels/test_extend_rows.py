"""Leaves and intersections row by row against Python."""

import numpy as np
import pytest
from graphs import make_graph
from kernels.kernel_graphs import wrong
from kernels.test_extend import KEY_TESTS, NODES, Step, appended, extension, link

from gpugda.device.extend import ExtensionKernels, Test
from gpugda.device.extend_rows import RowKernels, Tasks
from gpugda.device.join import Table


def simple_graph():
    """No node comes twice in a list, as intersections demand."""
    random = np.random.default_rng(3)
    rows = {
        (int(start), "RST"[kind], int(end))
        for start, kind, end in random.integers(0, (NODES, 3, NODES), (1500, 3))
    }
    return make_graph([("", {})] * NODES, [(*row, {}) for row in sorted(rows)])


LISTS = {
    "one list": extension(link(0, types=(0,)), tests=[Test(1, 2, False)]),
    "two lists": extension(link(0, types=(0,)), link(1, types=(1,))),
    "three lists, tests": extension(
        link(0, types=(0,)),
        link(0, False, True, types=(1,)),
        link(1, types=(0,)),
        tests=[Test(2, 0, False), Test(0, 1, False, (1, 2)), Test(2, 0, False, (2, 1))],
    ),
    **{
        f"one list, {name}": extension(link(0, types=(0,)), tests=tests)
        for name, tests in KEY_TESTS.items()
    },
    **{
        f"two lists, {name}": extension(
            link(0, types=(0,)), link(1, types=(0,)), tests=[*tests, Test(2, 0, False)]
        )
        for name, tests in KEY_TESTS.items()
    },
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("most_work", [1, 1 << 30])
def test_intersections(context, workspace, name, most_work):
    if not context.is_cpu:
        pytest.skip("for CPUs")
    step = Step(context, workspace, LISTS[name], 700, graph=simple_graph())
    expected = step.expected()
    kernels = RowKernels(context)
    words = 8 * step.arrays.filter.words + 3 * NODES
    scratch = workspace.upload(np.zeros(words * kernels.item_count, dtype=np.uint32))
    counters = workspace.upload(np.zeros(2, dtype=np.uint32))
    capacity = expected.total() + 5
    extended = Table(wrong(workspace, capacity * 3), 0, 3, capacity)
    for output in (extended, None):
        workspace.write(counters, np.zeros(1, dtype=np.uint32), start=1)
        tasks = Tasks((0, 700), counters, scratch, words, most_work, step.totals)
        while workspace.download(counters)[1] < -(-700 // kernels.task_rows(700)):
            kernels.intersect(step.arrays, step.table, tasks, output)
        marks = workspace.download(scratch).view(np.uint8)[: 32 * step.arrays.filter.words]
        assert not marks.any()
    assert int(workspace.download(counters)[0]) == expected.total()
    assert int(workspace.download(step.totals).sum()) == 2 * expected.total()
    assert appended(workspace, extended, expected) == expected


@pytest.mark.parametrize("name", ["one list"])
@pytest.mark.parametrize("candidate_row", [None, 1])
def test_leaves(context, workspace, name, candidate_row):
    found = LISTS[name]
    found = extension(*found.links, tests=found.tests, candidate_row=candidate_row)
    step = Step(context, workspace, found, 700)
    kernels = RowKernels(context)
    fitting = None
    if candidate_row is not None:
        fitting = wrong(workspace, NODES)
        nodes = workspace.upload(np.arange(NODES, dtype=np.uint32))
        kernels.count_fitting(step.arrays, step.table, (nodes, 0, NODES), fitting)
    groups = ExtensionKernels(context).group_count
    kernels.count_leaves(step.arrays, step.table, fitting, step.totals, groups)
    assert int(workspace.download(step.totals).sum()) == step.expected().total()
